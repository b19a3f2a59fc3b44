// npm run conformance: MCP's conformance suite against gateways and MCPToolProvider. The .yml files next to this one list
// expected failures; an unexpected pass fails the run too.

import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { InProcessToolProvider, ToolHub, type ToolProvider } from '@toolwright/core';
import { MCPToolProvider } from '@toolwright/core/mcp';
import { spawnChild } from '@toolwright/core/process';
import { createGateway } from '@toolwright/gateway';
import { build } from 'tsup';
import { serveEverything } from '../packages/gateway/test/fixtures/serve-everything.js';
import { serveModernEverything } from '../packages/gateway/test/fixtures/modern-everything.js';
import { suiteTools } from '../packages/gateway/test/fixtures/suite-tools.js';

const HERE = fileURLToPath(new URL('.', import.meta.url));
const SUITE = join(HERE, 'peers/node_modules/@modelcontextprotocol/conformance/dist/index.js');
/** The suite with revision 2026-07-28, which does not start on Node 20. */
const NEXT = join(HERE, 'peers/node_modules/conformance-next/dist/index.js');
const NODE_22 = join(HERE, 'peers/node_modules/node22/bin/node');
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
  if (existsSync(NODE_22)) await nextSuite();
  else console.log('skipped: the next suite, which needs Node 22, is not in tools/peers');
}

/** The next suite: gateways, and clients scenario by scenario, as in parallel they run into each other's timeouts. */
async function nextSuite(): Promise<void> {
  for (const [what, server] of [
    ['a server of the earlier revisions', await serveEverything()],
    ['a server of 2026-07-28', await serveModernEverything()],
  ] as const) {
    await using provider = new MCPToolProvider({ name: 'everything', url: server.url });
    await using served = createGateway(provider, {
      forward: true,
      naming: (name) => name.slice(name.indexOf('.') + 1),
    });
    const { port } = await served.serveHttp({ auth: 'none' });
    // Each revision with a server that has what its scenarios require.
    const revision = server.url.includes('localhost') ? '2025-11-25' : '2026-07-28';
    const args = ['server', '--url', `http://localhost:${port}/mcp`, '--requirements', revision];
    const { code, text } = await output(NODE_22, NEXT, ...args);
    const passed = text.match(/^✓ /gm)?.length ?? 0;
    console.log(
      `a gateway of ${what}, revision ${revision}: ${passed} scenarios passed; ${/^Not scored.*/m.exec(text)?.[0] ?? ''}`,
    );
    if (code !== 0) console.log(text);
    process.exitCode = process.exitCode || (code ?? 1);
    await server[Symbol.asyncDispose]();
  }
  const { text: list } = await output(NODE_22, NEXT, 'list');
  const clients = list.slice(list.indexOf('Client scenarios'), list.indexOf('Authorization server scenarios'));
  const directory = await mkdtemp(join(HERE, 'conformance-'));
  try {
    await bundle(directory);
    for (const revision of ['2025-11-25', '2026-07-28']) {
      let passed = 0;
      const failed: string[] = [];
      for (const [, scenario] of clients.matchAll(new RegExp(`^ {2}- (\\S+) \\[.*${revision}`, 'gm'))) {
        const command = `node ${basename(directory)}/conformance-client.mjs`;
        const args = ['client', '--command', command, '--scenario', scenario!, '--spec-version', revision];
        const { text, code } = await output(NODE_22, NEXT, ...args);
        if (code === 0) passed++;
        else failed.push(`${scenario}\n${text}`);
      }
      console.log(`MCPToolProvider, revision ${revision}: ${passed} scenarios passed, ${failed.length} failed`);
      for (const text of failed) console.log(text);
      if (failed.length > 0) process.exitCode = 1;
    }
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

/** The client as one plain file, which starts in a third of the time. */
async function bundle(directory: string): Promise<void> {
  await build({
    entry: [join(HERE, 'conformance-client.ts')],
    outDir: directory,
    outExtension: () => ({ js: '.mjs' }),
    format: 'esm',
    target: 'node20',
    config: false,
    silent: true,
    splitting: false,
    tsconfig: join(HERE, '../tsconfig.json'),
    noExternal: [/^@toolwright\//],
  });
}

async function output(command: string, ...args: string[]): Promise<{ text: string; code: number | null }> {
  await using child = spawnChild({ command, args, cwd: HERE, stdin: 'ignore' });
  let text = '';
  child.stdout.on('data', (chunk: Buffer) => (text += chunk.toString()));
  const { code } = await child.exited;
  return { text, code };
}
