// MCP Apps through a hub and a gateway: the tools and resources of views.

import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { createMcpHandler, Server } from '@modelcontextprotocol/server';
import { defineServer, defineTool, InProcessToolProvider, textOf, ToolHub } from '@toolwright/core';
import { MCPToolProvider } from '@toolwright/core/mcp';
import { createGateway } from '@toolwright/gateway';
import { describe, expect, it } from 'vitest';

const UI = 'io.modelcontextprotocol/ui';
const VIEW = { uri: 'ui://weather/view', name: 'view', mimeType: 'text/html;profile=mcp-app' };
const VIEWS = { extensions: { [UI]: { mimeTypes: [VIEW.mimeType] } } };
const inputSchema = { type: 'object' as const };
const TOOLS = [
  { name: 'show', inputSchema, _meta: { ui: { resourceUri: VIEW.uri } } },
  { name: 'poll', inputSchema, _meta: { ui: { visibility: ['app'] } } },
  { name: 'plain', inputSchema },
];

/** A provider of a server with a view. */
function weather(name: string): MCPToolProvider {
  const handler = createMcpHandler(
    () => {
      const server = new Server({ name, version: '1' }, { capabilities: { tools: {}, resources: {} } });
      server.setRequestHandler('tools/list', () => ({ tools: TOOLS }));
      server.setRequestHandler('tools/call', ({ params }) => ({
        content: [{ type: 'text' as const, text: `${name} ${params.name}` }],
      }));
      server.setRequestHandler('resources/list', () => ({ resources: [{ ...VIEW, uri: `ui://${name}/view` }] }));
      server.setRequestHandler('resources/read', ({ params }) => ({
        contents: [{ uri: params.uri, mimeType: VIEW.mimeType, text: '<p>', _meta: { ui: { csp: {} } } }],
      }));
      return server;
    },
    { legacy: 'reject' },
  );
  return new MCPToolProvider({
    name,
    protocol: 'modern',
    transport: () =>
      new StreamableHTTPClientTransport(new URL(`http://${name}.test/mcp`), {
        fetch: (url, init) => handler.fetch(new Request(url, init)),
      }),
  });
}

/** A provider of this process with one tool. */
function local(name: string): InProcessToolProvider {
  const tool = defineTool({ name, description: 'Not of a view.', input: { type: 'object' }, execute: () => 'local' });
  return new InProcessToolProvider({ servers: [defineServer({ name: 'local', version: '1.0.0', tools: [tool] })] });
}

describe('ToolHub.listTools()', () => {
  it('omits the tools that only views call, unless requested', async () => {
    await using hub = new ToolHub({ providers: [weather('w')] });
    const names = async (options = {}): Promise<string[]> => (await hub.listTools(options)).map(({ name }) => name);
    expect(await names()).toEqual(['w.show', 'w.plain']);
    expect(await names({ includeViewTools: true })).toEqual(['w.show', 'w.poll', 'w.plain']);
    expect(await hub.listTools()).toBe(await hub.listTools());
    expect(textOf(await hub.callTool('w.poll'))).toBe('w poll');
    await using outer = new ToolHub({ providers: [hub] });
    expect((await outer.listTools()).map(({ name }) => name)).toEqual(['w.show', 'w.plain']);
    expect(await outer.listTools({ includeViewTools: true })).toHaveLength(3);
  });
});

describe('createGateway()', () => {
  it.each(['legacy', 'auto'] as const)('lists the tools of views to clients that have views (%s)', async (mode) => {
    await using hub = new ToolHub({ providers: [weather('w')] });
    await using gateway = createGateway(hub, { forward: true });
    const { url } = await gateway.serveHttp({ auth: 'none' });
    const clientWith = async (capabilities: object): Promise<Client> => {
      const client = new Client({ name: 'c', version: '1' }, { versionNegotiation: { mode }, capabilities });
      await client.connect(new StreamableHTTPClientTransport(new URL(url)));
      return client;
    };
    const plain = await clientWith({});
    expect((await plain.listTools()).tools.map(({ name }) => name)).toEqual(['w__plain', 'w__show']);
    const host = await clientWith(VIEWS);
    const { tools } = await host.listTools();
    expect(tools.map(({ name }) => name)).toEqual(['w__plain', 'w__poll', 'w__show']);
    expect(tools.find(({ name }) => name === 'w__show')?._meta).toEqual(TOOLS[0]?._meta);
    const { contents } = await host.readResource({ uri: 'ui://w/view' });
    expect(contents[0]).toMatchObject({ text: '<p>', _meta: { ui: { csp: {} } } });
    // A view calls its server's tools by their own names.
    expect((await host.callTool({ name: 'poll' })).content).toEqual([{ type: 'text', text: 'w poll' }]);
    await expect(host.callTool({ name: 'plain' })).rejects.toThrow('Unknown tool');
    await plain.close();
    await host.close();
  });

  it.each([
    ['that the views of several servers have', [weather('b')], VIEWS],
    ['that a tool of another server has, which no view calls', [local('poll')], VIEWS],
    ['to a client that shows no views', [], {}],
  ])('refuses the bare name of a tool %s', async (_, others, capabilities) => {
    await using hub = new ToolHub({ providers: [weather('a'), ...others] });
    await using gateway = createGateway(hub, { forward: true });
    const { url } = await gateway.serveHttp({ auth: 'none' });
    const client = new Client({ name: 'c', version: '1' }, { capabilities });
    await client.connect(new StreamableHTTPClientTransport(new URL(url)));
    await expect(client.callTool({ name: 'poll' })).rejects.toThrow('Unknown tool');
    await client.close();
  });
});
