// Every kind of client with every listener of a gateway in front of every kind of server: the table in docs/mcp.md.

import { readFile, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { PassThrough } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { Client as ClientV2, StreamableHTTPClientTransport as HttpV2 } from '@modelcontextprotocol/client';
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as HttpV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { ElicitRequestSchema, ToolListChangedNotificationSchema } from '@modelcontextprotocol/sdk/types.js';
import { defineServer, defineTool, InProcessToolProvider, ToolHub, type ToolProvider } from '@toolwright/core';
import { MCPToolProvider } from '@toolwright/core/mcp';
import { createTestProject } from '@toolwright/core/testing';
import { createGateway, type Gateway } from '@toolwright/gateway';
import { afterAll, describe, expect, it, vi } from 'vitest';
import { BIG, endedCalls } from './fixtures/everything-server.js';
import { serveModernEverything } from './fixtures/modern-everything.js';
import { serveEverything } from './fixtures/serve-everything.js';

interface Client {
  listTools(): Promise<string[]>;
  callTool(name: string, options?: { signal?: AbortSignal; onprogress?: (progress: unknown) => void }): Promise<string>;
  /** How often the server has reported changed tools. */
  changes(): number;
  close(): Promise<void>;
}

/** What a provider offers for each row of the matrix. */
interface Upstream extends AsyncDisposable {
  provider: ToolProvider;
  tools: { call: string; progress: string; cancel: string; ask: string; big: string };
  /** Changes the list of tools. */
  change(client: Client): Promise<unknown>;
  /** True once a cancelled call has ended at the server. */
  cancelled(): boolean;
}

const accepted = {
  action: 'accept' as const,
  content: { name: 'Ada', username: 'Ada', email: 'a@b.c', decision: 'once' },
};
const textOf = (result: unknown): string =>
  (result as { content: { text?: string }[] }).content.map(({ text = '' }) => text).join('');

async function clientV1(transport: object): Promise<Client> {
  const client = new ClientV1({ name: 'v1', version: '1' }, { capabilities: { elicitation: {} } });
  let changes = 0;
  client.setRequestHandler(ElicitRequestSchema, () => accepted);
  client.setNotificationHandler(ToolListChangedNotificationSchema, () => void changes++);
  await client.connect(transport as never);
  return {
    listTools: async () => (await client.listTools()).tools.map(({ name }) => name),
    callTool: async (name, options) =>
      textOf(await client.callTool({ name, arguments: ARGUMENTS }, undefined, options)),
    changes: () => changes,
    close: () => client.close(),
  };
}

async function clientV2(transport: object, mode: 'legacy' | 'auto' | { pin: string }): Promise<Client> {
  let changes = 0;
  const client = new ClientV2(
    { name: 'v2', version: '1' },
    {
      capabilities: { elicitation: { form: {} } },
      versionNegotiation: { mode },
      listChanged: { tools: { onChanged: () => void changes++, autoRefresh: false, debounceMs: 0 } },
    },
  );
  client.setRequestHandler('elicitation/create', () => accepted);
  await client.connect(transport as never);
  expect(client.getProtocolEra()).toBe(mode === 'legacy' ? 'legacy' : 'modern');
  return {
    listTools: async () => (await client.listTools(undefined, { cacheMode: 'refresh' })).tools.map(({ name }) => name),
    callTool: async (name, options) => textOf(await client.callTool({ name, arguments: ARGUMENTS }, options)),
    changes: () => changes,
    close: () => client.close(),
  };
}

const ARGUMENTS = { message: 'Go on?' };

const CLIENTS: Record<string, { isV2: boolean; open: (transport: object) => Promise<Client> }> = {
  'SDK v1': { isV2: false, open: clientV1 },
  'SDK v2, legacy': { isV2: true, open: (transport) => clientV2(transport, 'legacy') },
  'SDK v2, auto': { isV2: true, open: (transport) => clientV2(transport, 'auto') },
  'SDK v2, pinned to 2026-07-28': { isV2: true, open: (transport) => clientV2(transport, { pin: '2026-07-28' }) },
};

/** A transport for one client of the gateway. */
const LISTENERS: Record<string, (gateway: Gateway, isV2: boolean) => Promise<object>> = {
  stdio: async (gateway) => {
    const [stdin, stdout] = [new PassThrough(), new PassThrough()];
    await gateway.serveStdio({ stdin, stdout });
    return new StdioServerTransport(stdout, stdin);
  },
  HTTP: async (gateway, isV2) => {
    const { url, token } = await gateway.serveHttp();
    const options = { requestInit: { headers: { authorization: `Bearer ${token}` } } };
    return isV2 ? new HttpV2(new URL(url), options) : new HttpV1(new URL(url), options);
  },
  socket: async (gateway) => {
    const project = await createTestProject();
    cleanups.push(() => project[Symbol.asyncDispose]());
    const path = project.resolve('s');
    await gateway.serveSocket({ path });
    const socket = connect(path);
    await new Promise((resolve) => socket.once('connect', resolve));
    return new StdioServerTransport(socket, socket);
  },
};
const cleanups: (() => PromiseLike<void>)[] = [];

const REMOTE_TOOLS = {
  call: 'test_simple_text',
  progress: 'test_tool_with_progress',
  cancel: 'until_cancelled',
  big: 'test_big_result',
};

const UPSTREAMS: Record<string, () => Promise<Upstream>> = {
  'tools in process': async () => {
    let ended = 0;
    const tool = (name: string, execute: (signal: AbortSignal, report: (progress: number) => void) => unknown) =>
      defineTool({
        name,
        description: name,
        input: { type: 'object', properties: { message: { type: 'string' } } },
        execute: async (_input, { signal, progress }) => {
          await execute(signal, (done) => progress({ progress: done }));
          return name === 'big' ? 'x'.repeat(BIG) : 'done';
        },
      });
    const untilAborted = (signal: AbortSignal): Promise<void> =>
      new Promise((resolve) =>
        signal.addEventListener('abort', () => {
          ended++;
          resolve();
        }),
      );
    const tools = [
      tool('call', () => undefined),
      tool('progress', async (_, report) => {
        for (const done of [1, 2, 3]) {
          report(done);
          await new Promise((resolve) => setTimeout(resolve, 10)); // an SDK drops progress that arrives with the answer
        }
      }),
      tool('cancel', (signal, report) => (report(1), untilAborted(signal))),
      tool('ask', () => undefined),
      tool('big', () => undefined),
    ];
    const hub = new ToolHub({
      providers: [
        new InProcessToolProvider({ name: 'own', servers: [defineServer({ name: 't', version: '1.0.0', tools })] }),
      ],
      limits: { maxTextBytes: 2 * BIG },
      policy: { default: 'allow', rules: [{ tool: 't.ask', action: 'ask' }] },
    });
    return {
      provider: hub,
      tools: { call: 'call', progress: 'progress', cancel: 'cancel', ask: 'ask', big: 'big' },
      change: () =>
        hub.add(
          new InProcessToolProvider({
            name: 'more',
            servers: [defineServer({ name: 'm', version: '1.0.0', tools: [tool('more', () => 1)] })],
          }),
        ),
      cancelled: () => ended > 0,
      [Symbol.asyncDispose]: () => hub.disconnect(),
    };
  },
  'a server of an earlier revision': async () => {
    const before = endedCalls.count;
    const server = await serveEverything();
    const provider = new MCPToolProvider({ name: 'e', url: server.url });
    return {
      provider,
      tools: { ...REMOTE_TOOLS, ask: 'test_elicitation' },
      change: (client) => client.callTool('change_lists'),
      cancelled: () => endedCalls.count > before,
      [Symbol.asyncDispose]: async () => {
        await provider.disconnect();
        await server[Symbol.asyncDispose]();
      },
    };
  },
  'a server of 2026-07-28': async () => {
    const before = endedCalls.count;
    const server = await serveModernEverything();
    const provider = new MCPToolProvider({ name: 'e', url: server.url });
    return {
      provider,
      tools: { ...REMOTE_TOOLS, ask: 'test_input_required_result_elicitation' },
      change: async () => server.changed(),
      cancelled: () => endedCalls.count > before,
      [Symbol.asyncDispose]: async () => {
        await provider.disconnect();
        await server[Symbol.asyncDispose]();
      },
    };
  },
};

const passed = new Set<string>();
const cells = Object.keys(CLIENTS).flatMap((client) =>
  Object.keys(UPSTREAMS).flatMap((upstream) =>
    Object.keys(LISTENERS).map((listener) => ({ client, upstream, listener })),
  ),
);

describe('createGateway()', () => {
  it.each(cells)('serves $upstream over $listener to $client', async ({ client: kind, upstream: behind, listener }) => {
    await using upstream = await UPSTREAMS[behind]!();
    await using gateway = createGateway(upstream.provider, {
      forward: true,
      naming: (name) => name.slice(name.indexOf('.') + 1),
    });
    const { open, isV2 } = CLIENTS[kind]!;
    const client = await open(await LISTENERS[listener]!(gateway, isV2));
    try {
      const { tools } = upstream;
      const listed = await client.listTools();
      for (const name of Object.values(tools)) expect(listed).toContain(name);
      expect(await client.callTool(tools.call)).not.toBe('');
      const reports: unknown[] = [];
      await client.callTool(tools.progress, { onprogress: (progress) => void reports.push(progress) });
      expect(reports).toHaveLength(3);
      const answer = await client.callTool(tools.ask);
      expect(answer).toMatch(/done|Ada/);
      expect(await client.callTool(tools.big)).toHaveLength(BIG);
      const cancelling = new AbortController();
      const begun = vi.fn(() => cancelling.abort());
      await expect(client.callTool(tools.cancel, { signal: cancelling.signal, onprogress: begun })).rejects.toThrow();
      await vi.waitUntil(() => upstream.cancelled());
      await upstream.change(client);
      await vi.waitUntil(() => client.changes() > 0, 10_000);
      expect((await client.listTools()).length).toBe(listed.length + 1);
    } finally {
      await client.close();
    }
    passed.add(`${kind}|${behind}|${listener}`);
  });

  it('is documented with what was tested', async () => {
    const rows = Object.keys(CLIENTS).map((client) => [
      client,
      ...Object.keys(UPSTREAMS).map((upstream) =>
        Object.keys(LISTENERS)
          .filter((listener) => passed.has(`${client}|${upstream}|${listener}`))
          .join(', '),
      ),
    ]);
    const table = [['client', ...Object.keys(UPSTREAMS)], ...rows];
    const guide = fileURLToPath(new URL('../../../docs/mcp.md', import.meta.url));
    const text = await readFile(guide, 'utf8');
    const documented = text
      .split('\n')
      .slice(text.split('\n').findIndex((line) => line.startsWith('| client ')))
      .filter(
        (line, index, lines) => line.startsWith('|') && lines.slice(0, index).every((before) => before.startsWith('|')),
      )
      .filter((line) => !/^\|[ -]+\|/.test(line.replaceAll(' | ', '-')) || /[a-z]/.test(line))
      .map((line) =>
        line
          .split('|')
          .slice(1, -1)
          .map((cell) => cell.trim()),
      );
    if (process.env.UPDATE_DOCS === '1') {
      const lines = [table[0]!, table[0]!.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`);
      await writeFile(
        guide,
        text.replace(/<!-- interop -->[\s\S]*?<!-- end -->/, `<!-- interop -->\n\n${lines.join('\n')}\n\n<!-- end -->`),
      );
    } else expect(documented).toEqual(table);
  });
});

afterAll(async () => {
  for (const cleanup of cleanups) await cleanup();
});
