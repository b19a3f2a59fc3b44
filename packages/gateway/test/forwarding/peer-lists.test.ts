// Resources and prompts of servers that are late, slow, lost and replaced: what clients see, and how long they wait.

import { setTimeout as delay } from 'node:timers/promises';
import {
  PromptListChangedNotificationSchema,
  ResourceListChangedNotificationSchema,
  ResourceUpdatedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js';
import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { ToolHub } from '@toolwright/core';
import { createGateway } from '@toolwright/gateway';
import { afterEach, describe, expect, it } from 'vitest';
import { newModernClient } from '../fixtures/modern-client.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { ListPromptsRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { connectClient } from '../fixtures/connect-client.js';
import { modernServer } from '../fixtures/modern-server.js';
import { forwardedServer, type ForwardedServer } from '../fixtures/forwarded-server.js';

const ends: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

async function serve(servers: ForwardedServer[], limits: object = {}): Promise<{ hub: ToolHub; client: Client }> {
  const hub = new ToolHub({ providers: servers.map(({ provider }) => provider), limits });
  const gateway = createGateway(hub, { forward: true });
  ends.push(
    () => hub.disconnect(),
    () => gateway.close(),
  );
  const client = await connectClient(gateway);
  ends.push(() => client.close());
  return { hub, client };
}

function gate(): { wait: () => Promise<void>; open: () => void } {
  let open: () => void = () => undefined;
  const opened = new Promise<void>((resolve) => (open = resolve));
  return { wait: () => opened, open };
}

const notified = (client: Client, schema: object): Promise<void> =>
  new Promise((resolve) => client.setNotificationHandler(schema as never, () => resolve()));

const urisOf = async (client: Client): Promise<string[]> =>
  (await client.listResources()).resources.map(({ uri }) => uri);

describe('PeerLists', () => {
  it('lists the resources of a server that connects after the first list, and reports the change', async () => {
    const [one, two] = [forwardedServer('one', ['one://a']), forwardedServer('two', ['two://b'])];
    const late = gate();
    two.beforeConnecting = late.wait;
    const { client } = await serve([one, two], { connectTimeoutMs: 50 });
    expect(await urisOf(client)).toEqual(['one://a']);
    expect((await client.listPrompts()).prompts.map(({ name }) => name)).toEqual(['one__greet']);
    const changes = [ResourceListChangedNotificationSchema, PromptListChangedNotificationSchema].map((schema) =>
      notified(client, schema),
    );
    late.open();
    await Promise.all(changes);
    expect(await urisOf(client)).toEqual(['one://a', 'two://b']);
    expect((await client.listPrompts()).prompts.map(({ name }) => name)).toEqual(['one__greet', 'two__greet']);
    expect((await client.readResource({ uri: 'two://b' })).contents).toEqual([{ uri: 'two://b', text: 'from two' }]);
  });

  it('reads lists again and renews subscriptions when a server reconnects', async () => {
    const one = forwardedServer('one', ['one://a']);
    const { hub, client } = await serve([one]);
    expect(await urisOf(client)).toEqual(['one://a']);
    await client.subscribeResource({ uri: 'one://a' });
    one.uris.push('one://new');
    await one.server.close(); // the connection is lost
    const updated = notified(client, ResourceUpdatedNotificationSchema);
    const changed = notified(client, ResourceListChangedNotificationSchema);
    await hub.callTool('one.say'); // connects again
    await Promise.all([changed, updated]);
    expect(await urisOf(client)).toEqual(['one://a', 'one://new']);
    expect(one.subscribed).toEqual(['+one://a', '+one://a']);
    const other = notified(client, ResourceUpdatedNotificationSchema);
    await one.server.sendResourceUpdated({ uri: 'one://a' });
    await other;
  });

  it('subscribes at a reconnected server when another client subscribes', async () => {
    const one = forwardedServer('one', ['one://a']);
    const { client } = await serve([one]);
    await client.subscribeResource({ uri: 'one://a' });
    await one.server.close();
    await client.subscribeResource({ uri: 'one://a' });
    expect(one.subscribed.length).toBeGreaterThan(1);
    const updated = notified(client, ResourceUpdatedNotificationSchema);
    await one.server.sendResourceUpdated({ uri: 'one://a' });
    await updated;
  });

  it.each([true, false])(
    'serves the other servers while one does not answer; servers report changes: %s',
    async (listChanged) => {
      const slow = forwardedServer('slow', ['slow://a'], { callTimeoutMs: 20_000, listChanged });
      const quick = forwardedServer('quick', ['quick://b'], { listChanged });
      const answer = gate();
      slow.beforeListing = answer.wait;
      const { client } = await serve([slow, quick]);
      const startedAt = performance.now();
      for (let index = 0; index < 20; index++) await client.readResource({ uri: 'quick://b' });
      expect(await urisOf(client)).toEqual(['quick://b']);
      expect((await client.getPrompt({ name: 'quick__greet', arguments: {} })).messages).toHaveLength(1);
      expect(performance.now() - startedAt).toBeLessThan(15_000); // one deadline of the slow server is 20 s
      const changed = notified(client, ResourceListChangedNotificationSchema);
      const read = client.readResource({ uri: 'slow://a' }); // waits for the slow server
      await delay(10);
      answer.open();
      expect((await read).contents).toEqual([{ uri: 'slow://a', text: 'from slow' }]);
      await changed;
      expect(await urisOf(client)).toEqual(['quick://b', 'slow://a']);
    },
  );

  it('keeps a URI with the server listed first when a slow server lists it later', async () => {
    const slow = forwardedServer('slow', ['shared://a']);
    const quick = forwardedServer('quick', ['shared://a']);
    const answer = gate();
    slow.beforeListing = answer.wait;
    const { client } = await serve([slow, quick]);
    const read = async (): Promise<unknown> => (await client.readResource({ uri: 'shared://a' })).contents[0];
    expect(await read()).toMatchObject({ text: 'from quick' });
    answer.open();
    await urisOf(client);
    expect(await read()).toMatchObject({ text: 'from quick' });
  });

  it('drops the resources of a removed server, and reports the change', async () => {
    const [one, two] = [forwardedServer('one', ['one://a']), forwardedServer('two', ['two://b'])];
    const { hub, client } = await serve([one, two]);
    expect(await urisOf(client)).toEqual(['one://a', 'two://b']);
    const changed = notified(client, ResourceListChangedNotificationSchema);
    await hub.remove('two');
    await changed;
    expect(await urisOf(client)).toEqual(['one://a']);
  });

  it.each([
    ['the server says, if that is shorter', { listChanged: true }, { ttlMs: 40 }, 40],
    ['the gateway says, of a server that reports changes', { listChanged: true }, {}, 10_000],
    ['nothing, of a server that neither reports changes nor says how long', { listChanged: false }, {}, 0],
    ['nothing, of a server that says so', { listChanged: true }, { ttlMs: 0 }, 0],
  ])('lets clients keep a list for as long as %s', async (_, options, hints, most) => {
    const one = forwardedServer('one', [], options);
    one.server.setRequestHandler(ListPromptsRequestSchema, () => ({ prompts: [{ name: 'greet' }], ...hints }));
    const hub = new ToolHub({ providers: [one.provider] });
    const gateway = createGateway(hub, { forward: true });
    const client = newModernClient();
    ends.push(
      () => hub.disconnect(),
      () => gateway.close(),
      () => client.close(),
    );
    const { url } = await gateway.serveHttp({ auth: 'none' });
    await client.connect(new StreamableHTTPClientTransport(new URL(url)));
    const { ttlMs } = (await client.listPrompts()) as { ttlMs?: number };
    expect(ttlMs).toBeLessThanOrEqual(most);
    if (most === 10_000) expect(ttlMs).toBe(most);
  });
});

describe('createGateway() tools/list', () => {
  it('has the shortest ttlMs of all servers', async () => {
    const up = modernServer('up'); // 5 s
    const hub = new ToolHub({ providers: [up.provider, forwardedServer('one', []).provider] });
    const gateway = createGateway(hub);
    const client = newModernClient();
    ends.push(
      () => up.close(),
      () => hub.disconnect(),
      () => gateway.close(),
      () => client.close(),
    );
    const { url } = await gateway.serveHttp({ auth: 'none' });
    await client.connect(new StreamableHTTPClientTransport(new URL(url)));
    const { ttlMs } = (await client.listTools()) as { ttlMs?: number };
    expect(ttlMs).toBeGreaterThan(0);
    expect(ttlMs).toBeLessThanOrEqual(5_000);
    await hub.remove('up');
    const { ttlMs: without } = (await client.listTools(undefined, { cacheMode: 'refresh' })) as { ttlMs?: number };
    expect(without).toBe(10_000);
  });
});
