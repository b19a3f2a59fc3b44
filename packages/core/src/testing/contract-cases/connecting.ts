// Contract: connecting, disconnecting, and the calls in flight meanwhile.

import { deferred } from '../../call/waiting.js';
import assert from 'node:assert/strict';
import { ToolError, type ToolErrorCode } from '../../contract/errors.js';
import type { ContractCase } from './contract-case.js';
import { assertFailed, echo } from './calls.js';

async function rejection(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => assert.fail('the promise did not reject'),
    (error: unknown) => error,
  );
}

function assertCode(error: unknown, code: ToolErrorCode): void {
  assert.ok(ToolError.isInstance(error), `not a ToolError: ${String(error)}`);
  assert.equal(error.code, code);
}

export const connectingCases: ContractCase[] = [
  {
    title: 'connect() does nothing when it is connected',
    run: async (provider) => {
      await provider.connect();
      await provider.callTool('contract.count');
      await provider.connect();
      assert.equal((await provider.callTool('contract.count')).structuredContent?.executions, 2);
    },
  },
  {
    title: 'connect() shares one attempt among concurrent calls',
    run: async (provider) => {
      await Promise.all(Array.from({ length: 10 }, () => provider.connect()));
      const counts = await Promise.all([provider.callTool('contract.count'), provider.callTool('contract.count')]);
      assert.deepEqual(counts.map(({ structuredContent }) => structuredContent?.executions).toSorted(), [1, 2]);
    },
  },
  {
    title: 'connect() rejects with CANCELLED when its signal is aborted before',
    run: async (provider) =>
      assertCode(await rejection(provider.connect({ signal: AbortSignal.abort() })), 'CANCELLED'),
  },
  {
    title: 'connect() succeeds after an attempt that failed, and so do a call and a listing',
    run: async (provider) => {
      const failed = provider.connect({ signal: AbortSignal.abort() });
      assertCode(await rejection(failed), 'CANCELLED');
      assert.equal((await echo(provider, 'x')).isError, false);
      assert.ok((await provider.listTools()).length > 0);
      await provider.connect();
    },
  },
  {
    title: 'disconnect() resolves when the provider was never connected',
    run: async (provider) => provider.disconnect(),
  },
  {
    title: 'disconnect() resolves when it is called twice, concurrently and again',
    run: async (provider) => {
      await provider.connect();
      await Promise.all([provider.disconnect(), provider.disconnect()]);
      await provider.disconnect();
    },
  },
  {
    title: 'callTool() fails with NOT_CONNECTED after disconnect()',
    run: async (provider) => {
      await provider.connect();
      await provider.disconnect();
      assertFailed(await echo(provider, 'x'), 'NOT_CONNECTED');
    },
  },
  {
    title: 'listTools() rejects with NOT_CONNECTED after disconnect(); a hub lists nothing',
    run: async (provider) => {
      await provider.connect();
      await provider.disconnect();
      if (provider.kind === 'hub') assert.deepEqual(await provider.listTools(), []);
      else assertCode(await rejection(provider.listTools()), 'NOT_CONNECTED');
    },
  },
  {
    title: 'connect() connects again after disconnect()',
    run: async (provider) => {
      await provider.connect();
      await provider.disconnect();
      await provider.connect();
      assert.deepEqual((await echo(provider, 'again')).structuredContent, { text: 'again' });
      assert.ok((await provider.listTools()).length > 0);
    },
  },
  {
    title: 'disconnect() first settles every call in flight with CONNECTION_CLOSED',
    run: async (provider) => {
      await provider.connect();
      let running = 0;
      let settled = 0;
      const started = deferred();
      const calls = Array.from({ length: 10 }, () => {
        let seen = false;
        const onProgress = (): void => {
          if (!seen && ++running === 10) started.resolve();
          seen = true;
        };
        return provider.callTool('contract.wait', { ms: 2_000 }, { onProgress }).finally(() => settled++);
      });
      await started.promise;
      await provider.disconnect();
      assert.equal(settled, 10);
      for (const result of await Promise.all(calls)) assertFailed(result, 'CONNECTION_CLOSED');
    },
  },
  {
    title: '[Symbol.asyncDispose]() disconnects',
    run: async (provider) => {
      await provider.connect();
      await provider[Symbol.asyncDispose]();
      assertFailed(await echo(provider, 'x'), 'NOT_CONNECTED');
    },
  },
  {
    title: 'health() counts calls and failures, if the provider has it',
    run: async (provider) => {
      if (!provider.health) return;
      await provider.connect();
      const before = provider.health();
      await echo(provider, 'x');
      await provider.callTool('contract.fail', { kind: 'error' });
      const after = provider.health();
      assert.equal(after.state, 'READY');
      assert.equal(after.totalInvocations - before.totalInvocations, 2);
      assert.equal(after.totalFailures - before.totalFailures, 1);
    },
  },
];
