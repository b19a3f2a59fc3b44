// When a provider that failed may be started again: a wait that grows with the failures in a row, and a number of starts in
// a window of time. Past that number there is one start a window, until the provider has been healthy. All times are on the clock of `performance.now()`.

import type { BackoffOptions } from './supervisor-options.js';

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
  #isLimited = false;

  constructor(options: RestartBudgetOptions) {
    this.#options = options;
  }

  /** Failures in a row. */
  get failures(): number {
    return this.#failures;
  }

  /**
   * The time before which nothing starts automatically: 0 for no wait, `Infinity` when only an explicit start helps.
   */
  get retryAt(): number {
    return Math.max(this.#retryAt, this.#limitedUntil);
  }

  /** True when it was started too often: it is started once a window then. */
  isLimited(now: number): boolean {
    return this.#limitedUntil > Math.max(now, this.#retryAt);
  }

  /** A provider failed, to start or after it was ready for `readyMs`. */
  noteFailure(now: number, readyMs: number): void {
    const { baseMs, maxMs, resetAfterMs, random } = this.#options.backoff;
    if (readyMs >= resetAfterMs) this.#recover();
    this.#failures++;
    const isImmediate = this.#failures < 2 || readyMs >= STARTED_WELL_MS;
    const bound = Math.min(maxMs, baseMs * 2 ** (this.#failures - 2));
    this.#retryAt = isImmediate ? 0 : now + random() * bound;
  }

  /** A provider was ended that had not failed. */
  noteEnd(readyMs: number): void {
    if (readyMs >= this.#options.backoff.resetAfterMs) this.#recover();
    this.#retryAt = 0;
  }

  /** A provider is started because of a call, after a failure. */
  countStart(now: number): void {
    const { maxStarts, startWindowMs } = this.#options;
    this.#starts = this.#starts.filter((startedAt) => startedAt > now - startWindowMs);
    this.#starts.push(now);
    this.#isLimited ||= this.#starts.length >= maxStarts;
  }

  /** Somebody starts the provider, and knows why. */
  reset(): void {
    this.#recover();
    this.#retryAt = 0;
  }

  #recover(): void {
    this.#failures = 0;
    this.#starts = [];
    this.#isLimited = false;
  }

  get #limitedUntil(): number {
    const { maxStarts, startWindowMs } = this.#options;
    if (maxStarts === 0) return Infinity;
    return this.#isLimited ? (this.#starts.at(-1) as number) + startWindowMs : 0;
  }
}
