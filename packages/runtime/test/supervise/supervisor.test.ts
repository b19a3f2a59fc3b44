// One supervised provider at a time, its fate decided by the test. Time is faked wherever it is meant.

import { ToolError, ToolHub, type ToolResult } from '@toolwright/core';
import { expectNoLeaks } from '@toolwright/core/testing';
import { supervise, type SuperviseOptions, type SupervisorEvents } from '@toolwright/runtime';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { answer, definition, failure, Script, withResolvers, type OpenCall } from './scripted-provider.js';

beforeEach(
  () =>
    void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'performance'] }),
);
afterEach(() => void vi.useRealTimers());

const EXITED = new ToolError('PROCESS_EXITED', 'It exited with code 3. Its stderr ends: no licence');

function make(options: SuperviseOptions = {}): {
  script: Script;
  provider: ReturnType<typeof supervise>;
  states: string[];
} {
  const script = new Script();
  const provider = supervise(script.create, { backoff: { random: () => 1 }, ...options });
  const states: string[] = [];
  provider.on('stateChanged', ({ to }) => states.push(to));
  return { script, provider, states };
}

const codes = (results: readonly ToolResult[]): (string | undefined)[] => results.map(({ error }) => error?.code);

/** Lets what is due now happen. */
const turn = (): Promise<unknown> => vi.advanceTimersByTimeAsync(0);

describe('supervise() on demand', () => {
  it.each([1, 10, 50])('starts one provider for %i concurrent cold calls', async (count) => {
    const { script, provider, states } = make({ maxConcurrent: 50 });
    const results = await Promise.all(Array.from({ length: count }, () => provider.callTool('made.read')));
    expect(codes(results)).toEqual(Array(count).fill(undefined));
    expect(script.connects).toBe(1);
    expect(states).toEqual(['INITIALIZING', 'READY']);
    await provider.disconnect();
  });

  it('gives 50 concurrent cold calls the one error of a start that fails, at once', async () => {
    const { script, provider } = make();
    script.start = () => Promise.reject(EXITED);
    const results = await Promise.all(Array.from({ length: 50 }, () => provider.callTool('made.read')));
    for (const { error } of results) expect(error).toMatchObject({ code: 'PROCESS_EXITED', message: EXITED.message });
    expect(script.connects).toBe(1);
    await provider.disconnect();
  });

  it('starts nothing before the first call, and knows its name, kind and prefixes', async () => {
    const { script, provider } = make();
    expect([provider.name, provider.kind, provider.servers, provider.state]).toEqual([
      'made',
      'process',
      ['made'],
      'COLD',
    ]);
    expect(script.connects).toBe(0);
  });

  it('keeps the list through an idle stop, and starts nothing to list it', async () => {
    const { script, provider, states } = make({ idleTtlMs: 1_000 });
    await provider.connect();
    await vi.advanceTimersByTimeAsync(1_001);
    expect(states.at(-1)).toBe('COLD');
    expect(await provider.listTools()).toHaveLength(3);
    expect(script.connects).toBe(1);
    expect((await provider.callTool('made.read')).isError).toBe(false);
    expect(script.connects).toBe(2);
    expect(provider.health().restarts).toBe(0);
    await provider.disconnect();
  });

  it('starts the next provider only when the one before has ended', async () => {
    const { script, provider } = make({ idleTtlMs: 1_000 });
    await provider.connect();
    const ended = withResolvers();
    script.latest.disconnect = () => ended.promise;
    await vi.advanceTimersByTimeAsync(1_001);
    const call = provider.callTool('made.read');
    await turn();
    expect(script.connects).toBe(1);
    ended.resolve();
    expect((await call).isError).toBe(false);
    await provider.disconnect();
  });

  it('reports a list that changed with a restart, and no list that did not', async () => {
    const { script, provider } = make();
    await provider.connect();
    let told = 0;
    provider.onToolsChanged(() => told++);
    script.latest.crash();
    await provider.callTool('made.read');
    expect(told).toBe(0);
    script.tools = [definition('made.other')];
    script.latest.crash();
    await vi.advanceTimersByTimeAsync(2_000);
    await provider.callTool('made.other');
    expect(told).toBe(1);
    expect((await provider.listTools()).map(({ name }) => name)).toEqual(['made.other']);
    await provider.disconnect();
  });
});

