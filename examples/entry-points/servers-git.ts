// The example of @toolwright/core/servers/git in the API reference.

import assert from 'node:assert/strict';

import { InProcessToolProvider, textOf } from '@toolwright/core';
import { createGitServer } from '@toolwright/core/servers/git';

const server = createGitServer({ projectDir: process.cwd() });
await using provider = new InProcessToolProvider({ servers: [server] });
const result = await provider.callTool('git.log', { max: 3 });
console.log(textOf(result));

assert.ok(!result.isError || result.error?.code === 'NOT_A_REPOSITORY'); // run from an archive
