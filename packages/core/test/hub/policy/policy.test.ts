import { setTimeout as sleep } from 'node:timers/promises';
import {
  defineServer,
  defineTool,
  InProcessToolProvider,
  ToolHub,
  type Approval,
  type ApprovalRequest,
  type HubOptions,
  type Middleware,
  type PermissionClaim,
  type Policy,
  type PolicyDecision,
  type PolicyRule,
} from '@toolwright/core';
import { describe, expect, it, vi } from 'vitest';

const claim = (pattern: string, more: Partial<PermissionClaim> = {}): PermissionClaim => ({
  pattern,
  match: 'glob',
  understood: true,
  ...more,
});

/** A hub over one tool that claims what it is told to, and counts its runs. */
function hubWith(policy: Policy | undefined, more: Partial<HubOptions> = {}) {
  const runs: string[][] = [];
  const touch = defineTool({
    name: 'touch',
    description: 'Touches paths.',
    input: {
      type: 'object',
      properties: { claims: { type: 'array', items: { type: 'object' } } },
      required: ['claims'],
    },
    permission: ({ claims }) => claims as unknown as PermissionClaim[],
    execute: ({ claims }) => {
      runs.push((claims as { pattern?: string }[]).map(({ pattern }) => String(pattern)));
      return 'touched';
    },
  });
  const plain = defineTool({ name: 'plain', description: 'Claims nothing of its own.', execute: () => 'ran' });
  const provider = new InProcessToolProvider({
    name: 'p',
    servers: [defineServer({ name: 's', version: '1', tools: [touch, plain] })],
  });
  const hub = new ToolHub({ providers: [provider], ...(policy && { policy }), ...more });
  const call = (...claims: unknown[]) => hub.callTool('s.touch', { claims });
  return { hub, call, runs };
}

const rule = (action: PolicyRule['action'], pattern?: string, tool = 's.*'): PolicyRule => ({
  tool,
  action,
  ...(pattern !== undefined && { pattern }),
});