describe('supervise() after failures', () => {
  it('refuses in backoff with the time to wait, which doubles, and starts again after it', async () => {
    const { script, provider } = make({ maxStarts: 100 });
    script.start = () => Promise.reject(EXITED);
    expect(codes([await provider.callTool('made.read'), await provider.callTool('made.read')])).toEqual([
      'PROCESS_EXITED',
      'PROCESS_EXITED', // the wait begins with the second failure in a row
    ]);
    for (const wait of [250, 500, 1_000, 2_000]) {
      const { error } = await provider.callTool('made.read');
      expect(error).toMatchObject({ code: 'UNAVAILABLE', retryable: true, details: { retryAfterMs: wait } });
      expect(error?.message).toContain('no licence');
      expect(provider.health().retryAt).toBeCloseTo(performance.timeOrigin + performance.now() + wait, -1);
      await vi.advanceTimersByTimeAsync(wait - 1);
      expect((await provider.callTool('made.read')).error?.code).toBe('UNAVAILABLE');
      await vi.advanceTimersByTimeAsync(1);
      expect((await provider.callTool('made.read')).error?.code).toBe('PROCESS_EXITED');
    }
    script.start = () => Promise.resolve();
    await vi.advanceTimersByTimeAsync(4_000);
    expect((await provider.callTool('made.read')).isError).toBe(false);
    expect(provider.health()).toMatchObject({ state: 'READY', restarts: 1, consecutiveFailures: 0 });
    await provider.disconnect();
  });

  it('starts at once after a provider that had been ready for a second', async () => {
    const { script, provider } = make();
    for (let life = 1; life <= 4; life++) {
      expect((await provider.callTool('made.read')).isError).toBe(false);
      await vi.advanceTimersByTimeAsync(1_000);
      script.latest.crash();
    }
    expect(script.connects).toBe(4);
    await provider.disconnect();
  });

  it('waits when providers go within a second of their start, again and again', async () => {
    const { script, provider } = make();
    for (const code of [undefined, undefined, 'UNAVAILABLE']) {
      expect((await provider.callTool('made.read')).error?.code).toBe(code);
      if (code === undefined) script.latest.crash();
    }
    await provider.disconnect();
  });

  it('ends the row of failures after a minute of health', async () => {
    const { script, provider } = make({ healthIntervalMs: 0 });
    for (const failed of [1, 2]) {
      await provider.callTool('made.read');
      script.latest.crash();
      expect(provider.health().consecutiveFailures).toBe(failed);
    }
    await vi.advanceTimersByTimeAsync(250);
    await provider.callTool('made.read');
    await vi.advanceTimersByTimeAsync(60_000);
    script.latest.crash();
    expect(provider.health().consecutiveFailures).toBe(1);
    await provider.disconnect();
  });

  it('fails with RESTART_LIMIT after too many starts in the window, until connect() is called or a minute has passed', async () => {
    const { script, provider } = make({ maxStarts: 3, backoff: { baseMs: 0 } });
    script.start = () => Promise.reject(EXITED);
    const results = [];
    for (let call = 0; call < 6; call++) results.push(await provider.callTool('made.read'));
    expect(codes(results)).toEqual([...Array<string>(4).fill('PROCESS_EXITED'), 'RESTART_LIMIT', 'RESTART_LIMIT']);
    expect(script.connects).toBe(4);
    expect(results.at(-1)?.error).toMatchObject({
      message: expect.stringContaining(
        'started again by a call, or by a hub, in 60000 ms; connect() starts it at once',
      ),
      details: { retryAfterMs: 60_000 },
    });
    expect(provider.health().retryAt).toBeCloseTo(performance.timeOrigin + performance.now() + 60_000, -1);
    await vi.advanceTimersByTimeAsync(59_999);
    await expect(provider.connect({ onDemand: true })).rejects.toMatchObject({ code: 'RESTART_LIMIT' });
    script.start = () => Promise.resolve();
    await provider.connect();
    expect((await provider.callTool('made.read')).isError).toBe(false);
    await provider.disconnect();
  });

  it('starts a provider at its limit once a minute, by a call or a hub, until it has been healthy for a minute', async () => {
    const { script, provider } = make({ maxStarts: 2, backoff: { baseMs: 0 }, healthIntervalMs: 0 });
    script.start = () => Promise.reject(EXITED);
    for (let call = 0; call < 4; call++) await provider.callTool('made.read');
    expect(script.connects).toBe(3);
    await vi.advanceTimersByTimeAsync(60_000);
    expect((await provider.callTool('made.read')).error?.code).toBe('PROCESS_EXITED');
    expect((await provider.callTool('made.read')).error?.code).toBe('RESTART_LIMIT');
    await vi.advanceTimersByTimeAsync(60_000);
    script.start = () => Promise.resolve();
    await provider.connect({ onDemand: true });
    expect(script.connects).toBe(5);
    script.latest.crash();
    expect((await provider.callTool('made.read')).error?.code).toBe('RESTART_LIMIT');
    await vi.advanceTimersByTimeAsync(60_000);
    expect((await provider.callTool('made.read')).isError).toBe(false);
    await vi.advanceTimersByTimeAsync(60_000);
    script.latest.crash();
    expect((await provider.callTool('made.read')).isError).toBe(false);
    await provider.disconnect();
  });

  it('is never started by itself after a failure with maxStarts: 0', async () => {
    const { script, provider } = make({ maxStarts: 0 });
    await provider.connect();
    script.latest.crash();
    await vi.advanceTimersByTimeAsync(3_600_000);
    const { error } = await provider.callTool('made.read');
    expect(error).toMatchObject({
      code: 'RESTART_LIMIT',
      message: expect.stringMatching(/maxStarts is 0.*connect\(\)/),
    });
    await provider.disconnect();
  });

  it('does not count idle stops and explicit starts', async () => {
    const { script, provider } = make({ maxStarts: 1, idleTtlMs: 1_000 });
    for (let round = 0; round < 5; round++) {
      await provider.callTool('made.read');
      await vi.advanceTimersByTimeAsync(1_001);
    }
    script.start = () => Promise.reject(EXITED);
    for (let round = 0; round < 5; round++)
      await expect(provider.connect()).rejects.toMatchObject({ code: 'PROCESS_EXITED' });
    script.start = () => Promise.resolve();
    expect((await provider.callTool('made.read')).isError).toBe(false);
    await provider.disconnect();
  });

  it.each([
    new ToolError('SPAWN_FAILED', 'Provider file not found: /nowhere.ts', { details: { errno: 'ENOENT' } }),
    new ToolError('PROTOCOL_VIOLATION', 'It speaks protocol 9; this host speaks 1.'),
    new ToolError('UNAVAILABLE', 'Install the SDK.', { retryable: false }),
    new ToolError('EXECUTION_FAILED', 'No.', { details: { permanent: true } }),
  ])('starts nothing after $message, until an explicit start', async (error) => {
    const { script, provider } = make();
    script.start = () => Promise.reject(error);
    for (let call = 0; call < 3; call++) {
      expect((await provider.callTool('made.read')).error).toMatchObject({
        code: error.code,
        message: error.message,
        details: { permanent: true },
      });
      await vi.advanceTimersByTimeAsync(600_000);
    }
    expect(script.connects).toBe(1);
    script.start = () => Promise.resolve();
    await provider.connect();
    await provider.disconnect();
  });

  it.each([
    new ToolError('SPAWN_FAILED', 'too many files', { details: { errno: 'EMFILE' } }),
    new ToolError('SPAWN_FAILED', 'not yet', { details: { permanent: false } }),
  ])('starts again after a failure that passes: $message', async (error) => {
    const { script, provider } = make();
    script.start = () => Promise.reject(error);
    await provider.callTool('made.read');
    script.start = () => Promise.resolve();
    expect((await provider.callTool('made.read')).isError).toBe(false);
    await provider.disconnect();
  });

  it('ends a start that takes longer than startTimeoutMs, and the provider with it', async () => {
    const { script, provider } = make({ startTimeoutMs: 2_000 });
    script.start = () => new Promise(() => undefined);
    const call = provider.callTool('made.read');
    await vi.advanceTimersByTimeAsync(2_000);
    expect((await call).error).toMatchObject({ code: 'TIMED_OUT' });
    expect((await call).error?.message).toContain('startTimeoutMs');
    expect(script.latest.disconnects).toBe(1);
    await provider.disconnect();
  });

  it('answers a call that is cancelled during the start, and continues with the start', async () => {
    const { script, provider } = make();
    const started = withResolvers();
    script.start = () => started.promise;
    const abort = new AbortController();
    const cancelled = provider.callTool('made.read', {}, { signal: abort.signal });
    const patient = provider.callTool('made.read');
    await turn();
    abort.abort();
    expect((await cancelled).error?.code).toBe('CANCELLED');
    started.resolve();
    expect((await patient).isError).toBe(false);
    await provider.disconnect();
  });
});

