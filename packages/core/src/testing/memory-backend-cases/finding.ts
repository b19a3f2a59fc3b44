// Contract cases for reads: lists, searches by words, and reads of an empty store.

import assert from 'node:assert/strict';
import type { MemoryBackend, MemoryRecord } from '../../servers/memory/memory-backend.js';
import type { MemoryBackendCase } from './memory-backend-case.js';
import { draft, idsOf, stored } from './fixtures.js';

export const findingCases: readonly MemoryBackendCase[] = [
  {
    title: 'list() returns every memory once over its pages when sorted by any field, ties included',
    async run(backend) {
      await backend.import(
        Array.from({ length: 23 }, (_, index) =>
          draft(`memory ${index}`, { createdMs: 1_000 + Math.floor(index / 4), importance: 1 + (index % 3) }),
        ),
      );
      const keys = { created: 'createdMs', updated: 'updatedMs', importance: 'importance' } as const;
      for (const sort of ['created', 'updated', 'importance'] as const) {
        const seen: MemoryRecord[] = [];
        for (;;) {
          const last = seen.at(-1);
          const page = await backend.list({}, sort, 5, last && { value: last[keys[sort]], id: last.id });
          if (page.length === 0) break;
          for (const memory of page) seen.push(memory);
        }
        assert.equal(new Set(idsOf(seen)).size, 23, sort);
        assert.equal(seen.length, 23, sort);
        const values = seen.map((memory) => memory[keys[sort]]);
        assert.deepEqual(
          values,
          [...values].sort((a, b) => b - a),
        );
      }
    },
  },
  {
    title: 'list(), search() and idsOf() return only memories of the category with any of the tags, ignoring case',
    async run(backend) {
      await stored(backend, 'cache one', { category: 'bug', tags: ['Redis'] });
      await stored(backend, 'cache two', { tags: ['redis', 'x'] });
      await stored(backend, 'cache three', { tags: ['y'] });
      const found = async (filter: Parameters<MemoryBackend['list']>[0]): Promise<number[]> => [
        (await backend.list(filter, 'created', 9)).length,
        (await backend.search(['cache'], filter, 9)).length,
        (await backend.idsOf(filter, 9)).length,
      ];
      assert.deepEqual(await found({}), [3, 3, 3]);
      assert.deepEqual(await found({ category: 'bug' }), [1, 1, 1]);
      assert.deepEqual(await found({ tags: ['REDIS', 'y'] }), [3, 3, 3]);
      assert.deepEqual(await found({ tags: ['redis'], category: 'technical' }), [1, 1, 1]);
      assert.deepEqual(await found({ tags: ['nothing'] }), [0, 0, 0]);
    },
  },
  {
    title: 'idsOf() returns the newest undeleted memories that pass the filter, of all or of the given IDs',
    async run(backend) {
      const first = await stored(backend, 'one', { category: 'bug', tags: ['x'] });
      const second = await stored(backend, 'two', { tags: ['x'] });
      const third = await stored(backend, 'three', { category: 'bug', tags: ['X', 'y'] });
      const fourth = await stored(backend, 'four', { category: 'bug', tags: ['x'] });
      await backend.delete(fourth.id);
      assert.deepEqual(await backend.idsOf({ tags: ['x'] }, 2), [third.id, second.id]);
      const among = [first.id, third.id, fourth.id, 'nowhere'];
      assert.deepEqual(await backend.idsOf({ tags: ['x', 'y'], category: 'bug' }, 9, among), [third.id, first.id]);
      assert.deepEqual(await backend.idsOf({ category: 'bug' }, 9, [second.id]), []);
      assert.deepEqual(await backend.idsOf({}, 9, []), []);
    },
  },
  {
    title: 'search() ranks by the number and rarity of words, and matches stems and parts of identifiers',
    async run(backend) {
      const best = await stored(backend, 'The session cache lives in redis');
      await stored(backend, 'The build cache lives in a volume');
      for (let index = 0; index < 10; index++) await stored(backend, `The note ${index} about nothing`);
      const names = await stored(backend, 'Call parseHttpResponse before retry_with_backoff in src/net/client.ts');
      const hits = await backend.search(['session', 'caching', 'redis', 'the'], {}, 3);
      assert.equal(hits[0]?.id, best.id);
      assert.ok(hits.every(({ share }) => share >= 0 && share <= 1));
      assert.ok((hits[0]?.score ?? 0) > (hits[1]?.score ?? 0));
      for (const word of ['response', 'backoff', 'client', 'parsehttpresponse', 'HTTP', 'retries'])
        assert.deepEqual(idsOf(await backend.search([word], {}, 3)), [names.id], word);
    },
  },
  {
    title: 'search() takes words as plain text when they contain query syntax',
    async run(backend) {
      const { id } = await stored(backend, 'plain words here');
      const words = ['"', "'; DROP TABLE memory; --", 'NEAR(', 'AND', 'a*', 'content:', '(', '^', '\0', '👩‍💻', '-', ''];
      assert.deepEqual(await backend.search(words, {}, 5), []);
      assert.deepEqual(idsOf(await backend.search([...words, 'plain'], {}, 5)), [id]);
      assert.deepEqual(await backend.search([], {}, 5), []);
    },
  },
  {
    title: 'search() matches words in tags',
    async run(backend) {
      const { id } = await stored(backend, 'something', { tags: ['kubernetes-ingress'] });
      await stored(backend, 'something else');
      assert.deepEqual(idsOf(await backend.search(['ingress'], {}, 5)), [id]);
    },
  },
  {
    title: 'alike() returns memories with the same long words',
    async run(backend) {
      const near = await stored(backend, 'The integration environment restarts nightly');
      await stored(backend, 'Something else entirely');
      const alike = await backend.alike('the integration environment restarts every night', 5);
      assert.deepEqual(idsOf(alike), [near.id]);
    },
  },
  {
    title: 'all() yields every undeleted memory once',
    async run(backend) {
      await backend.import(Array.from({ length: 1_203 }, (_, index) => draft(`memory ${index}`, { id: `${index}` })));
      await backend.delete('7');
      const ids = new Set<string>();
      for await (const { id } of backend.all()) ids.add(id);
      assert.equal(ids.size, 1_202);
      assert.ok(!ids.has('7'));
    },
  },
  {
    title: 'get(), list() and other reads return nothing when the store is empty',
    async run(backend) {
      assert.deepEqual(await backend.get(['a']), []);
      assert.deepEqual(await backend.list({}, 'updated', 5), []);
      assert.deepEqual(await backend.search(['a'], {}, 5), []);
      assert.deepEqual(await backend.history('a'), []);
      assert.deepEqual(await backend.changesSince(0, 5), []);
      assert.deepEqual(await backend.pendingVectors('m', 5), []);
      assert.equal(await backend.delete('a'), undefined);
      assert.equal(await backend.lastSeq(), 0);
    },
  },
];
