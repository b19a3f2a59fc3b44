// The contract of ToolProvider, kept by a provider in a process of its own, and by the same file in this process.

import { fileURLToPath } from 'node:url';
import { toolProviderContract } from '@toolwright/core/testing';
import { ProcessToolProvider, providerFromModule } from '@toolwright/runtime';
import { contractProviderFile } from '@toolwright/runtime/testing';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { bundleFixtures, type BundledFixtures } from './bundle.js';
import { soaking } from './soak.js';

let fixtures: BundledFixtures;
beforeAll(async () => {
  fixtures = await bundleFixtures();
}, 60_000);
afterAll(() => fixtures[Symbol.asyncDispose]());

toolProviderContract(
  'ProcessToolProvider',
  () => ({
    provider: new ProcessToolProvider({ name: 'contract', path: fixtures.file('contract-provider') }),
    dispose() {},
  }),
  { describe, it },
);

if (soaking) {
  toolProviderContract(
    'ProcessToolProvider of a TypeScript file',
    () => {
      const path = contractProviderFile('typescript');
      const cwd = fileURLToPath(new URL('../../../', import.meta.url)); // its tsconfig leads to the sources
      return { provider: new ProcessToolProvider({ name: 'contract', path, cwd, runtime: 'tsx' }), dispose() {} };
    },
    { describe, it },
  );
}

toolProviderContract(
  'providerFromModule()',
  async () => {
    const { default: contract } = await import('../contract/contract-provider.js');
    return { provider: await providerFromModule(contract), dispose() {} };
  },
  { describe, it },
);
