import {
  defineServer,
  defineTool,
  InProcessToolProvider,
  ToolHub,
  type Approval,
  type PolicyRule,
  type ToolProvider,
} from '@toolwright/core';
import { describe, expect, it } from 'vitest';

/** A provider whose one tool claims `claimed` and answers what it may touch of `below`. */
function walker(claimed: string, below: readonly string[], name = 'p'): ToolProvider {
  const walk = defineTool({
    name: 'walk',
    description: 'Walks.',
    permission: () => [{ pattern: claimed, match: 'glob', understood: true }],
    execute: (_, { permits }) => below.filter(permits).join(' '),
  });
  return new InProcessToolProvider({ name, servers: [defineServer({ name: 's', version: '1', tools: [walk] })] });
}

const BELOW = ['a.txt', 'secrets/key', 'secrets/open', 'vendor/x'];
const rule = (action: PolicyRule['action'], pattern?: string): PolicyRule => ({
  tool: 's.*',
  action,
  ...(pattern !== undefined && { pattern }),
});

async function walkedUnder(
  rules: PolicyRule[],
  {
    claimed = '.',
    approve,
    policyDefault = 'allow',
  }: { claimed?: string; approve?: () => Approval; policyDefault?: 'allow' | 'ask' } = {},
) {
  await using hub = new ToolHub({
    providers: [walker(claimed, BELOW)],
    policy: { rules, default: policyDefault, ...(approve && { approve }) },
  });
  const result = await hub.callTool('s.walk', {});
  expect(result.error).toBeUndefined();
  return (result.content[0] as { text: string }).text;
}

describe('ctx.permits()', () => {
  it('is true for everything without a policy', async () => {
    await using hub = new ToolHub({ providers: [walker('.', BELOW)] });
    expect((await hub.callTool('s.walk', {})).content).toEqual([{ type: 'text', text: BELOW.join(' ') }]);
  });

  it.each<[string, PolicyRule[], string]>([
    ['is false for what a rule denies', [rule('deny', 'secrets/*')], 'a.txt vendor/x'],
    [
      'is false for what a rule asks about without an approval',
      [rule('ask', 'vendor/*')],
      'a.txt secrets/key secrets/open',
    ],
    ['is true for what is allowed, and for what no rule names', [rule('allow', 'a*')], BELOW.join(' ')],
    [
      'is false for what is denied although it is allowed too',
      [rule('allow', 'secrets/open'), rule('deny', 'secrets/*')],
      'a.txt vendor/x',
    ],
  ])('%s', async (_, rules, walked) => {
    expect(await walkedUnder(rules)).toBe(walked);
  });

  it('is true below a claim that was approved under the same ask rule', async () => {
    const rules = [rule('ask', 'secrets*')];
    const approve = (): Approval => ({ decision: 'once' });
    expect(await walkedUnder(rules, { claimed: 'secrets', approve })).toBe(BELOW.join(' '));
    expect(await walkedUnder(rules, { claimed: '.', approve })).toBe('a.txt vendor/x');
  });

  it('is true below a claim that was approved under the default', async () => {
    const approve = (): Approval => ({ decision: 'once' });
    expect(await walkedUnder([], { approve, policyDefault: 'ask' })).toBe(BELOW.join(' '));
  });

  it('is true for what an approval allowed, despite an ask rule', async () => {
    const approve = (): Approval => ({ decision: 'always', rules: [rule('allow', 'vendor/x'), rule('allow', '.')] });
    await using hub = new ToolHub({
      providers: [walker('.', BELOW)],
      policy: { rules: [rule('ask', 'vendor/*'), rule('ask', '.')], default: 'allow', approve },
    });
    await hub.callTool('s.walk', {});
    const second = await hub.callTool('s.walk', {});
    expect(second.content).toEqual([{ type: 'text', text: BELOW.join(' ') }]);
  });

  it('is narrowed by each nested hub', async () => {
    const inner = new ToolHub({
      name: 'inner',
      providers: [walker('.', BELOW)],
      policy: { rules: [rule('deny', 'vendor/*')], default: 'allow' },
    });
    await using outer = new ToolHub({
      providers: [inner],
      policy: { rules: [rule('deny', 'secrets/*')], default: 'allow' },
    });
    expect((await outer.callTool('s.walk', {})).content).toEqual([{ type: 'text', text: 'a.txt' }]);
  });

  it('applies through middleware and through a provider that passes its options on', async () => {
    const provider = walker('.', BELOW);
    const wrapped: ToolProvider = {
      name: 'wrapped',
      kind: 'other',
      servers: ['s'],
      connect: (options) => provider.connect(options),
      disconnect: () => provider.disconnect(),
      listTools: (options) => provider.listTools(options),
      onToolsChanged: (listener) => provider.onToolsChanged(listener),
      callTool: (name, args, options) => provider.callTool(name, args, { ...options }),
      [Symbol.asyncDispose]: () => provider.disconnect(),
    };
    await using hub = new ToolHub({
      providers: [wrapped],
      middleware: [(_, next) => next()],
      policy: { rules: [rule('deny', 'secrets/*')], default: 'allow' },
    });
    // A provider without prepareCall claims its name, so that only the part below is narrowed.
    expect((await hub.callTool('s.walk', {})).content).toEqual([{ type: 'text', text: 'a.txt vendor/x' }]);
  });

  it(`is the caller's function without a hub; INVALID_ARGUMENT when it is not a function`, async () => {
    await using provider = walker('.', BELOW);
    const given = await provider.callTool('s.walk', {}, { permits: (path) => path !== 'a.txt' });
    expect(given.content).toEqual([{ type: 'text', text: 'secrets/key secrets/open vendor/x' }]);
    const wrong = await provider.callTool('s.walk', {}, { permits: 'all' as never });
    expect(wrong.error?.code).toBe('INVALID_ARGUMENT');
  });
});
