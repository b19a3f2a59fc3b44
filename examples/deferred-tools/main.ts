// Hundreds of tools for the price of three: a model searches them, and calls what it found.

import assert from 'node:assert/strict';
import {
  deferredTools,
  defineServer,
  defineTool,
  InProcessToolProvider,
  textOf,
  ToolHub,
  type ApprovalRequest,
} from '@toolwright/core';
import { anthropicTools } from '@toolwright/core/adapters/anthropic';

const issues = defineServer({
  name: 'tracker',
  version: '1.0.0',
  tools: [
    defineTool({
      name: 'create_issue',
      description: 'Create an issue in the tracker.',
      input: { type: 'object', properties: { title: { type: 'string' } }, required: ['title'] },
      permissionPattern: ({ title }) => title,
      execute: ({ title }) => `created "${title}"`,
    }),
    ...['list_issues', 'close_issue', 'list_labels'].map((name) =>
      defineTool({ name, description: `${name.replace('_', ' ')} of the tracker.`, execute: () => 'done' }),
    ),
  ],
});
const asked: string[] = [];
const askTheUser = ({ tool, claims }: ApprovalRequest) => {
  asked.push(`${tool} ${claims[0]?.pattern}`);
  return { decision: 'once' as const };
};
const provider = new InProcessToolProvider({ servers: [issues] });

await using hub = new ToolHub({ providers: [provider], policy: { default: 'ask', rules: [], approve: askTheUser } });

const found = await hub.search('open a bug report', { limit: 1 });
assert.equal(found[0]?.name, 'tracker.create_issue');

await using deferred = new InProcessToolProvider({ servers: [deferredTools(hub)] });
const kit = await anthropicTools(deferred, { sessionId: 'chat-1' }); // find_tools, describe_tool, call_tool
assert.equal(kit.tools.length, 3);

const { outputs } = await kit.answer({
  role: 'assistant',
  content: [
    {
      type: 'tool_use',
      id: 'call_1',
      name: 'tools__call_tool',
      input: { name: 'tracker.create_issue', arguments: { title: 'It crashes' } },
    },
  ],
});
assert.match(JSON.stringify(outputs), /created/);
assert.deepEqual(asked, ['tracker.create_issue It crashes']); // once, about the tool that is called

// Or within the hub: list some tools, and let the model find the others.
await hub.add(new InProcessToolProvider({ servers: [deferredTools(hub)] }));
const some = await anthropicTools(hub, { include: ['tools', 'tracker.list_issues'] });
assert.equal(some.tools.length, 4);

// What a model that writes programs is shown of the same tools.
const declarations = await hub.declarations({ include: ['tracker.create_*'] });
assert.ok(declarations.includes('create_issue(args: {\n    title: string;\n  }): Promise<unknown>;'));

const result = await hub.callTool('tools.find_tools', { query: 'which labels are there' });
console.log(textOf(result));
