// A server's request goes to the caller it belongs to: clients of gateways and the host, one after another and concurrently.

import {
  ElicitRequestSchema,
  LoggingMessageNotificationSchema,
  ResultSchema,
  SubscribeRequestSchema,
} from '@modelcontextprotocol/sdk/types.js';
import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { ToolHub } from '@toolwright/core';
import type { HostOffers } from '@toolwright/core/mcp';
import { createGateway, type Gateway } from '@toolwright/gateway';
import { supervise } from '@toolwright/runtime';
import { afterEach, describe, expect, it } from 'vitest';
import { connectClient } from '../fixtures/connect-client.js';
import { forwardedServer, type ForwardedServer } from '../fixtures/forwarded-server.js';

const ends: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

const QUESTION = { method: 'elicitation/create', message: 'hm?', requestedSchema: { type: 'object', properties: {} } };
const ask = { name: 'one__ask', arguments: QUESTION };
const textOf = (result: unknown): unknown => JSON.parse((result as { content: { text: string }[] }).content[0]!.text);

function serve(host: HostOffers = {}): { one: ForwardedServer; hub: ToolHub } {
  const one = forwardedServer('one', ['one://a'], host);
  const hub = new ToolHub({ providers: [one.provider] });
  ends.push(() => hub.disconnect());
  return { one, hub };
}

function gatewayOf(hub: ToolHub, forward = true): Gateway {
  const gateway = createGateway(hub, { forward });
  ends.push(() => gateway.close());
  return gateway;
}

/** A client that accepts every question, and notes it. */
async function acceptingClient(gateway: Gateway, requested: string[], name: string): Promise<Client> {
  const client = await connectClient(gateway, { elicitation: {} }, (made) =>
    made.setRequestHandler(ElicitRequestSchema, () => {
      requested.push(name);
      return { action: 'accept', content: { by: name } };
    }),
  );
  ends.push(() => client.close());
  return client;
}

/** Resolves in the server when so many calls of `ask` are there. */
function meeting(count: number): () => Promise<void> {
  let here = 0;
  let go: () => void = () => undefined;
  const all = new Promise<void>((resolve) => (go = resolve));
  return () => (++here === count && go(), all);
}

