// Every frame that the gateway and MCPToolProvider send in a session with all that the protocol has is held against the
// protocol's own JSON Schema, of the revision that was agreed on.

import { PassThrough } from 'node:stream';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
  PromptListChangedNotificationSchema,
  ToolListChangedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { InProcessToolProvider, ToolHub } from '@toolwright/core';
import { MCPToolProvider, type McpTransport } from '@toolwright/core/mcp';
import { createGateway } from '@toolwright/gateway';
import { expect, it } from 'vitest';
import { echoTools } from '../fixtures/echo-tools.js';
import { everythingServer } from '../fixtures/everything-server.js';
import { frameValidator, type Frame, type Revision } from '../../../core/test/mcp/fixtures/protocol-schema.js';

/** The frames of one connection, from the side that is validated. */
class Wire {
  readonly sent: { frame: Frame; answers: string | undefined }[] = [];
  readonly #methods = new Map<unknown, string>();

  /** A frame of the other side: its requests say what an answer must be. */
  receive(frame: Frame): void {
    if (typeof frame.method === 'string' && 'id' in frame) this.#methods.set(frame.id, frame.method);
  }

  send(frame: Frame): void {
    const answers = frame.method === undefined ? this.#methods.get(frame.id) : undefined;
    this.sent.push({ frame, answers });
  }

  /** The methods, and the answers as `=method`, each once. */
  get kinds(): string[] {
    const kind = ({ frame, answers }: Wire['sent'][number]): string =>
      (frame.method as string | undefined) ?? `${frame.error ? '!' : '='}${answers}`;
    return [...new Set(this.sent.map(kind))].sort();
  }
}

/** The handshake as it is between two sides that know nothing newer. */
function agreeing(revision: Revision, frame: Frame): Frame {
  const inside = (frame.params ?? frame.result) as Frame | undefined;
  if (inside?.protocolVersion === undefined) return frame;
  const agreed = { ...inside, protocolVersion: revision };
  return frame.params ? { ...frame, params: agreed } : { ...frame, result: agreed };
}

/** A transport of the SDK whose messages are noted: `sent` goes out, `received` comes in. */
function noted(
  inner: McpTransport,
  revision: Revision,
  note: { sent: (frame: Frame) => void; received: (frame: Frame) => void },
): McpTransport {
  const outer: McpTransport = {
    start: () => {
      inner.onmessage = (message) => {
        const frame = agreeing(revision, message as Frame);
        note.received(frame);
        outer.onmessage?.(frame);
      };
      inner.onclose = () => outer.onclose?.();
      return inner.start();
    },
    send: (message, options) => {
      const frame = agreeing(revision, JSON.parse(JSON.stringify(message)) as Frame);
      note.sent(frame);
      return inner.send(frame, options);
    },
    close: () => inner.close(),
  };
  return outer;
}