describe('supervise() when the provider fails its calls', () => {
  const broken = (): ToolResult => failure(new ToolError('PROTOCOL_VIOLATION', 'That was no result.'));

  it('degrades it after failureThreshold failures, lets its calls settle, and starts another', async () => {
    const { script, provider, states } = make();
    const held: OpenCall[] = [];
    script.call = (call) => (call.name === 'made.put' ? held.push(call) : call.settle(broken()));
    await provider.connect();
    await vi.advanceTimersByTimeAsync(1_000);
    const slow = provider.callTool('made.put');
    await turn();
    for (let call = 0; call < 3; call++) await provider.callTool('made.read');
    expect(states.at(-1)).toBe('DEGRADED');
    expect(script.latest.disconnects).toBe(0);
    script.call = (call) => call.settle(answer('well'));
    const next = provider.callTool('made.read');
    await turn();
    expect(script.connects).toBe(1); // the one before still has a call
    held[0]?.settle(answer('late'));
    expect((await slow).isError).toBe(false);
    expect((await next).isError).toBe(false);
    expect([script.connects, script.made[0]?.disconnects]).toEqual([2, 1]);
    await provider.disconnect();
  });

  it('does not count what a tool says, whatever code it has, nor what a caller ends', async () => {
    const { script, provider } = make({ failureThreshold: 1 });
    await provider.connect();
    for (const code of ['UNAVAILABLE', 'OUTCOME_UNKNOWN', 'CONNECTION_CLOSED', 'EXECUTION_FAILED'] as const) {
      script.call = (call) =>
        call.settle({ ...answer('no'), isError: true, error: new ToolError(code, 'of the tool').toInfo() });
      expect((await provider.callTool('made.write')).error?.code).toBe(code);
    }
    script.call = () => undefined;
    const timedOut = provider.callTool('made.write', {}, { timeoutMs: 1_000 });
    const abort = new AbortController();
    const cancelled = provider.callTool('made.write', {}, { signal: abort.signal });
    await turn();
    abort.abort();
    await vi.advanceTimersByTimeAsync(1_000);
    expect(codes([await timedOut, await cancelled])).toEqual(['TIMED_OUT', 'CANCELLED']);
    expect(provider.health()).toMatchObject({ state: 'READY', consecutiveFailures: 0 });
    await provider.disconnect();
  });

  it.each([
    ['by itself', (provider: ReturnType<typeof supervise>) => provider],
    ['within a hub', (provider: ReturnType<typeof supervise>) => new ToolHub({ providers: [provider] })],
  ])('counts calls that pass its own default deadline, %s', async (_where, wrap) => {
    const { script, provider, states } = make({ failureThreshold: 2, callTimeoutMs: 1_000 });
    const caller = wrap(provider);
    await caller.callTool('made.write'); // a hub loads its validator
    script.call = () => undefined;
    const calls = [caller.callTool('made.write'), caller.callTool('made.write')];
    await vi.advanceTimersByTimeAsync(1_100);
    expect(codes(await Promise.all(calls))).toEqual(['TIMED_OUT', 'TIMED_OUT']);
    await turn(); // a hub answers before the provider has
    expect(states.at(-1)).toBe('DEGRADED');
    await caller.disconnect();
  });

  it('forgets failures when a call succeeds', async () => {
    const { script, provider } = make();
    await provider.connect();
    for (let call = 0; call < 9; call++) {
      script.call = (open) => open.settle(call % 3 === 2 ? answer('well') : broken());
      await provider.callTool('made.read');
    }
    expect(provider.state).toBe('READY');
    await provider.disconnect();
  });

  it('returns INTERNAL for a value that is not a result, and accepts a frozen result', async () => {
    const { script, provider } = make();
    script.call = (call) => call.settle(undefined as never);
    expect((await provider.callTool('made.read')).error?.code).toBe('INTERNAL');
    script.call = (call) => call.settle(Object.freeze(answer('cold')));
    expect((await provider.callTool('made.read')).isError).toBe(false);
    script.latest.callTool = () => {
      throw new Error('it throws');
    };
    expect((await provider.callTool('made.read')).error).toMatchObject({ code: 'INTERNAL', message: 'it throws' });
    await provider.disconnect();
  });
});

