// The official client of MCP 2026-07-28 is served over every transport, next to clients of earlier revisions.

import { Client as LegacyClient } from '@modelcontextprotocol/sdk/client/index.js';
import { InProcessToolProvider, ToolHub } from '@toolwright/core';
import { contractServer, createTestProject } from '@toolwright/core/testing';
import { createGateway, type GatewayOptions } from '@toolwright/gateway';
import { afterEach, describe, expect, it } from 'vitest';
import { echoTools } from '../fixtures/echo-tools.js';
import { listen, newModernClient, type AnyTransport, type ModernTransport } from '../fixtures/modern-client.js';

const ends: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

async function serve(
  kind: ModernTransport,
  options: GatewayOptions & { onAborted?: () => void } = {},
): Promise<{ open: () => Promise<AnyTransport>; hub: ToolHub }> {
  const { onAborted, ...rest } = options;
  const project = await createTestProject({});
  const hub = new ToolHub({
    providers: [new InProcessToolProvider({ servers: [contractServer(), echoTools(onAborted)] })],
  });
  const gateway = createGateway(hub, rest);
  ends.push(
    async () => project[Symbol.asyncDispose](),
    () => hub.disconnect(),
    () => gateway.close(),
  );
  return { open: await listen(gateway, kind, project), hub };
}

async function connected(open: () => Promise<AnyTransport>, capabilities: object = {}) {
  const client = newModernClient(capabilities);
  ends.push(() => client.close());
  await client.connect(await open());
  expect(client.getProtocolEra()).toBe('modern');
  return client;
}

describe.each(['http', 'socket', 'stdio'] as const)('createGateway() serves a modern client over %s', (kind) => {
  it('discovers, lists in a fixed order and calls', async () => {
    const { open, hub } = await serve(kind);
    const client = await connected(open);
    expect(client.getDiscoverResult()).toMatchObject({ supportedVersions: ['2026-07-28'] });
    const { tools } = await client.listTools();
    const names = (await hub.listTools()).map(({ name }) => name.replace('.', '__')).sort();
    expect(tools.map(({ name }) => name)).toEqual(names);
    expect(await client.callTool({ name: 'contract__echo', arguments: { text: 'hello' } })).toMatchObject({
      content: [{ type: 'text' }],
      isError: false,
    });
    await expect(client.callTool({ name: 'nothing' })).rejects.toMatchObject({ code: -32602 });
  });

  it('sends progress, and log messages from the level that a request names', async () => {
    const { open } = await serve(kind);
    const client = await connected(open);
    const said: unknown[] = [];
    client.setNotificationHandler('notifications/message', ({ params }) => void said.push(params.level));
    const progress: unknown[] = [];
    await client.callTool(
      { name: 'echo__back', arguments: { text: 'x', waitMs: 30 } },
      { onprogress: (at) => void progress.push(at) },
    );
    expect(progress).toEqual([{ progress: 1, message: 'x' }]);
    await client.callTool({ name: 'echo__log' });
    expect(said).toEqual([]);
    const _meta = { 'io.modelcontextprotocol/logLevel': 'warning' };
    await client.callTool({ name: 'echo__log', _meta });
    expect(said).toEqual(['warning', 'error']);
  });

  it('aborts the tool when the client cancels', async () => {
    let onAborted: () => void = () => undefined;
    const aborted = new Promise<void>((resolve) => (onAborted = resolve));
    const { open } = await serve(kind, { onAborted: () => onAborted() });
    const client = await connected(open);
    const abort = new AbortController();
    const call = client.callTool(
      { name: 'echo__until_aborted' },
      { signal: abort.signal, onprogress: () => abort.abort() },
    );
    await expect(call).rejects.toThrow();
    await aborted;
  });

  it('serves clients of earlier revisions at the same address', async () => {
    const { open } = await serve(kind);
    const modern = await connected(open);
    const legacy = newModernClient({}, { versionNegotiation: { mode: 'legacy' } });
    ends.push(() => legacy.close());
    await legacy.connect(await open());
    expect(legacy.getProtocolEra()).toBe('legacy');
    const oldest = new LegacyClient({ name: 'v1', version: '1' });
    ends.push(() => oldest.close());
    await oldest.connect(await open());
    const call = { name: 'contract__echo', arguments: { text: 'same' } };
    const [one, two, three] = await Promise.all([modern.callTool(call), legacy.callTool(call), oldest.callTool(call)]);
    expect(one.content).toEqual(two.content);
    expect(two.content).toEqual(three.content);
  });
});