it.each(['2025-11-25', '2025-06-18'] as const)(
  'createGateway() and MCPToolProvider send only messages that match the schema of %s',
  async (revision) => {
    const upstream = new Wire();
    const downstream = new Wire();
    const everything = new MCPToolProvider({
      name: 'everything',
      protocol: 'legacy', // the probe of the other era is no message of this revision
      transport: async () => {
        const [here, there] = InMemoryTransport.createLinkedPair();
        await everythingServer().connect(there);
        return noted(here, revision, {
          sent: (frame) => upstream.send(frame),
          received: (frame) => upstream.receive(frame),
        });
      },
    });
    const own = new InProcessToolProvider({ servers: [echoTools()] });
    await using hub = new ToolHub({
      providers: [everything, own],
      policy: { default: 'allow', rules: [{ tool: 'echo.back', action: 'ask' }] },
    });
    await using gateway = createGateway(hub, { forward: true });
    const [stdin, stdout] = [new PassThrough(), new PassThrough()];
    await gateway.serveStdio({ stdin, stdout });

    const client = new Client(
      { name: 'peer', version: '1' },
      { capabilities: { elicitation: {}, sampling: {}, roots: {} } },
    );
    client.setRequestHandler(ElicitRequestSchema, ({ params }) => {
      const { properties } = (params as { requestedSchema: { properties: object } }).requestedSchema;
      return { action: 'accept', content: 'decision' in properties ? { decision: 'once' } : {} };
    });
    client.setRequestHandler(CreateMessageRequestSchema, () => ({
      role: 'assistant',
      model: 'm',
      content: { type: 'text', text: 'sampled' },
    }));
    client.setRequestHandler(ListRootsRequestSchema, () => ({ roots: [{ uri: 'file:///x' }] }));
    const transport = noted(new StdioServerTransport(stdout, stdin), revision, {
      sent: (frame) => downstream.receive(frame),
      received: (frame) => downstream.send(frame),
    });
    await client.connect(transport);

    const { tools } = await client.listTools();
    await client.setLoggingLevel('debug');
    await client.ping();
    const { resources } = await client.listResources();
    await client.listResourceTemplates();
    await client.subscribeResource({ uri: 'test://watched-resource' });
    for (const { uri } of resources) await client.readResource({ uri });
    await client.readResource({ uri: 'test://template/1/data' });
    await expect(client.readResource({ uri: 'test://nothing' })).rejects.toThrow();
    const { prompts } = await client.listPrompts();
    for (const { name } of prompts) {
      const named = { arg1: 'a', arg2: 'b', resourceUri: 'test://static-text' };
      await client.getPrompt({ name, arguments: named });
    }
    const ref = { type: 'ref/prompt' as const, name: 'everything__test_prompt_with_arguments' };
    await client.complete({ ref, argument: { name: 'arg1', value: 'par' } });
    const changed = [ToolListChangedNotificationSchema, PromptListChangedNotificationSchema].map(
      (schema) => new Promise<void>((resolve) => client.setNotificationHandler(schema as never, () => resolve())),
    );
    const stuck = ['until_cancelled', 'until_aborted', 'unsayable'];
    // A server that asks with what came later breaks an older revision by itself.
    if (revision === '2025-06-18') stuck.push('test_elicitation_sep1330_enums');
    for (const { name } of tools) {
      if (stuck.some((other) => name.endsWith(other))) continue;
      const args = { prompt: 'p', message: 'm', text: 't' };
      await client.callTool({ name, arguments: args }, undefined, { onprogress: () => undefined });
    }
    await Promise.all(changed);
    await client.unsubscribeResource({ uri: 'test://watched-resource' });
    await expect(client.callTool({ name: 'nothing' })).rejects.toThrow();
    await expect(client.callTool({ name: 'echo__unsayable' })).rejects.toThrow();
    const controller = new AbortController();
    const options = { signal: controller.signal, onprogress: () => controller.abort() };
    const cancelled = client.callTool({ name: 'everything__until_cancelled' }, undefined, options);
    await expect(cancelled).rejects.toThrow();
    await client.ping();
    await client.close();

    const validate = frameValidator(revision);
    const faults = [upstream, downstream].flatMap(({ sent }) =>
      sent.map(({ frame, answers }) => validate(frame, answers)),
    );
    expect(faults.filter(Boolean)).toEqual([]);
    // The session was as broad as it claims to be.
    expect(upstream.kinds).toEqual([
      '=elicitation/create',
      '=roots/list',
      '=sampling/createMessage',
      'completion/complete',
      'initialize',
      'notifications/cancelled',
      'notifications/initialized',
      'prompts/get',
      'prompts/list',
      'resources/list',
      'resources/read',
      'resources/subscribe',
      'resources/templates/list',
      'resources/unsubscribe',
      'tools/call',
      'tools/list',
    ]);
    expect(downstream.kinds).toEqual([
      '!resources/read',
      '!tools/call',
      '=completion/complete',
      '=initialize',
      '=logging/setLevel',
      '=ping',
      '=prompts/get',
      '=prompts/list',
      '=resources/list',
      '=resources/read',
      '=resources/subscribe',
      '=resources/templates/list',
      '=resources/unsubscribe',
      '=tools/call',
      '=tools/list',
      'elicitation/create',
      'notifications/message',
      'notifications/progress',
      'notifications/prompts/list_changed',
      'notifications/resources/list_changed',
      'notifications/resources/updated',
      'notifications/tools/list_changed',
      'roots/list',
      'sampling/createMessage',
    ]);
  },
);

it('frameValidator() finds invalid messages', () => {
  const validate = frameValidator('2025-11-25');
  const ok = { jsonrpc: '2.0', id: 1, result: { content: [] } };
  expect(validate(ok, 'tools/call')).toBeUndefined();
  expect(validate({ ...ok, result: { content: [{ type: 'text' }] } }, 'tools/call')).toContain('CallToolResult');
  expect(validate({ ...ok, jsonrpc: '1.0' }, 'tools/call')).toContain('JSONRPCMessage');
  expect(validate({ jsonrpc: '2.0', method: 'notifications/nothing' })).toContain('no known kind');
  expect(validate({ jsonrpc: '2.0', id: 2, method: 'tools/call', params: {} })).toContain('CallToolRequest');
});