describe('supervise() when the provider goes during a call', () => {
  it.each([
    ['made.write', undefined, 1],
    ['made.read', undefined, 2],
    ['made.put', undefined, 2],
    ['read', undefined, 2],
    ['made.read', false, 1],
  ])('sends %s with trustAnnotations %s %i times', async (name, trustAnnotations, times) => {
    const { script, provider } = make(trustAnnotations === undefined ? {} : { trustAnnotations });
    const sent: (string | undefined)[] = [];
    script.call = ({ args }, { crash }) => {
      sent.push(args?.text as string);
      if (sent.length === 1) queueMicrotask(() => crash.call(script.latest));
      else queueMicrotask(() => [...script.latest.calls][0]?.settle(answer('again')));
    };
    const args = { text: 'first' };
    const call = provider.callTool(name, args);
    args.text = 'changed by its owner';
    const result = await call;
    expect(sent).toEqual(Array(times).fill('first'));
    expect(result.error?.code).toBe(times === 1 ? 'OUTCOME_UNKNOWN' : undefined);
    await provider.disconnect();
  });

  it('sends a call no third time, and keeps OUTCOME_UNKNOWN when no other provider starts', async () => {
    const { script, provider } = make();
    let sent = 0;
    script.call = () => {
      sent++;
      queueMicrotask(() => script.latest.crash());
    };
    expect((await provider.callTool('made.read')).error?.code).toBe('OUTCOME_UNKNOWN');
    expect(sent).toBe(2);
    await vi.advanceTimersByTimeAsync(60_000);
    await provider.callTool('made.write');
    script.start = () => Promise.reject(EXITED);
    await vi.advanceTimersByTimeAsync(60_000);
    const other = make();
    other.script.call = () => {
      other.script.start = () => Promise.reject(EXITED);
      queueMicrotask(() => other.script.latest.crash());
    };
    expect((await other.provider.callTool('made.read')).error?.code).toBe('OUTCOME_UNKNOWN');
    await Promise.all([provider.disconnect(), other.provider.disconnect()]);
  });

  it('settles calls that the provider leaves open when it goes', async () => {
    const { script, provider } = make();
    script.call = () => undefined;
    await provider.connect();
    const call = provider.callTool('made.write');
    await turn();
    const [open] = script.latest.calls;
    script.latest.calls.clear();
    script.latest.crash();
    await vi.advanceTimersByTimeAsync(50);
    expect((await call).error).toMatchObject({
      code: 'OUTCOME_UNKNOWN',
      details: { outcomeUnknown: true, cause: 'PROCESS_EXITED' },
    });
    open?.settle(answer('too late'));
    await provider.disconnect();
  });

  it('detects the end of a provider that cannot report it itself', async () => {
    const { script, provider, states } = make();
    const { latest } = script;
    Object.assign(latest, { onLost: undefined, health: undefined });
    script.call = (call) => call.settle(failure(new ToolError('CONNECTION_CLOSED', 'gone')));
    await provider.callTool('made.write');
    expect(states.at(-1)).toBe('DEAD');
    await provider.disconnect();
  });
});

