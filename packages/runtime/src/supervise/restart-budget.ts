// When a provider that failed may be started again: a wait that grows with the failures in a row, and a number of starts in
// a window of time. All times are on the clock of `performance.now()`.

import type { BackoffOptions } from './options.js';

/** A process that was ready for so long did start; what ended it is a new trouble. */
const STARTED_WELL_MS = 1_000;

/** What a {@link RestartBudget} counts with. */
export interface RestartBudgetOptions {
  maxStarts: number;
  startWindowMs: number;
  backoff: Required<BackoffOptions>;
}

export class RestartBudget {
  readonly #options: RestartBudgetOptions;
  #failures = 0;
  #retryAt = 0;
  /** When providers were started after a failure. */
  #starts: number[] = [];
  #isExhausted = false;

  constructor(options: RestartBudgetOptions) {
    this.#options = options;
  }

  /** Failures in a row. */
  get failures(): number {
    return this.#failures;
  }

  /** Until when nothing is started by itself; 0 when there is nothing to wait for. */
  get retryAt(): number {
    return this.#retryAt;
  }

  /** A provider failed, to start or after it was ready for `readyMs`. */
  noteFailure(now: number, readyMs: number): void {
    const { baseMs, maxMs, resetAfterMs, random } = this.#options.backoff;
    if (readyMs >= resetAfterMs) this.#failures = 0;
    this.#failures++;
    const isImmediate = this.#failures < 2 || readyMs >= STARTED_WELL_MS;
    const bound = Math.min(maxMs, baseMs * 2 ** (this.#failures - 2));
    this.#retryAt = isImmediate ? 0 : now + random() * bound;
  }

  /** A provider was ended that had not failed. */
  noteEnd(readyMs: number): void {
    if (readyMs >= this.#options.backoff.resetAfterMs) this.#failures = 0;
    this.#retryAt = 0;
  }

  /** How long to wait, in milliseconds; 0 when a start is allowed now, `Infinity` when none is until {@link reset}. */
  waitMs(now: number): number {
    if (this.#retryAt > now) return this.#retryAt - now;
    const { maxStarts, startWindowMs } = this.#options;
    this.#starts = this.#starts.filter((startedAt) => startedAt > now - startWindowMs);
    this.#isExhausted ||= this.#starts.length >= maxStarts;
    return this.#isExhausted ? Infinity : 0;
  }

  /** A provider is started because of a call, after a failure. */
  countStart(now: number): void {
    this.#starts.push(now);
  }

  /** Somebody starts the provider, and knows why. */
  reset(): void {
    this.#failures = 0;
    this.#retryAt = 0;
    this.#starts = [];
    this.#isExhausted = false;
  }
}
