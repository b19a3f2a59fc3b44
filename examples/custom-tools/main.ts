// Custom tools: arguments and output typed by a schema, state from the server, progress and cancellation.

import assert from 'node:assert/strict';

// #region example
import { callTyped, defineServer, defineTool, InProcessToolProvider, type ToolContext } from '@toolwright/core';
import { z } from 'zod';

interface Notes {
  texts: string[];
}

const addNote = defineTool({
  name: 'add_note',
  description: 'Store a note.',
  input: z.object({ text: z.string().min(1), times: z.number().int().default(1) }),
  output: z.object({ count: z.number() }),
  annotations: { destructiveHint: false, openWorldHint: false },
  permissionPattern: ({ text }) => text, // what a policy matches; default: the tool's name
  execute: async ({ text, times }, ctx: ToolContext<Notes>) => {
    for (let time = 1; time <= times; time++) {
      ctx.signal.throwIfAborted();
      ctx.state.texts.push(text);
      ctx.progress({ progress: time, total: times });
    }
    return { count: ctx.state.texts.length };
  },
});

const notes = defineServer<Notes>({
  name: 'notes',
  version: '1.0.0',
  tools: [addNote],
  start: () => ({ texts: [] }),
  stop: ({ texts }) => console.log(`stored ${texts.length} notes`),
});
await using provider = new InProcessToolProvider({ servers: [notes] });
const { count } = await callTyped(provider, addNote, { text: 'buy milk', times: 3 });
// #endregion

assert.equal(count, 3);
// #region coercion
const coerced = await provider.callTool('notes.add_note', { text: 'from a model', times: '2' });
const refused = await provider.callTool('notes.add_note', { txt: 'oops' });
// #endregion
assert.deepEqual(coerced.structuredContent, { count: 5 });
assert.equal(refused.error?.code, 'INVALID_ARGUMENT');
assert.match(refused.error?.message ?? '', /did you mean "text"/);
