// The counters of a gateway, in the text format of Prometheus.
// https://prometheus.io/docs/instrumenting/exposition_formats/#text-based-format

import type { ToolResult } from '@toolwright/core';

/** Upper bounds of the histogram's buckets, in seconds. */
const BUCKETS = [0.001, 0.005, 0.025, 0.1, 0.5, 2.5, 10, 60];

/** Counters of one gateway. They contain no name of a tool, client or argument. */
export class GatewayMetrics {
  readonly #calls = new Map<string, number>();
  readonly #refusals = new Map<string, number>();
  readonly #durations = BUCKETS.map(() => 0);
  #count = 0;
  #seconds = 0;
  callsInFlight = 0;

  /** Counts a call that has settled; `outcome` is `ok` or the code of its error. */
  record(result: Pick<ToolResult, 'isError' | 'error'>, durationMs: number): void {
    const outcome = result.isError ? (result.error?.code ?? 'EXECUTION_FAILED') : 'ok';
    this.#calls.set(outcome, (this.#calls.get(outcome) ?? 0) + 1);
    const seconds = durationMs / 1_000;
    this.#count++;
    this.#seconds += seconds;
    for (const [index, bound] of BUCKETS.entries()) if (seconds <= bound) this.#durations[index]!++;
  }

  /** Counts a request that was rejected before it reached a session. */
  refuse(reason: string): void {
    this.#refusals.set(reason, (this.#refusals.get(reason) ?? 0) + 1);
  }

  /** @param sessions how many clients there are, by transport */
  text(sessions: ReadonlyMap<string, number>): string {
    const name = (metric: string): string => `toolwright_gateway_${metric}`;
    const lines = [
      ...family(name('calls_total'), 'counter', 'Calls that have settled, by outcome.', 'outcome', this.#calls),
      `# HELP ${name('calls_in_flight')} Calls that have not settled.`,
      `# TYPE ${name('calls_in_flight')} gauge`,
      `${name('calls_in_flight')} ${this.callsInFlight}`,
      ...family(name('sessions'), 'gauge', 'Clients that are connected, by transport.', 'transport', sessions),
      ...family(
        name('refused_total'),
        'counter',
        'HTTP requests that were refused, by reason.',
        'reason',
        this.#refusals,
      ),
      `# HELP ${name('call_duration_seconds')} How long calls took.`,
      `# TYPE ${name('call_duration_seconds')} histogram`,
      ...BUCKETS.map(
        (bound, index) => `${name('call_duration_seconds_bucket')}{le="${bound}"} ${this.#durations[index]}`,
      ),
      `${name('call_duration_seconds_bucket')}{le="+Inf"} ${this.#count}`,
      `${name('call_duration_seconds_sum')} ${this.#seconds}`,
      `${name('call_duration_seconds_count')} ${this.#count}`,
    ];
    return `${lines.join('\n')}\n`;
  }
}

function family(
  name: string,
  type: string,
  help: string,
  label: string,
  values: ReadonlyMap<string, number>,
): string[] {
  const rows = [...values].map(([value, count]) => `${name}{${label}="${value}"} ${count}`);
  return [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`, ...rows];
}
