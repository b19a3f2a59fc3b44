// withMetrics: counts and measures calls with OpenTelemetry.

import type * as OpenTelemetry from '@opentelemetry/api';
import type { Meter } from '@opentelemetry/api';
import type { OptionNames } from '../../contract/options.js';
import type { ToolSelection } from '../../provider/tool-selection.js';
import type { Middleware, SettledCall } from './middleware.js';
import { contentBytes, INSTRUMENTATION, reportWithApi } from './open-telemetry.js';
import { assertMiddlewareOptions, isSelected } from './selected-tools.js';

/** Options of {@link withMetrics}. */
export interface MetricsOptions extends ToolSelection {
  /** Default: the meter `@toolwright/core` of the global meter provider. */
  meter?: Meter;
}

const OPTIONS: OptionNames<MetricsOptions> = { meter: 'object', include: true, exclude: true };

/**
 * A middleware that measures every call, also those that the policy refuses: the counter `toolwright.calls`, and the histograms
 * `toolwright.call.duration` and `toolwright.call.wait` in seconds and `toolwright.call.output` in bytes. Attributes:
 * `gen_ai.tool.name` and `toolwright.provider` (not for unknown tools), and `toolwright.outcome`, `ok` or the error's code.
 *
 * @throws {ToolError} INVALID_ARGUMENT for a wrong option
 */
export function withMetrics(options: MetricsOptions = {}): Middleware {
  assertMiddlewareOptions('withMetrics()', options, OPTIONS, {});
  let instruments: ReturnType<typeof createInstruments> | undefined;
  const run: Middleware = (_call, next) => next();
  const onSettled = (settled: SettledCall): void => {
    const { tool, provider, call, result } = settled;
    if (tool && !isSelected({ name: tool.name }, options)) return;
    reportWithApi((api) => {
      instruments ??= createInstruments(options.meter ?? api.metrics.getMeter(INSTRUMENTATION));
      const attributes = {
        ...(tool && { 'gen_ai.tool.name': tool.name }),
        ...(provider !== undefined && { 'toolwright.provider': provider }),
        'toolwright.outcome': result.error?.code ?? 'ok',
      };
      instruments.calls.add(1, attributes);
      instruments.duration.record(result.durationMs / 1_000, attributes);
      if (call) instruments.wait.record(call.waitedMs / 1_000, attributes);
      instruments.output.record(contentBytes(result.content), attributes);
    });
  };
  return Object.assign(run, { onSettled });
}

function createInstruments(meter: Meter): Record<'duration' | 'wait' | 'output', OpenTelemetry.Histogram> & {
  calls: OpenTelemetry.Counter;
} {
  const seconds = { unit: 's', advice: { explicitBucketBoundaries: [0.001, 0.005, 0.02, 0.1, 0.5, 2, 10, 60, 600] } };
  const bytes = { unit: 'By', advice: { explicitBucketBoundaries: [100, 1_000, 10_000, 50_000, 250_000, 1_000_000] } };
  return {
    calls: meter.createCounter('toolwright.calls', { description: 'Tool calls.', unit: '{call}' }),
    duration: meter.createHistogram('toolwright.call.duration', { description: 'The duration of calls.', ...seconds }),
    wait: meter.createHistogram('toolwright.call.wait', {
      description: 'How long calls waited for their provider and for approvals.',
      ...seconds,
    }),
    output: meter.createHistogram('toolwright.call.output', { description: 'The content of results.', ...bytes }),
  };
}
