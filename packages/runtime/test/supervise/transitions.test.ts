// Random fates of a provider against a model of its supervisor: each state is the expected one, no transition is illegal,
// each call settles once, and no provider is left running.

import { ToolError } from '@toolwright/core';
import { supervise } from '@toolwright/runtime';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { tries } from '../soak.js';
import { answer, failure, Script } from './scripted-provider.js';

beforeAll(
  () =>
    void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'performance'] }),
);
afterAll(() => void vi.useRealTimers());

const OPTIONS = {
  idleTtlMs: 10_000,
  healthIntervalMs: 4_000,
  healthTimeoutMs: 500,
  failureThreshold: 2,
  maxStarts: 4,
  startWindowMs: 30_000,
  startTimeoutMs: 1_000,
  callTimeoutMs: 100_000,
  backoff: { baseMs: 200, maxMs: 5_000, resetAfterMs: 6_000, random: () => 1 },
} as const;
const { backoff } = OPTIONS;

/** Every pair that section 4 of the design draws. */
const LEGAL = new Set([
  'COLD INITIALIZING',
  'INITIALIZING READY',
  'INITIALIZING DEAD',
  'INITIALIZING COLD',
  'READY DEGRADED',
  'READY COLD',
  'READY DEAD',
  'DEGRADED INITIALIZING',
  'DEGRADED COLD',
  'DEAD INITIALIZING',
  'DEAD COLD',
]);

type Fate = 'ok' | 'fails' | 'hangs' | 'missing';
type Event =
  | { type: 'call'; fate: Fate; outcome: 'ok' | 'broken' | 'crash' }
  | { type: 'connect'; fate: Fate }
  | { type: 'crash' | 'disconnect' }
  | { type: 'freeze'; times: 1 | 2 }
  | { type: 'pass'; ms: number };

const fate = fc.constantFrom<Fate>('ok', 'ok', 'ok', 'fails', 'hangs', 'missing');
const event: fc.Arbitrary<Event> = fc.oneof(
  fc.record({
    type: fc.constant('call' as const),
    fate,
    outcome: fc.constantFrom('ok' as const, 'ok' as const, 'broken' as const, 'crash' as const),
  }),
  fc.record({ type: fc.constant('connect' as const), fate }),
  fc.record({ type: fc.constantFrom('crash' as const, 'disconnect' as const) }),
  fc.record({ type: fc.constant('freeze' as const), times: fc.constantFrom(1 as const, 2 as const) }),
  fc.record({ type: fc.constant('pass' as const), ms: fc.constantFrom(1, 100, 250, 1_000, 3_000, 12_000, 40_000) }),
);

/** What a supervisor should be in, told in other words than its own. */
class Model {
  state = 'COLD';
  connected = true;
  now = 0;
  readyAt = 0;
  activeAt = 0;
  row = 0;
  brokenCalls = 0;
  retryAt = 0;
  permanent = false;
  limited = false;
  limitedUntil = 0;
  starts: number[] = [];

  start(how: Fate): void {
    if (how === 'hangs') this.now += OPTIONS.startTimeoutMs;
    if (how === 'ok') {
      this.state = 'READY';
      this.readyAt = this.activeAt = this.now;
      this.brokenCalls = 0;
    } else {
      this.fail('DEAD', 0);
      this.permanent = how === 'missing';
    }
  }

  fail(to: 'DEAD' | 'DEGRADED', readyMs: number): void {
    this.state = to;
    this.permanent = false;
    if (readyMs >= backoff.resetAfterMs) this.recover();
    this.row++;
    const wait = Math.min(backoff.maxMs, backoff.baseMs * 2 ** (this.row - 2));
    this.retryAt = this.row === 1 || readyMs >= 1_000 ? 0 : this.now + wait;
  }

  /** What a call, or a hub's connect, meets: an error of the supervisor, or a provider that is ready, or a failed start. */
  demand(how: Fate): string | undefined {
    if (!this.connected) return 'NOT_CONNECTED';
    if (this.state === 'READY') return undefined;
    if (this.state !== 'COLD') {
      if (this.permanent) return 'SPAWN_FAILED';
      if (this.retryAt > this.now) return 'UNAVAILABLE';
      if (this.limitedUntil > this.now) return 'RESTART_LIMIT';
      this.starts.push(this.now);
      this.limited ||= this.starts.filter((at) => at > this.now - OPTIONS.startWindowMs).length >= OPTIONS.maxStarts;
      if (this.limited) this.limitedUntil = this.now + OPTIONS.startWindowMs;
    }
    this.start(how);
    return this.state === 'READY' ? undefined : codeOf(how);
  }

  explicit(how: Fate): string | undefined {
    this.connected = true;
    if (this.state === 'READY') return undefined;
    this.forget();
    this.start(how);
    return this.state === 'READY' ? undefined : codeOf(how);
  }

  forget(): void {
    this.recover();
    this.retryAt = 0;
    this.permanent = false;
  }

  recover(): void {
    this.row = 0;
    this.limited = false;
    this.limitedUntil = 0;
    this.starts = [];
  }

  /** Idle is looked at when the time since the last call has passed; pings go on without a fault. */
  pass(ms: number): void {
    this.now += ms;
    if (this.state !== 'READY' || this.now - this.activeAt < OPTIONS.idleTtlMs) return;
    if (this.activeAt + OPTIONS.idleTtlMs - this.readyAt >= backoff.resetAfterMs) this.recover();
    this.retryAt = 0;
    this.state = 'COLD';
  }
}

