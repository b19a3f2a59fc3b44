// MCP servers over stdio: a call over each engine and era, against that SDK's client with the same server; and the time to
// connect, against a server whose era is known.

import { fileURLToPath } from 'node:url';
import { Client as ClientV2 } from '@modelcontextprotocol/client';
import { StdioClientTransport as StdioV2 } from '@modelcontextprotocol/client/stdio';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { MCPToolProvider, type EraVerdict, type McpServerOptions } from '@toolwright/core/mcp';
import { compare, reach, type Row } from '../method.js';
import { inEachPlacement } from '../placement.js';

const args = { text: 'hello world' };
const call = { name: 'echo', arguments: args };
const program = (...words: string[]) => ({
  command: process.execPath,
  args: [fileURLToPath(new URL(`../servers/${words[0]}`, import.meta.url)), ...words.slice(1)],
});
const legacy = program('echo.mjs');
const modern = program('echo-modern.mjs');

const STARTS = 3;

/** An SDK's client, with what every call of the provider has: a progress token, which the server reads too, and a signal. */
interface SdkClient {
  bare: () => Promise<unknown>;
  likewise: () => Promise<unknown>;
  close: () => Promise<void>;
}

async function sdkV1(): Promise<SdkClient> {
  const client = new Client({ name: 'bench', version: '1.0.0' });
  await client.connect(new StdioClientTransport(legacy));
  await client.listTools();
  return {
    bare: () => client.callTool(call),
    likewise: () => client.callTool(call, undefined, { onprogress() {}, signal: new AbortController().signal }),
    close: () => client.close(),
  };
}

async function sdkV2(server: typeof legacy): Promise<SdkClient> {
  const mode = server === modern ? 'auto' : 'legacy';
  const client = new ClientV2({ name: 'bench', version: '1.0.0' }, { versionNegotiation: { mode } });
  await client.connect(new StdioV2(server));
  await client.listTools();
  return {
    bare: () => client.callTool(call),
    likewise: () => client.callTool(call, { onprogress() {}, signal: new AbortController().signal }),
    close: () => client.close(),
  };
}

/** Each engine and era: what to call it, its server, the provider's options, and the SDK's client. */
const ENGINES = [
  { name: 'engine v1, legacy', server: legacy, options: { engine: 'v1' }, sdk: sdkV1 },
  {
    name: 'engine v2, legacy',
    server: legacy,
    options: { engine: 'v2', protocol: 'legacy' },
    sdk: () => sdkV2(legacy),
  },
  {
    name: 'engine v2, modern',
    server: modern,
    options: { engine: 'v2', protocol: 'modern' },
    sdk: () => sdkV2(modern),
  },
] as const;

async function startBoth(engine: (typeof ENGINES)[number]): ReturnType<Parameters<typeof inEachPlacement>[1]> {
  const provider = new MCPToolProvider({ name: 'bench', ...engine.server, ...engine.options });
  await provider.connect();
  const sdk = await engine.sdk();
  const ours = { name: `MCPToolProvider.callTool, ${engine.name}`, run: () => provider.callTool('bench.echo', args) };
  const bare = { name: 'SDK Client.callTool', run: sdk.bare };
  const likewise = { name: 'SDK Client.callTool, onprogress and signal', run: sdk.likewise };
  const together = (run: () => unknown) => () => Promise.all(Array.from({ length: 64 }, run));
  return {
    measure: async (placement) => [
      await compare(`call over stdio, ${placement}`, ours, bare, { batch: 200, rounds: 9, warmUp: 60 }),
      await compare(`call over stdio, ${placement}`, ours, likewise, { batch: 200, rounds: 9, warmUp: 60 }),
      await compare(
        `64 calls over stdio, ${placement}`,
        { name: `64 x ${ours.name}`, run: together(ours.run) },
        { name: `64 x ${likewise.name}`, run: together(likewise.run) },
        { batch: 10, rounds: 9, warmUp: 10 },
      ),
    ],
    async [Symbol.asyncDispose]() {
      await sdk.close();
      await provider.disconnect();
    },
  };
}

/** Connects and disconnects once. */
async function connectOnce(server: typeof legacy, options: Partial<McpServerOptions>): Promise<void> {
  await using provider = new MCPToolProvider({ name: 'bench', ...server, ...options });
  await provider.connect();
}

async function connectRows(): Promise<Row[]> {
  const known = { name: 'legacy server, protocol set', run: () => connectOnce(legacy, { protocol: 'legacy' }) };
  const side = (name: string, server: typeof legacy, isRemembered: boolean) => {
    let verdict: EraVerdict | undefined;
    const eraStore = {
      get: () => (isRemembered ? verdict : undefined),
      set: (_: string, given?: EraVerdict) => void (verdict = given ?? verdict),
    };
    return { name, run: () => connectOnce(server, { eraStore }) };
  };
  const sides = [
    side('legacy server, asked', legacy, false),
    side('legacy server, remembered', legacy, true),
    side('modern server, asked', modern, false),
    side('server that exits on the question', program('exits-on-probe.mjs'), false),
    side('the same, remembered', program('exits-on-probe.mjs'), true),
  ];
  const rows: Row[] = [];
  for (const subject of sides)
    rows.push(await compare('connect over stdio', subject, known, { batch: 1, rounds: 15, warmUp: 2 }));
  return rows;
}

export async function mcpRows(): Promise<Row[]> {
  const rows: Row[] = [];
  for (const engine of ENGINES) {
    const measured = await inEachPlacement(STARTS, () => startBoth(engine));
    for (const [index, row] of measured.entries())
      rows.push(index % 3 === 0 ? row : reach(row, row.ratio.median, '<=', 1.1, 'x'));
  }
  return [...rows, ...(await connectRows())];
}
