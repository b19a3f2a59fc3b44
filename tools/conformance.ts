// npm run conformance: MCP's conformance suite against gateways and MCPToolProvider. The .yml files next to this one list
// expected failures; an unexpected pass fails the run too.

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { InProcessToolProvider, ToolHub, type ToolProvider } from '@toolwright/core';
import { MCPToolProvider } from '@toolwright/core/mcp';
import { spawnChild } from '@toolwright/core/process';
import { createGateway } from '@toolwright/gateway';
import { serveEverything } from '../packages/gateway/test/fixtures/serve-everything.js';
import { suiteTools } from '../packages/gateway/test/fixtures/suite-tools.js';

const HERE = fileURLToPath(new URL('.', import.meta.url));
const SUITE = join(HERE, 'peers/node_modules/@modelcontextprotocol/conformance/dist/index.js');
/** The suite splits it at spaces, appends a URL and passes it to a shell, so it contains no absolute path. */
const CLIENT = 'node --import tsx conformance-client.ts';

/** Runs the suite and reports its result, with its output if it failed. */
async function suite(what: string, ...args: string[]): Promise<void> {
  await using child = spawnChild({ command: process.execPath, args: [SUITE, ...args], cwd: HERE, stdin: 'ignore' });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (output += chunk.toString()));
  const { code } = await child.exited;
  // A scenario with a warning has a tick too, and counts as an expected failure.
  const expected = new Set(Array.from(output.matchAll(/^ {2}~ (.+)$/gm), ([, scenario]) => scenario));
  const ticked = Array.from(output.matchAll(/^✓ (.+): \d+ passed/gm), ([, scenario]) => scenario);
  const passed = ticked.filter((scenario) => !expected.has(scenario)).length;
  const scenarios = args.includes('--suite') ? `${passed} scenarios passed, ${expected.size} failed as expected. ` : '';
  console.log(`${what}: ${scenarios}${/^(Total|Passed): .*$/m.exec(output)?.[0] ?? ''}`);
  if (code !== 0) console.log(output);
  process.exitCode = process.exitCode || (code ?? 1);
}

/** Runs the suite against a gateway with tools and prompts named as the suite names them. */
async function gateway(what: string, provider: ToolProvider, forward: boolean, ...runs: string[][]): Promise<void> {
  await using served = createGateway(provider, { forward, naming: (name) => name.slice(name.indexOf('.') + 1) });
  const { port } = await served.serveHttp({ auth: 'none' });
  for (const args of runs) await suite(what, 'server', '--url', `http://localhost:${port}/mcp`, ...args);
  await provider.disconnect();
}

if (!existsSync(SUITE)) {
  console.log('skipped: the suite is not in tools/peers');
} else {
  const toolsOnly = ['--suite', 'active', '--expected-failures', 'conformance-tools-only.yml'];
  const everything = ['--suite', 'all', '--expected-failures', 'conformance-forwarding.yml'];
  const tools = new InProcessToolProvider({ servers: [suiteTools] });
  // Not part of the active suite.
  const schemas = ['--scenario', 'json-schema-2020-12'];
  await gateway('a gateway of tools in this process', tools, false, toolsOnly, schemas);

  await using server = await serveEverything();
  const provider = (): MCPToolProvider => new MCPToolProvider({ name: 'everything', url: server.url });
  await suite('the server behind the next two', 'server', '--url', server.url, ...everything);
  await gateway('a gateway that forwards MCPToolProvider', provider(), true, everything);
  await gateway('a gateway that forwards a hub', new ToolHub({ providers: [provider()] }), true, everything);

  for (const scenario of ['initialize', 'tools_call', 'elicitation-sep1034-client-defaults', 'sse-retry'])
    await suite(`MCPToolProvider, ${scenario}`, 'client', '--command', CLIENT, '--scenario', scenario);
}
