// The example of @toolwright/core/servers/memory in the API reference.

import assert from 'node:assert/strict';

import { InProcessToolProvider, textOf } from '@toolwright/core';
import { createMemoryServer } from '@toolwright/core/servers/memory';

const server = createMemoryServer({ projectDir: process.cwd() });
await using provider = new InProcessToolProvider({ servers: [server] });
const result = await provider.callTool('memory.retrieve', { query: 'how releases are made' });
console.log(textOf(result));

assert.equal(result.isError, false);
