// The example of @toolwright/core/servers/bash in the API reference.

import assert from 'node:assert/strict';

import { InProcessToolProvider, textOf } from '@toolwright/core';
import { createBashServer } from '@toolwright/core/servers/bash';

const server = createBashServer({ projectDir: process.cwd() });
await using provider = new InProcessToolProvider({ servers: [server] });
const result = await provider.callTool('bash.execute', { command: 'node --version' });
console.log(textOf(result));

assert.equal(result.structuredContent?.exit_code, 0);
