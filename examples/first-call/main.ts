// The program of the README: one hub over a project's files and a tool of the program itself.

// #region example
import { defineServer, defineTool, InProcessToolProvider, textOf, ToolHub } from '@toolwright/core';

const add = defineTool({
  name: 'add',
  description: 'Add two numbers.',
  input: {
    type: 'object',
    properties: { a: { type: 'number' }, b: { type: 'number' } },
    required: ['a', 'b'],
  },
  execute: ({ a, b }) => ({ sum: a + b }), // a and b are inferred as numbers
});

await using hub = new ToolHub({
  providers: [
    InProcessToolProvider.forProject(process.cwd()), // filesystem.read_file, git.status, bash.execute, …
    new InProcessToolProvider({ servers: [defineServer({ name: 'math', version: '1.0.0', tools: [add] })] }),
  ],
});

const tools = await hub.listTools(); // names, descriptions and JSON Schemas, to show to the model
const sum = await hub.callTool('math.add', { a: 1, b: 2 }); // never rejects: check isError
const file = await hub.callTool('filesystem.read_file', { path: 'package.json' }, { timeoutMs: 5_000 });

console.log(`${tools.length} tools, for example ${tools[0]?.name}`);
console.log(sum.structuredContent); // { sum: 3 }
console.log(file.isError ? file.error : textOf(file));
// #endregion

import assert from 'node:assert/strict';

assert.deepEqual(sum.structuredContent, { sum: 3 });
assert.match(textOf(file), /"name": "toolwright"/);
assert.ok(tools.some(({ name }) => name === 'filesystem.edit_file'));
