// What a gateway and its provider send in MCP 2026-07-28, validated by the revision's own schema.

import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { MCPToolProvider, type McpTransport } from '@toolwright/core/mcp';
import { createGateway } from '@toolwright/gateway';
import { expect, it } from 'vitest';
import { frameValidator, type Frame } from '../../core/test/mcp/fixtures/protocol-schema.js';
import { serveModernEverything } from './fixtures/modern-everything.js';

/** Each message with the method that it answers, in both directions. */
class Frames {
  readonly all: { frame: Frame; answers: string | undefined }[] = [];
  readonly #methods = new Map<unknown, string>();

  add(message: unknown): void {
    const frame = structuredClone(message) as Frame;
    if (typeof frame.method === 'string' && 'id' in frame) this.#methods.set(frame.id, frame.method);
    this.all.push({ frame, answers: frame.method === undefined ? this.#methods.get(frame.id) : undefined });
  }

  /** The methods, and the answers as `=method`, each once. */
  get kinds(): Set<string> {
    return new Set(this.all.map(({ frame, answers }) => (frame.method as string | undefined) ?? `=${answers}`));
  }
}

/** The transport of a URL, with what it sends and receives added to `frames`. */
function noted(url: string, frames: Frames): McpTransport {
  const inner = new StreamableHTTPClientTransport(new URL(url)) as McpTransport;
  const outer: McpTransport = {
    start: () => {
      inner.onclose = () => outer.onclose?.();
      inner.onerror = (error) => outer.onerror?.(error);
      inner.onmessage = (message) => {
        frames.add(message);
        outer.onmessage?.(message);
      };
      return inner.start();
    },
    send: (message, options) => {
      frames.add(message);
      return inner.send(message, options);
    },
    close: () => inner.close(),
    setProtocolVersion: (version) => inner.setProtocolVersion?.(version),
  };
  return outer;
}

it('createGateway() and MCPToolProvider send only messages that the schema of 2026-07-28 permits', async () => {
  await using server = await serveModernEverything();
  const upstream = new Frames();
  const downstream = new Frames();
  await using provider = new MCPToolProvider({ name: 'm', transport: () => noted(server.url, upstream) });
  await using gateway = createGateway(provider, { forward: true, naming: (name) => name.slice(name.indexOf('.') + 1) });
  const { url } = await gateway.serveHttp({ auth: 'none' });
  const client = new Client(
    { name: 'test', version: '1' },
    { versionNegotiation: { mode: 'auto' }, capabilities: { elicitation: { form: {} }, sampling: {}, roots: {} } },
  );
  client.setRequestHandler('elicitation/create', () => ({ action: 'accept', content: { name: 'Ada', ok: true } }));
  client.setRequestHandler('sampling/createMessage', () => ({
    role: 'assistant',
    content: { type: 'text', text: 'hi' },
    model: 'm',
  }));
  client.setRequestHandler('roots/list', () => ({ roots: [{ uri: 'file:///project' }] }));
  await client.connect(noted(url, downstream));
  expect(client.getProtocolEra()).toBe('modern');
  const { tools } = await client.listTools();
  expect(tools.length).toBeGreaterThan(10);
  const call = (name: string, args = {}): Promise<unknown> =>
    client.callTool({ name, arguments: args }, { onprogress: () => undefined }).catch((error: unknown) => error);
  for (const name of [
    'test_simple_text',
    'test_multiple_content_types',
    'test_structured',
    'test_error_handling',
    'test_tool_with_progress',
    'test_input_required_result_elicitation',
    'test_input_required_result_multiple_inputs',
    'test_missing',
  ])
    await call(name);
  await call('test_header_tool', { region: 'Zürich', level: 3 });
  await client.listResources();
  await client.listResourceTemplates();
  await client.readResource({ uri: 'test://static-text' });
  await client.readResource({ uri: 'test://none' }).catch(() => undefined);
  await client.listPrompts();
  await client.getPrompt({ name: 'test_input_required_result_prompt' }).catch(() => undefined);
  await client.complete({
    ref: { type: 'ref/prompt', name: 'test_simple_prompt' },
    argument: { name: 'a', value: 'pa' },
  });
  const subscription = await client.listen({ toolsListChanged: true });
  await subscription.close();
  await client.close();
  const validate = frameValidator('2026-07-28');
  const faults = [...upstream.all, ...downstream.all].map(({ frame, answers }) => validate(frame, answers));
  expect(faults.filter(Boolean)).toEqual([]);
  for (const kind of [
    'server/discover',
    'tools/call',
    '=tools/call',
    'notifications/progress',
    'prompts/get',
    '=prompts/get',
  ])
    for (const frames of [upstream, downstream]) expect(frames.kinds).toContain(kind);
  expect(downstream.kinds).toContain('notifications/subscriptions/acknowledged');
}, 30_000);
