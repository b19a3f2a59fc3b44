// Runs each case of the contract for memory backends against a store that breaks it: the case must fail.

import { describe, expect, it } from 'vitest';
import type { MemoryBackend } from '../../src/servers/memory/memory-backend.js';
import { SqliteBackend } from '../../src/servers/memory/sqlite/sqlite-backend.js';
import { memoryBackendCases } from '../../src/testing/memory-backend-contract.js';
import { createTestProject } from '../../src/testing/project.js';

/** The methods that a broken store replaces. */
type Mutation = (inner: MemoryBackend) => Partial<MemoryBackend>;

const mutations: Record<string, Mutation> = {
  'put() stores every field, and assigns an ID, times and revision 1': (inner) => ({
    put: (draft, rule) => inner.put({ ...draft, documentationPath: null }, rule),
  }),
  'put() merges tags and the higher importance when the content differs only in case and white space': (inner) => ({
    put: (draft) => inner.put(draft, 'allow'),
  }),
  'put() stores the same content twice when duplicates are allowed': (inner) => ({ put: (draft) => inner.put(draft) }),
  'put() replaces the memory with the same key, and keeps its ID and history': (inner) => ({
    put: (draft, rule) => inner.put({ ...draft, key: null }, rule),
  }),
  'put() loses nothing when called a hundred times concurrently': (inner) => {
    let count = 0;
    return { put: (draft, rule) => inner.put(++count === 50 ? { ...draft, content: 'note number 1' } : draft, rule) };
  },
  'get() returns memories in the order of the IDs, without unknown and deleted ones': (inner) => ({
    get: async (ids) => (await inner.get(ids)).reverse(),
  }),
  'update() changes only the given fields, and increments the revision': (inner) => ({
    update: (id, patch, rev) => inner.update(id, { tags: [], ...patch }, rev),
  }),
  'update() rejects with FILE_CHANGED and changes nothing when the revision is not the expected one': (inner) => ({
    update: (id, patch) => inner.update(id, patch),
  }),
  'delete() hides a memory everywhere until restore() restores it': (inner) => {
    const deleted = new Map<string, Awaited<ReturnType<MemoryBackend['get']>>[number]>();
    return {
      delete: async (id) => {
        const memory = deleted.has(id) ? undefined : (await inner.get([id]))[0];
        if (memory) deleted.set(id, memory);
        return memory;
      },
    };
  },
  'delete() leaves no history and blocks the ID for imports when it is permanent': (inner) => ({
    delete: (id) => inner.delete(id),
  }),
  'restore() rejects with NAME_CONFLICT when another memory has the key': (inner) => ({
    restore: (id, rev) => inner.restore(id, rev).catch(() => undefined),
  }),
  'restore() restores an earlier revision as a new one': (inner) => ({
    restore: (id) => inner.restore(id),
  }),
  'import() keeps IDs and times, and changes nothing when it is repeated': (inner) => ({
    import: (drafts) => inner.import(drafts.map((draft) => ({ ...draft, createdMs: undefined }))),
  }),
  'note() returns what setNote() stored': (inner) => ({
    setNote: (name, value) => inner.setNote(name, value.replaceAll('\u2028', '\n')),
  }),
  'list() returns every memory once over its pages when sorted by any field, ties included': (inner) => ({
    list: async (filter, sort, limit, after) => (await inner.list(filter, sort, limit, after)).slice(after ? 1 : 0),
  }),
  'list(), search() and idsOf() return only memories of the category with any of the tags, ignoring case': (inner) => ({
    search: (words, _filter, limit) => inner.search(words, {}, limit),
  }),
  'idsOf() returns the newest undeleted memories that pass the filter, of all or of the given IDs': (inner) => ({
    idsOf: async (filter, limit, among) => (await inner.idsOf(filter, limit, among)).reverse(),
  }),
  'search() ranks by the number and rarity of words, and matches stems and parts of identifiers': (inner) => ({
    search: async (words, filter, limit) => (await inner.search(words, filter, limit)).reverse(),
  }),
  'search() takes words as plain text when they contain query syntax': (inner) => ({
    search: async (words, filter, limit) => {
      if (words.includes('NEAR(')) throw new Error('fts5: syntax error near "("');
      return inner.search(words, filter, limit);
    },
  }),
  'search() matches words in tags': (inner) => ({
    put: (draft, rule) => inner.put({ ...draft, tags: [] }, rule),
  }),
  'alike() returns memories with the same long words': () => ({ alike: async () => [] }),
  'all() yields every undeleted memory once': (inner) => ({
    all: async function* () {
      for await (const memory of inner.all()) if (memory.id !== '1202') yield memory;
    },
  }),
  'get(), list() and other reads return nothing when the store is empty': () => ({
    lastSeq: () => Promise.reject(new Error('no such table: memory')),
  }),
  'changesSince() returns creations, changes and deletions in order, page by page': (inner) => {
    const changesSince: MemoryBackend['changesSince'] = async (seq, limit) => {
      const page = await inner.changesSince(seq, limit);
      const existing = page.filter(({ memory }) => memory !== null);
      return existing.length > 0 || page.length === 0 ? existing : changesSince(page.at(-1)!.seq, limit);
    };
    return { changesSince };
  },
  'setVectors() stores vectors of the current revision only, which a new content removes': (inner) => ({
    setVectors: async (embedder, vectors) => {
      const current = new Map((await inner.get(vectors.map(({ id }) => id))).map(({ id, rev }) => [id, rev]));
      return inner.setVectors(
        embedder,
        vectors.map((vector) => ({ ...vector, rev: current.get(vector.id) ?? vector.rev })),
      );
    },
  }),
  'stats() counts memories by category and vectors by embedder': (inner) => ({
    stats: async (options) => {
      const stats = await inner.stats(options);
      return { ...stats, memories: stats.memories + stats.deleted };
    },
  }),
};

/** A working store with some methods replaced. */
function mutant(inner: MemoryBackend, mutation: Mutation): MemoryBackend {
  const replaced: Partial<MemoryBackend> = mutation(inner);
  return new Proxy(inner, {
    get(target, name) {
      const value: unknown = Reflect.get(replaced, name) ?? Reflect.get(target, name);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

describe('memoryBackendContract()', () => {
  for (const { title, run } of memoryBackendCases) {
    it(`memoryBackendCases fail when a store breaks: ${title}`, async () => {
      await using project = await createTestProject();
      const inner = new SqliteBackend({ directory: project.resolve('m'), shown: 'm' });
      try {
        const mutation = mutations[title];
        expect(mutation, 'every case needs a mutation').toBeDefined();
        await expect(run(mutant(inner, mutation!))).rejects.toThrow();
      } finally {
        await inner.close();
      }
    });
  }
});
