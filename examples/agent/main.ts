// A model that steers its engine: it plans, hands over to another tier, and prunes old messages.

// #region example
import assert from 'node:assert/strict';
import { InProcessToolProvider, processDirectives, ToolHub, type DirectiveHandlers } from '@toolwright/core';
import { createAgentServer } from '@toolwright/core/servers';

await using hub = new ToolHub({
  providers: [new InProcessToolProvider({ servers: [createAgentServer({ tiers: ['plan', 'code'] })] })],
});

// The engine's state: the model's tier, texts pinned to the context, and the conversation.
let tier = 'plan';
const anchors = new Map<string, string>();
const conversation = ['a long file', 'another long file', 'what the user wants', 'what was found'];
const handlers: DirectiveHandlers = {
  context_anchor: ({ key, content }) => void (content === '' ? anchors.delete(key) : anchors.set(key, content)),
  prune_messages: ({ keep_recent = 2 }) => void conversation.splice(0, conversation.length - keep_recent),
  tier_change: (change) => void (tier = change.tier),
};

const plan = [
  { content: 'Read the parser', active_form: 'Reading the parser', status: 'completed' },
  { content: 'Fix the parser', active_form: 'Fixing the parser', status: 'pending', target_tier: 'code' },
];
await processDirectives((await hub.callTool('agent.todo_write', { todos: plan })).directives, handlers);
assert.match(anchors.get('todo_state')!, /For code tier:\n {4}1\. \[ \] Fix the parser\nProgress: 1\/2 completed/);

await processDirectives((await hub.callTool('agent.prune_context', { keep_recent: 2 })).directives, handlers);
assert.deepEqual(conversation, ['what the user wants', 'what was found']);

const handoff = { target_tier: 'code', reason: 'the plan is ready', task_state: 'the bug is in line 40' };
const outcome = await processDirectives((await hub.callTool('agent.handoff', handoff)).directives, handlers);
assert.ok(outcome.stopProcessing && outcome.tierChanged); // the turn ends; the other tier starts the next one
assert.equal(tier, 'code');
// #endregion
