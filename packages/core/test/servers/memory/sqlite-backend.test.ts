import { describe, it } from 'vitest';
import { driverName, type SqliteDriverName } from '../../../src/servers/memory/sqlite/driver.js';
import { SqliteBackend } from '../../../src/servers/memory/sqlite/sqlite-backend.js';
import { memoryBackendContract } from '../../../src/testing/memory-backend-contract.js';
import { createTestProject } from '../../../src/testing/project.js';

const DRIVERS: readonly SqliteDriverName[] = [...new Set([driverName(), 'libsql' as const])];

for (const driver of DRIVERS) {
  memoryBackendContract(
    `SqliteBackend on ${driver}`,
    async () => {
      const project = await createTestProject();
      const backend = new SqliteBackend({ directory: project.resolve('.mcp-memory'), shown: '.mcp-memory', driver });
      return { backend, dispose: () => project[Symbol.asyncDispose]() };
    },
    { describe, it },
  );
}
