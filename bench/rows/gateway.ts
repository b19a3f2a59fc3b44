// One call through a gateway against a server on the SDK with the same tool: the SDK's own client to both, over stdio and
// at a socket.

import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { spawnChild } from '@toolwright/core/process';
import { compare, reach, type Row, type Side } from '../method.js';

const fileOf = (server: string): string => fileURLToPath(new URL(`../servers/${server}.mjs`, import.meta.url));
const call = { name: 'echo', arguments: { text: 'hello world' } };

async function sideOf(name: string, client: Client): Promise<Side> {
  await client.listTools();
  return { name, run: () => client.callTool(call) };
}

export async function gatewayRows(): Promise<Row[]> {
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
  const options = { batch: 200, warmUp: 10 };
  const rows = [
    await compare(
      'call over stdio',
      await sideOf('SDK client, gateway', await overStdio('gateway')),
      await sideOf('SDK client, SDK server', await overStdio('echo')),
      options,
    ),
    await compare(
      'call at a socket',
      await sideOf('SDK client, gateway', await atSocket('gateway')),
      await sideOf('SDK client, SDK server', await atSocket('echo')),
      options,
    ),
  ];
  for (const end of ends.reverse()) await end();
  return rows.map((row) => reach(row, row.ratio.median, '<=', 1.3, 'x'));
}
