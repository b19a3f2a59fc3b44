// A policy over real tools: reading is allowed, writing asks, secrets are denied.

import assert from 'node:assert/strict';
import { defineServer, defineTool, type Approval, type ApprovalRequest } from '@toolwright/core';
import { createTestProject } from '@toolwright/core/testing';

await using project = await createTestProject({
  'src/a.ts': 'export const a = 1;\n',
  'secrets/key.txt': 'do not read\n',
  'old.txt': 'old\n',
});
const { projectDir } = project;
const echo = defineTool({
  name: 'echo',
  description: 'Return the text.',
  input: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
  execute: ({ text }) => text,
});
// In place of an MCP server, whose calls claim only the names of their tools.
const notes = new ToolHub({
  providers: [
    new InProcessToolProvider({ servers: [defineServer({ name: 'notes', version: '1.0.0', tools: [echo] })] }),
  ],
});
const showOnScreen = ({ suggestedRules }: ApprovalRequest): Promise<Approval> => {
  assert.deepEqual(suggestedRules, [{ tool: 'filesystem.delete', pattern: 'old.txt', action: 'allow' }]);
  return Promise.resolve({ decision: 'once' });
};
const questions: string[] = [];
const askTheUser = (question: string): Promise<'once' | 'always' | 'deny'> => {
  questions.push(question);
  return Promise.resolve('always');
};

// #region example
import { InProcessToolProvider, ToolHub, type ProviderEntry } from '@toolwright/core';

await using hub = new ToolHub({
  providers: [InProcessToolProvider.forProject(projectDir)],
  policy: {
    default: 'ask',
    rules: [
      { tool: 'filesystem.*', pattern: 'secrets*', action: 'deny' },
      { tool: 'filesystem.read_file', action: 'allow' },
      { tool: 'filesystem.grep', pattern: 'src*', action: 'allow' },
    ],
    approve: async ({ tool, claims, suggestedRules }) => {
      const paths = claims.map(({ pattern }) => pattern).join(', ');
      const shown = suggestedRules.map((rule) => JSON.stringify(rule)).join(' ');
      return { decision: await askTheUser(`${tool} would touch ${paths}. "Always" adds ${shown}`) };
    },
  },
  onRuleAdded: (rule) => console.log('save this rule:', rule),
  onDecision: ({ name, decision, by }) => console.log(`${decision} ${name} (by ${by})`),
});
const denied = await hub.callTool('filesystem.read_file', { path: 'secrets/key.txt' });
const read = await hub.callTool('filesystem.read_file', { path: 'src/a.ts' });
const edit = { path: 'src/a.ts', old_string: 'a = 1', new_string: 'a = 2' };
const edited = await hub.callTool('filesystem.edit_file', edit); // asks; "always" then allows this path
const why = await hub.explain('filesystem.edit_file', { ...edit, path: 'secrets/key.txt' });

const prepared = await hub.prepareCall('filesystem.delete', { path: 'old.txt' });
const request = prepared.verdict?.request; // present when the policy asks
const approval = request && (await showOnScreen(request));
const deleted = await prepared.execute({ approval });

const permission: ProviderEntry['permission'] = (tool, { text }) =>
  tool === 'echo' ? [{ pattern: String(text), match: 'glob', understood: true }] : undefined;
await using foreign = new ToolHub({
  providers: [{ provider: notes, permission }],
  policy: { default: 'deny', rules: [{ tool: 'notes.echo', pattern: 'hello*', action: 'allow' }] },
});
// #endregion

assert.equal(deleted.isError, false, deleted.error?.message);
const hello = await foreign.callTool('notes.echo', { text: 'hello you' });
assert.equal(hello.isError, false, hello.error?.message);
assert.equal((await foreign.callTool('notes.echo', { text: 'bye' })).error?.code, 'PERMISSION_DENIED');
assert.equal(denied.error?.code, 'PERMISSION_DENIED');
assert.equal(read.isError, false);
assert.equal(edited.isError, false, edited.error?.message);
assert.equal(await project.read('src/a.ts'), 'export const a = 2;\n');
assert.equal(why.available, false);
const again = await hub.callTool('filesystem.edit_file', {
  path: 'src/a.ts',
  old_string: 'a = 2',
  new_string: 'a = 3',
});
assert.equal(again.isError, false);
assert.equal(questions.length, 1);
