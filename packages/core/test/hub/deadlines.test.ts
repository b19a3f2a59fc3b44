import { setTimeout as sleep } from 'node:timers/promises';
import {
  defineServer,
  defineTool,
  InProcessToolProvider,
  ToolHub,
  type CallOptions,
  type ToolOptions,
  type ToolProvider,
  type ToolResult,
} from '@toolwright/core';
import { CallScope, startTimer } from '@toolwright/core/internal';
import { afterEach, describe, expect, it, vi } from 'vitest';

const MINUTE_MS = 60_000;

type Run = (options: CallOptions) => Promise<void>;

/** A provider of a stranger whose one tool, `a.run`, runs until `run` resolves or its signal is aborted. */
function foreign(run: Run, members: Partial<ToolProvider> = {}): ToolProvider {
  return {
    name: 'a-provider',
    kind: 'mcp',
    servers: ['a'],
    connect: async () => undefined,
    listTools: async () => [
      {
        name: 'a.run',
        description: 'Runs.',
        inputSchema: { type: 'object' },
        annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true },
      },
    ],
    callTool: async (_name, _args, options = {}) => {
      await run(options);
      return { content: [], isError: false, directives: [], durationMs: 0 };
    },
    disconnect: async () => undefined,
    onToolsChanged: () => () => undefined,
    [Symbol.asyncDispose]: async () => undefined,
    ...members,
  };
}

/** Reports progress each 20 ms, until `ms` are over. */
const reporting =
  (ms: number, progressOf: (step: number) => number): Run =>
  async ({ signal, onProgress }) => {
    for (let step = 1; step <= ms / 20 && !signal?.aborted; step++) {
      await sleep(20);
      onProgress?.({ progress: progressOf(step) });
    }
  };

const forever: Run = ({ signal }) =>
  new Promise((_resolve, reject) => signal?.addEventListener('abort', () => reject(signal.reason as Error)));

const inProcess = (execute: ToolOptions<Record<never, never>, undefined, unknown>['execute'], timeoutMs?: number) =>
  new InProcessToolProvider({
    name: 'b-provider',
    servers: [
      defineServer({
        name: 'b',
        version: '1',
        tools: [
          defineTool({ name: 'run', description: 'Runs.', execute, ...(timeoutMs !== undefined && { timeoutMs }) }),
        ],
      }),
    ],
  });

const codeOf = ({ error }: ToolResult): string | undefined => error?.code;

describe('ToolHub.callTool() deadline', () => {
  it('is fixed when the caller sets timeoutMs: progress does not renew it', async () => {
    await using hub = new ToolHub({ providers: [foreign(reporting(5_000, (step) => step))] });
    await hub.prepareCall('a.run', {}); // the first one loads a validator
    const result = await hub.callTool('a.run', {}, { timeoutMs: 150 });
    expect(codeOf(result)).toBe('TIMED_OUT');
    expect(result.durationMs).toBeLessThan(4_000);
  });

  it('is renewed by growing progress when it is a default', async () => {
    const limits = { callTimeoutMs: 250 };
    await using same = new ToolHub({ providers: [foreign(reporting(5_000, () => 1))], limits });
    expect(codeOf(await same.callTool('a.run'))).toBe('TIMED_OUT');
    await using growing = new ToolHub({ providers: [foreign(reporting(600, (step) => step))], limits });
    expect(await growing.callTool('a.run')).toMatchObject({ isError: false });
  });

  it('respects idleTimeoutMs and timeoutMs when the caller sets both', async () => {
    await using hub = new ToolHub({ providers: [foreign(reporting(5_000, (step) => step))] });
    const bound = await hub.callTool('a.run', {}, { timeoutMs: 300, idleTimeoutMs: 150 });
    expect(bound.error).toMatchObject({ code: 'TIMED_OUT', message: expect.stringContaining('300 ms') as string });
    await using silent = new ToolHub({ providers: [foreign(forever)] });
    const idle = await silent.callTool('a.run', {}, { timeoutMs: MINUTE_MS, idleTimeoutMs: 50 });
    expect(idle.error).toMatchObject({ code: 'TIMED_OUT', message: expect.stringContaining('50 ms') as string });
  });

  it(`prefers the limit of the hub to the provider's default, and does not count as the provider's failure`, async () => {
    const provider = foreign(forever, { callTimeoutMs: MINUTE_MS });
    await using hub = new ToolHub({ providers: [provider], limits: { callTimeoutMs: 50 } });
    const { error } = await hub.callTool('a.run');
    expect(error?.code).toBe('TIMED_OUT');
    expect(error?.details).not.toHaveProperty('defaultDeadline');
  });

  it("counts as the provider's failure when it is the provider's default", async () => {
    await using hub = new ToolHub({ providers: [foreign(forever, { callTimeoutMs: 50 })] });
    expect((await hub.callTool('a.run')).error?.details).toMatchObject({ defaultDeadline: true });
    await using outer = new ToolHub({
      providers: [new ToolHub({ providers: [foreign(forever, { callTimeoutMs: 50 })] })],
    });
    expect((await outer.callTool('a.run')).error?.details).toMatchObject({ defaultDeadline: true });
  });

  it("prefers the tool's deadline to the limit of the hub", async () => {
    await using hub = new ToolHub({ providers: [inProcess(() => sleep(300), 5_000)], limits: { callTimeoutMs: 50 } });
    await hub.connect(); // the limit holds until the call is prepared
    expect(await hub.callTool('b.run')).toMatchObject({ isError: false });
  });

  it('is reported by the prepared call of an inner hub', async () => {
    const inner = new ToolHub({ providers: [foreign(forever)], limits: { callTimeoutMs: 50 } });
    await using outer = new ToolHub({ providers: [inner], limits: { callTimeoutMs: MINUTE_MS } });
    expect((await outer.prepareCall('a.run', {})).timeoutMs).toBe(50);
    expect(codeOf(await outer.callTool('a.run'))).toBe('TIMED_OUT');
    await using none = new ToolHub({ providers: [inProcess(() => 'done')] });
    expect((await none.prepareCall('b.run', {})).timeoutMs).toBe(Infinity);
  });

  it('includes the time to connect for a bare name', async () => {
    await using hub = new ToolHub({ providers: [foreign(forever, { connect: () => sleep(3_000) })] });
    const result = await hub.callTool('run', {}, { timeoutMs: 50 });
    expect(codeOf(result)).toBe('TIMED_OUT');
    expect(result.durationMs).toBeLessThan(1_900);
  });

  it('is paused while an inner hub waits for an approval', async () => {
    const inner = new ToolHub({
      providers: [inProcess(() => 'done')],
      policy: {
        default: 'ask',
        rules: [],
        approve: async () => {
          await sleep(400);
          return { decision: 'once' };
        },
      },
    });
    await using outer = new ToolHub({ providers: [inner] });
    expect(await outer.callTool('b.run', {}, { timeoutMs: 200 })).toMatchObject({ isError: false });
  });

  it(`ends a waiting prepareCall() after the caller's timeoutMs`, async () => {
    const slow = inProcess(() => 'done');
    vi.spyOn(slow, 'prepareCall').mockImplementation(() => new Promise(() => undefined));
    await using hub = new ToolHub({ providers: [slow] });
    expect(codeOf((await hub.prepareCall('b.run', {}, { timeoutMs: 50 })).refused as ToolResult)).toBe('TIMED_OUT');
  });
});

