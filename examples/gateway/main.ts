// The tools of this process served as one MCP server, over HTTP with a token and on a unix socket. The clients here are
// Toolwright's; any MCP client works.

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { MCPToolProvider } from '@toolwright/core/mcp';
import { createTestProject } from '@toolwright/core/testing';

await using project = await createTestProject({ 'README.md': '# A project\n' });
const { projectDir } = project;

// #region serve
import { InProcessToolProvider, textOf, ToolHub } from '@toolwright/core';
import { createGateway } from '@toolwright/gateway';

await using hub = new ToolHub({
  providers: [InProcessToolProvider.forProject(projectDir)],
  policy: { default: 'ask', rules: [{ tool: 'filesystem.read_*', action: 'allow' }] },
});
await using gateway = createGateway(hub, { logger: console });
const { url, token } = await gateway.serveHttp({ port: 0 });
await gateway.serveSocket({ path: join(projectDir, 'tools.sock') });
// #endregion

await using client = new MCPToolProvider({ name: 'tools', url, headers: { authorization: `Bearer ${token}` } });
const read = await client.callTool('tools.filesystem__read_file', { path: 'README.md' });
assert.match(textOf(read), /# A project/);

// #region approve
await using person = new MCPToolProvider({
  name: 'tools',
  socketPath: join(projectDir, 'tools.sock'),
  elicitation: async ({ message }) => {
    console.log(message); // the policy's default "ask" applies to write_file …
    return { action: 'accept', content: { decision: 'once' } };
  },
});
const file = { path: 'notes.md', content: 'Written after an approval.\n' };
const written = await person.callTool('tools.filesystem__write_file', file);
// #endregion

assert.equal(written.isError, false);
const unapproved = await client.callTool('tools.filesystem__write_file', { path: 'more.md', content: 'x' });
assert.equal(unapproved.error?.code, 'APPROVAL_REQUIRED');
console.log(`${(await client.listTools()).length} tools at ${url.replace(/\d+/g, 'N')}`);
