import { once, EventEmitter } from 'node:events';
import {
  defineServer,
  defineTool,
  InProcessToolProvider,
  textOf,
  ToolHub,
  type Approval,
  type HubOptions,
  type Policy,
  type PolicyDecision,
  type PolicyRule,
} from '@toolwright/core';
import { aliasOf } from '@toolwright/core/adapters';
import { describe, expect, it } from 'vitest';

const rule = (action: PolicyRule['action'], tool: string, pattern?: string): PolicyRule => ({
  tool,
  action,
  ...(pattern !== undefined && { pattern }),
});

/** A hub over `files.read`, `files.write` and `shell.run`. */
function hubWith(policy: Policy, more: Partial<HubOptions> = {}) {
  const runs: string[] = [];
  const server = (name: string, ...tools: string[]) =>
    defineServer({
      name,
      version: '1',
      tools: tools.map((tool) =>
        defineTool({
          name: tool,
          description: `The tool ${tool}.`,
          input: { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] },
          permission: ({ path }) => [{ pattern: path, match: 'glob', understood: true }],
          execute: () => {
            runs.push(`${name}.${tool}`);
            return 'ran';
          },
        }),
      ),
    });
  const provider = new InProcessToolProvider({
    name: 'own',
    servers: [server('files', 'read', 'write'), server('shell', 'run')],
  });
  const hub = new ToolHub({ providers: [provider], policy, ...more });
  const names = async () => (await hub.listTools()).map(({ name }) => name);
  return { hub, names, runs };
}

describe('ToolHub with a tool that the policy denies for all arguments', () => {
  it.each<[string, PolicyRule[], Policy['default'], string[]]>([
    ['a deny rule without a pattern', [rule('deny', 'shell')], 'ask', ['files.read', 'files.write']],
    ['a deny rule with *', [rule('deny', 'files.*', '*')], 'allow', ['shell.run']],
    [
      'the default and no rule for it',
      [rule('ask', 'files.read'), rule('allow', 'shell', 'x')],
      'deny',
      ['files.read', 'shell.run'],
    ],
    [
      'nothing: a deny rule with a pattern',
      [rule('deny', '*', 'secret*')],
      'allow',
      ['files.read', 'files.write', 'shell.run'],
    ],
  ])('is not listed: by %s', async (_what, rules, fallback, listed) => {
    const { hub, names } = hubWith({ rules, default: fallback });
    await using _ = hub;
    expect(await names()).toEqual(listed);
    expect(hub.status()[0]?.toolCount).toBe(listed.length);
  });

  it('does not make the bare name of a listed tool ambiguous', async () => {
    const run = (answer: string) => defineTool({ name: 'run', description: 'Runs.', execute: () => answer });
    const servers = [
      defineServer({ name: 'secret', version: '1', tools: [run('secret')] }),
      defineServer({ name: 'open', version: '1', tools: [run('open')] }),
    ];
    await using hub = new ToolHub({
      providers: [new InProcessToolProvider({ servers })],
      policy: { rules: [rule('deny', 'secret')], default: 'allow' },
    });
    expect(textOf(await hub.callTool('run'))).toBe('open');
  });

  it.each(['shell.run', 'run', aliasOf('shell.run')])('is PERMISSION_DENIED when it is called as %s', async (name) => {
    const decisions: PolicyDecision[] = [];
    const { hub, runs } = hubWith(
      { rules: [rule('deny', 'shell')], default: 'allow' },
      { onDecision: (event) => decisions.push(event) },
    );
    await using _ = hub;
    await hub.connect();
    for (const args of [{ path: 'a' }, {}]) {
      expect((await hub.callTool(name, args)).error?.code).toBe('PERMISSION_DENIED');
    }
    const prepared = await hub.prepareCall(name, {});
    expect(prepared.refused?.error?.code).toBe('PERMISSION_DENIED');
    expect((await prepared.execute()).error?.code).toBe('PERMISSION_DENIED');
    expect(runs).toEqual([]);
    expect(decisions[0]).toMatchObject({ name: 'shell.run', decision: 'deny', by: 'rule' });
    const why = await hub.explain(name);
    expect(why).toMatchObject({ name: 'shell.run', hidden: true, available: false, policy: { action: 'deny' } });
    expect(why.reason).toContain('"shell"');
  });

  it('is never suggested for an unknown name', async () => {
    const { hub } = hubWith({ rules: [rule('deny', 'files.write')], default: 'allow' });
    await using _ = hub;
    await hub.connect();
    for (const name of ['files.wrte', 'wrte', 'fils.write', 'files__wrte']) {
      const { error } = await hub.callTool(name, { path: 'a' });
      expect(error?.code, name).toBe('TOOL_NOT_FOUND');
      expect(JSON.stringify(error), name).not.toContain('files.write');
    }
    expect((await hub.callTool('files.wrte')).error?.message).toContain('files.read');
  });

  it('emits onToolsChanged when an approval hides or shows it', async () => {
    const answers: Approval[] = [
      { decision: 'always', rules: [rule('deny', 'shell')] },
      { decision: 'always', rules: [rule('allow', 'files.write', 'a')] },
    ];
    const { hub, names } = hubWith({
      rules: [rule('ask', 'files.read'), rule('ask', 'shell')],
      default: 'deny',
      approve: () => answers.shift() ?? { decision: 'deny' },
    });
    await using _ = hub;
    expect(await names()).toEqual(['files.read', 'shell.run']);
    const events = new EventEmitter();
    hub.onToolsChanged(() => events.emit('changed'));
    let changed = once(events, 'changed');
    await hub.callTool('files.read', { path: 'a' });
    await changed;
    expect(await names()).toEqual(['files.read']);
    changed = once(events, 'changed');
    await hub.callTool('files.read', { path: 'b' });
    await changed;
    expect(await names()).toEqual(['files.read', 'files.write']);
    expect((await hub.callTool('files.write', { path: 'a' })).isError).toBe(false);
  });

  it('is hidden by an outer hub and by an inner one', async () => {
    const { hub: inner } = hubWith({ rules: [rule('deny', 'shell')], default: 'allow' });
    await using outer = new ToolHub({
      providers: [inner],
      policy: { rules: [rule('deny', 'files.write')], default: 'allow' },
    });
    expect((await outer.listTools()).map(({ name }) => name)).toEqual(['files.read']);
    expect((await outer.callTool('shell.run', { path: 'a' })).error?.code).toBe('PERMISSION_DENIED');
    expect((await outer.callTool('files.write', { path: 'a' })).error?.code).toBe('PERMISSION_DENIED');
  });
});