describe('PolicyRules', () => {
  it.each<[string, PolicyRule[], Policy['default'], string]>([
    ['allows by its default', [], 'allow', 'ok'],
    ['denies by its default', [], 'deny', 'PERMISSION_DENIED'],
    ['asks by its default', [], 'ask', 'APPROVAL_REQUIRED'],
    ['lets deny beat ask and allow', [rule('allow'), rule('ask'), rule('deny', 'src/*')], 'allow', 'PERMISSION_DENIED'],
    ['lets ask beat allow', [rule('allow'), rule('ask', 'src/*')], 'allow', 'APPROVAL_REQUIRED'],
    ['lets allow beat the default', [rule('allow', 'src/*')], 'deny', 'ok'],
    ['holds a rule without a pattern for every claim', [rule('allow')], 'deny', 'ok'],
    ['ignores rules of other tools', [rule('allow', undefined, 't.*')], 'deny', 'PERMISSION_DENIED'],
    ['ignores rules whose pattern matches a part only', [rule('allow', 'src')], 'deny', 'PERMISSION_DENIED'],
  ])('%s', async (_what, rules, fallback, expected) => {
    const { call, runs } = hubWith({ rules, default: fallback });
    const { error } = await call(claim('src/a.ts'));
    expect(error?.code ?? 'ok').toBe(expected);
    expect(runs).toHaveLength(expected === 'ok' ? 1 : 0);
  });

  it('allows a call when every claim is allowed, and denies it for one denied claim', async () => {
    const { call, runs } = hubWith({ rules: [rule('allow', 'a'), rule('deny', 'c')], default: 'ask' });
    expect((await call(claim('a'), claim('b'))).error?.code).toBe('APPROVAL_REQUIRED');
    expect((await call(claim('a'), claim('b'), claim('c'))).error?.code).toBe('PERMISSION_DENIED');
    expect(runs).toEqual([]);
    expect((await call(claim('a'), claim('a'))).isError).toBe(false);
  });

  it('allows a command only as a whole', async () => {
    const { call } = hubWith({ rules: [rule('allow', 'git status')], default: 'deny' });
    const tokens = (pattern: string) => call(claim(pattern, { match: 'tokens' }));
    expect((await tokens('git status')).isError).toBe(false);
    expect((await tokens('git  "status"')).isError).toBe(false);
    expect((await tokens('git status -s')).isError).toBe(true);
    expect((await tokens('git statusx')).isError).toBe(true);
    expect((await tokens('git')).isError).toBe(true);
    expect((await tokens('git * status')).isError).toBe(true);
  });

  it('does not read a blank pattern as "everything"', async () => {
    const { call } = hubWith({ rules: [rule('allow', '  ')], default: 'deny' });
    expect((await call(claim('rm -rf x', { match: 'tokens' }))).isError).toBe(true);
  });

  it('asks at least once for a claim that is not understood', async () => {
    const { call } = hubWith({ rules: [rule('allow')], default: 'allow' });
    expect((await call(claim('x', { understood: false }))).error?.code).toBe('APPROVAL_REQUIRED');
  });

  it('uses the bare name as the claim of a tool without claims', async () => {
    const { hub, call } = hubWith({ rules: [rule('allow', 'plain')], default: 'deny' });
    expect((await hub.callTool('s.plain')).isError).toBe(false);
    expect((await call()).error?.code).toBe('PERMISSION_DENIED');
  });

  it('evaluates the coerced arguments', async () => {
    const { hub } = hubWith({ rules: [], default: 'ask' });
    expect((await hub.callTool('s.touch', { claims: 'x' })).error?.code).toBe('INVALID_ARGUMENT');
  });

  it('is rejected when a rule or the default is malformed', () => {
    for (const policy of [
      null,
      5,
      { default: 'ask' },
      { rules: [], default: 'ask', approve: 5 },
      { rules: [{ tool: 's.*', action: 'permit' }], default: 'ask' },
      { rules: [{ action: 'allow' }], default: 'ask' },
      { rules: [], default: 'maybe' },
    ]) {
      expect(() => new ToolHub({ policy: policy as never })).toThrow(
        expect.objectContaining({ code: 'INVALID_ARGUMENT' }) as Error,
      );
    }
  });

  it('does not change when the array of rules changes', async () => {
    const rules = [rule('deny')];
    const { call } = hubWith({ rules, default: 'allow' });
    rules[0]!.action = 'allow';
    rules.length = 0;
    expect((await call(claim('a'))).error?.code).toBe('PERMISSION_DENIED');
  });

  it('denies a call with malformed claims', async () => {
    const { call, runs } = hubWith({ rules: [], default: 'allow' });
    expect((await call({ pattern: 1, match: 'glob', understood: true })).error?.code).toBe('INTERNAL');
    expect((await call({ pattern: 'a', match: 'regex', understood: true })).error?.code).toBe('INTERNAL');
    expect((await call({ pattern: 'a', match: 'glob' })).error?.code).toBe('INTERNAL');
    expect(runs).toEqual([]);
  });

  it('is applied before middleware', async () => {
    const middleware = vi.fn<Middleware>((_call, next) => next());
    const { call } = hubWith({ rules: [], default: 'deny' }, { middleware: [middleware] });
    await call(claim('a'));
    expect(middleware).not.toHaveBeenCalled();
  });

  it('denies a call when permission() throws', async () => {
    const tool = defineTool({ name: 't', description: 'T.', permission: () => { throw new Error('cannot tell'); }, execute: () => 'ran' }); // prettier-ignore
    await using hub = new ToolHub({
      providers: [new InProcessToolProvider({ servers: [defineServer({ name: 's', version: '1', tools: [tool] })] })],
    });
    expect(await hub.callTool('s.t')).toMatchObject({
      isError: true,
      error: { message: expect.stringContaining('cannot tell') as string },
    });
  });
});

