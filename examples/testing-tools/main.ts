// Testing a tool without a provider or a subprocess, and without leaks.

// #region example
import assert from 'node:assert/strict';
import { defineTool } from '@toolwright/core';
import { createTestProject, expectNoLeaks, runTool } from '@toolwright/core/testing';
import { createFilesystemServer } from '@toolwright/core/servers';
import { z } from 'zod';

const shout = defineTool({
  name: 'shout',
  description: 'Return the text in upper case.',
  input: z.object({ text: z.string() }),
  execute: ({ text }) => text.toUpperCase(),
});

await using _ = expectNoLeaks(); // fails if a child process, timer, listener or temporary directory is left
const result = await runTool(shout, { text: 'hello' });
assert.deepEqual(result.content, [{ type: 'text', text: 'HELLO' }]);

await using project = await createTestProject({ 'a.txt': 'one\r\ntwo\r\n' }, { git: true });
const { tools } = createFilesystemServer({ projectDir: project.projectDir });
const read = tools.find(({ name }) => name === 'read_file')!;
const page = await runTool(read, { path: 'a.txt', offset: 2 });
assert.equal(page.structuredContent?.eol, 'crlf');
// #endregion
