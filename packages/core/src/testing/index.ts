// @toolwright/core/testing: for those who test tools and providers. Needs no test runner of its own.

export {
  contractCases,
  runContractCase,
  toolProviderContract,
  type ContractFactory,
  type ContractFixture,
  type ContractRunner,
} from './contract.js';

export type { ContractCase } from './contract-cases/contract-case.js';
export { contractServer, type ContractState } from './contract-server.js';
export { expectNoLeaks, type LeakOptions } from './leaks.js';
export { memoryBackendCases, memoryBackendContract, type MemoryBackendFixture } from './memory-backend-contract.js';

export type { MemoryBackendCase } from './memory-backend-cases/memory-backend-case.js';
export { createTestProject, type TestFile, type TestProject, type TestProjectOptions } from './project.js';
export { runTool, type RunToolOptions } from './run-tool.js';
