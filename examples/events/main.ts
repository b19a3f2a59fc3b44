// The event stream of a hub: what happens to a call that the policy allows, and to one that it denies.

import assert from 'node:assert/strict';
import { InProcessToolProvider, ToolHub, type HubEvent } from '@toolwright/core';
import { createTestProject } from '@toolwright/core/testing';

await using project = await createTestProject({ 'notes.md': 'token=abcd1234\n' });
await using hub = new ToolHub({
  providers: [InProcessToolProvider.forProject(project.projectDir)],
  policy: { default: 'deny', rules: [{ tool: 'filesystem.read_file', action: 'allow' }] },
});
const audit: HubEvent[] = [];

const unsubscribe = hub.onEvent(({ id, type, tool, data }) => console.log(id, type, tool ?? '', data ?? ''));
hub.onEvent((event) => audit.push(event), { includeData: true });

await hub.callTool('filesystem.read_file', { path: 'notes.md' });
await hub.callTool('filesystem.write_file', { path: 'notes.md', content: 'x' });
unsubscribe();

const settled = audit.filter(({ type }) => type === 'call.settled').map(({ data }) => data?.code ?? 'ok');
assert.deepEqual(settled, ['ok', 'PERMISSION_DENIED']);
assert.match(JSON.stringify(audit), /token=\[hidden\]/);
