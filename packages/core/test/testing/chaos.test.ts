// chaos(): what each fault does, that a seed repeats it, and that a hub in front of it settles every call once.

import {
  defineServer,
  defineTool,
  InProcessToolProvider,
  textOf,
  ToolHub,
  type ToolProvider,
  type ToolResult,
} from '@toolwright/core';
import { chaos, contractServer, expectNoLeaks, toolProviderContract, type ChaosFaults } from '@toolwright/core/testing';
import { describe, expect, it } from 'vitest';

const SILENT = { debug() {}, info() {}, warn() {}, error() {} };
const inProcess = (): ToolProvider => new InProcessToolProvider({ servers: [contractServer()] });
const echo = (provider: ToolProvider, text: string): Promise<ToolResult> =>
  provider.callTool('contract.echo', { text });

toolProviderContract('chaos() without faults', () => ({ provider: chaos(inProcess(), {}), dispose() {} }), {
  describe,
  it,
});
toolProviderContract(
  'A hub of chaos() with short delays',
  () => ({
    provider: new ToolHub({ providers: [chaos(inProcess(), { delay: 0.5 }, { seed: 1, maxDelayMs: 1 })] }),
    dispose() {},
  }),
  { describe, it },
);

describe('chaos()', () => {
  it('passes on the optional members of the wrapped provider, and no others', () => {
    const inner = inProcess();
    const given = chaos(inner, {});
    expect(Object.keys(given).toSorted()).toEqual(
      ['inner', 'name', 'kind', 'prepareCall', 'endSession', 'health', 'seed'].toSorted(),
    );
    expect(given.servers).toBe(inner.servers);
  });

  it('fails calls without running the tool when the fault is fail', async () => {
    await using provider = chaos(inProcess(), { fail: 1 }, { seed: 3 });
    const results = await Promise.all(Array.from({ length: 30 }, () => provider.callTool('contract.count')));
    const codes = new Set(results.map(({ error }) => error?.code));
    expect([...codes].toSorted()).toEqual(['BUSY', 'EXECUTION_FAILED', 'UNAVAILABLE']);
    expect(textOf(results[0]!)).toContain('(seed 3)');
  });

  it('hangs until the call is cancelled, its deadline passes or the provider disconnects', async () => {
    await using _ = expectNoLeaks();
    await using provider = chaos(inProcess(), { hang: 1 });
    const controller = new AbortController();
    const cancelled = provider.callTool('contract.echo', { text: 'a' }, { signal: controller.signal });
    const late = provider.callTool('contract.echo', { text: 'b' }, { timeoutMs: 20 });
    const closed = echo(provider, 'c');
    controller.abort();
    expect((await cancelled).error?.code).toBe('CANCELLED');
    expect((await late).error?.code).toBe('TIMED_OUT');
    await provider.disconnect();
    expect((await closed).error?.code).toBe('CONNECTION_CLOSED');
    expect((await echo(provider, 'd')).error?.code).toBe('NOT_CONNECTED');
  });

  it('ends all calls in flight, reports the loss and loses the state when the fault is crash, and connects again', async () => {
    await using provider = chaos(inProcess(), { crash: 0.5 }, { seed: 'x' });
    const losses: string[] = [];
    provider.onLost(({ code }) => losses.push(code));
    const results: ToolResult[] = [];
    for (let call = 0; call < 12; call++) results.push(await provider.callTool('contract.count'));
    const outcomes = results.map(({ error, structuredContent }) => error?.code ?? structuredContent?.executions);
    expect(outcomes).toContain('OUTCOME_UNKNOWN');
    expect(losses).toHaveLength(outcomes.filter((outcome) => outcome === 'OUTCOME_UNKNOWN').length);
    const afterCrash = outcomes.filter((_, index) => outcomes[index - 1] === 'OUTCOME_UNKNOWN');
    expect(afterCrash.filter((outcome) => outcome !== 'OUTCOME_UNKNOWN').every((outcome) => outcome === 1)).toBe(true);
  });

  it('returns an oversized text when the fault is oversized', async () => {
    await using provider = chaos(inProcess(), { oversized: 1 }, { oversizedBytes: 300_000 });
    expect(textOf(await echo(provider, 'x'))).toHaveLength(300_000);
    await using hub = new ToolHub({ providers: [provider] });
    const result = await echo(hub, 'x');
    expect(result._meta?.['toolwright/truncated']).toBeDefined();
  });

  it('returns what is not a result when the fault is garbage, which a hub reports as INTERNAL', async () => {
    const provider = chaos(inProcess(), { garbage: 1 }, { seed: 5 });
    await using hub = new ToolHub({ providers: [provider], logger: SILENT });
    const results = await Promise.all(Array.from({ length: 40 }, (_, index) => echo(hub, `${index}`)));
    expect(new Set(results.map(({ error }) => error?.code))).toEqual(new Set(['INTERNAL']));
  });

  it('lists other tools and reports changes when the fault is flap', async () => {
    await using provider = chaos(inProcess(), { flap: 0.7 }, { seed: 2 });
    let changes = 0;
    provider.onToolsChanged(() => changes++);
    const lists = new Set<string>();
    for (let call = 0; call < 20; call++) {
      lists.add((await provider.listTools()).map(({ name, description }) => `${name}: ${description}`).join('\n'));
      await echo(provider, `${call}`);
    }
    expect(lists.size).toBeGreaterThan(5);
    expect(changes).toBeGreaterThan(5);
    expect(changes).toBeLessThan(20);
  });

  it('repeats the faults of a seed, whatever the order in which calls overlap', async () => {
    const faults: ChaosFaults = { delay: 0.5, fail: 0.3, oversized: 0.2, garbage: 0.2 };
    const run = async (seed: number, reversed: boolean): Promise<string[]> => {
      await using provider = chaos(inProcess(), faults, { seed, maxDelayMs: 3, oversizedBytes: 10 });
      const texts = Array.from({ length: 40 }, (_, index) => `text ${index}`);
      const calls = (reversed ? texts.toReversed() : texts).map((text) =>
        echo(provider, text).then(
          (result) => `${text}: ${outcomeOf(result)}`,
          () => `${text}: rejected`,
        ),
      );
      return (await Promise.all(calls)).toSorted();
    };
    const first = await run(11, false);
    expect(await run(11, true)).toEqual(first);
    expect(await run(12, false)).not.toEqual(first);
    expect(chaos(inProcess(), {}).seed).toMatch(/^\d+$/);
  });

  it.each<[string, unknown, unknown, RegExp]>([
    ['an unknown fault', { explode: 1 }, {}, /unknown option `faults.explode`/],
    ['a chance above 1', { fail: 2 }, {}, /`faults.fail` must be a number from 0 to 1/],
    ['chances that add up to more than 1', { fail: 0.6, hang: 0.6 }, {}, /at most 1/],
    ['an unknown option', {}, { sed: 1 }, /did you mean `seed`/],
    ['a negative delay', {}, { maxDelayMs: -1 }, /`maxDelayMs` must be at least 0/],
  ])('refuses %s', (_title, faults, options, message) => {
    expect(() => chaos(inProcess(), faults as never, options as never)).toThrow(message);
  });
});

