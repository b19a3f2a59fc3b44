// deferredTools(): finding, describing and calling the tools of a hub through three tools, under the hub's own policy.

import {
  deferredTools,
  defineServer,
  defineTool,
  InProcessToolProvider,
  textOf,
  ToolHub,
  type ApprovalRequest,
  type CallOptions,
  type DeferredToolsOptions,
  type HubEvent,
  type HubOptions,
  type ToolContext,
  type ToolProvider,
} from '@toolwright/core';
import { anthropicTools } from '@toolwright/core/adapters/anthropic';
import { openaiTools } from '@toolwright/core/adapters/openai';
import { afterEach, describe, expect, it } from 'vitest';

const HINTS = { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true };
const ends: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

/** A hub of some tools, and a provider of the deferred tools that is beside it or in it. */
function deferred(place: 'beside' | 'within', options: HubOptions = {}, own?: DeferredToolsOptions) {
  const ran: string[] = [];
  let context: ToolContext | undefined;
  const files = defineServer({
    name: 'files',
    version: '1.0.0',
    tools: [
      defineTool({
        name: 'read',
        description: 'Read a file. It must exist.',
        input: { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] },
        permissionPattern: ({ path }) => path,
        execute: ({ path }, ctx) => {
          context = ctx;
          ran.push(`read ${path}`);
          ctx.progress({ progress: 1 });
          return {
            content: [{ type: 'text', text: `text of ${path}` }],
            structuredContent: { path },
            directives: [{ type: 'stop_processing', params: {} }],
            _meta: { 'x/y': 1 },
          };
        },
      }),
      defineTool({
        name: 'delete',
        description: 'Delete a file.',
        input: { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] },
        permissionPattern: ({ path }) => path,
        execute: ({ path }) => {
          ran.push(`delete ${path}`);
          return 'gone';
        },
      }),
      defineTool({ name: 'fail', description: 'Always fails.', execute: () => Promise.reject(new Error('broken')) }),
      defineTool({
        name: 'wait',
        description: 'Waits until it is cancelled.',
        timeoutMs: 30,
        execute: (_args, { signal }) =>
          new Promise<string>((resolve) => signal.addEventListener('abort', () => resolve('late'))),
      }),
    ],
  });
  const hub = new ToolHub({ providers: [new InProcessToolProvider({ servers: [files] })], ...options });
  const front = new InProcessToolProvider({ servers: [deferredTools(hub, own)] });
  if (place === 'within') void hub.add(front);
  ends.push(
    () => hub.disconnect(),
    () => front.disconnect(),
  );
  const caller = place === 'within' ? hub : front;
  const call = (name: string, args: object, callOptions: CallOptions = {}) =>
    caller.callTool('tools.call_tool', { name, arguments: { ...args } }, callOptions);
  return { hub, front, caller, call, ran, context: () => context };
}

