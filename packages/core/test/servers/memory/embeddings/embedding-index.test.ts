// The index of one process must match the vectors in the store, whichever process wrote them.

import fc from 'fast-check';
import { expect, it, vi } from 'vitest';
import { storedVector, EmbeddingIndex } from '../../../../src/servers/memory/embeddings/embedding-index.js';
import { SqliteBackend } from '../../../../src/servers/memory/sqlite/sqlite-backend.js';
import { createTestProject } from '../../../../src/testing/project.js';

const DIM = 4;
/** Embeds a content `n3` as the unit vector of dimension 3. */
const vectorOf = (number: number): Float32Array =>
  Float32Array.of(Math.cos(number), Math.sin(number), Math.cos(number * 7), Math.sin(number * 7)).map(
    (each) => each / Math.SQRT2,
  );
const embedder = {
  id: 'test',
  dim: DIM,
  fusionWeight: 0.5,
  embed: (texts: readonly string[]) => Promise.resolve(texts.map((text) => vectorOf(Number(text.slice(1))))),
};
const QUERY = vectorOf(0.5);

const STEP = fc.record({
  by: fc.nat(1),
  what: fc.constantFrom(
    'store',
    'store',
    'store',
    'key',
    'bare',
    'update',
    'tag',
    'delete',
    'erase',
    'look',
    'embed',
    'settle',
  ),
  number: fc.integer({ min: 1, max: 12 }),
});

it('addStored() leaves the store and the index as if they were built from scratch', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(STEP, { minLength: 5, maxLength: 40 }), async (steps) => {
      await using project = await createTestProject();
      const open = () => {
        const backend = new SqliteBackend({ directory: project.resolve('m'), shown: 'm' });
        return { backend, meaning: new EmbeddingIndex(backend, embedder) };
      };
      const processes = [open(), open()] as const;
      const ids: string[] = [];
      for (const { by, what, number } of [...steps, { by: 0, what: 'settle', number: 0 }]) {
        const { backend, meaning } = processes[by]!;
        const id = ids[number % Math.max(1, ids.length)] ?? 'none';
        if (what === 'store' || what === 'key' || what === 'bare') {
          const draft = { content: `n${number}`, category: 'bug', tags: [`t${by}`], importance: 5 };
          const { memory, outcome } = await backend.put({ ...draft, ...(what === 'key' && { key: 'only' }) });
          ids.push(memory.id);
          if (what === 'bare' || outcome !== 'created') continue;
          const vector = storedVector(vectorOf(number), embedder);
          meaning.addStored(memory, vector);
          await meaning.refresh();
          const near = await meaning.nearest(vector.floats, {}, 50);
          if (meaning.pending === 0) expect(near.map((each) => each.id)).toContain(memory.id);
        } else if (what === 'update') await backend.update(id, { content: `n${number + 20}` });
        else if (what === 'tag') await backend.update(id, { tags: [`t${number}`] });
        else if (what === 'delete') await backend.delete(id);
        else if (what === 'erase') await backend.delete(id, true);
        else if (what === 'look') await meaning.refresh();
        else if (what === 'embed') await meaning.embedPending();
        if (what !== 'settle') continue;
        for (const each of processes) {
          await each.meaning.refresh();
          await each.meaning.embedPending();
        }
        const fresh = open();
        await fresh.meaning.refresh();
        expect(fresh.meaning.pending).toBe(0);
        const expected = await fresh.meaning.nearest(QUERY, {}, 50);
        for (const each of processes) {
          await each.meaning.refresh();
          expect(await each.meaning.nearest(QUERY, {}, 50)).toEqual(expected);
          expect(each.meaning.pending).toBe(0);
        }
        await fresh.meaning.close();
        await fresh.backend.close();
      }
      for (const { backend, meaning } of processes) {
        await meaning.close();
        await backend.close();
      }
    }),
    { numRuns: 40 },
  );
}, 60_000);

it('addStored() makes a memory searchable before its vector is in the store, and stores it soon after', async () => {
  await using project = await createTestProject();
  const backend = new SqliteBackend({ directory: project.resolve('m'), shown: 'm' });
  const meaning = new EmbeddingIndex(backend, embedder);
  const store = async (number: number): Promise<string> => {
    const { memory } = await backend.put({ content: `n${number}`, category: 'bug', tags: [], importance: 5 });
    meaning.addStored(memory, storedVector(vectorOf(number), embedder));
    await meaning.refresh();
    return memory.id;
  };
  await store(1); // the first refresh finds all missing vectors
  await meaning.embedPending();
  const ids = [await store(2), await store(3), await store(4)];
  expect(meaning.pending).toBe(0);
  expect((await meaning.nearest(vectorOf(3), {}, 1))[0]?.id).toBe(ids[1]);
  expect(await backend.pendingVectors('test', 9)).toHaveLength(3);
  await vi.waitUntil(async () => (await backend.pendingVectors('test', 9)).length === 0, { timeout: 20_000 });
  expect((await backend.vectorFloats('test', ids)).get(ids[1]!)).toEqual(vectorOf(3));
  await meaning.close();
  await backend.close();
});
