// The agent server: what the model may ask of its engine, and what the engine gets.

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { processDirectives, type Directive } from '../../../src/contract/directives.js';
import { InProcessToolProvider } from '../../../src/provider/in-process-provider.js';
import { ToolHub } from '../../../src/hub/hub.js';
import type { JsonObject } from '../../../src/contract/json.js';
import { textOf } from '../../../src/contract/result.js';
import { createAgentServer, type AgentServerOptions } from '../../../src/servers/agent/index.js';
import type { Tool } from '../../../src/tool/define-tool.js';
import { createTestProject } from '../../../src/testing/project.js';

const item = (content: string, more: JsonObject = {}): JsonObject => ({
  content,
  active_form: `Doing ${content}`,
  status: 'pending',
  ...more,
});

function openAgent(options?: AgentServerOptions) {
  const provider = new InProcessToolProvider({ servers: [createAgentServer(options)] });
  return {
    provider,
    async call(tool: string, args: JsonObject, sessionId?: string) {
      const result = await provider.callTool(`agent.${tool}`, args, { sessionId });
      const { error, directives, structuredContent } = result;
      return { text: textOf(result), code: error?.code, directives, data: structuredContent };
    },
    [Symbol.asyncDispose]: () => provider.disconnect(),
  };
}

const typesOf = (directives: readonly Directive[]) => directives.map(({ type }) => type);

describe('todo_write()', () => {
  it('adds, updates, removes and replaces, and reports what it did', async () => {
    await using agent = openAgent();
    const todo = async (args: JsonObject) => (await agent.call('todo_write', args)).text;
    expect(await todo({ action: 'add', todos: [item('a'), item('b')] })).toBe('Added 2 item(s). Total: 2');
    expect(await todo({ action: 'add', todos: [item('c')] })).toBe('Added 1 item(s). Total: 3');
    expect(await todo({ action: 'update', index: 1, status: 'completed' })).toBe('Updated item 1: b');
    expect(await todo({ action: 'remove', index: 0 })).toBe('Removed item 0: a');
    expect(await todo({ action: 'update', index: 1, content: 'd'.repeat(60) })).toBe(
      `Updated item 1: ${'d'.repeat(50)}…`,
    );
    expect(await todo({ todos: [item('e', { status: 'completed' }), item('f')] })).toBe(
      'Todo list replaced: 1/2 completed',
    );
    expect(await todo({ todos: [] })).toBe('Todo list replaced: 0/0 completed');
  });

  it('returns the list as an anchor for the engine and its items for the presenter', async () => {
    await using agent = openAgent();
    const todos = [item('read', { status: 'completed' }), item('write', { status: 'in_progress' }), item('test')];
    const { directives, data } = await agent.call('todo_write', { todos });
    expect(directives).toEqual([
      {
        type: 'context_anchor',
        params: {
          key: 'todo_state',
          content:
            '[CURRENT TODO STATE]\n  0. [x] read\n  1. [>] write\n  2. [ ] test\nProgress: 1/3 completed\n[END TODO STATE]',
        },
      },
      { type: 'notify_presenter', params: { key: 'todo_update', data: { items: todos, count: 3 } } },
    ]);
    expect(data).toEqual({ items: todos, completed: 1, total: 3 });
  });

  it('groups items by tier, and removes the anchor of an empty list', async () => {
    await using agent = openAgent();
    const mixed = await agent.call('todo_write', { todos: [item('look'), item('fix', { target_tier: 'code' })] });
    expect(mixed.directives[0]!.params).toMatchObject({
      content: expect.stringContaining(
        '  For self:\n    0. [ ] look\n  For code tier:\n    1. [ ] fix\nProgress',
      ) as string,
    });
    const empty = await agent.call('todo_write', { todos: [] });
    expect(empty.directives[0]).toEqual({ type: 'context_anchor', params: { key: 'todo_state', content: '' } });
  });

  it('refuses a second item in progress, and leaves the list as it was', async () => {
    await using agent = openAgent();
    await agent.call('todo_write', { todos: [item('a', { status: 'in_progress' }), item('b')] });
    for (const args of [
      { action: 'update', index: 1, status: 'in_progress' },
      { action: 'add', todos: [item('c', { status: 'in_progress' })] },
      { todos: [item('x', { status: 'in_progress' }), item('y', { status: 'in_progress' })] },
    ]) {
      const { code, text, directives } = await agent.call('todo_write', args);
      expect(code).toBe('INVALID_ARGUMENT');
      expect(text).toContain('Error: Only one task can be in_progress at a time');
      expect(directives).toEqual([]);
    }
    const { data } = await agent.call('todo_write', { action: 'update', index: 0, status: 'completed' });
    expect(data).toMatchObject({ completed: 1, total: 2 });
  });

  it.each([
    [{ action: 'add' }, 'add needs todos'],
    [{ action: 'add', todos: [] }, 'add needs todos'],
    [{}, 'replace needs todos'],
    [{ action: 'update', status: 'completed' }, 'update needs index'],
    [{ action: 'update', index: 0 }, 'update needs content, active_form, status or target_tier'],
    [{ action: 'update', index: 0, todos: [] }, 'update takes index, not todos'],
    [{ action: 'remove' }, 'remove needs index'],
    [{ action: 'remove', index: 0, status: 'pending' }, 'remove takes index alone, not status'],
    [{ action: 'add', index: 1, todos: [item('x')] }, 'add takes todos, not index'],
    [{ action: 'update', index: 0, status: 'completed' }, 'there is no item 0: the list is empty'],
    [{ todos: Array.from({ length: 201 }, () => item('x')) }, '200'],
    [{ todos: [{ content: 'no form', status: 'pending' }] }, 'active_form'],
    [{ todos: [item('x', { status: 'done' })] }, 'status'],
    [{ action: 'update', index: -1, status: 'completed' }, 'index'],
  ])('refuses %j, saying "%s"', async (args, said) => {
    await using agent = openAgent();
    const { code, text } = await agent.call('todo_write', args);
    expect(code).toBe('INVALID_ARGUMENT');
    expect(text).toContain(said);
  });

  it('keeps to 200 items however they come', async () => {
    await using agent = openAgent();
    await agent.call('todo_write', { todos: Array.from({ length: 199 }, (_, index) => item(`${index}`)) });
    expect((await agent.call('todo_write', { action: 'add', todos: [item('x')] })).code).toBeUndefined();
    const over = await agent.call('todo_write', { action: 'add', todos: [item('y')] });
    expect(over).toMatchObject({ code: 'INVALID_ARGUMENT', text: expect.stringContaining('201 items') as string });
  });

  it('keeps a list a session', async () => {
    await using agent = openAgent();
    await agent.call('todo_write', { todos: [item('mine')] }, 'one');
    const other = await agent.call('todo_write', { action: 'add', todos: [item('theirs')] }, 'two');
    expect(other.data).toMatchObject({ total: 1, items: [{ content: 'theirs' }] });
    const none = await agent.call('todo_write', { action: 'add', todos: [item('nobody')] });
    expect(none.data).toMatchObject({ total: 1 });
    expect((await agent.call('todo_write', { action: 'remove', index: 0 }, 'one')).text).toBe('Removed item 0: mine');
  });

  it('answers as a plain list would, over random changes', async () => {
    const status = fc.constantFrom('pending', 'in_progress', 'completed');
    const change = fc.oneof(
      fc.record({
        action: fc.constantFrom('add', 'replace'),
        todos: fc.array(
          status.map((each) => item('x', { status: each })),
          { maxLength: 4 },
        ),
      }),
      fc.record({ action: fc.constant('update'), index: fc.nat(5), status }),
      fc.record({ action: fc.constant('remove'), index: fc.nat(5) }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(change, { maxLength: 20 }), async (changes) => {
        await using agent = openAgent();
        let model: string[] = [];
        for (const each of changes) {
          const next = modelOf(model, each as Change);
          const { code, data } = await agent.call('todo_write', each);
          expect(code).toBe(next ? undefined : 'INVALID_ARGUMENT');
          if (!next) continue;
          model = next;
          expect((data!.items as { status: string }[]).map((one) => one.status)).toEqual(model);
        }
      }),
      { numRuns: 100 },
    );
  });
});