describe('ToolHub in front of chaos()', () => {
  it.each([1, 2, 3])('settles every call once and leaves nothing behind (seed %i)', async (seed) => {
    await using _ = expectNoLeaks();
    const faults: ChaosFaults = {
      delay: 0.3,
      fail: 0.1,
      hang: 0.1,
      crash: 0.05,
      oversized: 0.05,
      garbage: 0.1,
      flap: 0.05,
    };
    const provider = chaos(inProcess(), faults, { seed, maxDelayMs: 10, oversizedBytes: 600_000 });
    const steady = new InProcessToolProvider({
      servers: [
        defineServer({
          name: 'steady',
          version: '1',
          tools: [defineTool({ name: 'ok', description: 'Works.', execute: () => 'ok' })],
        }),
      ],
    });
    const hub = new ToolHub({ providers: [provider, steady], limits: { callTimeoutMs: 250 }, logger: SILENT });
    await hub.connect();
    let settlements = 0;
    const codes = new Map<string, number>();
    const call = async (index: number): Promise<void> => {
      const signal = index % 7 === 0 ? AbortSignal.timeout(index % 40) : undefined;
      const name = index % 5 === 0 ? 'contract.count' : index % 3 === 0 ? 'contract.wait' : 'contract.echo';
      const args = name === 'contract.wait' ? { ms: index % 30 } : name === 'contract.echo' ? { text: `${index}` } : {};
      const result = await hub.callTool(name, args, { ...(signal && { signal }) });
      settlements++;
      expect(result.isError).toBe(result.error !== undefined);
      expect(Array.isArray(result.content)).toBe(true);
      const code = result.error?.code ?? 'ok';
      codes.set(code, (codes.get(code) ?? 0) + 1);
    };
    for (let round = 0; round < 4; round++) {
      await Promise.all(Array.from({ length: 150 }, (_, index) => call(round * 150 + index)));
      expect((await hub.callTool('steady.ok')).isError).toBe(false);
    }
    expect(settlements).toBe(600);
    for (const code of ['ok', 'TIMED_OUT', 'OUTCOME_UNKNOWN', 'INTERNAL', 'UNAVAILABLE'])
      expect(codes.get(code), `${code} of ${JSON.stringify([...codes])}`).toBeGreaterThan(0);
    const hanging = Array.from({ length: 50 }, (_, index) => hub.callTool('contract.echo', { text: `last ${index}` }));
    await hub.disconnect();
    expect(await Promise.all(hanging)).toHaveLength(50);
  });
});

function outcomeOf(result: ToolResult): string {
  return JSON.stringify([result?.error?.code, result?.content], (key, value: unknown) =>
    key === 'content' ? undefined : value,
  ).slice(0, 100);
}
