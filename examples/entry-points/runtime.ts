// The example of @toolwright/runtime in the API reference.

import assert from 'node:assert/strict';
import { fileURLToPath } from 'node:url';

const projectDir = fileURLToPath(new URL('../provider-processes/', import.meta.url));

import { superviseProcess } from '@toolwright/runtime';

await using calculator = superviseProcess({ name: 'calculator', path: 'calculator.ts', cwd: projectDir, watch: true });
const sum = await calculator.callTool('calculator.add', { a: 1, b: 2 }); // the first call starts the process

assert.deepEqual(sum.structuredContent, { sum: 3 });
