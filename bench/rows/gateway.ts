// One call through a gateway, against an SDK server with the same tool; that SDK's client calls both: in the legacy era over
// stdio and at a socket, in the modern era over stdio and HTTP. The gateway checks a token over HTTP; the SDK's server does not.

import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client as ClientV2, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport as StdioV2 } from '@modelcontextprotocol/client/stdio';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { spawnChild } from '@toolwright/core/process';
import { compare, reach, type Row, type Side } from '../method.js';
import { inEachPlacement } from '../placement.js';

const fileOf = (server: string): string => fileURLToPath(new URL(`../servers/${server}.mjs`, import.meta.url));
const OURS = 'SDK client, gateway';
const SDK = 'SDK client, SDK server';
const OURS_V2 = 'SDK v2 client, gateway';
const SDK_V2 = 'SDK v2 client, SDK v2 server';
const STARTS = 3;
const call = { name: 'echo', arguments: { text: 'hello world' } };

async function sideOf(name: string, client: Client | ClientV2): Promise<Side> {
  await client.listTools();
  return { name, run: () => client.callTool(call) };
}

async function startAll(): ReturnType<Parameters<typeof inEachPlacement>[1]> {
  const directory = await mkdtemp(join(tmpdir(), 'toolwright-bench-'));
  const ends: (() => Promise<unknown>)[] = [() => rm(directory, { recursive: true, force: true })];
  const newClient = (): Client => {
    const client = new Client({ name: 'bench', version: '1.0.0' });
    ends.push(() => client.close());
    return client;
  };
  async function overStdio(server: string): Promise<Client> {
    const client = newClient();
    await client.connect(new StdioClientTransport({ command: process.execPath, args: [fileOf(server)] }));
    return client;
  }
  async function atSocket(server: string): Promise<Client> {
    const path = join(directory, server);
    const child = spawnChild({ command: process.execPath, args: [fileOf(server), path], cwd: directory });
    ends.push(() => child.end({ graceMs: 0 }));
    await once(child.stdout, 'data');
    const socket = connect(path);
    ends.push(async () => socket.destroy());
    const client = newClient();
    await client.connect(new StdioServerTransport(socket, socket)); // a transport over any two streams
    return client;
  }
  const newModernClient = (): ClientV2 => {
    const versionNegotiation = { mode: { pin: '2026-07-28' } };
    const client = new ClientV2({ name: 'bench', version: '1.0.0' }, { versionNegotiation });
    ends.push(() => client.close());
    return client;
  };
  async function modernOverStdio(server: string): Promise<ClientV2> {
    const client = newModernClient();
    await client.connect(new StdioV2({ command: process.execPath, args: [fileOf(server)] }));
    return client;
  }
  async function modernOverHttp(server: string): Promise<ClientV2> {
    const child = spawnChild({ command: process.execPath, args: [fileOf(server), 'http'], cwd: directory });
    ends.push(() => child.end({ graceMs: 0 }));
    const [line] = (await once(child.stdout, 'data')) as [Buffer];
    const [url, token] = String(line).trim().split(' ') as [string, string?];
    const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
    const client = newModernClient();
    await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }));
    return client;
  }
  const sides = [
    ['over stdio', await sideOf(OURS, await overStdio('gateway')), await sideOf(SDK, await overStdio('echo'))],
    ['at a socket', await sideOf(OURS, await atSocket('gateway')), await sideOf(SDK, await atSocket('echo'))],
    [
      'modern, over stdio',
      await sideOf(OURS_V2, await modernOverStdio('gateway')),
      await sideOf(SDK_V2, await modernOverStdio('echo-modern')),
    ],
    [
      'modern, over HTTP',
      await sideOf(OURS_V2, await modernOverHttp('gateway')),
      await sideOf(SDK_V2, await modernOverHttp('echo-modern')),
    ],
  ] as const;
  return {
    measure: async (placement) => {
      const rows: Row[] = [];
      for (const [where, ours, sdk] of sides)
        rows.push(await compare(`call ${where}, ${placement}`, ours, sdk, { batch: 200, rounds: 9, warmUp: 60 }));
      return rows;
    },
    async [Symbol.asyncDispose]() {
      for (const end of ends.reverse()) await end();
    },
  };
}

export async function gatewayRows(): Promise<Row[]> {
  const rows = await inEachPlacement(STARTS, startAll);
  return rows.map((row) => reach(row, row.ratio.median, '<=', 1.3, 'x'));
}
