// The contract suite in a test runner, here that of Node, against a provider that starts processes.

// #region example
import { describe, it } from 'node:test';
import { toolProviderContract } from '@toolwright/core/testing';
import { ProcessToolProvider } from '@toolwright/runtime';
import { contractProviderFile } from '@toolwright/runtime/testing';

toolProviderContract(
  'ProcessToolProvider', // or your own provider
  () => ({
    provider: new ProcessToolProvider({ name: 'contract', path: contractProviderFile('javascript') }),
    dispose() {},
  }),
  { describe, it },
);
// #endregion
