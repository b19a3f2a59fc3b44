// Cached records must match what other processes have written.

import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { MemoryRecord } from '../../../../src/servers/memory/memory-backend.js';
import { SqliteBackend } from '../../../../src/servers/memory/sqlite/sqlite-backend.js';
import { createTestProject } from '../../../../src/testing/project.js';

const CHANGE = fc.record({
  by: fc.nat(1),
  what: fc.constantFrom('put', 'update', 'delete', 'erase', 'restore', 'look'),
  which: fc.nat(20),
  // Some are so long that the cache is emptied repeatedly.
  chars: fc.constantFrom(10, 10, 10, 10, 200_000),
});

it('read() returns the current records, whichever process changed them', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(CHANGE, { minLength: 5, maxLength: 40 }), async (changes) => {
      await using project = await createTestProject();
      const open = () => new SqliteBackend({ directory: project.resolve('m'), shown: 'm' });
      const backends = [open(), open()] as const;
      const ids: string[] = [];
      for (const [step, { by, what, which, chars }] of changes.entries()) {
        const backend = backends[by]!;
        const id = ids[which % Math.max(1, ids.length)] ?? 'none';
        if (what === 'put') {
          const content = `memory ${step} ${'x'.repeat(chars)}`;
          ids.push((await backend.put({ content, category: 'technical', tags: [], importance: 5 })).memory.id);
        } else if (what === 'update') await backend.update(id, { importance: 1 + (step % 10), tags: [`t${step}`] });
        else if (what === 'delete') await backend.delete(id);
        else if (what === 'erase') await backend.delete(id, true);
        else if (what === 'restore') await backend.restore(id);
        const fresh = open();
        for (const reader of backends) {
          expect(await reader.list({}, 'created', 50)).toEqual(await fresh.list({}, 'created', 50));
          expect(await reader.get(ids)).toEqual(await fresh.get(ids));
        }
        await fresh.close();
      }
      for (const backend of backends) await backend.close();
    }),
    { numRuns: 25 },
  );
}, 60_000);

it('read() returns the same object when the memory has not changed', async () => {
  await using project = await createTestProject();
  const backend = new SqliteBackend({ directory: project.resolve('m'), shown: 'm' });
  const put = (content: string): Promise<unknown> =>
    backend.put({ content, category: 'technical', tags: [], importance: 5 });
  await put('one');
  await put('two');
  const records = (): Promise<MemoryRecord[]> => backend.list({}, 'created', 10);
  const [before, again] = [await records(), await records()];
  expect(again[0]).toBe(before[0]);
  await backend.update(before[0]!.id, { importance: 9 });
  const after = await records();
  expect(after.find(({ id }) => id === before[0]!.id)?.importance).toBe(9);
  await backend.close();
});
