// One hub over a project's files and a tool of your own: list, call, read the answer.

import assert from 'node:assert/strict';
import { createTestProject } from '@toolwright/core/testing';

await using project = await createTestProject({ 'README.md': '# A project\n' });
const { projectDir } = project;

// #region example
import { defineServer, defineTool, InProcessToolProvider, textOf, ToolHub } from '@toolwright/core';
import { z } from 'zod';

const add = defineTool({
  name: 'add',
  description: 'Add two numbers.',
  input: z.object({ a: z.number(), b: z.number() }),
  output: z.object({ sum: z.number() }),
  execute: ({ a, b }) => ({ sum: a + b }),
});
await using hub = new ToolHub({
  providers: [
    InProcessToolProvider.forProject(projectDir), // filesystem.read_file, filesystem.grep, …
    new InProcessToolProvider({ servers: [defineServer({ name: 'math', version: '1.0.0', tools: [add] })] }),
  ],
});
const tools = await hub.listTools(); // what you show the model
const sum = await hub.callTool('math.add', { a: 1, b: 2 }); // never rejects: look at isError
const readme = await hub.callTool('filesystem.read_file', { path: 'README.md' }, { timeoutMs: 5_000 });
console.log(tools.length, sum.structuredContent, textOf(readme));
// #endregion

assert.deepEqual(sum.structuredContent, { sum: 3 });
assert.match(textOf(readme), /# A project/);
assert.ok(tools.some(({ name }) => name === 'filesystem.edit_file'));
