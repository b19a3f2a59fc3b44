// The conformance suite of MemoryBackend: what every store of memories promises, as cases that any test runner can run.

import type { MemoryBackend } from '../servers/memory/memory-backend.js';
import type { ContractRunner } from './contract.js';
import { findingCases } from './memory-backend-cases/finding.js';
import { followingCases } from './memory-backend-cases/following.js';
import { keepingCases } from './memory-backend-cases/keeping.js';
import type { MemoryBackendCase } from './memory-backend-cases/memory-backend-case.js';

/** A backend with nothing in it, and how to end what stands behind it. */
export interface MemoryBackendFixture {
  /** The backend under test. */
  backend: MemoryBackend;
  /** Called once after each case, when the backend has been closed. */
  dispose: () => PromiseLike<void> | void;
}

/** Every case, for a runner without `describe` and `it`. */
export const memoryBackendCases: readonly MemoryBackendCase[] = [...keepingCases, ...findingCases, ...followingCases];

/**
 * Registers the suite with a test runner: call it in a test file of your backend.
 *
 * @param factory gives an empty backend for each case
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
  runner.describe(`${name} keeps the MemoryBackend contract`, () => {
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