describe('PolicyGate approval', () => {
  const asking = (
    answer: (request: ApprovalRequest) => unknown,
    more: Partial<HubOptions> = {},
    rules: PolicyRule[] = [],
  ) => {
    const requests: ApprovalRequest[] = [];
    const approve = (request: ApprovalRequest): Promise<Approval> => {
      requests.push(request);
      return Promise.resolve(answer(request) as Approval);
    };
    return { ...hubWith({ rules, default: 'ask', approve }, more), requests };
  };

  it('is requested with tool, claims, arguments, hints, reason and rules', async () => {
    const { call, requests } = asking(() => ({ decision: 'once' }), {}, [rule('allow', 'a')]);
    await call(claim('a'), claim('b*'));
    expect(requests).toEqual([
      {
        tool: 's.touch',
        claims: [claim('b*')],
        args: { claims: [claim('a'), claim('b*')] },
        annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true },
        reason: expect.stringContaining('ask') as string,
        suggestedRules: [{ tool: 's.touch', pattern: 'b\\*', action: 'allow' }],
      },
    ]);
  });

  it('offers no rule when a claim has no exact rule, and "always" allows once', async () => {
    const { call, requests, runs } = asking(() => ({ decision: 'always' }));
    await call(claim('a', { suggestedPattern: 'a*' }), claim('b', { suggestedPattern: null }));
    await call(claim('a', { suggestedPattern: 'a*' }), claim('b', { suggestedPattern: null }));
    expect(requests.map(({ suggestedRules }) => suggestedRules)).toEqual([[], []]);
    expect(runs).toHaveLength(2);
  });

  it('suggests no rule in the error either when a claim has no exact rule', async () => {
    const { call } = hubWith({ rules: [], default: 'ask' });
    const { error } = await call(claim('b', { suggestedPattern: null }));
    expect(error).toMatchObject({ code: 'APPROVAL_REQUIRED' });
    expect(error?.details).not.toHaveProperty('suggestedRules');
    expect(error?.message).not.toContain('add {');
  });

  it('runs the call once and asks again when the answer is "once"', async () => {
    const { call, requests, runs } = asking(() => ({ decision: 'once' }));
    await call(claim('a'));
    await call(claim('a'));
    expect([requests.length, runs.length]).toEqual([2, 2]);
  });

  it('allows exactly what was shown when the answer is "always"', async () => {
    const answers: Approval[] = [{ decision: 'always' }];
    const { call, requests } = asking(() => answers.shift() ?? { decision: 'deny' });
    expect((await call(claim('src/*.ts'))).isError).toBe(false);
    expect((await call(claim('src/*.ts'))).isError).toBe(false);
    expect(requests).toHaveLength(1);
    expect((await call(claim('src/a.ts'))).error?.code).toBe('PERMISSION_DENIED');
    expect((await call(claim('src/*.ts'), claim('other'))).error?.code).toBe('PERMISSION_DENIED');
  });

  it('adds the rules of the answer in place of those shown when it is "always"', async () => {
    const added: PolicyRule[] = [];
    const { call, requests } = asking(
      () => ({ decision: 'always', rules: [{ tool: 's.touch', pattern: 'src/*', action: 'allow' }] }),
      {
        onRuleAdded: (given) => added.push(given),
      },
    );
    await call(claim('src/a.ts'));
    expect((await call(claim('src/b.ts'))).isError).toBe(false);
    expect(requests).toHaveLength(1);
    expect(added).toEqual([{ tool: 's.touch', pattern: 'src/*', action: 'allow' }]);
  });

  it('treats "always" as "once" when a claim is not understood', async () => {
    const added = vi.fn();
    const { call, requests, runs } = asking(() => ({ decision: 'always', rules: [{ tool: '*', action: 'allow' }] }), {
      onRuleAdded: added,
    });
    await call(claim('a', { understood: false }));
    await call(claim('a', { understood: false }));
    expect(requests.map(({ suggestedRules }) => suggestedRules)).toEqual([[], []]);
    expect(runs).toHaveLength(2);
    expect(added).not.toHaveBeenCalled();
  });

  it('does not override a deny rule', async () => {
    const { call } = asking(() => ({ decision: 'always', rules: [{ tool: '*', action: 'allow' }] }), {}, [
      rule('deny', 'secret'),
    ]);
    await call(claim('a'));
    expect((await call(claim('secret'))).error?.code).toBe('PERMISSION_DENIED');
  });

  it('denies the call, which does not run, when the answer is "deny"', async () => {
    const { call, runs } = asking(() => ({ decision: 'deny' }));
    expect((await call(claim('a'))).error?.code).toBe('PERMISSION_DENIED');
    expect(runs).toEqual([]);
  });

  it.each([
    ['throws', () => { throw new Error('no terminal'); }], // prettier-ignore
    ['gives nothing', () => undefined],
    ['gives something else', () => ({ decision: 'yes' })],
    ['gives rules that are none', () => ({ decision: 'always', rules: [{ tool: 1 }] })],
  ])('refuses when approve %s', async (_what, answer) => {
    const { call, runs } = asking(answer);
    expect((await call(claim('a'))).error?.code).toBe('PERMISSION_DENIED');
    expect(runs).toEqual([]);
  });

  it('pauses the deadline while it is pending', async () => {
    const { hub } = hubWith({
      rules: [],
      default: 'ask',
      approve: async () => sleep(200, { decision: 'once' as const }),
    });
    expect((await hub.callTool('s.plain', {}, { timeoutMs: 100 })).isError).toBe(false);
  });

  it('is aborted when the call is cancelled', async () => {
    let seen: AbortSignal | undefined;
    const controller = new AbortController();
    const { hub, runs } = hubWith({
      rules: [],
      default: 'ask',
      approve: (_request, { signal }) => {
        seen = signal;
        controller.abort();
        return new Promise<never>(() => undefined);
      },
    });
    expect((await hub.callTool('s.plain', {}, { signal: controller.signal })).error?.code).toBe('CANCELLED');
    expect(seen?.aborted).toBe(true);
    expect(runs).toEqual([]);
  });

  it('cannot change what is evaluated, run or added', async () => {
    const added: PolicyRule[] = [];
    const meddle = (request: ApprovalRequest) => {
      Object.assign(request.claims[0]!, { pattern: '*' });
      Object.assign(request.suggestedRules[0]!, { tool: '*', pattern: '*' });
      return { decision: 'always' };
    };
    const { call, requests } = asking(meddle, { onRuleAdded: (given) => added.push(given) });
    await call(claim('a'));
    await call(claim('b'));
    expect(requests).toHaveLength(2);
    expect(added[0]).toEqual({ tool: 's.touch', pattern: 'a', action: 'allow' });
  });

  it('is not affected when the caller changes the arguments meanwhile', async () => {
    const args = { claims: [claim('a') as { pattern: string }] };
    const { hub, runs } = asking(() => {
      args.claims[0]!.pattern = 'changed';
      return { decision: 'once' };
    });
    await hub.callTool('s.touch', args);
    expect(runs).toEqual([['a']]);
  });

  it('is not affected by an accessor in the arguments', async () => {
    for (let honest = 1; honest < 8; honest++) {
      let reads = 0;
      const hostile = { match: 'glob', understood: true, get pattern() { return reads++ < honest ? 'good' : 'evil'; } }; // prettier-ignore
      const { call, runs } = hubWith({ rules: [rule('allow', 'good')], default: 'deny' });
      await call(hostile);
      expect(runs.flat()).not.toContain('evil');
    }
  });

  it('cannot change the arguments that were evaluated', async () => {
    const { call, runs } = asking((request) => {
      (request.args.claims as { pattern: string }[])[0]!.pattern = 'changed';
      return { decision: 'once' };
    });
    await call(claim('a'));
    expect(runs).toEqual([['a']]);
  });
});

