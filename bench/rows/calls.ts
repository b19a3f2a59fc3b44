// One call in process and through a hub, against the bare function and against the MCP SDK's in-memory transport.

import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js';
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { CallToolRequestSchema, ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { defineServer, defineTool, InProcessToolProvider, ToolHub } from '@toolwright/core';
import { z } from 'zod';
import { compare, reach, type Row } from '../method.js';

const schema = z.object({ text: z.string() });
const args = { text: 'hello world' };
const fn = async ({ text }: { text: string }): Promise<{ text: string }> => ({ text });

export async function callRows(): Promise<Row[]> {
  const echo = defineTool({ name: 'echo', description: 'Echoes.', input: schema, execute: fn });
  const provider = new InProcessToolProvider({
    servers: [defineServer({ name: 'bench', version: '1.0.0', tools: [echo] })],
  });
  await provider.connect();
  const hub = new ToolHub({
    providers: [provider],
    policy: { default: 'deny', rules: [{ tool: 'bench.*', action: 'allow' }] },
  });
  await hub.connect();
  const client = await connectSdk();

  const bare = { name: 'schema.parse + await fn()', run: () => fn(schema.parse(args)) };
  const inProcess = { name: 'InProcessToolProvider.callTool', run: () => provider.callTool('bench.echo', args) };
  const throughHub = {
    name: 'ToolHub.callTool, one rule, a deadline',
    run: () => hub.callTool('bench.echo', args, { timeoutMs: 60_000 }),
  };
  const sdk = { name: 'SDK Client.callTool in memory', run: () => client.callTool({ name: 'echo', arguments: args }) };

  const rows = [];
  const floor = await compare('call in process', inProcess, bare);
  rows.push(reach(floor, floor.differenceUs.median, '<=', 2, 'us more'));
  const hubRow = await compare('call through a hub', throughHub, inProcess);
  rows.push(reach(hubRow, hubRow.differenceUs.median, '<=', 2, 'us more'));
  rows.push(await copiesRow());
  // Last, because its garbage slows later rows.
  const peer = await compare('call in process', sdk, inProcess);
  rows.push(reach(peer, peer.ratio.median, '>=', 8, 'x slower'));

  await client.close();
  await hub.disconnect();
  return rows;
}

/** A hundred rows as arguments and as the result; both are copied. */
async function copiesRow(): Promise<Row> {
  const rowsSchema = z.object({ rows: z.array(z.object({ path: z.string(), line: z.number(), text: z.string() })) });
  const given = {
    rows: Array.from({ length: 100 }, (_, line) => ({ path: 'src/index.ts', line, text: `line ${line}` })),
  };
  const give = async (value: z.infer<typeof rowsSchema>): Promise<z.infer<typeof rowsSchema>> => value;
  const tool = defineTool({ name: 'rows', description: 'Gives rows.', input: rowsSchema, execute: give });
  await using provider = new InProcessToolProvider({
    servers: [defineServer({ name: 'bench', version: '1.0.0', tools: [tool] })],
  });
  await provider.connect();
  const bare = {
    name: 'schema.parse, await fn(), JSON.stringify, structuredClone of both',
    run: async () => {
      const result = await give(rowsSchema.parse(structuredClone(given)));
      return [JSON.stringify(result), structuredClone(result)];
    },
  };
  const copying = {
    name: 'InProcessToolProvider.callTool, 100 rows in and out',
    run: () => provider.callTool('bench.rows', given),
  };
  const copies = await compare('copies of arguments and result', copying, bare);
  return reach(copies, copies.ratio.median, '<=', 1, 'x');
}

/** The same tool on the SDK's low-level server, which is the fastest: only the client validates results. */
async function connectSdk(): Promise<Client> {
  const server = new Server({ name: 'bench', version: '1.0.0' }, { capabilities: { tools: {} } });
  server.setRequestHandler(ListToolsRequestSchema, () => ({
    tools: [{ name: 'echo', inputSchema: { type: 'object' } }],
  }));
  server.setRequestHandler(CallToolRequestSchema, async ({ params }) => {
    const result = await fn(schema.parse(params.arguments));
    return { content: [{ type: 'text', text: JSON.stringify(result) }], structuredContent: result };
  });
  const client = new Client({ name: 'bench', version: '1.0.0' });
  const [here, there] = InMemoryTransport.createLinkedPair();
  await Promise.all([server.connect(there), client.connect(here)]);
  return client;
}