describe("Forwarding of a server's request", () => {
  it('goes only to the subscribing client when it comes during a subscription', async () => {
    const requested: string[] = [];
    const host = {
      elicitation: () => (requested.push('host'), Promise.resolve({ action: 'accept' as const, content: {} })),
    };
    const { one, hub } = serve(host);
    const client = await acceptingClient(gatewayOf(hub), requested, 'client');
    const { method, ...params } = QUESTION;
    one.server.setRequestHandler(SubscribeRequestSchema, async (_request, { sendRequest }) => {
      await sendRequest({ method, params }, ResultSchema);
      return {};
    });
    await client.subscribeResource({ uri: 'one://a' });
    expect(requested).toEqual(['client']);
  });

  it("is not forwarded to a client with a call in flight when it belongs to the host's call", async () => {
    const { one, hub } = serve();
    const requested: string[] = [];
    const client = await acceptingClient(gatewayOf(hub), requested, 'client');
    one.beforeAsking = meeting(2);
    const answers = await Promise.all([hub.callTool('one.ask', QUESTION), client.callTool(ask)]);
    expect(answers.map(textOf)).toEqual([
      { refused: -32600, why: expect.stringContaining('several') },
      { refused: -32600, why: expect.stringContaining('several') },
    ]);
    expect(requested).toEqual([]);
  });

  it("goes to the host's handler during a call of the host, and to the client during a client's call", async () => {
    const requested: string[] = [];
    const { hub } = serve({
      elicitation: () => (requested.push('host'), Promise.resolve({ action: 'accept', content: { by: 'host' } })),
    });
    const client = await acceptingClient(gatewayOf(hub), requested, 'client');
    expect(textOf(await client.callTool(ask))).toEqual({ action: 'accept', content: { by: 'client' } });
    expect(textOf(await hub.callTool('one.ask', QUESTION))).toEqual({ action: 'accept', content: { by: 'host' } });
    expect(requested).toEqual(['client', 'host']);
  });

  it("does not go to the host when it belongs to a client's call and the gateway does not forward", async () => {
    const requested: string[] = [];
    const { hub } = serve({
      elicitation: () => (requested.push('host'), Promise.resolve({ action: 'accept', content: {} })),
    });
    const client = await acceptingClient(gatewayOf(hub, false), requested, 'client');
    expect(textOf(await client.callTool(ask))).toMatchObject({ refused: -32601 });
    expect(requested).toEqual([]);
  });

  it('is not forwarded to the next caller when its call was cancelled', async () => {
    const { one, hub } = serve();
    const gateway = gatewayOf(hub);
    const requested: string[] = [];
    const first = await acceptingClient(gateway, requested, 'first');
    const second = await acceptingClient(gateway, requested, 'second');
    let here: () => void = () => undefined;
    let release: () => void = () => undefined;
    const arrived = new Promise<void>((resolve) => (here = resolve));
    one.beforeAsking = () => (here(), new Promise<void>((resolve) => (release = resolve)));
    const abort = new AbortController();
    const given = first.callTool(ask, undefined, { signal: abort.signal });
    await arrived;
    const askAnyway = release;
    abort.abort();
    await expect(given).rejects.toThrow();
    one.beforeAsking = () => (askAnyway(), Promise.resolve()); // the server goes on with the first call
    expect(textOf(await second.callTool(ask))).toMatchObject({ refused: -32600 });
    expect(requested).toEqual([]);
  });

  it('reaches a client when the gateway was created after the hub connected', async () => {
    const { one, hub } = serve();
    await hub.connect();
    expect(one.server.getClientCapabilities()).toEqual({});
    expect(textOf(await hub.callTool('one.ask', QUESTION))).toMatchObject({ refused: -32601 });
    const client = await acceptingClient(gatewayOf(hub), [], 'client');
    expect(textOf(await client.callTool(ask))).toEqual({ action: 'accept', content: { by: 'client' } });
    expect(one.server.getClientCapabilities()).toMatchObject({ elicitation: {}, sampling: {}, roots: {} });
  });

  it('reaches a client when the gateway was created during a call, once that call has settled', async () => {
    const { one, hub } = serve();
    let release: () => void = () => undefined;
    const arrived = new Promise<void>((resolve) => {
      one.beforeAsking = () => (resolve(), new Promise<void>((proceed) => (release = proceed)));
    });
    const hosts = hub.callTool('one.ask', QUESTION);
    await arrived;
    const client = await acceptingClient(gatewayOf(hub), [], 'client');
    one.beforeAsking = () => Promise.resolve();
    release();
    await hosts;
    expect(textOf(await client.callTool(ask))).toEqual({ action: 'accept', content: { by: 'client' } });
    expect(one.server.getClientCapabilities()).toHaveProperty('elicitation');
  });

  it('reaches the clients of two gateways, and of one after the other is closed', async () => {
    const { hub } = serve();
    const requested: string[] = [];
    const [left, right] = [gatewayOf(hub), gatewayOf(hub)];
    const first = await acceptingClient(left, requested, 'left');
    const second = await acceptingClient(right, requested, 'right');
    expect(textOf(await first.callTool(ask))).toEqual({ action: 'accept', content: { by: 'left' } });
    expect(textOf(await second.callTool(ask))).toEqual({ action: 'accept', content: { by: 'right' } });
    await right.close();
    expect(textOf(await first.callTool(ask))).toEqual({ action: 'accept', content: { by: 'left' } });
    expect(requested).toEqual(['left', 'right', 'left']);
  });

  it('reaches the client when a supervisor has another name than its tools', async () => {
    const one = forwardedServer('one', []);
    const hub = new ToolHub({ providers: [supervise(() => one.provider, { name: 'first-server' })] });
    ends.push(() => hub.disconnect());
    const client = await acceptingClient(gatewayOf(hub), [], 'client');
    expect(textOf(await client.callTool(ask))).toEqual({ action: 'accept', content: { by: 'client' } });
    expect((await client.listPrompts()).prompts.map(({ name }) => name)).toEqual(['first-server__greet']);
  });
});

it("a server's log messages during a call of the host are not sent to a client with a call in flight", async () => {
  const { one, hub } = serve();
  const client = await acceptingClient(gatewayOf(hub), [], 'client');
  const received: unknown[] = [];
  client.setNotificationHandler(LoggingMessageNotificationSchema, ({ params }) => void received.push(params.data));
  let release: () => void = () => undefined;
  const arrived = new Promise<void>((resolve) => {
    one.beforeAsking = () => (resolve(), new Promise<void>((proceed) => (release = proceed)));
  });
  const clients = client.callTool(ask);
  await arrived;
  await hub.callTool('one.say');
  release();
  await clients;
  await client.ping();
  expect(received).toEqual([]);
});
