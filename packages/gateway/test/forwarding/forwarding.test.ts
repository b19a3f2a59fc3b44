// What two MCP servers offer beyond tools, forwarded by a gateway to clients over streams and HTTP.

import { PassThrough } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
  LoggingMessageNotificationSchema,
  PromptListChangedNotificationSchema,
  ListResourceTemplatesRequestSchema,
  ResourceListChangedNotificationSchema,
  ResourceUpdatedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { InProcessToolProvider, ToolHub } from '@toolwright/core';
import { deferred } from '@toolwright/core/internal';
import { MCPToolProvider } from '@toolwright/core/mcp';
import { createGateway } from '@toolwright/gateway';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { echoTools } from '../fixtures/echo-tools.js';
import { forwardedServer, type ForwardedServer } from '../fixtures/forwarded-server.js';

const ends: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

interface Served {
  one: ForwardedServer;
  two: ForwardedServer;
  warnings: string[];
  connect: (capabilities?: object) => Promise<Client>;
}

async function serve(
  transport: 'stdio' | 'http',
  forward = true,
  options: { callTimeoutMs?: number } = {},
): Promise<Served> {
  const one = forwardedServer('one', ['shared://a', 'one://b'], options);
  const two = forwardedServer('two', ['two://c', 'shared://a']);
  const tools = new InProcessToolProvider({ servers: [echoTools()] });
  const hub = new ToolHub({ providers: [one.provider, tools, two.provider] });
  const warnings: string[] = [];
  const logger = { debug() {}, info() {}, error() {}, warn: (message: string) => void warnings.push(message) };
  const gateway = createGateway(hub, { forward, logger });
  ends.push(
    () => hub.disconnect(),
    () => gateway.close(),
  );
  const http = transport === 'http' ? await gateway.serveHttp() : undefined;
  const connect = async (capabilities: object = {}): Promise<Client> => {
    const client = new Client({ name: 'peer', version: '1' }, { capabilities });
    ends.push(() => client.close());
    if (http) {
      const requestInit = { headers: { authorization: `Bearer ${http.token}` } };
      await client.connect(new StreamableHTTPClientTransport(new URL(http.url), { requestInit }));
    } else {
      const [stdin, stdout] = [new PassThrough(), new PassThrough()];
      const { close } = await gateway.serveStdio({ stdin, stdout });
      ends.push(close);
      await client.connect(new StdioServerTransport(stdout, stdin));
    }
    return client;
  };
  return { one, two, warnings, connect };
}

const textOf = (result: unknown): unknown => JSON.parse((result as { content: { text: string }[] }).content[0]!.text);

