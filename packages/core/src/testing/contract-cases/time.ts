// Contract: deadlines, cancellation and progress.

import assert from 'node:assert/strict';
import type { Progress, ToolProvider } from '../../contract/tool-provider.js';
import type { ContractCase } from './contract-case.js';
import { assertFailed, echo } from './calls.js';

/** Longer than any test may take: the case ends the call early. */
const ENDLESS_MS = 600_000;
const TIMEOUT_MS = 5_000;

export const timeCases: ContractCase[] = [
  {
    title: 'callTool() fails with TIMED_OUT when the deadline passes',
    run: async (provider) => {
      await provider.connect();
      assertFailed(await soon(provider.callTool('contract.wait', { ms: ENDLESS_MS }, { timeoutMs: 50 })), 'TIMED_OUT');
    },
  },
  {
    title: 'callTool() reports an unknown outcome when a started call ends early',
    run: async (provider) => {
      await provider.connect();
      const { error } = await soon(provider.callTool('contract.wait', { ms: ENDLESS_MS }, { timeoutMs: 50 }));
      assert.equal(error?.details?.outcomeUnknown, true);
    },
  },
  {
    title: 'callTool() does not renew timeoutMs with progress',
    run: async (provider) => {
      await provider.connect();
      const waiting = provider.callTool('contract.wait', { ms: 3_000 }, { timeoutMs: 500 });
      assertFailed(await soon(waiting), 'TIMED_OUT');
    },
  },
  {
    title: 'callTool() renews idleTimeoutMs when progress increases',
    run: async (provider) => {
      await provider.connect();
      const result = await provider.callTool('contract.wait', { ms: 1_500 }, { idleTimeoutMs: 750 });
      assert.equal(result.isError, false, result.error?.message);
    },
  },
  {
    title: 'callTool() fails with TIMED_OUT when there is no progress for idleTimeoutMs',
    run: async (provider) => {
      await provider.connect();
      const waiting = provider.callTool('contract.wait', { ms: ENDLESS_MS }, { idleTimeoutMs: 50 });
      assertFailed(await soon(waiting), 'TIMED_OUT');
    },
  },
  {
    title: 'callTool() fails with INVALID_ARGUMENT when timeoutMs or idleTimeoutMs is not a time',
    run: async (provider) => {
      for (const options of [{ timeoutMs: NaN }, { idleTimeoutMs: -1 }])
        assertFailed(await provider.callTool('contract.echo', { text: 'x' }, options), 'INVALID_ARGUMENT');
    },
  },
  {
    title: 'callTool() fails with CANCELLED when its signal is aborted before the call',
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
    title: 'callTool() fails with CANCELLED when its signal is aborted during the call',
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
        "the tool's signal was not aborted",
      );
    },
  },
  {
    title: "callTool() aborts the tool's own signal when the deadline passes",
    run: async (provider) => {
      await provider.connect();
      await soon(provider.callTool('contract.wait', { ms: ENDLESS_MS }, { timeoutMs: 50 }));
      await until(
        async () => (await provider.callTool('contract.count')).structuredContent?.aborts === 1,
        "the tool's signal was not aborted",
      );
    },
  },
  {
    title: 'callTool() ignores an abort after it has settled',
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
    title: 'callTool() reports progress that increases up to its total',
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
    title: 'callTool() reports no progress after it has settled',
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
    title: 'callTool() succeeds when onProgress throws',
    run: async (provider) => {
      const onProgress = (): never => {
        throw new Error('the listener failed');
      };
      assert.equal((await provider.callTool('contract.wait', { ms: 20 }, { onProgress })).isError, false);
    },
  },
];

/** Starts `wait` and cancels it at its first progress. */
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

/** Rejects when the promise takes longer than `TIMEOUT_MS`. */
async function soon<T>(promise: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>(
    (_resolve, reject) =>
      (timer = setTimeout(reject, TIMEOUT_MS, new Error(`the call had not ended after ${TIMEOUT_MS} ms`))),
  );
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

async function until(condition: () => Promise<boolean>, otherwise: string): Promise<void> {
  const deadline = performance.now() + TIMEOUT_MS;
  while (!(await condition())) {
    if (performance.now() > deadline) throw new Error(otherwise);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
