// npm run call-files: counts the source files that one call enters, by V8's coverage. docs/architecture.md has the figures.
// LIST=1 prints the files and their entered functions.

import { Session } from 'node:inspector/promises';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { InProcessToolProvider, ToolHub, type ToolProvider, type ToolResult } from '@toolwright/core';
import { MCPToolProvider } from '@toolwright/core/mcp';
import { superviseProcess } from '@toolwright/runtime';

const FOLDER = /.*\/packages\//;

const MCP_SERVER = `
import { createInterface } from 'node:readline';
const tools = [{ name: 'echo', inputSchema: { type: 'object', properties: { text: { type: 'string' } } } }];
for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) continue;
  const result =
    method === 'initialize'
      ? { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'x', version: '1' } }
      : method === 'tools/list'
        ? { tools }
        : { content: [{ type: 'text', text: params.arguments?.text ?? '' }] };
  console.log(JSON.stringify({ jsonrpc: '2.0', id, result }));
}
`;

const session = new Session();
session.connect();
await session.post('Profiler.enable');
await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });

const project = await mkdtemp(join(tmpdir(), 'call-files-'));
try {
  await writeFile(join(project, 'a.txt'), 'The deploy runs on Fridays.\n');
  await writeFile(join(project, 'server.mjs'), MCP_SERVER);
  const inProcess = InProcessToolProvider.forProject(project);
  await through(inProcess, async (hub) => {
    await report('filesystem.read_file', () => hub.callTool('filesystem.read_file', { path: 'a.txt' }));
    await hub.callTool('memory.store', { content: 'The deploy runs on Fridays.' });
    await report('memory.retrieve', () => hub.callTool('memory.retrieve', { query: 'deploy' }));
  });
  const stdio = { command: process.execPath, args: [join(project, 'server.mjs')] };
  await through(new MCPToolProvider({ name: 'mcp', ...stdio }), (hub) =>
    report('a tool of an MCP server', () => hub.callTool('mcp.echo', { text: 'hello' })),
  );
  const supervised = superviseProcess({
    name: 'contract',
    path: resolve('packages/runtime/contract/contract-provider.ts'),
  });
  await through(supervised, (hub) =>
    report('a tool of a supervised process', () => hub.callTool('contract.echo', { text: 'hello' })),
  );
} finally {
  await rm(project, { recursive: true });
  session.disconnect();
}

async function through(provider: ToolProvider, run: (hub: ToolHub) => Promise<void>): Promise<void> {
  await using hub = new ToolHub({
    providers: [provider],
    policy: { default: 'deny', rules: [{ tool: '*', action: 'allow' }] },
  });
  await hub.connect();
  await run(hub);
}

/** Counts the files of one call, after a few calls that load everything. */
async function report(title: string, call: () => Promise<ToolResult>): Promise<void> {
  for (let warm = 0; warm < 5; warm++) {
    const { isError, error } = await call();
    if (isError) throw new Error(`${title}: ${error?.message ?? ''}`);
  }
  await session.post('Profiler.takePreciseCoverage');
  await call();
  const { result } = await session.post('Profiler.takePreciseCoverage');
  const entered = result
    .filter(({ url }) => FOLDER.test(url))
    .map(({ url, functions }) => ({
      file: url.replace(FOLDER, ''),
      names: functions.filter(({ ranges }) => (ranges[0]?.count ?? 0) > 0).map(({ functionName }) => functionName),
    }))
    .filter(({ names }) => names.length > 0);
  console.log(`${title}: ${entered.length} files`);
  if (process.env.LIST === '1') for (const { file, names } of entered) console.log(`  ${file}: ${names.join(' ')}`);
}
