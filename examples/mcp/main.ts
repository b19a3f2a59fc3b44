// The built-in tools and two real MCP servers behind one hub and one policy. The servers are installed with tools/peers;
// without them this example prints a notice and exits.

import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createTestProject } from '@toolwright/core/testing';

const PEERS = fileURLToPath(new URL('../../tools/peers/node_modules/@modelcontextprotocol/', import.meta.url));
const memoryServer = join(PEERS, 'server-memory/dist/index.js');
const thinkingServer = join(PEERS, 'server-sequential-thinking/dist/index.js');
if (![memoryServer, thinkingServer].every((file) => existsSync(file))) {
  console.log('skipped: the MCP servers are not installed; run "npm ci --prefix tools/peers --ignore-scripts"');
  process.exit(0);
}
await using project = await createTestProject({ 'README.md': '# A project\n' });
const { projectDir } = project;

// #region example
import { InProcessToolProvider, textOf, ToolHub } from '@toolwright/core';
import { MCPToolProvider } from '@toolwright/core/mcp';

await using hub = new ToolHub({
  providers: [
    InProcessToolProvider.forProject(projectDir),
    new MCPToolProvider({
      name: 'graph',
      command: process.execPath, // or 'mcp-server-memory' if it is on the PATH
      args: [memoryServer],
      env: { MEMORY_FILE_PATH: `${projectDir}/memory.jsonl` },
      projectDir,
    }),
    new MCPToolProvider({ name: 'thinking', command: process.execPath, args: [thinkingServer] }),
  ],
  policy: {
    default: 'deny',
    rules: [
      { tool: 'filesystem.read_*', action: 'allow' },
      { tool: 'graph.*', action: 'allow' },
    ],
  },
});
await hub.connect(); // all providers in parallel; a failed one costs only its own tools
const tools = await hub.listTools(); // filesystem.read_file, graph.create_entities, …; without denied tools
const entity = { name: 'Ada', entityType: 'person', observations: ['wrote the first program'] };
await hub.callTool('graph.create_entities', { entities: [entity] });
const found = await hub.callTool('graph.search_nodes', { query: 'program' }, { timeoutMs: 5_000 });
// #endregion

assert.match(textOf(found), /Ada/);
assert.ok(tools.some(({ name }) => name === 'graph.create_entities'));
assert.ok(!tools.some(({ name }) => name === 'thinking.sequentialthinking')); // denied, so not listed
const refused = await hub.callTool('thinking.sequentialthinking', {
  thought: 'May I?',
  nextThoughtNeeded: false,
  thoughtNumber: 1,
  totalThoughts: 1,
});
assert.equal(refused.error?.code, 'PERMISSION_DENIED');
console.log(`${tools.length} tools; ${textOf(found).length} characters found`);
