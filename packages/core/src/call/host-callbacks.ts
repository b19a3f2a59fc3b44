// Functions of the host's that are told something. One that throws, at once or later, breaks neither the teller nor the
// others.

import { ToolError } from '../contract/errors.js';
import type { Logger } from '../contract/logger.js';

/** Calls a function of the host's; what it throws, or rejects with later, goes to `failed` and nowhere else. */
export function callSafely(listener: () => unknown, failed: (message: string) => void = () => undefined): void {
  const fail = (thrown: unknown): void => {
    try {
      failed(ToolError.from(thrown).message);
    } catch {
      // The logger is the host's too, and there is nobody left to tell.
    }
  };
  try {
    const outcome = listener();
    if (outcome instanceof Promise) outcome.catch(fail);
  } catch (thrown) {
    fail(thrown);
  }
}

/** A logger that cannot break its writer, whatever the host's does. */
export function safeLogger(logger: Logger): Logger {
  if (Object(logger) !== logger)
    throw new ToolError('INVALID_ARGUMENT', 'logger must have the functions debug, info, warn and error.');
  const write =
    (level: keyof Logger) =>
    (message: string, fields?: object): void =>
      callSafely(() => (fields === undefined ? logger[level](message) : logger[level](message, fields)));
  return { debug: write('debug'), info: write('info'), warn: write('warn'), error: write('error') };
}

/** Listeners of one event without data: added, removed, told. */
export class Listeners {
  readonly #listeners = new Set<() => void>();

  /** Returns the unsubscribe. The same function added twice is told once. */
  add(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  emit(logger: Pick<Logger, 'error'>): void {
    for (const listener of [...this.#listeners]) {
      callSafely(listener, (message) => logger.error(`A listener threw: ${message}`));
    }
  }
}
