// One call of an MCP server's tool over stdio: the provider against the SDK's client, with the same server.

import { fileURLToPath } from 'node:url';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { MCPToolProvider } from '@toolwright/core/mcp';
import { compare, reach, type Row } from '../method.js';
import { inEachPlacement } from '../placement.js';

const args = { text: 'hello world' };
const server = {
  command: process.execPath,
  args: [fileURLToPath(new URL('../servers/echo.mjs', import.meta.url))],
};

const STARTS = 3;

async function startBoth(): ReturnType<Parameters<typeof inEachPlacement>[1]> {
  const provider = new MCPToolProvider({ name: 'bench', ...server });
  await provider.connect();
  const client = new Client({ name: 'bench', version: '1.0.0' });
  await client.connect(new StdioClientTransport(server));
  await client.listTools();

  const ours = { name: 'MCPToolProvider.callTool', run: () => provider.callTool('bench.echo', args) };
  const call = { name: 'echo', arguments: args };
  const sdk = { name: 'SDK Client.callTool', run: () => client.callTool(call) };
  // As every call of the provider has: a progress token, which the server reads too, and a signal.
  const likewise = {
    name: 'SDK Client.callTool, onprogress and signal',
    run: () => client.callTool(call, undefined, { onprogress() {}, signal: new AbortController().signal }),
  };
  const together = (run: () => unknown) => () => Promise.all(Array.from({ length: 64 }, run));
  return {
    measure: async (placement) => [
      await compare(`call over stdio, ${placement}`, ours, sdk, { batch: 200, rounds: 9, warmUp: 60 }),
      await compare(`call over stdio, ${placement}`, ours, likewise, { batch: 200, rounds: 9, warmUp: 60 }),
      await compare(
        `64 calls over stdio, ${placement}`,
        { name: `64 x ${ours.name}`, run: together(ours.run) },
        { name: `64 x ${likewise.name}`, run: together(likewise.run) },
        { batch: 10, rounds: 9, warmUp: 10 },
      ),
    ],
    async [Symbol.asyncDispose]() {
      await client.close();
      await provider.disconnect();
    },
  };
}

export async function mcpRows(): Promise<Row[]> {
  const rows = await inEachPlacement(STARTS, startBoth);
  return rows.map((row, index) => (index % 3 === 0 ? row : reach(row, row.ratio.median, '<=', 1.1, 'x')));
}
