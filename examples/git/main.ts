// The git tools: a change goes from the working tree to the index, in a repository whose programs never run.

import assert from 'node:assert/strict';
import { InProcessToolProvider, textOf } from '@toolwright/core';
import { createGitServer } from '@toolwright/core/servers';
import { createTestProject } from '@toolwright/core/testing';

await using project = await createTestProject({ 'README.md': '# A project\n' }, { git: true });
const { projectDir } = project;

const git = createGitServer({ projectDir, groups: ['merge'] });
await using provider = new InProcessToolProvider({ servers: [git] });
const status = await provider.callTool('git.status');
assert.deepEqual(status.structuredContent?.entries, []);

await project.write('README.md', '# A project\n\nWith a second line.\n');
console.log(textOf(await provider.callTool('git.diff')));
const added = await provider.callTool('git.add', { paths: ['README.md'] });
assert.equal(added.isError, false);
const refused = await provider.callTool('git.show', { ref: '--output=stolen' });
assert.equal(refused.error?.code, 'INVALID_ARGUMENT');
console.log(textOf(refused));