describe.each(['stdio', 'http'] as const)('Forwarding over %s', (transport) => {
  it('reads a URI of a template from the first server with a matching template', async () => {
    const { connect, two } = await serve(transport);
    two.server.setRequestHandler(ListResourceTemplatesRequestSchema, () => ({
      resourceTemplates: ['one://things/private{id}', 'one://{+any}', '{+any}'].map((uriTemplate, index) => ({
        uriTemplate,
        name: `t${index}`,
      })),
    }));
    const client = await connect();
    for (const uri of ['one://things/private1', 'one://things/2'])
      expect((await client.readResource({ uri })).contents[0]).toMatchObject({ text: 'from one' });
    expect((await client.readResource({ uri: 'one://else' })).contents[0]).toMatchObject({ text: 'from two' });
  });

  it('lists resources, templates and prompts of all servers, each URI once, for the first server', async () => {
    const { connect, warnings } = await serve(transport);
    const client = await connect();
    const { resources } = await client.listResources();
    expect(resources.map(({ uri, name }) => [uri, name])).toEqual([
      ['one://b', 'one one://b'],
      ['shared://a', 'one shared://a'],
      ['two://c', 'two two://c'],
    ]);
    expect(warnings.filter((line) => line.includes('shared://a'))).toHaveLength(1);
    const { resourceTemplates } = await client.listResourceTemplates();
    expect(resourceTemplates.map(({ uriTemplate }) => uriTemplate)).toEqual(['one://things/{id}', 'two://things/{id}']);
    expect((await client.listPrompts()).prompts.map(({ name }) => name)).toEqual(['one__greet', 'two__greet']);
  });

  it('sends reads, prompt requests and completions to the owning server', async () => {
    const { connect } = await serve(transport);
    const client = await connect();
    const read = async (uri: string): Promise<unknown> => (await client.readResource({ uri })).contents[0];
    expect(await read('shared://a')).toEqual({ uri: 'shared://a', text: 'from one' });
    expect(await read('two://c')).toEqual({ uri: 'two://c', text: 'from two' });
    expect(await read('two://things/9')).toEqual({ uri: 'two://things/9', text: 'from two' });
    await expect(read('two://things/missing')).rejects.toMatchObject({ code: -32002 });
    await expect(read('three://x')).rejects.toMatchObject({ code: -32002 });
    const prompt = await client.getPrompt({ name: 'two__greet', arguments: { who: 'you' } });
    expect(prompt.messages[0]?.content).toEqual({ type: 'text', text: 'two.greet you' });
    await expect(client.getPrompt({ name: 'greet' })).rejects.toMatchObject({ code: -32602 });
    const argument = { name: 'who', value: 'y' };
    const complete = async (ref: object): Promise<unknown> =>
      (await client.complete({ ref, argument } as never)).completion.values;
    expect(await complete({ type: 'ref/prompt', name: 'two__greet' })).toEqual(['two:greet:y']);
    expect(await complete({ type: 'ref/resource', uri: 'one://things/{id}' })).toEqual(['one:one://things/{id}:y']);
  });

  it('subscribes once per resource, and notifies the subscribed clients', async () => {
    const { connect, two } = await serve(transport);
    const [first, second, third] = [await connect(), await connect(), await connect()];
    const received: string[] = [];
    let all: () => void = () => undefined;
    for (const [index, client] of [first, second, third].entries()) {
      client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => {
        received.push(`${index} ${params.uri}`);
        if (received.length === 2) all();
      });
    }
    await first.subscribeResource({ uri: 'two://c' });
    await second.subscribeResource({ uri: 'two://c' });
    expect(two.subscribed).toEqual(['+two://c']);
    const allNotified = new Promise<void>((resolve) => (all = resolve));
    await two.server.sendResourceUpdated({ uri: 'two://c' });
    await allNotified;
    await third.ping();
    expect(received.sort()).toEqual(['0 two://c', '1 two://c']);
    await first.unsubscribeResource({ uri: 'two://c' });
    expect(two.subscribed).toEqual(['+two://c']);
    await second.unsubscribeResource({ uri: 'two://c' });
    expect(two.subscribed).toEqual(['+two://c', '-two://c']);
  });

  it('forwards list changes, and reads the lists again', async () => {
    const { connect, one } = await serve(transport);
    const client = await connect();
    await client.listResources();
    const changed = [ResourceListChangedNotificationSchema, PromptListChangedNotificationSchema].map(
      (schema) => new Promise<void>((resolve) => client.setNotificationHandler(schema as never, () => resolve())),
    );
    await one.server.sendResourceListChanged();
    await one.server.sendPromptListChanged();
    await Promise.all(changed);
    expect((await client.listResources()).resources).toHaveLength(3);
  });

  it('forwards many equal notifications of one change as one', async () => {
    const { connect, one } = await serve(transport);
    const client = await connect();
    let received = 0;
    client.setNotificationHandler(ResourceListChangedNotificationSchema, () => void received++);
    await client.listResources();
    await Promise.all(Array.from({ length: 1_000 }, () => one.server.sendResourceListChanged()));
    await client.callTool({ name: 'one__say', arguments: {} });
    await client.callTool({ name: 'one__say', arguments: {} });
    await vi.waitUntil(() => received > 0);
    expect(received).toBeLessThan(100);
  });

  it("forwards a server's requests to the client whose call it answers", async () => {
    const { connect } = await serve(transport);
    const client = await connect({ elicitation: {}, sampling: {}, roots: {} });
    const other = await connect({ elicitation: {} });
    other.setRequestHandler(ElicitRequestSchema, () => {
      throw new Error('not its question');
    });
    client.setRequestHandler(ElicitRequestSchema, ({ params }) => ({
      action: 'accept',
      content: { said: params.message },
    }));
    client.setRequestHandler(CreateMessageRequestSchema, ({ params }) => ({
      role: 'assistant',
      model: 'm',
      content: { type: 'text', text: `sampled ${params.maxTokens}` },
    }));
    client.setRequestHandler(ListRootsRequestSchema, () => ({ roots: [{ uri: 'file:///x' }] }));
    const ask = async (args: object): Promise<unknown> =>
      textOf(await client.callTool({ name: 'one__ask', arguments: args as never }));
    const requestedSchema = { type: 'object', properties: { said: { type: 'string' } } };
    expect(await ask({ method: 'elicitation/create', message: 'hm?', requestedSchema })).toEqual({
      action: 'accept',
      content: { said: 'hm?' },
    });
    expect(await ask({ method: 'sampling/createMessage', messages: [], maxTokens: 7 })).toMatchObject({
      content: { text: 'sampled 7' },
    });
    expect(await ask({ method: 'roots/list' })).toEqual({ roots: [{ uri: 'file:///x' }] });
  });

  it("pauses the call's deadline while the client answers a server's request", async () => {
    const { connect } = await serve(transport, true, { callTimeoutMs: 300 });
    const client = await connect({ elicitation: {} });
    client.setRequestHandler(ElicitRequestSchema, async () => {
      await new Promise((resolve) => setTimeout(resolve, 700)); // a person thinks
      return { action: 'decline' };
    });
    const question = {
      method: 'elicitation/create',
      message: 'hm?',
      requestedSchema: { type: 'object', properties: {} },
    };
    expect(textOf(await client.callTool({ name: 'one__ask', arguments: question }))).toEqual({ action: 'decline' });
    const late = (await client.callTool({ name: 'one__never' })) as { isError: boolean; _meta: object };
    expect(late).toMatchObject({ isError: true, _meta: { 'toolwright/error': { code: 'TIMED_OUT' } } });
  });

  it('declines requests that belong to several clients, to none, or to one without the capability', async () => {
    const { connect, one } = await serve(transport);
    const [client, other] = [await connect({ roots: {} }), await connect({ roots: {} })];
    for (const each of [client, other])
      each.setRequestHandler(ListRootsRequestSchema, () => ({ roots: [{ uri: 'file:///secret' }] }));
    let here = 0;
    let go: () => void = () => undefined;
    const bothAreHere = new Promise<void>((resolve) => (go = resolve));
    one.beforeAsking = () => (++here === 2 && go(), bothAreHere);
    const call = { name: 'one__ask', arguments: { method: 'roots/list' } };
    const answers = (await Promise.all([client.callTool(call), other.callTool(call)])).map(textOf);
    expect(answers[0]).toMatchObject({ refused: -32600, why: expect.stringContaining('several') });
    expect(JSON.stringify(answers)).not.toContain('secret');
    await expect(one.server.listRoots()).rejects.toMatchObject({ code: -32600 });
    const sampling = { method: 'sampling/createMessage', messages: [], maxTokens: 1 };
    one.beforeAsking = () => Promise.resolve();
    expect(textOf(await client.callTool({ name: 'one__ask', arguments: sampling }))).toMatchObject({
      refused: -32601,
      why: expect.stringContaining('Declined'),
    });
  });

  it("forwards a server's log messages during a call to the calling client", async () => {
    const { connect } = await serve(transport);
    const [client, other] = [await connect(), await connect()];
    const received: unknown[] = [];
    for (const [index, each] of [client, other].entries())
      each.setNotificationHandler(
        LoggingMessageNotificationSchema,
        ({ params }) => void received.push([index, params.data]),
      );
    await client.callTool({ name: 'one__say' });
    await other.ping();
    expect(received).toEqual([[0, 'said by one']]);
  });

  it('does not happen without the option `forward`', async () => {
    const { connect } = await serve(transport, false);
    const client = await connect();
    expect(client.getServerCapabilities()).toEqual({ tools: { listChanged: true }, logging: {} });
    await expect(client.request({ method: 'resources/list' }, {} as never)).rejects.toMatchObject({
      code: -32601,
    });
  });
});

