// Contract: concurrent calls. Each settles once, with its own result.

import assert from 'node:assert/strict';
import type { ToolProvider } from '../../contract/tool-provider.js';
import type { ContractCase } from './contract-case.js';
import { echo } from './calls.js';

export const concurrencyCases: ContractCase[] = [
  {
    title: 'callTool() returns to each of 200 concurrent calls its own result',
    run: async (provider) => {
      const texts = Array.from({ length: 200 }, (_, index) => `call ${index}`);
      const results = await Promise.all(texts.map((text) => echo(provider, text)));
      assert.deepEqual(
        results.map(({ structuredContent }) => structuredContent?.text),
        texts,
      );
    },
  },
  {
    title: 'callTool() runs each of 50 concurrent calls once',
    run: async (provider) => {
      const results = await Promise.all(Array.from({ length: 50 }, () => provider.callTool('contract.count')));
      const counts = results
        .map(({ structuredContent }) => Number(structuredContent?.executions))
        .toSorted((a, b) => a - b);
      assert.deepEqual(
        counts,
        Array.from({ length: 50 }, (_, index) => index + 1),
      );
    },
  },
  {
    title: 'callTool() settles a fast call before a slow one that started earlier',
    run: async (provider) => {
      await provider.connect();
      let slowSettled = false;
      const slow = provider.callTool('contract.wait', { ms: 400 }).then(() => (slowSettled = true));
      assert.equal((await echo(provider, 'fast')).isError, false);
      assert.equal(slowSettled, false);
      await slow;
    },
  },
  {
    title: 'callTool() settles each of 1,000 mixed calls once',
    run: async (provider) => {
      await provider.connect();
      let settlements = 0;
      const calls = Array.from({ length: 1_000 }, (_, index) =>
        mixedCall(provider, index).then((result) => {
          settlements++;
          assert.equal(typeof result.isError, 'boolean');
          assert.equal(result.isError, result.error !== undefined, JSON.stringify(result.error));
        }),
      );
      await Promise.all(calls);
      assert.equal(settlements, 1_000);
      const { error } = await echo(provider, 'afterwards');
      assert.equal(error, undefined, JSON.stringify(error));
    },
  },
];

function mixedCall(provider: ToolProvider, index: number): ReturnType<ToolProvider['callTool']> {
  switch (index % 8) {
    case 0:
      return provider.callTool('contract.fail', { kind: 'error' });
    case 1:
      return provider.callTool('contract.nothing');
    case 2:
      return provider.callTool('contract.add', { a: index });
    case 3:
      return provider.callTool('contract.wait', { ms: 60_000 }, { timeoutMs: 20 + (index % 50) });
    case 4: {
      const controller = new AbortController();
      setTimeout(() => controller.abort(), index % 60);
      return provider.callTool('contract.wait', { ms: 60_000 }, { signal: controller.signal });
    }
    case 5:
      return provider.callTool('contract.big', { bytes: 10_000 });
    default:
      return echo(provider, `mixed ${index}`);
  }
}
