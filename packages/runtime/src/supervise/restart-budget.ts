// Decides when a failed provider may be restarted: after a backoff that doubles with each consecutive failure, and only
// so many times per window. Past that limit it is started once per window, until it has run long enough to count as
// healthy. All times are on the clock of `performance.now()`.

import type { BackoffOptions } from './supervisor-options.js';

/** After this uptime the first restart is immediate: the failure has another cause than the one before. */
const STARTED_WELL_MS = 1_000;

/** Options of {@link RestartBudget}. */
export interface RestartBudgetOptions {
  maxStarts: number;
  startWindowMs: number;
  backoff: Required<BackoffOptions>;
}

/** Counts failures and restarts, and says when the next start is allowed. */
export class RestartBudget {
  readonly #options: RestartBudgetOptions;
  #failures = 0;
  #retryAt = 0;
  /** The times of restarts within the current window. */
  #starts: number[] = [];
  #isLimited = false;

  constructor(options: RestartBudgetOptions) {
    this.#options = options;
  }

  /** The number of consecutive failures. */
  get failures(): number {
    return this.#failures;
  }

  /**
   * The time before which nothing starts automatically: 0 for no wait, `Infinity` when only an explicit start helps.
   */
  get retryAt(): number {
    return Math.max(this.#retryAt, this.#limitedUntil);
  }

  /** True when the limit on restarts is reached: until the window ends nothing starts automatically. */
  isLimited(now: number): boolean {
    return this.#limitedUntil > Math.max(now, this.#retryAt);
  }

  /** Records that the provider failed: to start, or after it was ready for `readyMs`. */
  noteFailure(now: number, readyMs: number): void {
    const { baseMs, maxMs, resetAfterMs, random } = this.#options.backoff;
    if (readyMs >= resetAfterMs) this.#recover();
    this.#failures++;
    const isImmediate = this.#failures < 2 || readyMs >= STARTED_WELL_MS;
    const bound = Math.min(maxMs, baseMs * 2 ** (this.#failures - 2));
    this.#retryAt = isImmediate ? 0 : now + random() * bound;
  }

  /** Records that a healthy provider was stopped after it was ready for `readyMs`. */
  noteEnd(readyMs: number): void {
    if (readyMs >= this.#options.backoff.resetAfterMs) this.#recover();
    this.#retryAt = 0;
  }

  /** Counts a restart after a failure. */
  countStart(now: number): void {
    const { maxStarts, startWindowMs } = this.#options;
    this.#starts = this.#starts.filter((startedAt) => startedAt > now - startWindowMs);
    this.#starts.push(now);
    this.#isLimited ||= this.#starts.length >= maxStarts;
  }

  /** Forgets all failures and restarts, for an explicit start. */
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
