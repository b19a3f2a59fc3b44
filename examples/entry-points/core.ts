// The example of @toolwright/core in the API reference.

import assert from 'node:assert/strict';

import { defineServer, defineTool, InProcessToolProvider, ToolHub } from '@toolwright/core';

const add = defineTool({
  name: 'add',
  description: 'Add two numbers.',
  input: {
    type: 'object',
    properties: { a: { type: 'number' }, b: { type: 'number' } },
    required: ['a', 'b'],
  },
  execute: ({ a, b }) => ({ sum: a + b }),
});

await using hub = new ToolHub({
  providers: [new InProcessToolProvider({ servers: [defineServer({ name: 'math', version: '1.0.0', tools: [add] })] })],
});
const result = await hub.callTool('math.add', { a: 1, b: 2 }); // never rejects: check isError
console.log(result.structuredContent); // { sum: 3 }

assert.deepEqual(result.structuredContent, { sum: 3 });
