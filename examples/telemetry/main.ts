// Traces and metrics of tool calls. An engine installs an OpenTelemetry SDK with its exporter; here they stay in memory.

import assert from 'node:assert/strict';
import { InMemorySpanExporter, BasicTracerProvider, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base';
import { InProcessToolProvider, ToolHub, withMetrics, withTracing } from '@toolwright/core';
import { createTestProject } from '@toolwright/core/testing';

await using project = await createTestProject({ 'notes.md': 'The deploy runs on Fridays.\n' });
const { projectDir } = project;
const exporter = new InMemorySpanExporter();
const sdk = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
const tracer = sdk.getTracer('my-engine');

await using hub = new ToolHub({
  providers: [InProcessToolProvider.forProject(projectDir)],
  middleware: [withTracing({ tracer }), withMetrics()], // without options: the tracer and meter that the SDK registered
});
await hub.callTool('filesystem.read_file', { path: 'notes.md' });
await hub.callTool('filesystem.read_file', { path: 'missing.md' });

for (const { name, attributes } of exporter.getFinishedSpans()) console.log(name, attributes['toolwright.outcome']);

const outcomes = exporter.getFinishedSpans().map(({ attributes }) => attributes['toolwright.outcome']);
assert.deepEqual(outcomes, ['ok', 'NOT_FOUND']);