describe.each(['beside', 'within'] as const)('deferredTools() %s its hub', (place) => {
  it('finds tools, but not itself', async () => {
    const { caller } = deferred(place);
    const found = await caller.callTool('tools.find_tools', { query: 'read a file' });
    expect(textOf(found).split('\n')[0]).toBe('files.read: Read a file. It must exist.');
    expect(JSON.stringify(found.structuredContent)).not.toContain('tools.');
    const none = await caller.callTool('tools.find_tools', { query: 'zebra' });
    expect(textOf(none)).toBe('Nothing fits. Search with other words; there are the tools of files.');
    const own = await caller.callTool('tools.find_tools', { query: 'find tools describe tool call tool' });
    expect(JSON.stringify(own.structuredContent)).not.toContain('tools.');
  });

  it('describes tools by name and alias, and names those that are missing', async () => {
    const { caller } = deferred(place);
    const described = await caller.callTool('tools.describe_tool', { names: ['files__read', 'files.red'] });
    expect(described.structuredContent).toMatchObject({
      tools: [{ name: 'files.read', inputSchema: { required: ['path'] } }],
      problems: [expect.stringContaining('The nearest are files.read')],
    });
    const none = await caller.callTool('tools.describe_tool', { names: ['files.red'] });
    expect(none.error?.code).toBe('TOOL_NOT_FOUND');
  });

  it('passes content, structured content, directives and _meta of the call through', async () => {
    const { call } = deferred(place);
    expect(await call('files.read', { path: 'a' })).toMatchObject({
      content: [{ type: 'text', text: 'text of a' }],
      structuredContent: { path: 'a' },
      directives: [{ type: 'stop_processing', params: {} }],
      _meta: { 'x/y': 1 },
      isError: false,
    });
  });

  it('keeps the session, the progress and the parent of its caller', async () => {
    const { hub, call, context } = deferred(place);
    const events: HubEvent[] = [];
    hub.onEvent((event) => events.push(event));
    const seen: number[] = [];
    const options = { sessionId: 's', callId: 'outer', meta: { k: 'v' } };
    await call('files.read', { path: 'a' }, { ...options, onProgress: ({ progress }) => seen.push(progress) });
    expect(context()).toMatchObject({ sessionId: 's', meta: { k: 'v' } });
    expect(context()?.callId).not.toBe('outer');
    const started = events.find(({ type, tool }) => type === 'call.started' && tool === 'files.read');
    expect(started).toMatchObject({ parentCallId: 'outer', sessionId: 's' });
    expect(seen).toEqual([1]);
  });

  it('answers wrong arguments with what to do, and keeps the codes of failures', async () => {
    const { call } = deferred(place);
    const wrong = await call('files.read', { file: 'a' });
    expect(wrong.error?.code).toBe('INVALID_ARGUMENT');
    expect(textOf(wrong)).toContain('describe_tool shows the arguments of files.read.');
    expect((await call('files.fail', {})).error).toMatchObject({ code: 'EXECUTION_FAILED', message: 'broken' });
    expect((await call('files.reed', {})).error).toMatchObject({
      code: 'TOOL_NOT_FOUND',
      details: { nearest: expect.arrayContaining(['files.read']) },
    });
  });

  it('gives the call the deadline of its tool', async () => {
    const { call } = deferred(place);
    expect((await call('files.wait', {})).error?.code).toBe('TIMED_OUT');
  });

  it('ends the call when its caller cancels', async () => {
    const { caller } = deferred(place);
    const abort = new AbortController();
    const waiting = caller.callTool('tools.call_tool', { name: 'files.wait' }, { signal: abort.signal });
    setImmediate(() => abort.abort());
    expect((await waiting).error?.code).toBe('CANCELLED');
  });

  it('does not call itself', async () => {
    const { call, caller } = deferred(place);
    for (const name of ['tools.call_tool', 'tools.find_tools', 'tools__call_tool', 'call_tool']) {
      expect((await call(name, { name: 'files.read', arguments: { path: 'a' } })).error?.code).toBe('TOOL_NOT_FOUND');
      const prepared = await caller.prepareCall('tools.call_tool', { name });
      expect(prepared.refused?.error?.code).toBe('TOOL_NOT_FOUND');
    }
  });

  it('asks once about a call, with the name, the claims and the arguments of the called tool', async () => {
    const requests: ApprovalRequest[] = [];
    const decided: string[] = [];
    const { call, caller, ran } = deferred(place, {
      policy: {
        default: 'ask',
        rules: [],
        approve: (request) => {
          requests.push(request);
          return { decision: 'always' };
        },
      },
      onDecision: ({ name, decision }) => decided.push(`${decision} ${name}`),
    });
    expect((await caller.callTool('tools.find_tools', { query: 'read' })).isError).toBe(false);
    expect((await call('files.read', { path: 'a' })).isError).toBe(false);
    expect((await call('files.read', { path: 'a' })).isError).toBe(false);
    expect(requests).toMatchObject([
      {
        tool: 'files.read',
        args: { path: 'a' },
        claims: [{ pattern: 'a' }],
        suggestedRules: [{ tool: 'files.read', pattern: 'a', action: 'allow' }],
      },
    ]);
    expect((await call('files.delete', { path: 'a' })).isError).toBe(false); // the rule is for read alone
    expect(requests.map(({ tool }) => tool)).toEqual(['files.read', 'files.delete']);
    expect(ran).toEqual(['read a', 'read a', 'delete a']);
    expect(decided).toEqual(['allow files.read', 'allow files.read', 'allow files.delete']);
  });

  it('uses the approve function of its caller', async () => {
    const { call } = deferred(place, { policy: { default: 'ask', rules: [] } });
    const asked: string[] = [];
    const result = await call(
      'files.read',
      { path: 'a' },
      {
        approve: ({ tool }) => {
          asked.push(tool);
          return { decision: 'once' };
        },
      },
    );
    expect([result.isError, asked]).toEqual([false, ['files.read']]);
    expect((await call('files.read', { path: 'a' })).error?.code).toBe('APPROVAL_REQUIRED');
  });

  it('prepares the verdict on the called tool, and takes its answer', async () => {
    const { caller, ran } = deferred(place, { policy: { default: 'ask', rules: [] } });
    const prepared = await caller.prepareCall('tools.call_tool', { name: 'files.delete', arguments: { path: 'a' } });
    expect(prepared.tool.name).toBe('tools.call_tool');
    expect(prepared.verdict).toMatchObject({ action: 'ask', request: { tool: 'files.delete', args: { path: 'a' } } });
    expect((await prepared.execute()).error?.code).toBe('APPROVAL_REQUIRED');
    const denied = await prepared.execute({ approval: { decision: 'deny' } });
    expect(denied.error?.code).toBe('PERMISSION_DENIED');
    expect(ran).toEqual([]);
    expect((await prepared.execute({ approval: { decision: 'once' } })).isError).toBe(false);
    expect(ran).toEqual(['delete a']);
  });

  it('refuses what the policy hides and what its selection leaves out', async () => {
    const policy: HubOptions['policy'] = { default: 'allow', rules: [{ tool: 'files.delete', action: 'deny' }] };
    const { caller, call, ran } = deferred(place, { policy }, { exclude: ['files.fail'] });
    const found = await caller.callTool('tools.find_tools', { query: 'delete, read, fail' });
    expect(JSON.stringify(found.structuredContent)).toContain('files.read');
    expect(JSON.stringify(found.structuredContent)).not.toMatch(/files\.(delete|fail)/);
    expect((await call('files.delete', { path: 'a' })).error?.code).toBe('PERMISSION_DENIED');
    expect((await call('files__delete', { path: 'a' })).error?.code).toBe('PERMISSION_DENIED');
    expect((await caller.callTool('tools.describe_tool', { names: ['files.delete'] })).error?.code).toBe(
      'PERMISSION_DENIED',
    );
    expect((await call('files.fail', {})).error?.code).toBe('TOOL_NOT_FOUND');
    expect(ran).toEqual([]);
  });
});