describe('hub.listTools()', () => {
  it.each<[{ include?: string[]; exclude?: string[] }, string[]]>([
    [{ include: ['files.*'] }, ['files.read', 'files.write']],
    [{ include: ['files'] }, ['files.read', 'files.write']],
    [{ include: ['*.read', 'shell'] }, ['files.read', 'shell.run']],
    [{ exclude: ['*.write'] }, ['files.read', 'shell.run']],
    [{ include: ['files'], exclude: ['files.r*'] }, ['files.write']],
    [{ include: [] }, []],
    [{ exclude: [] }, ['files.read', 'files.write', 'shell.run']],
  ])('returns the tools whose names %j selects', async (options, expected) => {
    const { hub } = hubWith({ rules: [], default: 'allow' });
    await using _ = hub;
    expect((await hub.listTools(options)).map(({ name }) => name)).toEqual(expected);
  });

  it('rejects with INVALID_ARGUMENT when include or exclude is not an array of strings', async () => {
    const { hub } = hubWith({ rules: [], default: 'allow' });
    await using _ = hub;
    for (const options of [{ include: 'files' }, { exclude: [1] }]) {
      await expect(hub.listTools(options as never)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
    }
  });
});

describe('ToolHub.setPolicy()', () => {
  it('replaces the rules and the default, and keeps the rules that approvals added', async () => {
    const approve = (): Promise<Approval> => Promise.resolve({ decision: 'always' });
    const { hub, names } = hubWith({ default: 'ask', rules: [rule('deny', 'shell')], approve });
    await using _ = hub;
    await hub.callTool('files.write', { path: 'a' });
    expect(await names()).toEqual(['files.read', 'files.write']);
    const changed = new EventEmitter();
    hub.onToolsChanged(() => changed.emit('tools'));
    const announced = once(changed, 'tools');
    hub.setPolicy({ default: 'deny', rules: [rule('allow', 'shell')] });
    await announced;
    expect(await names()).toEqual(['files.write', 'shell.run']);
    expect((await hub.callTool('files.write', { path: 'a' })).isError).toBe(false);
    expect((await hub.callTool('files.write', { path: 'b' })).error?.code).toBe('PERMISSION_DENIED');
    expect((await hub.callTool('shell.run', { path: 'a' })).isError).toBe(false);
  });

  it('applies to a question that is pending: "always" adds no rule against the new policy', async () => {
    const asked = new EventEmitter();
    const answers: ((approval: Approval) => void)[] = [];
    const approve = (): Promise<Approval> =>
      new Promise((resolve) => {
        answers.push(resolve);
        asked.emit('question');
      });
    const { hub } = hubWith({ default: 'ask', rules: [], approve });
    await using _ = hub;
    const question = once(asked, 'question');
    const call = hub.callTool('files.write', { path: 'a' });
    await question;
    hub.setPolicy({ default: 'deny', rules: [] });
    answers[0]?.({ decision: 'always' });
    expect((await call).error?.code).toBe('PERMISSION_DENIED');
    expect((await hub.callTool('files.write', { path: 'a' })).error?.code).toBe('PERMISSION_DENIED');
  });

  it('changes nothing for an invalid rule, an unknown option, and a hub without a policy', async () => {
    const { hub, names } = hubWith({ default: 'allow', rules: [rule('deny', 'shell')] });
    await using _ = hub;
    const wrong = [
      { default: 'allow', rules: [{ tool: 'files' }] },
      { default: 'no', rules: [] },
      { rules: [], default: 'deny', x: 1 },
    ];
    for (const policy of wrong) expect(() => hub.setPolicy(policy as never)).toThrow();
    expect(await names()).toEqual(['files.read', 'files.write']);
    await using free = new ToolHub();
    expect(() => free.setPolicy({ default: 'allow', rules: [] })).toThrow('created without a policy');
  });
});

describe('allowedTools of an entry', () => {
  it('hides all other tools, whatever the policy says, and explains why', async () => {
    const { hub: inner } = hubWith({ default: 'allow', rules: [] });
    await using hub = new ToolHub({ providers: [{ provider: inner, allowedTools: ['re*', 'run'] }] });
    await hub.connect();
    expect((await hub.listTools()).map(({ name }) => name)).toEqual(['files.read', 'shell.run']);
    expect((await hub.callTool('files.read', { path: 'a' })).isError).toBe(false);
    for (const name of ['files.write', aliasOf('files.write')])
      expect((await hub.callTool(name, { path: 'a' })).error).toMatchObject({
        code: 'PERMISSION_DENIED',
        message: expect.stringContaining('not in the allowedTools') as string,
      });
    expect(await hub.explain('files.write')).toMatchObject({ hidden: true, available: false });
    const prepared = await hub.prepareCall('files.write', { path: 'a' });
    expect(prepared.refused?.error?.code).toBe('PERMISSION_DENIED');
  });

  it('warns of a glob that matches no tool', async () => {
    const { hub: inner } = hubWith({ default: 'allow', rules: [] });
    const warnings: string[] = [];
    const silent = (): void => undefined;
    const logger = { debug: silent, info: silent, error: silent, warn: (text: string) => void warnings.push(text) };
    const entry = { provider: inner, allowedTools: ['files.read', 'run'] };
    await using hub = new ToolHub({ providers: [entry], logger });
    await hub.connect();
    expect(warnings).toEqual([expect.stringContaining('"files.read" in the allowedTools') as string]);
  });

  it('is an array of globs', () => {
    const provider = new ToolHub();
    expect(() => new ToolHub({ providers: [{ provider, allowedTools: 'x' as never }] })).toThrow('array of globs');
  });
});
