// withRetry(): which failures are repeated, how often, and what ends the waiting.

import { describe, expect, it } from 'vitest';
import {
  deferredTools,
  defineServer,
  defineTool,
  InProcessToolProvider,
  ToolError,
  ToolHub,
  withRetry,
  type Retry,
  type RetryOptions,
  type ToolAnnotations,
  type ToolErrorCode,
} from '../../../src/index.js';
import { expectNoLeaks } from '../../../src/testing/index.js';

/** A hub whose tool `flaky.call` fails `failures` times with an error before it succeeds. */
function flaky(
  failures: number,
  options: RetryOptions,
  { code = 'UNAVAILABLE', retryable, annotations }: Partial<{ code: ToolErrorCode; retryable: boolean; annotations: ToolAnnotations }> = {}, // prettier-ignore
): { hub: ToolHub; runs: () => number } {
  let runs = 0;
  const call = defineTool({
    name: 'call',
    description: 'Fails at first.',
    ...(annotations && { annotations }),
    execute: () => {
      if (++runs <= failures) throw new ToolError(code, `failure ${runs}`, { retryable });
      return 'done';
    },
  });
  const provider = new InProcessToolProvider({
    servers: [defineServer({ name: 'flaky', version: '1', tools: [call] })],
  });
  return { hub: new ToolHub({ providers: [provider], middleware: [withRetry(options)] }), runs: () => runs };
}

describe('withRetry()', () => {
  it('repeats a retryable failure until it succeeds, with growing delays, and reports each', async () => {
    const retries: Retry[] = [];
    const { hub, runs } = flaky(3, {
      attempts: 5,
      delayMs: 4,
      maxDelayMs: 10,
      onRetry: (retry) => retries.push(retry),
    });
    const result = await hub.callTool('flaky.call', {}, { callId: 'c' });
    expect(result).toMatchObject({ isError: false, content: [{ text: 'done' }] });
    expect(runs()).toBe(4);
    expect(retries.map(({ attempt, error, callId }) => [attempt, error.message, callId])).toEqual([
      [2, 'failure 1', 'c'],
      [3, 'failure 2', 'c'],
      [4, 'failure 3', 'c'],
    ]);
    for (const [index, longest] of [4, 8, 10].entries()) {
      expect(retries[index]?.delayMs).toBeGreaterThanOrEqual(longest / 2);
      expect(retries[index]?.delayMs).toBeLessThanOrEqual(longest);
    }
  });

  it('gives the last failure after the last attempt', async () => {
    const { hub, runs } = flaky(9, { attempts: 3, delayMs: 1 });
    expect((await hub.callTool('flaky.call')).error).toMatchObject({ code: 'UNAVAILABLE', message: 'failure 3' });
    expect(runs()).toBe(3);
  });

  it.each<[string, ToolErrorCode, boolean | undefined, ToolAnnotations, number]>([
    ['a failure that is not retryable', 'EXECUTION_FAILED', undefined, {}, 1],
    ['a failure of a kind that usually is, but says that it is not', 'BUSY', false, {}, 1],
    ['a failure of a read-only tool that is not retryable', 'NOT_FOUND', undefined, { readOnlyHint: true }, 1],
    ['an unknown outcome of a tool that may change something', 'OUTCOME_UNKNOWN', undefined, {}, 1],
    ['an unknown outcome of a read-only tool', 'OUTCOME_UNKNOWN', undefined, { readOnlyHint: true }, 2],
    ['an unknown outcome of an idempotent tool', 'PROCESS_EXITED', undefined, { idempotentHint: true }, 2],
    ['a failure that says it is retryable', 'EXECUTION_FAILED', true, {}, 2],
  ])('after %s (%s) runs the tool as often as is safe', async (_what, code, retryable, annotations, times) => {
    const { hub, runs } = flaky(
      1,
      { delayMs: 1 },
      { code, annotations, ...(retryable !== undefined && { retryable }) },
    );
    await hub.callTool('flaky.call');
    expect(runs()).toBe(times);
  });

  it('does not believe the annotations of a provider that the hub does not trust', async () => {
    const { hub, runs } = flaky(1, { delayMs: 1 }, { code: 'OUTCOME_UNKNOWN', annotations: { readOnlyHint: true } });
    await using outer = new ToolHub({
      providers: [{ provider: hub, trustAnnotations: false }],
      middleware: [withRetry({ delayMs: 1 })],
    });
    await outer.callTool('flaky.call');
    expect(runs()).toBe(2); // repeated by the inner hub alone
  });

  it('applies to the selected tools only', async () => {
    const { hub, runs } = flaky(1, { delayMs: 1, exclude: ['flaky'] });
    expect((await hub.callTool('flaky.call')).error?.code).toBe('UNAVAILABLE');
    expect(runs()).toBe(1);
  });

  it('gives the failure at once when the delay would pass the deadline', async () => {
    const { hub, runs } = flaky(9, { delayMs: 3_600_000, maxDelayMs: 3_600_000 });
    const result = await hub.callTool('flaky.call', {}, { timeoutMs: 60_000 });
    expect(result.error).toMatchObject({ code: 'UNAVAILABLE', message: 'failure 1' });
    expect(runs()).toBe(1);
  });

  it('does not multiply its attempts for a call that deferredTools() passes on', async () => {
    const { hub, runs } = flaky(99, { attempts: 3, delayMs: 1 });
    await using _ = hub;
    await hub.add(new InProcessToolProvider({ servers: [deferredTools(hub)] }));
    const result = await hub.callTool('tools.call_tool', { name: 'flaky.call' });
    expect(result.error?.message).toBe('failure 3');
    expect(runs()).toBe(3);
  });

  it('stops waiting when the call is cancelled, and leaves no timer', async () => {
    const { hub, runs } = flaky(9, { delayMs: 3_600_000, maxDelayMs: 3_600_000 });
    await hub.connect();
    await using _ = expectNoLeaks();
    const { signal, abort } = abortable();
    const call = hub.callTool('flaky.call', {}, { signal });
    while (runs() < 1) await new Promise(setImmediate);
    abort();
    expect((await call).error?.code).toBe('CANCELLED');
    expect(runs()).toBe(1);
  });

  it.each([null, { attempts: 0 }, { delayMs: -1 }, { retries: 3 }, { include: 'a' }])('rejects %j', (options) => {
    expect(() => withRetry(options as never)).toThrow(ToolError);
  });
});

function abortable(): { signal: AbortSignal; abort: () => void } {
  const controller = new AbortController();
  return { signal: controller.signal, abort: () => controller.abort() };
}
