// withTracing() and withMetrics() with OpenTelemetry's SDK: the spans and measurements of calls of every kind and outcome, the
// trace context that providers receive, and what is never recorded.

import { context, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { AggregationTemporality, InMemoryMetricExporter, MeterProvider, PeriodicExportingMetricReader } from '@opentelemetry/sdk-metrics'; // prettier-ignore
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  defineServer,
  defineTool,
  InProcessToolProvider,
  textOf,
  ToolError,
  ToolHub,
  withCache,
  withMetrics,
  withRetry,
  withTracing,
  type HubOptions,
  type ToolProvider,
} from '../../../src/index.js';
import { MCPToolProvider } from '../../../src/mcp/index.js';
import { serveSocket } from '../../mcp/serve.js';
import { serveModern } from '../../mcp/serve-modern.js';

const manager = new AsyncLocalStorageContextManager();
beforeAll(() => {
  manager.enable();
  context.setGlobalContextManager(manager);
});
afterAll(() => {
  context.disable();
});

function tracing() {
  const exporter = new InMemorySpanExporter();
  const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
  return { tracer: provider.getTracer('test'), spans: () => exporter.getFinishedSpans() };
}

/** A server whose tools report what they were called with, and fail in several ways. */
function tools(calls: { hub?: ToolHub } = {}): ToolProvider {
  const input = { type: 'object', additionalProperties: true } as const;
  let failures = 0;
  const server = defineServer({
    name: 'lab',
    version: '1',
    tools: [
      defineTool({ name: 'meta', description: 'Returns its meta.', input, annotations: { readOnlyHint: true }, execute: (_args, ctx) => JSON.stringify(ctx.meta ?? {}) }), // prettier-ignore
      defineTool({ name: 'fail', description: 'Fails.', input, execute: () => Promise.reject(new Error('password=hunter2-x failed')) }), // prettier-ignore
      defineTool({ name: 'hang', description: 'Hangs.', input, execute: () => new Promise<string>(() => undefined) }),
      defineTool({ name: 'busy', description: 'Fails once.', input, execute: () => { if (failures++ === 0) throw new ToolError('BUSY', 'busy'); return 'ok'; } }), // prettier-ignore
      defineTool({ name: 'nest', description: 'Calls another.', input, execute: async (_args, ctx) => { await calls.hub?.callTool('lab.meta', {}, ctx.nested); return 'nested'; } }), // prettier-ignore
    ],
  });
  return new InProcessToolProvider({ servers: [server], logger: SILENT });
}
const SILENT = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };

function traced(options: HubOptions = {}) {
  const { tracer, spans } = tracing();
  const calls: { hub?: ToolHub } = {};
  const hub = new ToolHub({ providers: [tools(calls)], ...options, middleware: [withTracing({ tracer }), ...(options.middleware ?? [])] }); // prettier-ignore
  calls.hub = hub;
  return { hub, tracer, spans };
}