describe('supervise() asks whether the provider answers', () => {
  it('replaces it after two missed pings in a row, and tells its calls', async () => {
    const { script, provider, states } = make({ healthIntervalMs: 10_000, healthTimeoutMs: 1_000 });
    await provider.connect();
    script.call = () => undefined;
    const call = provider.callTool('made.write', {}, { timeoutMs: 600_000 });
    script.ping = () => new Promise(() => undefined);
    await vi.advanceTimersByTimeAsync(11_999);
    expect(states.at(-1)).toBe('READY');
    await vi.advanceTimersByTimeAsync(100);
    expect(states.at(-1)).toBe('DEAD');
    expect((await call).error).toMatchObject({ code: 'OUTCOME_UNKNOWN' });
    expect(script.latest.disconnects).toBe(1);
    await provider.disconnect();
  });

  it('asks once more after a missed ping, and continues when that is answered', async () => {
    const { script, provider } = make({ healthIntervalMs: 10_000 });
    await provider.connect();
    let pings = 0;
    script.ping = () => (++pings === 1 ? Promise.reject(EXITED) : Promise.resolve());
    await vi.advanceTimersByTimeAsync(10_000);
    expect([pings, provider.state]).toEqual([2, 'READY']);
    await provider.disconnect();
  });

  it('asks immediately when a call has been silent for half its deadline, and not while it has progress', async () => {
    const { script, provider } = make({ healthIntervalMs: 0 });
    await provider.connect();
    script.call = () => undefined;
    let pings = 0;
    script.ping = () => Promise.resolve(void pings++);
    const call = provider.callTool('made.write', {}, { timeoutMs: 10_000 });
    await vi.advanceTimersByTimeAsync(4_000);
    [...script.latest.calls][0]?.options?.onProgress?.({ progress: 1 });
    await vi.advanceTimersByTimeAsync(4_999);
    expect(pings).toBe(0);
    await vi.advanceTimersByTimeAsync(10);
    expect(pings).toBe(1);
    await vi.advanceTimersByTimeAsync(10_000);
    expect((await call).error?.code).toBe('TIMED_OUT');
    await provider.disconnect();
  });

  it('replaces a silent provider before the default deadline of its call', async () => {
    const { script, provider } = make();
    await provider.connect();
    script.ping = () => new Promise(() => undefined);
    script.call = () => undefined;
    const startedAt = performance.now();
    const call = provider.callTool('made.write');
    await vi.advanceTimersByTimeAsync(30_000);
    expect((await call).error?.code).toBe('OUTCOME_UNKNOWN');
    expect((await call).durationMs).toBeLessThan(26_000);
    expect(performance.now() - startedAt).toBe(30_000);
    await provider.disconnect();
  });
});