describe('deferredTools()', () => {
  it('is denied within its hub by a rule for call_tool, with the name of the called tool', async () => {
    const rules = [{ tool: 'tools.call_tool', pattern: 'files.delete *', action: 'deny' }] as const;
    const { hub, call, ran } = deferred('within', { policy: { default: 'allow', rules: [...rules] } });
    expect((await call('files.delete', { path: 'a' })).error?.code).toBe('PERMISSION_DENIED');
    expect((await call('files.read', { path: 'a' })).isError).toBe(false);
    expect(ran).toEqual(['read a']);
    const prepared = await hub.prepareCall('tools.call_tool', { name: 'files.delete', arguments: { path: 'a' } });
    expect(prepared.verdict?.action).toBe('deny');
    expect((await prepared.execute({ approval: { decision: 'once' } })).error?.code).toBe('PERMISSION_DENIED');
  });

  it('is explained within its hub as what it calls', async () => {
    const { hub } = deferred('within', { policy: { default: 'ask', rules: [] } });
    await hub.connect();
    expect(await hub.explain('tools.call_tool')).toMatchObject({
      available: true,
      reason: 'tools.call_tool runs: the policy judges the call that it makes.',
    });
  });

  it('is judged by both hubs when it is in another one, by claims with the name of the called tool', async () => {
    const { front, ran } = deferred('beside', { policy: { default: 'allow', rules: [] } });
    const requests: ApprovalRequest[] = [];
    const outer = new ToolHub({
      providers: [front],
      policy: {
        default: 'ask',
        rules: [],
        approve: (request) => {
          requests.push(request);
          return { decision: 'always' };
        },
      },
    });
    ends.push(() => outer.disconnect());
    const call = (name: string) => outer.callTool('tools.call_tool', { name, arguments: { path: 'a' } });
    await call('files.read');
    await call('files.read');
    expect(requests).toMatchObject([{ tool: 'tools.call_tool', claims: [{ pattern: 'files.read a' }] }]);
    await call('files.delete'); // an answer for one tool is none for another
    expect(requests.map(({ claims }) => claims[0]?.pattern)).toEqual(['files.read a', 'files.delete a']);
    expect(ran).toEqual(['read a', 'read a', 'delete a']);
  });

  it('quotes the name before the claims of commands', async () => {
    const run = defineTool({
      name: 'run',
      description: 'Run.',
      input: { type: 'object', properties: { command: { type: 'string' } }, required: ['command'] },
      permission: ({ command }) => [{ pattern: command, match: 'tokens', understood: true, widerPattern: 'git *' }],
      execute: () => 'ran',
    });
    const hub = new ToolHub({
      providers: [new InProcessToolProvider({ servers: [defineServer({ name: 'sh', version: '1', tools: [run] })] })],
    });
    const front = new InProcessToolProvider({ servers: [deferredTools(hub)] });
    ends.push(
      () => hub.disconnect(),
      () => front.disconnect(),
    );
    const prepared = await front.prepareCall('tools.call_tool', { name: 'sh.run', arguments: { command: 'git log' } });
    expect(prepared.claims).toMatchObject([
      { pattern: 'sh.run git log', match: 'tokens', widerPattern: 'sh.run git *' },
    ]);
  });

  it('quotes the name of a foreign tool with a space, so that it is not that of another with its claim', async () => {
    const foreign: ToolProvider = {
      name: 's',
      kind: 'other',
      servers: ['s'],
      connect: async () => undefined,
      disconnect: async () => undefined,
      [Symbol.asyncDispose]: async () => undefined,
      onToolsChanged: () => () => undefined,
      listTools: async () =>
        ['s.read', 's.read x'].map((name) => ({
          name,
          description: '',
          inputSchema: { type: 'object' },
          annotations: HINTS,
        })),
      callTool: async (name) => ({
        content: [{ type: 'text', text: name }],
        isError: false,
        directives: [],
        durationMs: 0,
      }),
    };
    const hub = new ToolHub({ providers: [foreign] });
    const front = new InProcessToolProvider({ servers: [deferredTools(hub)] });
    const rules = [{ tool: 'tools.call_tool', pattern: 's.read *', action: 'allow' as const }];
    const outer = new ToolHub({ providers: [front], policy: { default: 'deny', rules } });
    ends.push(
      () => hub.disconnect(),
      () => outer.disconnect(),
    );
    expect(textOf(await outer.callTool('tools.call_tool', { name: 's.read' }))).toBe('s.read');
    const other = await outer.callTool('tools.call_tool', { name: 's.read x' });
    expect(other.error).toMatchObject({ code: 'PERMISSION_DENIED', message: expect.stringContaining("'s.read x'") });
  });

  it('is three tools of a kit, which answers a model that uses them', async () => {
    const { front, hub } = deferred('beside');
    const kit = await openaiTools(front);
    expect(kit.tools.map(({ function: { name } }) => name)).toEqual([
      'tools__find_tools',
      'tools__describe_tool',
      'tools__call_tool',
    ]);
    const { outputs } = await (
      await anthropicTools(front)
    ).answer({
      role: 'assistant',
      content: [
        {
          type: 'tool_use',
          id: 'a',
          name: 'tools__call_tool',
          input: { name: 'files__read', arguments: { path: 'a' } },
        },
      ],
    });
    expect(JSON.stringify(outputs)).toContain('text of a');
    const some = await openaiTools(hub, { include: ['files.read'] });
    expect(some.tools).toHaveLength(1);
  });

  it('refuses unknown options, and what is not a hub', () => {
    expect(() => deferredTools({} as ToolHub)).toThrow('takes a ToolHub');
    expect(() => deferredTools(new ToolHub(), { nam: 'x' } as object)).toThrow('did you mean `name`?');
    expect(() => deferredTools(new ToolHub(), { name: 'a b' })).toThrow('name must be');
  });
});
