// A policy over real tools: reading is free, writing is asked about, secrets are never touched.

import assert from 'node:assert/strict';
import { createTestProject } from '@toolwright/core/testing';

await using project = await createTestProject({
  'src/a.ts': 'export const a = 1;\n',
  'secrets/key.txt': 'do not read\n',
});
const { projectDir } = project;
const questions: string[] = [];
const askTheUser = (question: string): Promise<'once' | 'always' | 'deny'> => {
  questions.push(question);
  return Promise.resolve('always');
};

// #region example
import { InProcessToolProvider, ToolHub } from '@toolwright/core';

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
const edited = await hub.callTool('filesystem.edit_file', edit); // asks, and "always" allows this path from now on
const why = await hub.explain('filesystem.edit_file', { ...edit, path: 'secrets/key.txt' });
// #endregion

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
