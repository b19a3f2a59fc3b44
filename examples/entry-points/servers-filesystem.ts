// The example of @toolwright/core/servers/filesystem in the API reference.

import assert from 'node:assert/strict';

import { InProcessToolProvider, textOf } from '@toolwright/core';
import { createFilesystemServer } from '@toolwright/core/servers/filesystem';

const server = createFilesystemServer({ projectDir: process.cwd() });
await using provider = new InProcessToolProvider({ servers: [server] });
const result = await provider.callTool('filesystem.grep', { pattern: 'TODO', glob: '*.md' });
console.log(textOf(result));

assert.equal(result.isError, false);
