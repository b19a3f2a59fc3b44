// For each case of the memory backend's contract a store that is broken in just that way: the case must see it.

import { describe, expect, it } from 'vitest';
import type { MemoryBackend } from '../../src/servers/memory/memory-backend.js';
import { SqliteBackend } from '../../src/servers/memory/sqlite/sqlite-backend.js';
import { memoryBackendCases } from '../../src/testing/memory-backend-contract.js';
import { createTestProject } from '../../src/testing/project.js';

/** What a broken store does instead. */
type Mutation = (inner: MemoryBackend) => Partial<MemoryBackend>;

const mutations: Record<string, Mutation> = {
  'put() keeps every field, and gives an id, times and revision 1': (inner) => ({
    put: (draft, rule) => inner.put({ ...draft, documentationPath: null }, rule),
  }),
  'put() merges tags and the higher importance when the content is there but for case and spaces': (inner) => ({
    put: (draft) => inner.put(draft, 'allow'),
  }),
  "put() keeps two of one content when on_duplicate is 'allow'": (inner) => ({ put: (draft) => inner.put(draft) }),
  'put() replaces what a key names, and keeps its id and history': (inner) => ({
    put: (draft, rule) => inner.put({ ...draft, key: null }, rule),
  }),
  'put() loses nothing when a hundred come at once': (inner) => {
    let count = 0;
    return { put: (draft, rule) => inner.put(++count === 50 ? { ...draft, content: 'note number 1' } : draft, rule) };
  },
  'get() gives what is there in the order of the ids, and nothing for others': (inner) => ({
    get: async (ids) => (await inner.get(ids)).reverse(),
  }),
  'update() changes only what is given, and counts the revision up': (inner) => ({
    update: (id, patch, rev) => inner.update(id, { tags: [], ...patch }, rev),
  }),
  'update() answers FILE_CHANGED when the revision is another, and changes nothing': (inner) => ({
    update: (id, patch) => inner.update(id, patch),
  }),
  'delete() hides a memory everywhere, and restore() brings it back': (inner) => {
    const deleted = new Map<string, Awaited<ReturnType<MemoryBackend['get']>>[number]>();
    return {
      delete: async (id) => {
        const memory = deleted.has(id) ? undefined : (await inner.get([id]))[0];
        if (memory) deleted.set(id, memory);
        return memory;
      },
    };
  },
  'delete() for good leaves no history, and no import brings it back': (inner) => ({
    delete: (id) => inner.delete(id),
  }),
  'restore() answers NAME_CONFLICT when another memory has its key': (inner) => ({
    restore: (id, rev) => inner.restore(id, rev).catch(() => undefined),
  }),
  'restore() gives an earlier state back when it is named, as a new revision': (inner) => ({
    restore: (id) => inner.restore(id),
  }),
  'import() keeps ids and times, and does the same once when it is repeated': (inner) => ({
    import: (drafts) => inner.import(drafts.map((draft) => ({ ...draft, createdMs: undefined }))),
  }),
  'note() gives what setNote() kept': (inner) => ({
    setNote: (name, value) => inner.setNote(name, value.replaceAll('\u2028', '\n')),
  }),
  'list() gives every memory once over its pages, in each order, also where values are the same': (inner) => ({
    list: async (filter, sort, limit, after) => (await inner.list(filter, sort, limit, after)).slice(after ? 1 : 0),
  }),
  'list(), search() and idsOf() keep to category and to any of the tags, whatever their case': (inner) => ({
    search: (words, _filter, limit) => inner.search(words, {}, limit),
  }),
  'idsOf() gives the newest that pass, of all or of some, and no deleted one': (inner) => ({
    idsOf: async (filter, limit, among) => (await inner.idsOf(filter, limit, among)).reverse(),
  }),
  'search() ranks by how many and how rare words are, and finds stems and parts of identifiers': (inner) => ({
    search: async (words, filter, limit) => (await inner.search(words, filter, limit)).reverse(),
  }),
  'search() takes words as text, whatever they hold': (inner) => ({
    search: async (words, filter, limit) => {
      if (words.includes('NEAR(')) throw new Error('fts5: syntax error near "("');
      return inner.search(words, filter, limit);
    },
  }),
  'search() finds tags': (inner) => ({
    put: (draft, rule) => inner.put({ ...draft, tags: [] }, rule),
  }),
  'alike() finds memories with the same long words': () => ({ alike: async () => [] }),
  'all() gives every memory that is there once': (inner) => ({
    all: async function* () {
      for await (const memory of inner.all()) if (memory.id !== '1202') yield memory;
    },
  }),
  'reading gives nothing, and fails at nothing, when there is no store yet': () => ({
    lastSeq: () => Promise.reject(new Error('no such table: memory')),
  }),
  'changesSince() tells what was made, changed and deleted, in order and without end': (inner) => {
    const changesSince: MemoryBackend['changesSince'] = async (seq, limit) => {
      const page = await inner.changesSince(seq, limit);
      const there = page.filter(({ memory }) => memory !== null);
      return there.length > 0 || page.length === 0 ? there : changesSince(page.at(-1)!.seq, limit);
    };
    return { changesSince };
  },
  'setVectors() keeps vectors of the current content only, and they leave with it': (inner) => ({
    setVectors: async (embedder, vectors) => {
      const now = new Map((await inner.get(vectors.map(({ id }) => id))).map(({ id, rev }) => [id, rev]));
      return inner.setVectors(
        embedder,
        vectors.map((vector) => ({ ...vector, rev: now.get(vector.id) ?? vector.rev })),
      );
    },
  }),
  'stats() counts what is there, by category and by embedder': (inner) => ({
    stats: async (options) => {
      const stats = await inner.stats(options);
      return { ...stats, memories: stats.memories + stats.deleted };
    },
  }),
};

/** A sound store with some of its methods replaced. */
function mutant(inner: MemoryBackend, mutation: Mutation): MemoryBackend {
  const replaced: Partial<MemoryBackend> = mutation(inner);
  return new Proxy(inner, {
    get(target, name) {
      const own: unknown = Reflect.get(replaced, name) ?? Reflect.get(target, name);
      return typeof own === 'function' ? own.bind(target) : own;
    },
  });
}

describe('memoryBackendContract', () => {
  for (const { title, run } of memoryBackendCases) {
    it(`fails for a store that breaks: ${title}`, async () => {
      await using project = await createTestProject();
      const inner = new SqliteBackend({ directory: project.resolve('m'), shown: 'm' });
      try {
        const mutation = mutations[title];
        expect(mutation, 'there is a broken store for the case').toBeDefined();
        await expect(run(mutant(inner, mutation!))).rejects.toThrow();
      } finally {
        await inner.close();
      }
    });
  }
});
