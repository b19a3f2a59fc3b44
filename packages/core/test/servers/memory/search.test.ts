import { describe, expect, it } from 'vitest';
import type { MemoryFilter } from '../../../src/servers/memory/memory-backend.js';
import { SqliteBackend } from '../../../src/servers/memory/sqlite/sqlite-backend.js';
import { identifierParts, queryWords } from '../../../src/servers/memory/service/words.js';
import { createTestProject } from '../../../src/testing/project.js';
import { contentsOf, openTools } from './memory-tools.js';

describe('queryWords()', () => {
  it.each([
    ['parseHTTPResponse2 now', ['parsehttpresponse2', 'parse', 'http', 'response', '2', 'now']],
    ['snake_case src/a-b.ts', ['snake', 'case', 'src', 'a', 'b', 'ts']],
    ['"quoted" AND (NEAR x*)', ['quoted', 'and', 'near', 'x']],
    ['日本語の検索', ['日本語の検索', '日本', '本語', '語の', 'の検', '検索']],
    ['👩‍💻 \0 "" -- ;', []],
    ['same Same SAME', ['same']],
  ])('returns the words of %j as %j', (text, words) => {
    expect(queryWords(text, 100)).toEqual(words);
  });

  it('identifierParts() returns nothing when words have no parts', () => {
    expect(identifierParts('plain words, and numbers 12')).toBe('');
  });
});

describe('retrieve', () => {
  it('retrieve takes a query as text when it contains query syntax', async () => {
    await using tools = await openTools();
    await tools.store('the "quoted" cache OR NEAR(it) is 100% <b>bold</b>');
    await tools.store('another note about nothing in particular');
    for (const query of [
      '"',
      '"cache',
      "cache' OR 1=1 --",
      'cache AND',
      'NOT cache',
      'cache*',
      '^cache',
      'content:cache',
      '{content tags}: cache',
      'NEAR(cache quoted, 2)',
      'cache \0 more',
      'cache\ud800',
      '👩‍💻 cache 👩‍💻',
      `${'('.repeat(5_000)}cache`,
      Array.from({ length: 10_000 }, (_, index) => `word${index}`).join(' ') + ' cache',
      'x'.repeat(100_000),
      ' ',
      '+ - * / % $ # @ !',
    ]) {
      const { code, text } = await tools.call('retrieve', { query });
      expect(code, `${query.slice(0, 40)}: ${text}`).toBeUndefined();
      if (/\bcache\b/.test(query) && query.length < 1_000)
        expect(contentsOf({ code, text, data: (await tools.call('retrieve', { query })).data })[0], query).toContain(
          'cache',
        );
    }
  });

  it('retrieve finds code by any part of its identifiers, and text in scripts without spaces', async () => {
    await using tools = await openTools();
    await tools.store('getUserById is cached in src/users/user_store.ts');
    await tools.store('デプロイの手順は文書にあります');
    await tools.store('Nothing else matters much here');
    for (const query of ['get user', 'getUserById', 'get_user_by_id', 'USER_STORE', 'users/user_store.ts', 'caching'])
      expect(contentsOf(await tools.call('retrieve', { query, limit: 1 }))[0], query).toContain('getUserById');
    expect(contentsOf(await tools.call('retrieve', { query: '手順', limit: 1 }))).toEqual([
      'デプロイの手順は文書にあります',
    ]);
  });
});

describe('SqliteBackend', () => {
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
      expect([before.length, after.length]).toEqual([186, 33]); // without those that have the common word alone
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
      // All fit alike, so that the newer ones come first: over 2,000 others are better than the few.
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
