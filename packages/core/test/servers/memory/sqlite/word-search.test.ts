import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { MemoryFilter } from '../../../../src/servers/memory/memory-backend.js';
import { driverName, openSqlite } from '../../../../src/servers/memory/sqlite/driver.js';
import { type SqliteConnection } from '../../../../src/servers/memory/sqlite/sqlite-connection.js';
import { SqliteBackend } from '../../../../src/servers/memory/sqlite/sqlite-backend.js';
import { queryWords } from '../../../../src/servers/memory/service/words.js';
import { createTestProject } from '../../../../src/testing/project.js';

// Another connection asks FTS5 about the same file. A search must find and score as it does, whatever was written before by
// this process or another one.

const WORDS = [
  'deploy',
  'Deployed',
  'getUserById',
  'user',
  'src/app.ts',
  'naïve',
  'हिन्दी',
  'デプロイの手順',
  'tag2',
  '42',
];
const text = fc.array(fc.constantFrom(...WORDS), { minLength: 1, maxLength: 12 }).map((words) => words.join(' '));
const tags = fc.uniqueArray(fc.constantFrom('deploy', 'user', 'tag2', 'Infra'), { maxLength: 2 });
const which = fc.nat({ max: 1_000 });
const step = fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('put' as const), text, tags }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('update' as const), which, text, tags }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('delete' as const), which, hard: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('restore' as const), which }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('import' as const), count: fc.integer({ min: 1, max: 90 }) }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('ask' as const), text }) },
);

/** Memory n has the words from `step<n>` on, so `step7` is in seven memories. */
const STEPS = Array.from({ length: 40 }, (_, index) => `step${index + 1}`);

/** Keeps the store below 250 memories, above which words in over half of them are left out. */
const MOST_IMPORTED = 100;

/** FTS5's scores for some words, by ID. */
function scoresOfFts5(connection: SqliteConnection, words: readonly string[]): Map<string, number> {
  const match = words.map((word) => `"${word}"`).join(' OR ');
  const rows = connection
    .prepare(
      `SELECT CAST(memory.id AS BLOB) AS id, bm25(words, 1.0, 2.0, 0.5) AS rank FROM words
        JOIN memory ON memory.place = words.rowid WHERE words MATCH ?`,
    )
    .all(match);
  return new Map(rows.map(({ id, rank }) => [Buffer.from(id as Uint8Array).toString(), -Number(rank)]));
}

