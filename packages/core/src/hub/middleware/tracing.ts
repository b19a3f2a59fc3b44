// withTracing: one OpenTelemetry span for each call, by the conventions for generative AI.
// https://opentelemetry.io/docs/specs/semconv/gen-ai/gen-ai-spans/#execute-tool-span

import type * as OpenTelemetry from '@opentelemetry/api';
import type { Attributes, Context, Span, Tracer } from '@opentelemetry/api';
import type { JsonObject } from '../../contract/json.js';
import type { OptionNames } from '../../contract/options.js';
import { redactedText } from '../../contract/redacted-text.js';
import type { ToolResult } from '../../contract/result.js';
import type { ToolDefinition } from '../../contract/tool-definition.js';
import type { ToolSelection } from '../../provider/tool-selection.js';
import type { Middleware, MiddlewareCall, SettledCall } from './middleware.js';
import { contentBytes, INSTRUMENTATION, reportWithApi, withApi } from './open-telemetry.js';
import { assertMiddlewareOptions, isSelected } from './selected-tools.js';

/** Options of {@link withTracing}. */
export interface TracingOptions extends ToolSelection {
  /** Default: the tracer `@toolwright/core` of the global tracer provider. */
  tracer?: Tracer;
  /** Attributes that are added to the span of a call. What it throws fails the call with `INTERNAL`. Default: none. */
  attributes?: (call: MiddlewareCall) => Attributes;
}

const OPTIONS: OptionNames<TracingOptions> = { tracer: 'object', attributes: 'function', include: true, exclude: true };

/** Version 00 of W3C's trace context: https://www.w3.org/TR/trace-context/#traceparent-header */
const TRACEPARENT = /^[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/;

/**
 * A middleware that records one span `execute_tool NAME` for each call, from the verdict of the policy to the final result,
 * and one for each call that ends before that. The span is the active one while the tool runs, and its `traceparent` is sent to
 * the provider in `meta` (`_meta` of MCP). Its parent is the active span, or else the `traceparent` in the caller's `meta`.
 *
 * Arguments and results are never recorded; secrets in error messages are redacted. Put it first, so that it sees what the
 * other middlewares do.
 *
 * @throws {ToolError} INVALID_ARGUMENT for a wrong option
 */
export function withTracing(options: TracingOptions = {}): Middleware {
  assertMiddlewareOptions('withTracing()', options, OPTIONS, {});
  const spans = new WeakMap<MiddlewareCall, Span>();
  const tracerOf = (api: typeof OpenTelemetry): Tracer => options.tracer ?? api.trace.getTracer(INSTRUMENTATION);

  const run: Middleware = async (call, next) => {
    if (!isSelected(call, options)) return next();
    return withApi((api) => {
      const parent = parentOf(api, call.meta);
      let span = call.previous && spans.get(call.previous);
      if (!span) {
        const attributes = { ...attributesOf(call.tool, call), ...options.attributes?.(call) };
        span = tracerOf(api).startSpan(nameOf(call.tool), { attributes }, parent);
        span.setAttribute('toolwright.wait_ms', call.waitedMs);
      }
      spans.set(call, span);
      const meta = metaOf(span);
      if (meta) call.addMeta(meta);
      return api.context.with(api.trace.setSpan(parent, span), next);
    });
  };

  const onSettled = (settled: SettledCall): void => {
    const { call, tool, result } = settled;
    if (tool && !isSelected({ name: tool.name }, options)) return;
    reportWithApi((api) => {
      let span = call && spans.get(call);
      if (!span) {
        const startTime = Date.now() - result.durationMs;
        const attributes = attributesOf(tool, settled);
        span = tracerOf(api).startSpan(nameOf(tool), { attributes, startTime }, parentOf(api, settled.meta));
      }
      end(span, result);
    });
  };
  return Object.assign(run, { onSettled });
}

/** The name of an unknown tool is the caller's text, and is not recorded. */
function nameOf(tool: ToolDefinition | undefined): string {
  return tool ? `execute_tool ${tool.name}` : 'execute_tool';
}

function attributesOf(
  tool: ToolDefinition | undefined,
  call: Pick<SettledCall, 'provider' | 'callId'>,
): Record<string, string> {
  return {
    'gen_ai.operation.name': 'execute_tool',
    'gen_ai.tool.call.id': call.callId,
    ...(tool && { 'gen_ai.tool.name': tool.name, 'gen_ai.tool.type': 'function', 'toolwright.tool': tool.name }),
    ...(call.provider !== undefined && { 'toolwright.provider': call.provider }),
  };
}

function end(span: Span, { error, content }: Readonly<ToolResult>): void {
  span.setAttribute('toolwright.outcome', error?.code ?? 'ok');
  span.setAttribute('toolwright.output_bytes', contentBytes(content));
  if (error) {
    span.setAttribute('error.type', error.code);
    span.setStatus({ code: 2 satisfies OpenTelemetry.SpanStatusCode.ERROR, message: redactedText(error.message) });
  }
  span.end();
}

/** The active context if it has a span, else one with the caller's `traceparent`. */
function parentOf(api: typeof OpenTelemetry, meta: JsonObject | undefined): Context {
  const active = api.context.active();
  const { traceparent, tracestate } = meta ?? {};
  const parts = typeof traceparent === 'string' ? TRACEPARENT.exec(traceparent) : null;
  if (!parts || api.trace.getSpan(active)) return active;
  const [, traceId = '', spanId = '', flags = ''] = parts;
  const spanContext = {
    traceId,
    spanId,
    traceFlags: parseInt(flags, 16) & 1,
    isRemote: true,
    ...(typeof tracestate === 'string' && { traceState: api.createTraceState(tracestate) }),
  };
  return api.isSpanContextValid(spanContext) ? api.trace.setSpanContext(active, spanContext) : active;
}

/** The trace context of a span as MCP's `_meta` has it; undefined for a span that is not recorded. */
function metaOf(span: Span): JsonObject | undefined {
  const { traceId, spanId, traceFlags, traceState } = span.spanContext();
  if (/^0*$/.test(traceId)) return undefined;
  const state = traceState?.serialize();
  return {
    traceparent: `00-${traceId}-${spanId}-${(traceFlags & 0xff).toString(16).padStart(2, '0')}`,
    ...(state !== undefined && state !== '' && { tracestate: state }),
  };
}