const codeOf = (how: Fate): string =>
  how === 'fails' ? 'PROCESS_EXITED' : how === 'hangs' ? 'TIMED_OUT' : 'SPAWN_FAILED';

async function run(events: readonly Event[]): Promise<void> {
  const script = new Script();
  const provider = supervise(script.create, OPTIONS);
  const model = new Model();
  const illegal: string[] = [];
  provider.on('stateChanged', ({ from, to }) => {
    if (!LEGAL.has(`${from} ${to}`)) illegal.push(`${from} ${to}`);
  });
  const pass = (ms: number): Promise<unknown> => vi.advanceTimersByTimeAsync(ms);
  const fated = (how: Fate): void => {
    script.start = () =>
      how === 'ok'
        ? Promise.resolve()
        : how === 'hangs'
          ? new Promise(() => undefined)
          : Promise.reject(new ToolError(codeOf(how) as never, how));
  };
  /** Lets a start that hangs come to its end. */
  const done = async <T>(promise: Promise<T>, how: Fate): Promise<T> => {
    await pass(how === 'hangs' && provider.state === 'INITIALIZING' ? OPTIONS.startTimeoutMs : 0);
    if (how === 'hangs') await pass(provider.state === 'INITIALIZING' ? OPTIONS.startTimeoutMs : 0);
    return promise;
  };
  try {
    for (const each of events) {
      switch (each.type) {
        case 'call': {
          fated(each.fate);
          script.call = (call) => {
            if (each.outcome === 'ok') call.settle(answer('ok'));
            else if (each.outcome === 'broken') call.settle(failure(new ToolError('PROTOCOL_VIOLATION', 'broken')));
            else script.latest.crash();
          };
          const result = await done(provider.callTool('made.write'), each.fate);
          let expected = model.demand(each.fate);
          if (model.state === 'READY' && expected === undefined) {
            model.activeAt = model.now;
            const readyMs = model.now - model.readyAt;
            if (each.outcome === 'ok') model.brokenCalls = 0;
            else if (each.outcome === 'crash') {
              model.fail('DEAD', readyMs);
              expected = 'OUTCOME_UNKNOWN';
            } else {
              expected = 'PROTOCOL_VIOLATION';
              if (++model.brokenCalls >= OPTIONS.failureThreshold) model.fail('DEGRADED', readyMs);
            }
          }
          expect(result.error?.code).toBe(expected);
          break;
        }
        case 'connect': {
          fated(each.fate);
          const outcome = provider.connect().then(
            () => undefined,
            (error: unknown) => (error as ToolError).code,
          );
          expect(await done(outcome, each.fate)).toBe(model.explicit(each.fate));
          break;
        }
        case 'crash':
          if (model.state === 'READY') {
            script.latest.crash();
            model.fail('DEAD', model.now - model.readyAt);
          }
          await pass(0);
          break;
        case 'disconnect':
          await provider.disconnect();
          model.connected = false;
          model.state = 'COLD';
          model.forget();
          break;
        case 'freeze': {
          // One miss is a failure of the provider; two in a row end it. The next check is waited for.
          if (model.state !== 'READY') break;
          let misses: number = each.times;
          script.ping = () => (misses-- > 0 ? new Promise(() => undefined) : Promise.resolve());
          const sinceCheck = (model.now - model.readyAt) % OPTIONS.healthIntervalMs;
          const wait = OPTIONS.healthIntervalMs - sinceCheck;
          const idleAt = model.activeAt + OPTIONS.idleTtlMs;
          const at = model.now + wait + OPTIONS.healthTimeoutMs;
          await pass(wait + 2 * OPTIONS.healthTimeoutMs);
          script.ping = () => Promise.resolve();
          if (idleAt <= at) model.pass(wait + 2 * OPTIONS.healthTimeoutMs);
          else {
            const first = at - model.readyAt;
            if (++model.brokenCalls >= OPTIONS.failureThreshold) {
              model.now = at;
              model.fail('DEGRADED', first);
              model.now += OPTIONS.healthTimeoutMs;
            } else if (each.times === 2 && idleAt > at + OPTIONS.healthTimeoutMs) {
              model.now = at + OPTIONS.healthTimeoutMs;
              model.fail('DEAD', first + OPTIONS.healthTimeoutMs);
            } else model.pass(wait + 2 * OPTIONS.healthTimeoutMs);
          }
          break;
        }
        case 'pass':
          await pass(each.ms);
          model.pass(each.ms);
      }
      expect(provider.state).toBe(model.state);
      expect(illegal).toEqual([]);
      expect(script.running).toBeLessThanOrEqual(model.state === 'READY' ? 1 : 0);
    }
  } finally {
    await provider.disconnect();
  }
  expect(script.running).toBe(0);
  await new Promise((resolve) => setImmediate(resolve)); // the shared timer of deadlines goes at the end of a turn
  expect(vi.getTimerCount()).toBe(0);
}

it('supervise() is in the state of its model after any events, and makes no illegal transition', async () => {
  await fc.assert(fc.asyncProperty(fc.array(event, { minLength: 1, maxLength: 25 }), run), {
    numRuns: tries(10_000),
    endOnFailure: false,
  });
}, 600_000);