describe('withTracing()', () => {
  it('records one span for a call, with the names of the conventions and ours, and its outcome', async () => {
    const { hub, spans } = traced();
    await hub.callTool('lab.meta', { secret: 'x' }, { callId: 'call-1' });
    const [span, ...others] = spans();
    expect(others).toEqual([]);
    expect(span?.name).toBe('execute_tool lab.meta');
    expect(span?.attributes).toEqual({
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.tool.call.id': 'call-1',
      'gen_ai.tool.name': 'lab.meta',
      'gen_ai.tool.type': 'function',
      'toolwright.tool': 'lab.meta',
      'toolwright.provider': expect.any(String) as string,
      'toolwright.wait_ms': expect.any(Number) as number,
      'toolwright.outcome': 'ok',
      'toolwright.output_bytes': expect.any(Number) as number,
    });
    expect(span?.status.code).toBe(0);
  });

  it.each<[string, string, string, string | undefined]>([
    ['fails', 'lab.fail', 'EXECUTION_FAILED', 'execute_tool lab.fail'],
    ['hangs until its deadline', 'lab.hang', 'TIMED_OUT', 'execute_tool lab.hang'],
    ['is denied', 'lab.busy', 'PERMISSION_DENIED', 'execute_tool lab.busy'],
    ['is unknown', 'lab.password=hunter2-x', 'TOOL_NOT_FOUND', 'execute_tool'],
  ])('records one span for a call that %s, with the code and no secret', async (_what, tool, code, name) => {
    const { hub, spans } = traced({
      policy: { default: 'allow', rules: [{ tool: 'lab.busy', pattern: 'busy*', action: 'deny' }] },
    });
    const result = await hub.callTool(tool, { token: 'abcd1234' }, { timeoutMs: 50 });
    expect(result.error?.code).toBe(code);
    await settled(() => spans().length > 0);
    expect(spans().map((span) => [span.name, span.attributes['error.type'], span.status.code])).toEqual([
      [name, code, 2],
    ]);
    expect(JSON.stringify(spans().map(({ attributes, status }) => [attributes, status]))).not.toMatch(
      /hunter2-x|abcd1234/,
    );
  });

  it('is the active span while the tool runs, so that nested calls are its children', async () => {
    const { hub, tracer, spans } = traced();
    const root = tracer.startSpan('turn');
    await context.with(trace.setSpan(context.active(), root), () => hub.callTool('lab.nest'));
    root.end();
    const [inner, outer] = spans();
    expect([inner?.name, outer?.name]).toEqual(['execute_tool lab.meta', 'execute_tool lab.nest']);
    expect(inner?.parentSpanContext?.spanId).toBe(outer?.spanContext().spanId);
    expect(outer?.parentSpanContext?.spanId).toBe(root.spanContext().spanId);
  });

  it("continues the trace in the caller's meta, and sends its own to the tool", async () => {
    const { hub, spans } = traced();
    const traceparent = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`;
    const result = await hub.callTool('lab.meta', {}, { meta: { traceparent, tracestate: 'v=1', other: 1 } });
    const span = spans()[0];
    expect(span?.spanContext().traceId).toBe('a'.repeat(32));
    expect(span?.parentSpanContext).toMatchObject({ spanId: 'b'.repeat(16), isRemote: true });
    expect(JSON.parse(textOf(result))).toEqual({
      traceparent: `00-${'a'.repeat(32)}-${span?.spanContext().spanId ?? ''}-01`,
      tracestate: 'v=1',
      other: 1,
    });
  });

  it.each(['', '00-0-0-0', `00-${'0'.repeat(32)}-${'b'.repeat(16)}-01`, 7])(
    'ignores the traceparent %j',
    async (traceparent) => {
      const { hub, spans } = traced();
      await hub.callTool('lab.meta', {}, { meta: { traceparent } });
      expect(spans()[0]?.parentSpanContext).toBeUndefined();
    },
  );

  it('has one span for a call that is repeated, and for one that the cache answers', async () => {
    const { hub, spans } = traced({ middleware: [withRetry({ delayMs: 1 }), withCache({ include: ['lab.meta'] })] });
    await hub.callTool('lab.busy');
    await hub.callTool('lab.meta');
    await hub.callTool('lab.meta');
    expect(spans().map(({ attributes }) => attributes['toolwright.outcome'])).toEqual(['ok', 'ok', 'ok']);
  });

  it('sends nothing and changes nothing without an OpenTelemetry SDK', async () => {
    await using hub = new ToolHub({ providers: [tools()], middleware: [withTracing(), withMetrics()] });
    expect(textOf(await hub.callTool('lab.meta'))).toBe('{}');
  });

  it('adds the attributes of an option, and traces the selected tools only', async () => {
    const { tracer, spans } = tracing();
    const middleware = [
      withTracing({ tracer, exclude: ['lab.fail'], attributes: ({ tool }) => ({ title: tool.name.length }) }),
    ];
    await using hub = new ToolHub({ providers: [tools()], middleware });
    await hub.callTool('lab.fail');
    await hub.callTool('lab.meta');
    expect(spans().map(({ name, attributes }) => [name, attributes['title']])).toEqual([['execute_tool lab.meta', 8]]);
  });

  it('sends the trace context to MCP servers of both eras, with one span each', async () => {
    const { tracer, spans } = tracing();
    const old = await serveSocket(tools());
    await using modern = await serveModern('socket');
    await using hub = new ToolHub({
      providers: [
        new MCPToolProvider({ name: 'old', socketPath: old.path }),
        new MCPToolProvider({ name: 'modern', ...modern.place }),
      ],
      middleware: [withTracing({ tracer })],
    });
    await hub.connect();
    const seen = [...(await hub.listTools())].map(({ name }) => name);
    const meta = seen.find((name) => name.endsWith('meta')) ?? '';
    const received = [
      JSON.parse(textOf(await hub.callTool(meta))) as { traceparent?: string },
      (await hub.callTool('modern.echo', { text: 'x' }), modern.state.metas.at(-1)) as { traceparent?: string },
    ];
    expect(spans().map(({ attributes }) => attributes['toolwright.outcome'])).toEqual(['ok', 'ok']);
    for (const [index, span] of spans().entries()) {
      const { traceId, spanId } = span.spanContext();
      expect(received[index]?.traceparent).toBe(`00-${traceId}-${spanId}-01`);
    }
    await hub.disconnect();
    await old.close();
  });
});

describe('withMetrics()', () => {
  it('counts and measures calls by tool, provider and outcome, also those that are refused', async () => {
    const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
    const reader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 3_600_000 });
    const provider = new MeterProvider({ readers: [reader] });
    await using hub = new ToolHub({
      providers: [tools()],
      middleware: [withMetrics({ meter: provider.getMeter('test') })],
      policy: { default: 'allow', rules: [{ tool: 'lab.busy', pattern: 'busy*', action: 'deny' }] },
    });
    await hub.callTool('lab.meta');
    await hub.callTool('lab.meta');
    await hub.callTool('lab.fail');
    await hub.callTool('lab.busy');
    await hub.callTool('lab.none');
    await provider.forceFlush();
    const metrics = exporter.getMetrics()[0]?.scopeMetrics[0]?.metrics ?? [];
    const pointsOf = (name: string) =>
      metrics
        .find(({ descriptor }) => descriptor.name === name)
        ?.dataPoints.map(({ attributes, value }) => [
          attributes['gen_ai.tool.name'],
          attributes['toolwright.outcome'],
          typeof value === 'number' ? value : value.count,
        ]);
    const expected = [
      ['lab.meta', 'ok', 2],
      ['lab.fail', 'EXECUTION_FAILED', 1],
      ['lab.busy', 'PERMISSION_DENIED', 1],
      [undefined, 'TOOL_NOT_FOUND', 1],
    ];
    expect(pointsOf('toolwright.calls')).toEqual(expected);
    expect(pointsOf('toolwright.call.duration')).toEqual(expected);
    expect(pointsOf('toolwright.call.output')).toEqual(expected);
    expect(pointsOf('toolwright.call.wait')).toEqual(expected.slice(0, 2)); // only of calls that ran
    await provider.shutdown();
  });
});

describe('withTracing() and withMetrics() options', () => {
  it.each([{ tracers: 1 }, { include: 'x' }])('reject %j', (options) => {
    expect(() => withTracing(options as never)).toThrow(ToolError);
    expect(() => withMetrics(options as never)).toThrow(ToolError);
  });
});

/** Waits for what the first span's loading of the API delays. */
async function settled(isSettled: () => boolean): Promise<void> {
  for (let turn = 0; turn < 1_000 && !isSettled(); turn++) await new Promise(setImmediate);
}
