// The contract suite for implementations of MemoryBackend, as cases for any test runner.

import type { MemoryBackend } from '../servers/memory/memory-backend.js';
import type { ContractRunner } from './contract.js';
import { findingCases } from './memory-backend-cases/finding.js';
import { followingCases } from './memory-backend-cases/following.js';
import { keepingCases } from './memory-backend-cases/keeping.js';
import type { MemoryBackendCase } from './memory-backend-cases/memory-backend-case.js';

/** An empty backend, and how to dispose of its database. */
export interface MemoryBackendFixture {
  /** The backend under test. */
  backend: MemoryBackend;
  /** Called after each case, when the backend is closed. */
  dispose: () => PromiseLike<void> | void;
}

/** All cases, for a test runner without `describe` and `it`. */
export const memoryBackendCases: readonly MemoryBackendCase[] = [...keepingCases, ...findingCases, ...followingCases];

/**
 * Registers the suite with a test runner. Call it in a test file of your backend.
 *
 * @param factory creates an empty backend for each case
 * @param runner default: the global `describe` and `it`
 * @example
 * ```ts
 * memoryBackendContract('PostgresBackend', async () => {
 *   const backend = await openPostgresBackend(await freshSchema());
 *   return { backend, dispose() {} };
 * }, { describe, it });
 * ```
 */
export function memoryBackendContract(
  name: string,
  factory: () => MemoryBackendFixture | Promise<MemoryBackendFixture>,
  runner: ContractRunner = globalThis as unknown as ContractRunner,
): void {
  runner.describe(`${name} fulfills the MemoryBackend contract`, () => {
    for (const { title, run } of memoryBackendCases) {
      runner.it(title, async () => {
        const { backend, dispose } = await factory();
        try {
          await run(backend);
        } finally {
          await backend.close();
          await dispose();
        }
      });
    }
  });
}
