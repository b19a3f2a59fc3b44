// The contract suite over record() and ReplayToolProvider. Each case is recorded while it runs, and then run again over its own
// recording, strictly: so the cases that count executions hold too.

import { join } from 'node:path';
import { InProcessToolProvider, ToolHub, type ToolProvider } from '@toolwright/core';
import {
  contractCases,
  contractServer,
  createTestProject,
  record,
  ReplayToolProvider,
  runContractCase,
  toolProviderContract,
} from '@toolwright/core/testing';
import { describe, expect, it } from 'vitest';

const inProcess = (): ToolProvider => new InProcessToolProvider({ servers: [contractServer()] });

toolProviderContract(
  'record()',
  async () => {
    const project = await createTestProject();
    return {
      provider: record(inProcess(), project.resolve('calls.ndjson')),
      dispose: async () => project[Symbol.asyncDispose](),
    };
  },
  { describe, it },
);

describe('ReplayToolProvider keeps the ToolProvider contract', () => {
  for (const contractCase of contractCases) {
    it(contractCase.title, async () => {
      await using project = await createTestProject();
      const file = join(project.projectDir, 'calls.ndjson');
      await using recorded = record(inProcess(), file);
      await runContractCase(contractCase, () => ({ provider: recorded, dispose() {} }));
      if (!(await hasLines(project.read('calls.ndjson')))) await recorded.connect(); // the case does nothing before disconnect()
      await recorded.disconnect();
      const replay = new ReplayToolProvider(file, { timing: 'recorded' });
      await runContractCase(contractCase, () => ({ provider: replay, dispose() {} }));
      expect(replay.unused).toEqual([]);
    });

    it(`behind a hub: ${contractCase.title}`, async () => {
      await using project = await createTestProject();
      const file = join(project.projectDir, 'calls.ndjson');
      const hubOver = (provider: ToolProvider) => ({ provider: new ToolHub({ providers: [provider] }), dispose() {} });
      await runContractCase(contractCase, async () => {
        const provider = record(inProcess(), file);
        await provider.connect();
        return hubOver(provider);
      });
      const replay = new ReplayToolProvider(file, { timing: 'recorded' });
      await runContractCase(contractCase, () => hubOver(replay));
      expect(replay.unused).toEqual([]);
    });
  }
});

function hasLines(text: Promise<string>): Promise<boolean> {
  return text.then(
    (lines) => lines !== '',
    () => false, // it was not created
  );
}