describe('supervise() when nothing calls', () => {
  it('ends the provider after idleTtlMs, never during a call, and not for the sake of pings', async () => {
    const { script, provider } = make({ idleTtlMs: 5_000, healthIntervalMs: 1_000 });
    let pings = 0;
    script.ping = () => Promise.resolve(void pings++);
    script.call = () => undefined;
    const call = provider.callTool('made.write', {}, { timeoutMs: Infinity });
    await vi.advanceTimersByTimeAsync(60_000);
    expect(provider.state).toBe('READY');
    [...script.latest.calls][0]?.settle(answer('done'));
    await call;
    await vi.advanceTimersByTimeAsync(4_900);
    expect(provider.state).toBe('READY');
    await vi.advanceTimersByTimeAsync(5_000);
    expect(provider.state).toBe('COLD');
    expect(pings).toBeGreaterThan(50);
    await provider.disconnect();
  });

  it('keeps a provider with idleTtlMs 0', async () => {
    const { provider } = make({ idleTtlMs: 0, healthIntervalMs: 0 });
    await provider.connect();
    await vi.advanceTimersByTimeAsync(86_400_000);
    expect(provider.state).toBe('READY');
    await provider.disconnect();
  });
});

describe('supervise() limits calls', () => {
  it('runs maxConcurrent at once, the others in their order, and fails with BUSY over maxQueue', async () => {
    const { script, provider } = make({ maxConcurrent: 2, maxQueue: 3 });
    const open: OpenCall[] = [];
    script.call = (call) => open.push(call);
    const calls = Array.from({ length: 7 }, (_, index) => provider.callTool('made.write', { index }));
    await turn();
    expect(codes(await Promise.all(calls.slice(5)))).toEqual(['BUSY', 'BUSY']);
    expect(open).toHaveLength(2);
    for (let index = 0; index < 5; index++) {
      open[index]?.settle(answer('done'));
      await turn();
    }
    expect(open.map(({ args }) => args?.index)).toEqual([0, 1, 2, 3, 4]);
    expect(codes(await Promise.all(calls.slice(0, 5)))).toEqual(Array(5).fill(undefined));
    await provider.disconnect();
  });

  it('frees the place of a call that is cancelled while it waits', async () => {
    const { script, provider } = make({ maxConcurrent: 1 });
    const open: OpenCall[] = [];
    script.call = (call) => open.push(call);
    await provider.connect();
    const abort = new AbortController();
    const calls = [undefined, abort.signal, undefined].map((signal) => provider.callTool('made.write', {}, { signal }));
    await turn();
    abort.abort();
    expect((await calls[1])?.error?.code).toBe('CANCELLED');
    open[0]?.settle(answer('first'));
    await turn();
    expect(open).toHaveLength(2);
    open[1]?.settle(answer('third'));
    await Promise.all(calls);
    await provider.disconnect();
  });

  it('sends calls that wait to the next provider when theirs has gone', async () => {
    const { script, provider } = make({ maxConcurrent: 1 });
    script.call = () => undefined;
    const calls = Array.from({ length: 3 }, () => provider.callTool('made.write'));
    await turn();
    script.call = (call) => call.settle(answer('well'));
    script.latest.crash();
    expect(codes(await Promise.all(calls))).toEqual(['OUTCOME_UNKNOWN', undefined, undefined]);
    expect(script.connects).toBe(2);
    await provider.disconnect();
  });
});

