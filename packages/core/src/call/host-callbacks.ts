// Calls the host's callbacks (listeners, loggers) safely: one that throws or rejects affects neither its caller nor other
// callbacks.

import { ToolError } from '../contract/errors.js';
import type { Logger } from '../contract/logger.js';

/** Calls a host callback; passes the message of what it throws, or rejects with, to `failed`. */
export function callSafely(listener: () => unknown, failed: (message: string) => void = () => undefined): void {
  const fail = (thrown: unknown): void => {
    try {
      failed(ToolError.from(thrown).message);
    } catch {
      // `failed` is usually the host's logger too; nothing is left to report to.
    }
  };
  try {
    const outcome = listener();
    if (outcome instanceof Promise) outcome.catch(fail);
  } catch (thrown) {
    fail(thrown);
  }
}

const LEVELS = ['debug', 'info', 'warn', 'error'] as const;

/** Wraps a logger so that its errors are ignored. @throws {ToolError} INVALID_ARGUMENT for a value without the four functions */
export function safeLogger(logger: Logger): Logger {
  if (Object(logger) !== logger || LEVELS.some((level) => typeof logger[level] !== 'function'))
    throw new ToolError('INVALID_ARGUMENT', 'logger must have the functions debug, info, warn and error.');
  const write =
    (level: keyof Logger) =>
    (message: string, fields?: object): void =>
      callSafely(() => (fields === undefined ? logger[level](message) : logger[level](message, fields)));
  return { debug: write('debug'), info: write('info'), warn: write('warn'), error: write('error') };
}

/** The listeners of an event without data. */
export class Listeners {
  readonly #listeners = new Set<() => void>();

  /** Adds a listener; a function that is added twice is called once. Returns a function that unsubscribes. */
  add(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** The number of listeners. */
  get size(): number {
    return this.#listeners.size;
  }

  /** Calls all listeners; errors of listeners are logged. */
  emit(logger: Pick<Logger, 'error'>): void {
    for (const listener of [...this.#listeners]) {
      callSafely(listener, (message) => logger.error(`A listener threw: ${message}`));
    }
  }
}
