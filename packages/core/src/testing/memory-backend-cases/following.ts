// Contract cases for following a store: its changes, vectors and counts.

import assert from 'node:assert/strict';
import type { MemoryRecord } from '../../servers/memory/memory-backend.js';
import type { MemoryBackendCase } from './memory-backend-case.js';
import { idsOf, stored, unitVector } from './fixtures.js';

export const followingCases: readonly MemoryBackendCase[] = [
  {
    title: 'changesSince() returns creations, changes and deletions in order, page by page',
    async run(backend) {
      const start = await backend.lastSeq();
      const [a, b, c] = [await stored(backend, 'a'), await stored(backend, 'b'), await stored(backend, 'c')];
      await backend.update(a.id, { content: 'a changed' });
      await backend.delete(b.id);
      await backend.delete(c.id, true);
      const changes = [];
      for (let seq = start; ;) {
        const page = await backend.changesSince(seq, 2);
        if (page.length === 0) break;
        for (const change of page) changes.push(change);
        seq = page.at(-1)?.seq ?? seq;
      }
      const last = new Map(changes.map(({ id, memory }) => [id, memory?.content ?? null]));
      assert.deepEqual(
        last,
        new Map([
          [a.id, 'a changed'],
          [b.id, null],
          [c.id, null],
        ]),
      );
      assert.equal(changes.at(-1)?.seq, await backend.lastSeq());
    },
  },
  {
    title: 'setVectors() stores vectors of the current revision only, which a new content removes',
    async run(backend) {
      const [a, b] = [await stored(backend, 'a'), await stored(backend, 'b')];
      assert.deepEqual(idsOf(await backend.pendingVectors('m', 9)), [b.id, a.id]);
      const vector = (memory: MemoryRecord, place: number) => ({
        id: memory.id,
        rev: memory.rev,
        codes: Int8Array.of(1, -2, 127, -128),
        scale: 0.5,
        floats: unitVector(place),
      });
      const start = await backend.lastSeq();
      assert.equal(
        await backend.setVectors('m', [vector(a, 0), { ...vector(b, 1), rev: 7 }, vector({ ...a, id: 'x' }, 1)]),
        1,
      );
      assert.deepEqual(idsOf(await backend.pendingVectors('m', 9)), [b.id]);
      assert.equal((await backend.pendingVectors('other', 9)).length, 2);
      const [vectorCodes, ...others] = await backend.vectorsSince('m', start, 9);
      assert.equal(vectorCodes?.id, a.id);
      assert.deepEqual([...(vectorCodes?.codes ?? [])], [1, -2, 127, -128]);
      assert.equal(vectorCodes?.scale, 0.5);
      assert.deepEqual(others, []);
      assert.deepEqual(await backend.vectorsSince('m', vectorCodes?.seq ?? 0, 9), []);
      assert.deepEqual([...((await backend.vectorFloats('m', [a.id, b.id])).get(a.id) ?? [])], [1, 0, 0, 0]);
      await backend.update(a.id, { content: 'another' });
      assert.deepEqual(await backend.vectorsSince('m', 0, 9), []);
      assert.equal((await backend.pendingVectors('m', 9)).length, 2);
    },
  },
  {
    title: 'stats() counts memories by category and vectors by embedder',
    async run(backend) {
      assert.equal((await backend.stats()).memories, 0);
      const a = await stored(backend, 'a', { category: 'bug' });
      await stored(backend, 'b');
      await backend.delete((await stored(backend, 'c')).id);
      await backend.setVectors('m', [
        { id: a.id, rev: 1, codes: Int8Array.of(1), scale: 1, floats: Float32Array.of(1) },
      ]);
      const stats = await backend.stats({ check: true });
      assert.equal(stats.memories, 2);
      assert.equal(stats.deleted, 1);
      assert.deepEqual(stats.byCategory, { bug: 1, technical: 1 });
      assert.deepEqual(stats.vectors, { m: 1 });
      assert.equal(stats.integrity, 'ok');
      assert.deepEqual(stats.quarantined, []);
    },
  },
];
