/**
 * The tools of the contract suite as provider files, for tests of whatever runs provider files.
 *
 * @example
 * ```ts
 * import { describe, it } from 'node:test';
 * import { toolProviderContract } from '@toolwright/core/testing';
 * import { ProcessToolProvider } from '@toolwright/runtime';
 * import { contractProviderFile } from '@toolwright/runtime/testing';
 *
 * toolProviderContract(
 *   'ProcessToolProvider', // or your own provider
 *   () => ({
 *     provider: new ProcessToolProvider({ name: 'contract', path: contractProviderFile('javascript') }),
 *     dispose() {},
 *   }),
 *   { describe, it },
 * );
 * ```
 * @module
 */

export { contractProviderFile, type ContractLanguage } from './contract-provider-file.js';
