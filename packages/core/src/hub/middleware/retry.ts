// withRetry: repeats failed calls that may succeed later and cannot take effect twice.

import { startTimer } from '../../call/deadline.js';
import { deferred, untilAborted } from '../../call/waiting.js';
import type { ToolErrorCode, ToolErrorInfo } from '../../contract/errors.js';
import type { OptionNames } from '../../contract/options.js';
import type { ToolSelection } from '../../provider/tool-selection.js';
import type { Middleware, MiddlewareCall } from './middleware.js';
import { appliesTo, assertMiddlewareOptions, isRepeatable } from './selected-tools.js';

/** Options of {@link withRetry}. */
export interface RetryOptions extends ToolSelection {
  /** How often a call runs at most, the first time included. Default 3. */
  attempts?: number;
  /** The delay before the second attempt, in milliseconds; it doubles with each further attempt. Default 200. */
  delayMs?: number;
  /** The longest delay, in milliseconds. Default 5,000. */
  maxDelayMs?: number;
  /** Called before each further attempt, for logs. What it throws ends the call with `INTERNAL`. Default: none. */
  onRetry?: (retry: Retry) => void;
}

/** A call that will be repeated. */
export interface Retry {
  /** The qualified name. */
  readonly name: string;
  /** The call's id in logs and events. */
  readonly callId: string;
  /** The attempt that follows: 2 for the first repetition. */
  readonly attempt: number;
  /** The delay before it, in milliseconds. */
  readonly delayMs: number;
  /** Why the previous attempt failed. */
  readonly error: ToolErrorInfo;
}

const OPTIONS: OptionNames<RetryOptions> = {
  attempts: true,
  delayMs: true,
  maxDelayMs: true,
  onRetry: 'function',
  include: true,
  exclude: true,
};

/** Failures after which the call may have run. */
const MAY_HAVE_RUN: ReadonlySet<ToolErrorCode> = new Set(['OUTCOME_UNKNOWN', 'CONNECTION_CLOSED', 'PROCESS_EXITED']);

/**
 * A middleware that repeats failed calls: those whose error is `retryable`, as repeating them is safe; and those that may have
 * run (`OUTCOME_UNKNOWN`, `CONNECTION_CLOSED`, `PROCESS_EXITED`) if the tool is annotated as read-only or idempotent and the
 * hub trusts its annotations. Each delay is varied by up to a half, so that many callers do not repeat at the same time. All
 * attempts share the call's deadline and its signal; a failure is not repeated when the delay would pass the deadline. It never
 * repeats anything else, and not the calls that `deferredTools` passes on: those are repeated themselves.
 *
 * @throws {ToolError} INVALID_ARGUMENT for a wrong option
 * @example
 * ```ts
 * const hub = new ToolHub({ providers, middleware: [withRetry({ attempts: 5 })] });
 * ```
 */
export function withRetry(options: RetryOptions = {}): Middleware {
  const { attempts = 3, delayMs = 200, maxDelayMs = 5_000, onRetry } = Object(options) as typeof options;
  assertMiddlewareOptions('withRetry()', options, OPTIONS, { attempts, delayMs, maxDelayMs });
  return async (call, next) => {
    let result = await next();
    if (!appliesTo(call, options)) return result;
    for (let attempt = 2; attempt <= attempts && result.error && mayRepeat(call, result.error); attempt++) {
      const longest = Math.min(delayMs * 2 ** (attempt - 2), maxDelayMs);
      const delay = longest * (0.5 + Math.random() / 2);
      if (delay >= call.remainingMs) break; // the failure says more than that the time is over
      onRetry?.({ name: call.name, callId: call.callId, attempt, delayMs: delay, error: result.error });
      await pause(delay, call.signal);
      result = await next();
    }
    return result;
  };
}

function mayRepeat(call: MiddlewareCall, { code, retryable }: ToolErrorInfo): boolean {
  return !call.signal.aborted && (retryable || (MAY_HAVE_RUN.has(code) && isRepeatable(call)));
}

/** Waits. @throws {ToolError} the signal's reason, as soon as it is aborted */
async function pause(ms: number, signal: AbortSignal): Promise<void> {
  const { promise, resolve } = deferred();
  const stop = startTimer(ms, resolve);
  try {
    await untilAborted(promise, signal);
  } finally {
    stop();
  }
}