describe('supervise() and disconnect()', () => {
  it('settles calls wherever they are as CONNECTION_CLOSED, and ends the provider', async () => {
    const { script, provider } = make({ maxConcurrent: 1 });
    script.call = () => undefined;
    const calls = [provider.callTool('made.write'), provider.callTool('made.write')];
    await turn();
    await provider.disconnect();
    expect(codes(await Promise.all(calls))).toEqual(['CONNECTION_CLOSED', 'CONNECTION_CLOSED']);
    expect([provider.state, script.latest.disconnects]).toEqual(['COLD', 1]);
    expect((await provider.callTool('made.read')).error?.code).toBe('NOT_CONNECTED');
    await provider.disconnect();
  });

  it('ends a start that is under way, and another connect() waits until it has ended', async () => {
    const { script, provider, states } = make();
    script.start = () => new Promise(() => undefined);
    const first = provider.connect().catch((error: unknown) => error);
    const call = provider.callTool('made.read');
    await turn();
    const disconnecting = provider.disconnect();
    script.start = () => Promise.resolve();
    const second = provider.connect();
    await disconnecting;
    expect(await first).toMatchObject({ code: 'NOT_CONNECTED' });
    expect((await call).error?.code).toBe('CONNECTION_CLOSED');
    await second;
    expect(states).toEqual(['INITIALIZING', 'COLD', 'INITIALIZING', 'READY']);
    expect(script.running).toBe(1);
    await provider.disconnect();
    expect(script.running).toBe(0);
  });

  it('clears what was counted', async () => {
    const { script, provider } = make({ maxStarts: 1 });
    script.start = () => Promise.reject(EXITED);
    for (let call = 0; call < 4; call++) await provider.callTool('made.read');
    await provider.disconnect();
    script.start = () => Promise.resolve();
    await provider.connect({ onDemand: true });
    expect(provider.state).toBe('READY');
    await provider.disconnect();
  });

  it('leaves no timer behind', async () => {
    vi.useRealTimers();
    await using _ = expectNoLeaks();
    const { script, provider } = make({ healthIntervalMs: 1_000 });
    script.call = () => undefined;
    script.ping = () => new Promise(() => undefined);
    void provider.callTool('made.write');
    await provider.connect();
    await provider.disconnect();
  });
});

describe('supervise() emits events', () => {
  it('of states, restarts and its log, and is not broken by a listener', async () => {
    const { script, provider } = make();
    const told: [string, unknown][] = [];
    for (const name of ['stateChanged', 'restarted', 'log'] as const) {
      provider.on(name, (event: SupervisorEvents[typeof name]) => {
        told.push([name, event]);
        throw new Error('of the listener');
      });
    }
    await provider.callTool('made.read');
    script.latest.crash('out of cheese');
    await provider.callTool('made.read');
    expect(told).toContainEqual(['stateChanged', { from: 'COLD', to: 'INITIALIZING' }]);
    expect(told).toContainEqual([
      'stateChanged',
      { from: 'READY', to: 'DEAD', error: { code: 'PROCESS_EXITED', message: 'out of cheese', retryable: false } },
    ]);
    expect(told).toContainEqual(['restarted', { generation: 2 }]);
    expect(told).toContainEqual(['log', { level: 'warn', message: 'The provider "made" was lost: out of cheese' }]);
    expect(provider.health()).toMatchObject({ restarts: 1, lastError: 'out of cheese', totalInvocations: 2 });
    await provider.disconnect();
  });

  it.each([
    [{ idleTtlMs: -1 }, /idleTtlMs/],
    [{ maxConcurrent: 0 }, /maxConcurrent/],
    [{ callTimeoutMs: NaN }, /callTimeoutMs/],
    [{ name: 'a b' }, /name/],
    [{ backoff: { random: 1 } }, /random/],
    [{ idleTTL: 1 }, /idleTTL/],
  ])('INVALID_ARGUMENT for %j', (options, words) => {
    expect(() => supervise(new Script().create, options as never)).toThrow(words);
  });
});
