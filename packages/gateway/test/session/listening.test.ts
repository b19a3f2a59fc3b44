// `subscriptions/listen`: the changes that a client asks for, acknowledged first, and no others.

import { join } from 'node:path';
import { defineServer, defineTool, InProcessToolProvider, ToolHub } from '@toolwright/core';
import { createTestProject } from '@toolwright/core/testing';
import { createGateway } from '@toolwright/gateway';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { forwardedServer } from '../fixtures/forwarded-server.js';
import { listen, newModernClient, type ModernTransport } from '../fixtures/modern-client.js';
import { openModernSocket } from '../fixtures/modern-socket.js';

const ends: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

const SUBSCRIPTION = 'io.modelcontextprotocol/subscriptionId';

const oneTool = (name: string): InProcessToolProvider =>
  new InProcessToolProvider({
    name,
    servers: [
      defineServer({
        name,
        version: '1.0.0',
        tools: [defineTool({ name: 'x', description: 'X.', input: { type: 'object' }, execute: () => 'x' })],
      }),
    ],
  });

async function serve(kind: ModernTransport) {
  const project = await createTestProject({});
  const one = forwardedServer('one', ['one://a', 'one://b']);
  const hub = new ToolHub({ providers: [one.provider] });
  const gateway = createGateway(hub, { forward: true });
  ends.push(
    async () => project[Symbol.asyncDispose](),
    () => hub.disconnect(),
    () => gateway.close(),
  );
  const open = await listen(gateway, kind, project);
  const connected = async () => {
    const client = newModernClient();
    ends.push(() => client.close());
    const heard: string[] = [];
    client.setNotificationHandler('notifications/tools/list_changed', () => void heard.push('tools'));
    client.setNotificationHandler('notifications/prompts/list_changed', () => void heard.push('prompts'));
    client.setNotificationHandler('notifications/resources/list_changed', () => void heard.push('resources'));
    client.setNotificationHandler('notifications/resources/updated', ({ params }) => void heard.push(params.uri));
    await client.connect(await open());
    return { client, heard };
  };
  return { connected, hub, one, gateway, project };
}

describe.each(['http', 'socket', 'stdio'] as const)('subscriptions/listen over %s', (kind) => {
  it('sends the requested changes to the clients that requested them', async () => {
    const { connected, hub, one } = await serve(kind);
    const [tools, both, none] = [await connected(), await connected(), await connected()];
    await tools.client.listen({ toolsListChanged: true });
    const subscription = await both.client.listen({
      promptsListChanged: true,
      resourceSubscriptions: ['one://a', 'no://such'],
    });
    expect(subscription.honoredFilter).toEqual({ promptsListChanged: true, resourceSubscriptions: ['one://a'] });
    await hub.add(oneTool('more'));
    await one.server.sendPromptListChanged();
    await one.server.sendResourceUpdated({ uri: 'one://b' });
    await one.server.sendResourceUpdated({ uri: 'one://a' });
    await vi.waitFor(() =>
      expect([[...new Set(tools.heard)], [...both.heard].sort()]).toEqual([['tools'], ['one://a', 'prompts']]),
    );
    expect(none.heard).toEqual([]);
  });

  it('counts the subscriptions to a resource, and ends them with the last client', async () => {
    const { connected, one } = await serve(kind);
    const [first, second] = [await connected(), await connected()];
    const subscription = await first.client.listen({ resourceSubscriptions: ['one://a', 'one://b'] });
    const other = await second.client.listen({ resourceSubscriptions: ['one://a'] });
    expect(one.subscribed).toEqual(['+one://a', '+one://b']);
    await subscription.close();
    await vi.waitFor(() => expect(one.subscribed.at(-1)).toBe('-one://b'));
    await one.server.sendResourceUpdated({ uri: 'one://a' });
    await vi.waitFor(() => expect([first.heard, second.heard]).toEqual([[], ['one://a']]));
    await other.close();
    await vi.waitFor(() => expect(one.subscribed).toEqual(['+one://a', '+one://b', '-one://b', '-one://a']));
  });

  it('ends with a result when the gateway closes', async () => {
    const { connected, gateway } = await serve(kind);
    const { client } = await connected();
    const subscription = await client.listen({ toolsListChanged: true });
    await gateway.close();
    expect(await subscription.closed).toBe('graceful');
  });
});