interface Change {
  action: string;
  todos?: { status: string }[];
  index?: number;
  status?: string;
}

/** The statuses after a change; undefined when it must be refused. */
function modelOf(list: string[], { action, todos = [], index = 0, status = '' }: Change): string[] | undefined {
  let next: string[];
  if (action === 'add' || action === 'replace') {
    if (action === 'add' && todos.length === 0) return undefined;
    next = [...(action === 'add' ? list : []), ...todos.map((each) => each.status)];
  } else if (index >= list.length) return undefined;
  else if (action === 'remove') next = list.filter((_, at) => at !== index);
  else next = list.map((each, at) => (at === index ? status : each));
  return next.filter((each) => each === 'in_progress').length > 1 ? undefined : next;
}

describe('handoff()', () => {
  const args = { target_tier: 'code', reason: 'the plan stands', task_state: 'files read, nothing written' };

  it('asks for the tier and ends the turn', async () => {
    await using agent = openAgent();
    const { text, directives, data } = await agent.call('handoff', args);
    expect(text).toBe('Handoff requested to code. Reason: the plan stands');
    expect(directives).toEqual([
      { type: 'clear_self_todos', params: {} },
      { type: 'tier_change', params: { tier: 'code', reason: 'the plan stands' } },
      { type: 'stop_processing', params: {} },
    ]);
    expect(data).toEqual(args);
    const outcome = await processDirectives(directives);
    expect(outcome).toEqual({ stopProcessing: true, tierChanged: true, injectedMessages: [] });
  });

  it('refuses while there are open items and none is for another tier', async () => {
    await using agent = openAgent();
    await agent.call('todo_write', { todos: [item('mine')] });
    const refused = await agent.call('handoff', args);
    expect(refused.code).toBe('INVALID_ARGUMENT');
    expect(refused.text).toContain('No execution todos (with target_tier) found.');
    expect(refused.directives).toEqual([]);
  });

  it('warns of open items of its own tier, and allows it', async () => {
    await using agent = openAgent();
    const todos = [item('mine'), item('done', { status: 'completed' }), item('theirs', { target_tier: 'code' })];
    await agent.call('todo_write', { todos });
    const { directives } = await agent.call('handoff', args);
    expect(typesOf(directives)).toEqual(['inject_context', 'clear_self_todos', 'tier_change', 'stop_processing']);
    expect(directives[0]!.params).toEqual({
      content: '[SYSTEM] Warning: 1 self-directed todo(s) not yet completed. Proceeding with handoff.',
    });
    const added = await agent.call('todo_write', { action: 'add', todos: [item('more')] });
    expect(added.data).toMatchObject({ items: [{ content: 'theirs' }, { content: 'more' }] });
  });

  it('refuses an index from before, once, showing the list that is left', async () => {
    await using agent = openAgent();
    await agent.call('todo_write', { todos: [item('mine'), item('theirs', { target_tier: 'code' })] });
    await agent.call('handoff', args);
    const stale = await agent.call('todo_write', { action: 'update', index: 0, status: 'completed' });
    expect(stale.code).toBe('INVALID_ARGUMENT');
    expect(stale.text).toContain('0. [ ] theirs');
    const again = await agent.call('todo_write', { action: 'update', index: 0, status: 'completed' });
    expect(again.text).toBe('Updated item 0: theirs');
  });

  it('takes the tiers that were given, and lists them', async () => {
    await using agent = openAgent({ tiers: ['plan', 'code'] });
    const [, handoff] = await agent.provider.listTools();
    expect(handoff!.description).toContain('Available tiers: plan, code.');
    expect((await agent.call('handoff', args)).code).toBeUndefined();
    expect((await agent.call('handoff', { ...args, target_tier: 'paint' })).code).toBe('INVALID_ARGUMENT');
    expect((await agent.call('handoff', { target_tier: 'code', reason: 'x' })).code).toBe('INVALID_ARGUMENT');
  });

  it.each([[[]], [['']], ['code'], [[1]]])('createAgentServer() refuses tiers %j', (tiers) => {
    expect(() => createAgentServer({ tiers: tiers as string[] })).toThrow(/tiers takes at least one name/);
  });
});