describe('onDecision()', () => {
  it('reports each decision once, with its source', async () => {
    const decisions: PolicyDecision[] = [];
    const answers: Approval[] = [{ decision: 'once' }, { decision: 'deny' }];
    const { call } = hubWith(
      { rules: [rule('allow', 'a'), rule('deny', 'd')], default: 'ask', approve: () => answers.shift()! },
      { onDecision: (event) => decisions.push(event) },
    );
    for (const pattern of ['a', 'd', 'x', 'y']) await call(claim(pattern));
    expect(decisions.map(({ decision, by }) => `${decision} by ${by}`)).toEqual([
      'allow by rule',
      'deny by rule',
      'allow by approval',
      'deny by approval',
    ]);
    expect(decisions[0]).toMatchObject({ name: 's.touch', claims: [claim('a')], callId: expect.any(String) as string });
    expect(new Date(decisions[0]!.at).toISOString()).toBe(decisions[0]!.at);
    expect(new Set(decisions.map(({ callId }) => callId)).size).toBe(4);
  });

  it('does not break the call when it throws', async () => {
    const { call } = hubWith({ rules: [], default: 'allow' }, { onDecision: () => { throw new Error('of the listener'); } }); // prettier-ignore
    expect((await call(claim('a'))).isError).toBe(false);
  });
});

describe('explain()', () => {
  it("reports the route, the state and the policy's reason, by name and by arguments", async () => {
    const { hub } = hubWith({ rules: [rule('allow'), rule('deny', 'secret*')], default: 'ask' });
    await hub.connect();
    expect(await hub.explain('s.touch')).toMatchObject({
      name: 's.touch',
      provider: 'p',
      state: 'READY',
      available: true,
      policy: { action: 'allow', by: 'rule' },
    });
    const denied = await hub.explain('touch', { claims: [claim('secret.txt')] });
    expect(denied).toMatchObject({ available: false, policy: { action: 'deny', rule: { pattern: 'secret*' } } });
    expect(denied.reason).toContain('secret*');
    expect(await hub.explain('s.touch', {})).toMatchObject({ available: false, error: { code: 'INVALID_ARGUMENT' } });
    expect(await hub.explain('s.tuch')).toMatchObject({ available: false, error: { code: 'TOOL_NOT_FOUND' } });
  });
});