describe('ToolHub limits.connectTimeoutMs', () => {
  for (const connectTimeoutMs of [Infinity, 3_000_000_000]) {
    it(`waits for a slow provider when it is ${connectTimeoutMs}`, async () => {
      await using hub = new ToolHub({
        providers: [foreign(forever, { connect: () => sleep(200) })],
        limits: { connectTimeoutMs },
      });
      await hub.connect();
      expect(hub.status()).toMatchObject([{ state: 'READY', toolCount: 1 }]);
    });
  }
});

describe('CallScope deadlines of any length', () => {
  afterEach(() => vi.useRealTimers());

  it('fires startTimer() after the given time, and never for Infinity', () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
    const run = vi.fn();
    startTimer(5_000_000_000, run);
    startTimer(Infinity, run);
    vi.advanceTimersByTime(4_999_999_000);
    expect(run).not.toHaveBeenCalled();
    vi.advanceTimersByTime(1_000);
    expect(run).toHaveBeenCalledTimes(1);
    const cancel = startTimer(3_000_000_000, run);
    cancel();
    vi.advanceTimersByTime(4_000_000_000);
    expect(run).toHaveBeenCalledTimes(1);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('pauses a call during approvals for at most ten minutes in all', () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setImmediate', 'clearImmediate', 'performance'] });
    const scope = new CallScope({ timeoutMs: 1_000 });
    scope.setDeadline();
    const resume = scope.hold();
    vi.advanceTimersByTime(6 * MINUTE_MS);
    resume();
    vi.advanceTimersByTime(500);
    scope.hold();
    vi.advanceTimersByTime(4 * MINUTE_MS);
    expect(scope.error).toBeUndefined();
    vi.advanceTimersByTime(600);
    expect(scope.error?.code).toBe('TIMED_OUT');
    scope.close();
  });
});

it("ToolHub limits.callTimeoutMs overrides the default of an inner hub's provider, but not a tool's deadline", async () => {
  const waits: ToolOptions<Record<never, never>, undefined, unknown>['execute'] = async (_args, { signal }) => {
    await sleep(5_000, undefined, { signal }).catch(() => undefined);
    return 'late';
  };
  await using hub = new ToolHub({
    providers: [new ToolHub({ name: 'inner', providers: [inProcess(waits)] })],
    limits: { callTimeoutMs: 100 },
  });
  const result = await hub.callTool('b.run');
  expect(codeOf(result)).toBe('TIMED_OUT');
  expect(result.durationMs).toBeLessThan(4_000);

  await using outer = new ToolHub({
    providers: [new ToolHub({ name: 'inner', providers: [inProcess(async () => (await sleep(200), 'done'), 5_000)] })],
    limits: { callTimeoutMs: 50 },
  });
  expect(codeOf(await outer.callTool('b.run'))).toBeUndefined();
});
