// Contract: deadlines, cancellation and progress.

import assert from 'node:assert/strict';
import type { Progress, ToolProvider } from '../../contract/tool-provider.js';
import type { ContractCase } from './contract-case.js';
import { assertFailed, echo } from './calls.js';

/** Far longer than a test may take: a call that waits for it has to be ended. */
const FOREVER_MS = 600_000;
const PATIENCE_MS = 5_000;

export const timeCases: ContractCase[] = [
  {
    title: 'callTool() answers TIMED_OUT when the deadline passes',
    run: async (provider) => {
      await provider.connect();
      assertFailed(await soon(provider.callTool('contract.wait', { ms: FOREVER_MS }, { timeoutMs: 50 })), 'TIMED_OUT');
    },
  },
  {
    title: 'callTool() says that the outcome of a started call is unknown when it ends early',
    run: async (provider) => {
      await provider.connect();
      const { error } = await soon(provider.callTool('contract.wait', { ms: FOREVER_MS }, { timeoutMs: 50 }));
      assert.equal(error?.details?.outcomeUnknown, true);
    },
  },
  {
    title: 'callTool() takes timeoutMs as a bound that progress does not renew',
    run: async (provider) => {
      await provider.connect();
      const waiting = provider.callTool('contract.wait', { ms: 3_000 }, { timeoutMs: 500 });
      assertFailed(await soon(waiting), 'TIMED_OUT');
    },
  },
  {
    title: 'callTool() renews idleTimeoutMs with growing progress',
    run: async (provider) => {
      await provider.connect();
      const result = await provider.callTool('contract.wait', { ms: 1_500 }, { idleTimeoutMs: 750 });
      assert.equal(result.isError, false, result.error?.message);
    },
  },
  {
    title: 'callTool() answers TIMED_OUT when no progress comes for idleTimeoutMs',
    run: async (provider) => {
      await provider.connect();
      const waiting = provider.callTool('contract.wait', { ms: FOREVER_MS }, { idleTimeoutMs: 50 });
      assertFailed(await soon(waiting), 'TIMED_OUT');
    },
  },
  {
    title: 'callTool() answers INVALID_ARGUMENT when timeoutMs or idleTimeoutMs is not a time',
    run: async (provider) => {
      for (const options of [{ timeoutMs: NaN }, { idleTimeoutMs: -1 }])
        assertFailed(await provider.callTool('contract.echo', { text: 'x' }, options), 'INVALID_ARGUMENT');
    },
  },
  {
    title: 'callTool() answers CANCELLED when its signal is aborted before the call',
    run: async (provider) => {
      await provider.connect();
      assertFailed(
        await provider.callTool('contract.echo', { text: 'x' }, { signal: AbortSignal.abort() }),
        'CANCELLED',
      );
    },
  },
  {
    title: 'callTool() runs nothing when its signal is aborted before the call',
    run: async (provider) => {
      await provider.connect();
      await provider.callTool('contract.count', {}, { signal: AbortSignal.abort() });
      assert.equal((await provider.callTool('contract.count')).structuredContent?.executions, 1);
    },
  },
  {
    title: 'callTool() answers CANCELLED when its signal is aborted during the call',
    run: async (provider) => {
      await provider.connect();
      const result = await cancelDuring(provider);
      assertFailed(result, 'CANCELLED');
      assert.equal(result.error?.details?.outcomeUnknown, true);
    },
  },
  {
    title: "callTool() aborts the tool's own signal when the call is cancelled",
    run: async (provider) => {
      await provider.connect();
      await cancelDuring(provider);
      await until(
        async () => (await provider.callTool('contract.count')).structuredContent?.aborts === 1,
        'the tool saw no abort',
      );
    },
  },
  {
    title: "callTool() aborts the tool's own signal when the deadline passes",
    run: async (provider) => {
      await provider.connect();
      await soon(provider.callTool('contract.wait', { ms: FOREVER_MS }, { timeoutMs: 50 }));
      await until(
        async () => (await provider.callTool('contract.count')).structuredContent?.aborts === 1,
        'the tool saw no abort',
      );
    },
  },
  {
    title: 'callTool() is not touched by an abort after it has settled',
    run: async (provider) => {
      const controller = new AbortController();
      const result = await provider.callTool('contract.echo', { text: 'done' }, { signal: controller.signal });
      controller.abort();
      assert.equal(result.isError, false);
      assert.deepEqual(result.structuredContent, { text: 'done' });
      assert.equal((await echo(provider, 'next')).isError, false);
    },
  },
  {
    title: 'callTool() passes progress, growing up to its total',
    run: async (provider) => {
      const seen: Progress[] = [];
      await provider.callTool('contract.wait', { ms: 100 }, { onProgress: (progress) => seen.push(progress) });
      assert.ok(seen.length >= 5, `only ${seen.length} of 10 steps`);
      assert.deepEqual(
        seen.map(({ progress }) => progress),
        seen.map(({ progress }) => progress).toSorted((a, b) => a - b),
      );
      for (const { progress, total } of seen) assert.ok(total === 10 && progress <= 10);
    },
  },
  {
    title: 'callTool() passes no progress after it has settled',
    run: async (provider) => {
      await provider.connect();
      let settled = false;
      let late = 0;
      const controller = new AbortController();
      await provider.callTool(
        'contract.wait',
        { ms: 300 },
        {
          signal: controller.signal,
          onProgress: () => {
            if (settled) late++;
            controller.abort();
          },
        },
      );
      settled = true;
      await provider.callTool('contract.wait', { ms: 400 });
      assert.equal(late, 0);
    },
  },
  {
    title: 'callTool() is not broken by an onProgress that throws',
    run: async (provider) => {
      const onProgress = (): never => {
        throw new Error('of the listener');
      };
      assert.equal((await provider.callTool('contract.wait', { ms: 20 }, { onProgress })).isError, false);
    },
  },
];

/** Cancels a wait when its first progress shows that it runs. */
async function cancelDuring(provider: ToolProvider): Promise<Awaited<ReturnType<ToolProvider['callTool']>>> {
  const controller = new AbortController();
  return soon(
    provider.callTool(
      'contract.wait',
      { ms: 3_000 },
      { signal: controller.signal, onProgress: () => controller.abort() },
    ),
  );
}

/** Fails when a call that should end early does not. */
async function soon<T>(promise: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>(
    (_resolve, reject) =>
      (timer = setTimeout(reject, PATIENCE_MS, new Error(`the call had not ended after ${PATIENCE_MS} ms`))),
  );
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

async function until(condition: () => Promise<boolean>, otherwise: string): Promise<void> {
  const deadline = performance.now() + PATIENCE_MS;
  while (!(await condition())) {
    if (performance.now() > deadline) throw new Error(otherwise);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