describe('subscriptions/listen', () => {
  it('is acknowledged before everything else, and marks each message with its id', async () => {
    const project = await createTestProject({});
    const hub = new ToolHub({ providers: [oneTool('some')] });
    const gateway = createGateway(hub);
    ends.push(
      async () => project[Symbol.asyncDispose](),
      () => hub.disconnect(),
      () => gateway.close(),
    );
    const path = join(project.projectDir, 'g.sock');
    await gateway.serveSocket({ path });
    const { send: request, messages, cancel, close } = await openModernSocket(path);
    ends.push(async () => close());
    const send = (id: unknown, notifications: unknown): void => request(id, 'subscriptions/listen', { notifications });
    send('a', { toolsListChanged: true, promptsListChanged: true });
    send(2, { toolsListChanged: true });
    send(3, { toolsListChanged: 'yes' });
    send(4, undefined);
    send(5, { resourceSubscriptions: ['x', 7] });
    await vi.waitFor(() => expect(messages.length).toBe(5));
    await hub.add(oneTool('more'));
    await vi.waitFor(() => expect(messages.length).toBe(7));
    const acknowledged = (id: unknown) => ({
      method: 'notifications/subscriptions/acknowledged',
      params: { notifications: { toolsListChanged: true }, _meta: { [SUBSCRIPTION]: id } },
    });
    const changed = (id: unknown) => ({
      method: 'notifications/tools/list_changed',
      params: { _meta: { [SUBSCRIPTION]: id } },
    });
    const of = (id: unknown) =>
      messages.filter(
        ({ params }) => (params as { _meta?: Record<string, unknown> } | undefined)?._meta?.[SUBSCRIPTION] === id,
      );
    expect(of('a')).toMatchObject([acknowledged('a'), changed('a')]);
    expect(of(2)).toMatchObject([acknowledged(2), changed(2)]);
    expect(messages.filter(({ error }) => error).map(({ id, error }) => [id, error!.code])).toEqual([
      [3, -32602],
      [4, -32602],
      [5, -32602],
    ]);
    cancel('a');
    for (let id = 100; id < 163; id++) send(id, { toolsListChanged: true });
    send('full', { toolsListChanged: true });
    await vi.waitFor(() =>
      expect(messages.some(({ id, error }) => id === 'full' && error?.code === -32050)).toBe(true),
    );
    expect(messages.some(({ id }) => id === 'a')).toBe(false); // cancelled: no further message
  });

  it('does not list a resource whose server does not answer in time, and frees its place when it is cancelled', async () => {
    const { one, gateway, hub, project } = await serve('socket');
    const silent = forwardedServer('silent', ['silent://a']);
    silent.beforeSubscribing = () => new Promise(() => undefined);
    await hub.add(silent.provider);
    const path = join(project.projectDir, 'raw.sock');
    await gateway.serveSocket({ path });
    const { send, messages, cancel, close } = await openModernSocket(path);
    ends.push(async () => close());
    const listenTo = (id: unknown, resourceSubscriptions: string[]): void =>
      send(id, 'subscriptions/listen', { notifications: { resourceSubscriptions } });
    for (let id = 0; id < 64; id++) listenTo(id, ['silent://a']);
    await vi.waitUntil(() => silent.subscribed.length > 0);
    for (let id = 0; id < 64; id++) cancel(id);
    listenTo('both', ['silent://a', 'one://a']);
    const acknowledged = await vi.waitUntil(() => messages[0], 10_000);
    expect(acknowledged).toMatchObject({
      params: { notifications: { resourceSubscriptions: ['one://a'] }, _meta: { [SUBSCRIPTION]: 'both' } },
    });
    await one.server.sendResourceUpdated({ uri: 'one://a' });
    await vi.waitUntil(() => messages.length > 1);
  });

  it('ends a subscription at a server when the last client of several gateways has left', async () => {
    const { connected, hub, one } = await serve('http');
    const other = createGateway(hub, { forward: true });
    ends.push(() => other.close());
    const { client: first } = await connected();
    const mine = await first.listen({ resourceSubscriptions: ['one://a'] });
    const project = await createTestProject({});
    const second = newModernClient();
    ends.push(
      async () => project[Symbol.asyncDispose](),
      () => second.close(),
    );
    await second.connect(await (await listen(other, 'http', project))());
    const theirs = await second.listen({ resourceSubscriptions: ['one://a', 'one://b'] });
    await mine.close();
    await theirs.close();
    await vi.waitUntil(() => one.subscribed.includes('-one://b') && one.subscribed.includes('-one://a'));
    expect(one.subscribed.filter((entry) => entry === '-one://a')).toHaveLength(1);
    expect(one.subscribed.indexOf('-one://a')).toBeGreaterThan(one.subscribed.indexOf('+one://b'));
  });
});
