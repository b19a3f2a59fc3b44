import { describe, expect, it } from 'vitest';
import { driverName, type SqliteDriverName } from '../../../../src/servers/memory/sqlite/driver.js';
import { SqliteBackend } from '../../../../src/servers/memory/sqlite/sqlite-backend.js';
import { memoryBackendContract } from '../../../../src/testing/memory-backend-contract.js';
import { createTestProject } from '../../../../src/testing/project.js';

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

describe('SqliteBackend', () => {
  it('stats() reports an intact store when another process has written to it', async () => {
    await using project = await createTestProject();
    const open = () => new SqliteBackend({ directory: project.resolve('m'), shown: 'm' });
    const [one, other] = [open(), open()];
    const put = (backend: SqliteBackend, index: number) =>
      backend.put({ content: `memory ${index} about number${index}`, category: 'bug', tags: [], importance: 5 });
    try {
      for (let index = 0; index < 50; index++) await put(one, index);
      await one.search(['memory'], {}, 5);
      for (let index = 50; index < 400; index++) await put(other, index);
      expect(await one.stats({ check: true })).toMatchObject({ integrity: 'ok', memories: 400 });
    } finally {
      await one.close();
      await other.close();
    }
  });
});