it('Forwarding ends the subscriptions of a client that disconnects', async () => {
  const { connect, one } = await serve('stdio');
  const client = await connect();
  const unsubscribed = new Promise<void>((resolve) => {
    const { push } = one.subscribed;
    one.subscribed.push = (line: string) => (line.startsWith('-') && resolve(), push.call(one.subscribed, line));
  });
  await client.subscribeResource({ uri: 'one://b' });
  await ends.pop()!(); // its stdin ends
  await unsubscribed;
  expect([...one.subscribed]).toEqual(['+one://b', '-one://b']);
});

it('Forwarding limits the length of a list and the number of subscriptions', async () => {
  const file = fileURLToPath(new URL('../fixtures/endless-lists.mjs', import.meta.url));
  await using server = new MCPToolProvider({ name: 'endless', command: process.execPath, args: [file] });
  const warnings: string[] = [];
  const logger = { debug() {}, info() {}, error() {}, warn: (message: string) => void warnings.push(message) };
  await using gateway = createGateway(server, { forward: true, logger });
  const [stdin, stdout] = [new PassThrough(), new PassThrough()];
  await gateway.serveStdio({ stdin, stdout });
  const client = new Client({ name: 'peer', version: '1' });
  let change = deferred();
  client.setNotificationHandler(ResourceListChangedNotificationSchema, () => change.resolve());
  await client.connect(new StdioServerTransport(stdout, stdin));
  const listed = async (): Promise<number> => {
    let count = 0;
    let cursor: string | undefined;
    do {
      const page = await client.listResources({ cursor });
      count += page.resources.length;
      cursor = page.nextCursor;
    } while (cursor !== undefined);
    return count;
  };
  let count = await listed();
  // On a slow machine the first lists are empty, and a change follows.
  for (; count === 0; count = await listed()) await change.promise.then(() => (change = deferred()));
  expect(count).toBe(670); // 64 Mi characters
  expect(warnings).toContain('"endless" lists too many resources: only the first 670 are forwarded.');
  expect(warnings).toContain('"endless" lists 1 resources of more than 131072 characters: they are not forwarded.');
  for (let at = 0; at < 1_000; at++) await client.subscribeResource({ uri: `t:${at}` });
  await expect(client.subscribeResource({ uri: 't:more' })).rejects.toMatchObject({ code: -32_050 });
  await client.unsubscribeResource({ uri: 't:1' });
  await client.subscribeResource({ uri: 't:more' });
  await expect(client.subscribeResource({ uri: `t:${'x'.repeat(10_000)}` })).rejects.toMatchObject({ code: -32_602 });
});