describe('prune_context()', () => {
  it('returns one prune_messages, of 2 by default', async () => {
    await using agent = openAgent();
    expect((await agent.call('prune_context', {})).directives).toEqual([
      { type: 'prune_messages', params: { keep_recent: 2 } },
    ]);
    const { text, directives } = await agent.call('prune_context', { keep_recent: 7 });
    expect(text).toBe('Prune requested.');
    expect(directives).toEqual([{ type: 'prune_messages', params: { keep_recent: 7 } }]);
    expect((await agent.call('prune_context', { keep_recent: -1 })).code).toBe('INVALID_ARGUMENT');
  });
});

describe('createAgentServer()', () => {
  it('passes the same directive objects to the engine, through a hub too', async () => {
    const made: Directive[][] = [];
    const server = createAgentServer();
    const tool = server.tools[0]!;
    server.removeTool(tool.name);
    server.addTool({
      ...tool,
      execute: (args: never, ctx: never) => {
        const result = tool.execute(args, ctx) as { directives: Directive[] };
        made.push(result.directives);
        return result;
      },
    } as Tool);
    await using hub = new ToolHub({ providers: [new InProcessToolProvider({ servers: [server] })] });
    const { directives } = await hub.callTool('agent.todo_write', { todos: [item('a')] });
    expect(directives).toHaveLength(2);
    directives.forEach((directive, index) => expect(directive).toBe(made[0]![index]));
  });

  it('is one of the built-in servers only when requested', async () => {
    await using project = await createTestProject({});
    await using without = InProcessToolProvider.forProject(project.projectDir);
    expect(without.servers).not.toContain('agent');
    await using withAgent = InProcessToolProvider.forProject(project.projectDir, { agent: { tiers: ['code'] } });
    expect(withAgent.servers).toContain('agent');
    const names = (await withAgent.listTools()).map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining(['agent.todo_write', 'agent.handoff', 'agent.prune_context']));
    for (const { name, annotations } of await withAgent.listTools())
      if (name.startsWith('agent.')) expect(annotations.openWorldHint, name).toBe(false);
  });
});
