// supervise() over chaos(): a provider that hangs, crashes and returns garbage is started again, and every call settles once.

import { InProcessToolProvider, ToolHub } from '@toolwright/core';
import { chaos, contractServer, expectNoLeaks } from '@toolwright/core/testing';
import { supervise } from '@toolwright/runtime';
import { expect, it } from 'vitest';

const SILENT = { debug() {}, info() {}, warn() {}, error() {} };

it.each([1, 2])('supervise() settles every call once when its provider has faults (seed %i)', async (seed) => {
  await using _ = expectNoLeaks();
  const faults = { delay: 0.2, fail: 0.1, hang: 0.05, crash: 0.03, oversized: 0.05, garbage: 0.1, flap: 0.05 };
  let starts = 0;
  const provider = supervise(
    () => {
      starts++;
      const inner = new InProcessToolProvider({ name: 'contract', servers: [contractServer()] });
      return chaos(inner, faults, { seed: `${seed}-${starts}`, maxDelayMs: 5, oversizedBytes: 300_000 });
    },
    { logger: SILENT, callTimeoutMs: 150, maxConcurrent: 50, maxQueue: 1_000 },
  );
  await using hub = new ToolHub({ providers: [provider], logger: SILENT });
  let settlements = 0;
  const codes = new Set<string>();
  const call = async (index: number): Promise<void> => {
    const { error } = await hub.callTool('contract.echo', { text: `${index}` });
    settlements++;
    codes.add(error?.code ?? 'ok');
  };
  for (let round = 0; round < 3; round++)
    await Promise.all(Array.from({ length: 60 }, (_, index) => call(round * 60 + index)));
  expect(settlements).toBe(180);
  expect(codes).toContain('ok');
  expect(codes).toContain('TIMED_OUT');
});
