// The example of @toolwright/core/process in the API reference.

import assert from 'node:assert/strict';

import { spawnChild } from '@toolwright/core/process';

await using child = spawnChild({ command: 'node', args: ['--version'], cwd: process.cwd() });
let version = '';
child.stdout.on('data', (chunk: Buffer) => (version += chunk.toString()));
const { code } = await child.exited;
console.log(code, version.trim());

assert.equal(code, 0);
