/**
 * For tests of tools and providers, with any test runner: running one tool, temporary projects, leak checks, recording and
 * replay, faults, and the contract suites of providers and memory backends.
 *
 * @example
 * ```ts
 * import assert from 'node:assert/strict';
 * import { defineTool } from '@toolwright/core';
 * import { createTestProject, expectNoLeaks, runTool } from '@toolwright/core/testing';
 *
 * await using _ = expectNoLeaks();
 * await using project = await createTestProject({ 'a.txt': 'one' });
 * const read = defineTool({ name: 'read', description: 'Read a.txt.', execute: () => project.read('a.txt') });
 * const result = await runTool(read, {});
 * assert.deepEqual(result.content, [{ type: 'text', text: 'one' }]);
 * ```
 * @module
 */

export {
  contractCases,
  runContractCase,
  toolProviderContract,
  type ContractFactory,
  type ContractFixture,
  type ContractRunner,
} from './contract.js';

export type { ContractCase } from './contract-cases/contract-case.js';
export { chaos, ChaosProvider, type ChaosOptions } from './chaos.js';
export type { ChaosFaults } from './chaos-faults.js';
export { contractServer, type ContractState } from './contract-server.js';
export { expectNoLeaks, type LeakOptions } from './leaks.js';
export { memoryBackendCases, memoryBackendContract, type MemoryBackendFixture } from './memory-backend-contract.js';

export type { MemoryBackendCase } from './memory-backend-cases/memory-backend-case.js';
export { record, RecordedProvider, type RecordOptions } from './record.js';
export { ReplayToolProvider, type ReplayOptions, type UnusedCall } from './replay-provider.js';
export { createTestProject, type TestFile, type TestProject, type TestProjectOptions } from './project.js';
export { runTool, type RunToolOptions } from './run-tool.js';
