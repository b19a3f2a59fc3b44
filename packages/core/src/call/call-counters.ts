// Counts a provider's calls, for health() and status().

import type { ToolResult } from '../contract/result.js';
import type { ProviderHealth, ProviderState } from '../contract/tool-provider.js';

/** The number of latest calls for the median duration. */
const WINDOW = 128;

/** The counters of one provider. */
export class CallCounters {
  /** Calls so far. */
  calls = 0;
  /** Calls that failed so far. */
  failures = 0;
  /** Failures since the last success. */
  consecutiveFailures = 0;
  #lastSuccessAt: number | undefined;
  /** The message of the latest failure. */
  lastError: string | undefined;
  readonly #durations = new Float64Array(WINDOW);

  /** Counts one call. @param endedAt a time of `performance.now()` */
  record(result: ToolResult, endedAt: number): void {
    this.#durations[this.calls % WINDOW] = result.durationMs;
    this.calls++;
    if (result.isError) {
      this.failures++;
      this.consecutiveFailures++;
      this.lastError = result.error?.message;
    } else {
      this.consecutiveFailures = 0;
      this.#lastSuccessAt = endedAt;
    }
  }

  /** When the last call succeeded, in milliseconds since the epoch; undefined before the first success. */
  get lastSuccessAt(): number | undefined {
    return this.#lastSuccessAt === undefined ? undefined : performance.timeOrigin + this.#lastSuccessAt;
  }

  /** The health of a provider in that state. */
  health(state: ProviderState): ProviderHealth {
    const { calls, failures, consecutiveFailures, lastSuccessAt, lastError } = this;
    return {
      state,
      consecutiveFailures,
      totalInvocations: calls,
      totalFailures: failures,
      restarts: 0,
      ...(lastSuccessAt !== undefined && { lastSuccessAt }),
      ...(lastError !== undefined && { lastError }),
    };
  }

  /** The median duration of the latest calls, in milliseconds; undefined before the first. */
  get p50Ms(): number | undefined {
    if (this.calls === 0) return undefined;
    const latest = this.#durations.slice(0, Math.min(this.calls, WINDOW)).sort();
    return latest[latest.length >> 1];
  }
}
