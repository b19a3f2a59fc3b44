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
import { soaking } from '../soak.js';

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

const hubOver = (provider: ToolProvider): ToolProvider => new ToolHub({ providers: [provider] });

describe('ReplayToolProvider of a recorded hub keeps the ToolProvider contract', () => {
  for (const [index, contractCase] of contractCases.entries()) {
    if (!soaking && index % 4 !== 0 && !contractCase.title.includes('hub')) continue;
    it(contractCase.title, async () => {
      await using project = await createTestProject();
      const file = project.resolve('calls.ndjson');
      const recorded = record(hubOver(inProcess()), file);
      await recorded.connect();
      await runContractCase(contractCase, () => ({ provider: recorded, dispose() {} }));
      const replay = new ReplayToolProvider(file, { timing: 'recorded' });
      await runContractCase(contractCase, () => ({ provider: replay, dispose() {} }));
      expect(replay.unused).toEqual([]);
    });
  }
});

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
      await runContractCase(contractCase, async () => {
        const provider = record(inProcess(), file);
        await provider.connect();
        return { provider: hubOver(provider), dispose() {} };
      });
      const replay = new ReplayToolProvider(file, { timing: 'recorded' });
      await runContractCase(contractCase, () => ({ provider: hubOver(replay), dispose() {} }));
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