describe('SqliteBackend', () => {
  it('search() ranks as FTS5 does after any writes by two processes', { timeout: 120_000 }, async () => {
    let asked = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 40 }), async (steps) => {
        await using project = await createTestProject();
        const backends = [1, 2].map(() => new SqliteBackend({ directory: project.resolve('m'), shown: 'm' }));
        const ids: string[] = [];
        let imported = 0;
        let connection: SqliteConnection | undefined;
        try {
          for (const [index, each] of steps.entries()) {
            const [writer, reader] = index % 2 === 0 ? backends : backends.toReversed();
            const id = 'which' in each ? (ids[each.which % ids.length] ?? '') : '';
            if (each.kind === 'put') {
              const draft = { content: each.text, category: 'bug', tags: each.tags, importance: 5 };
              ids.push((await writer!.put(draft, 'allow')).memory.id);
            } else if (each.kind === 'update') await writer!.update(id, { content: each.text, tags: each.tags });
            else if (each.kind === 'delete') await writer!.delete(id, each.hard);
            else if (each.kind === 'restore') await writer!.restore(id);
            else if (each.kind === 'import' && imported < MOST_IMPORTED) {
              imported += each.count;
              const draftOf = (number: number) => ({
                id: `${index}-${number}`,
                content: `user ${WORDS[number % WORDS.length]} ${index} ${number}`,
                category: 'bug',
                tags: [],
                importance: 5,
              });
              await writer!.import(Array.from({ length: each.count }, (_, number) => draftOf(number)));
            } else if (each.kind === 'ask' && ids.length > 0) {
              connection ??= await openSqlite(project.resolve('m/memory.db'), driverName());
              const expected = scoresOfFts5(connection, queryWords(each.text, 400));
              const hits = await reader!.search(queryWords(each.text, 400), {}, 10_000);
              expect(hits.map(({ id }) => id).sort()).toEqual([...expected.keys()].sort());
              for (const { id, score } of hits) expect(score, each.text).toBeCloseTo(expected.get(id) ?? NaN, 9);
              if (hits.length > 0) asked++;
            }
          }
        } finally {
          connection?.close();
          for (const backend of backends) await backend.close();
        }
      }),
      { numRuns: 60 },
    );
    expect(asked).toBeGreaterThan(40);
  });

  it.each([
    ['a long query by its 32 rarest words', 40, STEPS, STEPS.slice(0, 32)],
    [
      'a store of over 10,000 memories without words that over half of them have',
      10_040,
      ['usual', ...STEPS],
      STEPS.slice(0, 32),
    ],
  ])('search() ranks %s', { timeout: 120_000 }, async (_, memories, asked, ranking) => {
    await using project = await createTestProject();
    const backend = new SqliteBackend({ directory: project.resolve('m'), shown: 'm' });
    try {
      const drafts = Array.from({ length: memories }, (_, index) => ({
        id: `m${index}`,
        content: `usual ${STEPS.slice(index).join(' ')} ${'more '.repeat(index % 5)} ${index}`,
        category: 'bug',
        tags: [],
        importance: 5,
      }));
      for (let start = 0; start < memories; start += 1_000) await backend.import(drafts.slice(start, start + 1_000));
      const connection = await openSqlite(project.resolve('m/memory.db'), driverName());
      try {
        const expected = scoresOfFts5(connection, ranking);
        const hits = await backend.search(asked, {}, 100);
        expect(hits.map(({ id }) => id).sort()).toEqual([...expected.keys()].sort());
        for (const { id, score } of hits) expect(score, id).toBeCloseTo(expected.get(id) ?? NaN, 9);
        expect(hits).toHaveLength(ranking.length);
        expect(hits[0]?.id).toBe('m0');
      } finally {
        connection.close();
      }
    } finally {
      await backend.close();
    }
  });

  it('search() ranks by common words but finds by rarer ones when a store is large', async () => {
    await using project = await createTestProject();
    const backend = new SqliteBackend({ directory: project.resolve('m'), shown: 'm' });
    try {
      // "common" is in a third of the memories, each of the other words in less than a twentieth.
      const contentOf = (index: number): string =>
        [index % 3 === 0 ? 'common' : 'usual', `rare${index % 25}`, 'more '.repeat(index % 5), index].join(' ');
      const drafts = Array.from({ length: 1_000 }, (_, index) => ({
        id: `m${index}`,
        content: contentOf(index),
        category: 'bug',
        tags: [],
        importance: 5,
      }));
      await backend.import(drafts);
      const hits = await backend.search(['common', 'rare1', 'rare2', 'rare3'], {}, 1_000);
      const connection = await openSqlite(project.resolve('m/memory.db'), driverName());
      try {
        const scores = scoresOfFts5(connection, ['common', 'rare1', 'rare2', 'rare3']);
        expect(hits).toHaveLength(120);
        for (const { id, score } of hits) {
          expect(contentOf(Number(id.slice(1)))).toMatch(/rare[123]\b/);
          expect(score, id).toBeCloseTo(scores.get(id) ?? NaN, 9);
        }
        expect(hits.slice(0, 40).every(({ id }) => Number(id.slice(1)) % 3 === 0)).toBe(true);
      } finally {
        connection.close();
      }
    } finally {
      await backend.close();
    }
  });

  it('search() returns a meaningful share when the index has more changes than memories', async () => {
    await using project = await createTestProject();
    const backend = new SqliteBackend({ directory: project.resolve('m'), shown: 'm' });
    try {
      const draft = { category: 'bug', tags: [], importance: 5 };
      for (const content of ['deploy with docker', 'lint the code', 'test the code'])
        await backend.put({ ...draft, content }, 'allow');
      const before = await backend.search(['deploy', 'staging'], {}, 10);
      for (let round = 0; round < 100; round++) await backend.put({ ...draft, key: 'k', content: `round ${round}` });
      const after = await backend.search(['deploy', 'staging'], {}, 10);
      for (const [hit] of [before, after]) {
        expect(hit?.share).toBeGreaterThan(0.1);
        expect(hit?.share).toBeLessThan(0.6); // the query has two words
      }
    } finally {
      await backend.close();
    }
  });

  it('search() of a large store scores as FTS5 scores all words', async () => {
    await using project = await createTestProject();
    const backend = new SqliteBackend({ directory: project.resolve('m'), shown: 'm' });
    try {
      const draftOf = (index: number) => ({
        id: `m${index}`,
        content: `note ${index} ${index % 3 ? 'common' : 'usual'} ${index % 20 ? '' : 'seldom'} ${index % 125 ? '' : 'rare'} thing${index % 70}`,
        category: 'bug',
        tags: [],
        importance: 5,
      });
      const words = ['rare', 'seldom', 'thing0', 'usual', 'note'];
      await backend.import(Array.from({ length: 495 }, (_, each) => draftOf(each)));
      const before = await backend.search(words, {}, 400); // one stage
      await backend.import(Array.from({ length: 10 }, (_, each) => draftOf(495 + each)));
      const after = await backend.search(words, {}, 400); // two stages
      expect((await backend.stats()).memories).toBe(505);
      expect([before.length, after.length]).toEqual([186, 33]); // without memories that have only the common word
      expect((await backend.get([after[0]?.id ?? '']))[0]?.content).toContain('rare');
      const scores = new Map(before.map(({ id, score }) => [id, score]));
      const known = after.filter(({ id }) => scores.has(id));
      expect(known.length).toBeGreaterThan(30);
      for (const { id, score } of known) expect(Math.abs(score / (scores.get(id) ?? NaN) - 1), id).toBeLessThan(0.05);
      const order = (hits: typeof before) =>
        hits.filter(({ id }) => known.some((hit) => hit.id === id)).map(({ id }) => id);
      expect(new Set(order(after).slice(0, 4))).toEqual(new Set(order(before).slice(0, 4)));
      await backend.put({ content: 'a brandnewword', category: 'bug', tags: [], importance: 5 });
      expect(await backend.search(['brandnewword'], {}, 5)).toHaveLength(1);
    } finally {
      await backend.close();
    }
  });

  it('search() returns the best that pass a filter, however few pass', async () => {
    await using project = await createTestProject();
    const backend = new SqliteBackend({ directory: project.resolve('m'), shown: 'm' });
    try {
      // All match equally, so newer ones come first: over 2,000 memories rank above the few.
      for (let index = 0; index < 2_500; index++) {
        const tags = index < 5 ? ['few'] : index < 100 ? ['MANY'] : [];
        await backend.put({ id: `m${index}`, content: 'a word', category: 'bug', tags, importance: 5 }, 'allow');
      }
      const found = async (filter: MemoryFilter) => {
        const hits = await backend.search(['word'], filter, 5);
        return hits.map(({ id }) => id).join(' ');
      };
      expect(await found({})).toBe('m2499 m2498 m2497 m2496 m2495');
      expect(await found({ category: 'bug' })).toBe('m2499 m2498 m2497 m2496 m2495');
      expect(await found({ tags: ['many'] })).toBe('m99 m98 m97 m96 m95');
      expect(await found({ tags: ['Few'], category: 'bug' })).toBe('m4 m3 m2 m1 m0');
      expect(await found({ tags: ['few', 'many'] })).toBe('m99 m98 m97 m96 m95');
      expect(await found({ tags: ['nothing'] })).toBe('');
      expect(await found({ category: 'idea' })).toBe('');
    } finally {
      await backend.close();
    }
  });
});
