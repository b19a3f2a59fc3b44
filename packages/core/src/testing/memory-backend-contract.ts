// The conformance suite of MemoryBackend: what every store of memories promises, as cases that any test runner can run.

import assert from 'node:assert/strict';
import { ToolError, type ToolErrorCode } from '../errors.js';
import type { MemoryBackend, MemoryDraft, MemoryRecord } from '../servers/memory/backend.js';
import type { ContractRunner } from './contract.js';

/** A backend with nothing in it, and how to end what stands behind it. */
export interface MemoryBackendFixture {
  backend: MemoryBackend;
  /** Called once after each case, when the backend has been closed. */
  dispose: () => PromiseLike<void> | void;
}

/** One promise of the contract. `run` rejects when the backend breaks it. */
export interface MemoryBackendCase {
  /** `symbol() does X when Y`. */
  title: string;
  run: (backend: MemoryBackend) => Promise<void>;
}

/**
 * Registers the suite with a test runner: call it in a test file of your backend.
 *
 * @param factory gives an empty backend for each case
 * @param runner default: the global `describe` and `it`
 * @example
 * ```ts
 * memoryBackendContract('PostgresBackend', async () => {
 *   const backend = await openPostgresBackend(await freshSchema());
 *   return { backend, dispose() {} };
 * }, { describe, it });
 * ```
 */
export function memoryBackendContract(
  name: string,
  factory: () => MemoryBackendFixture | Promise<MemoryBackendFixture>,
  runner: ContractRunner = globalThis as unknown as ContractRunner,
): void {
  runner.describe(`${name} keeps the MemoryBackend contract`, () => {
    for (const { title, run } of memoryBackendCases) {
      runner.it(title, async () => {
        const { backend, dispose } = await factory();
        try {
          await run(backend);
        } finally {
          await backend.close();
          await dispose();
        }
      });
    }
  });
}

const draft = (content: string, more: Partial<MemoryDraft> = {}): MemoryDraft => ({
  content,
  category: 'technical',
  tags: [],
  importance: 5,
  ...more,
});

async function stored(backend: MemoryBackend, content: string, more: Partial<MemoryDraft> = {}): Promise<MemoryRecord> {
  return (await backend.put(draft(content, more), 'allow')).memory;
}

async function rejects(promise: Promise<unknown>, code: ToolErrorCode): Promise<void> {
  await assert.rejects(promise, (error) => {
    assert.ok(ToolError.isInstance(error), String(error));
    assert.equal(error.code, code, error.message);
    return true;
  });
}

const idsOf = (records: readonly { id: string }[]): string[] => records.map(({ id }) => id);
const contentsOf = (records: readonly MemoryRecord[]): string[] => records.map(({ content }) => content);

/** Every character that a store may spoil, but NUL, which the server takes out. */
const AWKWARD = 'quote \' " `, back \\, percent %_, line\n\r\t\u2028, accent é e\u0301, emoji 👩‍💻, hebrew שלום, 漢字';
const UNIT = (place: number): Float32Array => Float32Array.from({ length: 4 }, (_, index) => (index === place ? 1 : 0));

/** Every case, for a runner without `describe` and `it`. */
export const memoryBackendCases: readonly MemoryBackendCase[] = [
  {
    title: 'put() keeps every field, and gives an id, times and revision 1',
    async run(backend) {
      const given = draft(AWKWARD, {
        tags: ['One', 'zwei, drei'],
        importance: 9,
        documentationPath: 'docs/a.md',
        key: 'k',
        project: 'shop',
      });
      const { memory, outcome } = await backend.put(given);
      assert.equal(outcome, 'created');
      const [read] = await backend.get([memory.id]);
      assert.deepEqual(read, memory);
      assert.deepEqual({ ...read, ...given }, read);
      assert.equal(memory.rev, 1);
      assert.equal(memory.createdMs, memory.updatedMs);
      assert.ok(Math.abs(Date.now() - memory.createdMs) < 60_000);
    },
  },
  {
    title: 'put() merges tags and the higher importance when the content is there but for case and spaces',
    async run(backend) {
      const first = await backend.put(draft('Deploy  with\nmake', { tags: ['a'], importance: 7 }));
      const again = await backend.put(draft('deploy with MAKE', { tags: ['A', 'b'], importance: 3 }));
      assert.equal(again.outcome, 'merged');
      assert.equal(again.memory.id, first.memory.id);
      assert.equal(again.memory.content, 'Deploy  with\nmake');
      assert.deepEqual(again.memory.tags, ['a', 'b']);
      assert.equal(again.memory.importance, 7);
      assert.equal(again.memory.rev, 2);
      const third = await backend.put(draft('deploy with make'));
      assert.equal(third.memory.rev, 2, 'nothing changed');
    },
  },
  {
    title: "put() keeps two of one content when on_duplicate is 'allow'",
    async run(backend) {
      const [a, b] = [await stored(backend, 'same'), await stored(backend, 'same')];
      assert.notEqual(a.id, b.id);
      assert.equal((await backend.list({}, 'created', 10)).length, 2);
    },
  },
  {
    title: 'put() replaces what a key names, and keeps its id and history',
    async run(backend) {
      const first = await backend.put(draft('port 80', { key: 'port' }));
      const second = await backend.put(draft('port 8080', { key: 'port', category: 'bug' }));
      assert.equal(second.outcome, 'updated');
      assert.equal(second.memory.id, first.memory.id);
      assert.equal(second.memory.category, 'bug');
      assert.deepEqual(contentsOf((await backend.history(first.memory.id)).map(({ before }) => before)), ['port 80']);
      await backend.delete(first.memory.id);
      assert.equal((await backend.put(draft('port 443', { key: 'port' }))).outcome, 'created', 'the key is free again');
    },
  },
  {
    title: 'get() gives what is there in the order of the ids, and nothing for others',
    async run(backend) {
      const [a, b] = [await stored(backend, 'a'), await stored(backend, 'b')];
      assert.deepEqual(idsOf(await backend.get([b.id, 'nowhere', a.id])), [b.id, a.id]);
      await backend.delete(a.id);
      assert.deepEqual(idsOf(await backend.get([a.id, b.id])), [b.id]);
    },
  },
  {
    title: 'update() changes only what is given, and counts the revision up',
    async run(backend) {
      const { id } = await stored(backend, 'old words', { tags: ['x'], documentationPath: 'd.md' });
      const updated = await backend.update(id, { content: 'new terms', documentationPath: null });
      assert.equal(updated?.content, 'new terms');
      assert.equal(updated.documentationPath, null);
      assert.deepEqual(updated.tags, ['x']);
      assert.equal(updated.rev, 2);
      assert.deepEqual(idsOf((await backend.search(['terms'], {}, 5)).map(({ memory }) => memory)), [id]);
      assert.deepEqual(await backend.search(['old'], {}, 5), []);
      assert.equal(await backend.update('nowhere', { importance: 1 }), undefined);
    },
  },
  {
    title: 'update() answers FILE_CHANGED when the revision is another, and changes nothing',
    async run(backend) {
      const { id } = await stored(backend, 'a');
      await backend.update(id, { importance: 6 }, 1);
      await rejects(backend.update(id, { importance: 7 }, 1), 'FILE_CHANGED');
      assert.equal((await backend.get([id]))[0]?.importance, 6);
    },
  },
  {
    title: 'delete() hides a memory everywhere, and restore() brings it back',
    async run(backend) {
      const { id } = await stored(backend, 'gone for now', { tags: ['t'] });
      assert.equal((await backend.delete(id))?.content, 'gone for now');
      assert.equal(await backend.delete(id), undefined);
      assert.equal(await backend.update(id, { importance: 1 }), undefined);
      assert.deepEqual(await backend.list({ tags: ['t'] }, 'created', 5), []);
      assert.deepEqual(await backend.search(['gone'], {}, 5), []);
      assert.deepEqual(await backend.alike('gone for now', 5), []);
      assert.equal((await backend.restore(id))?.deletedMs, null);
      assert.equal((await backend.search(['gone'], {}, 5)).length, 1);
      assert.equal((await backend.list({ tags: ['t'] }, 'created', 5)).length, 1);
      assert.equal(await backend.restore('nowhere'), undefined);
    },
  },
  {
    title: 'delete() for good leaves no history, and no import brings it back',
    async run(backend) {
      const { id } = await stored(backend, 'secret');
      await backend.update(id, { content: 'secret still' });
      assert.ok(await backend.delete(id, true));
      assert.deepEqual(await backend.history(id), []);
      assert.equal(await backend.restore(id), undefined);
      assert.deepEqual(await backend.import([draft('secret', { id })]), { imported: 0, skipped: 1 });
    },
  },
  {
    title: 'restore() answers NAME_CONFLICT when another memory has its key',
    async run(backend) {
      const { id } = await stored(backend, 'a', { key: 'k' });
      await backend.delete(id);
      await stored(backend, 'b', { key: 'k' });
      await rejects(backend.restore(id), 'NAME_CONFLICT');
    },
  },
  {
    title: 'restore() gives an earlier state back when it is named, as a new revision',
    async run(backend) {
      const { id } = await stored(backend, 'one', { tags: ['first'] });
      await backend.update(id, { content: 'two', tags: [] });
      const restored = await backend.restore(id, 1);
      assert.equal(restored?.content, 'one');
      assert.deepEqual(restored.tags, ['first']);
      assert.equal(restored.rev, 3);
      assert.equal(await backend.restore(id, 17), undefined);
      assert.deepEqual(
        (await backend.history(id)).map(({ operation, before }) => [operation, before.rev]),
        [
          ['restore', 2],
          ['update', 1],
        ],
      );
    },
  },
  {
    title: 'list() gives every memory once over its pages, in each order, also where values are the same',
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
          seen.push(...page);
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
    title: 'list() and search() keep to category and to any of the tags, whatever their case',
    async run(backend) {
      await stored(backend, 'cache one', { category: 'bug', tags: ['Redis'] });
      await stored(backend, 'cache two', { tags: ['redis', 'x'] });
      await stored(backend, 'cache three', { tags: ['y'] });
      const found = async (filter: Parameters<MemoryBackend['list']>[0]): Promise<number[]> => [
        (await backend.list(filter, 'created', 9)).length,
        (await backend.search(['cache'], filter, 9)).length,
      ];
      assert.deepEqual(await found({}), [3, 3]);
      assert.deepEqual(await found({ category: 'bug' }), [1, 1]);
      assert.deepEqual(await found({ tags: ['REDIS', 'y'] }), [3, 3]);
      assert.deepEqual(await found({ tags: ['redis'], category: 'technical' }), [1, 1]);
      assert.deepEqual(await found({ tags: ['nothing'] }), [0, 0]);
    },
  },
  {
    title: 'search() ranks by how many and how rare words are, and finds stems and parts of identifiers',
    async run(backend) {
      const best = await stored(backend, 'The session cache lives in redis');
      await stored(backend, 'The build cache lives in a volume');
      for (let index = 0; index < 10; index++) await stored(backend, `The note ${index} about nothing`);
      const names = await stored(backend, 'Call parseHttpResponse before retry_with_backoff in src/net/client.ts');
      const hits = await backend.search(['session', 'caching', 'redis', 'the'], {}, 3);
      assert.equal(hits[0]?.memory.id, best.id);
      assert.ok(hits.every(({ share }) => share >= 0 && share <= 1));
      assert.ok((hits[0]?.score ?? 0) > (hits[1]?.score ?? 0));
      for (const word of ['response', 'backoff', 'client', 'parsehttpresponse', 'HTTP', 'retries'])
        assert.deepEqual(idsOf((await backend.search([word], {}, 3)).map(({ memory }) => memory)), [names.id], word);
    },
  },
  {
    title: 'search() takes words as text, whatever they hold',
    async run(backend) {
      const { id } = await stored(backend, 'plain words here');
      const words = ['"', "'; DROP TABLE memory; --", 'NEAR(', 'AND', 'a*', 'content:', '(', '^', '\0', '👩‍💻', '-', ''];
      assert.deepEqual(await backend.search(words, {}, 5), []);
      assert.deepEqual(idsOf((await backend.search([...words, 'plain'], {}, 5)).map(({ memory }) => memory)), [id]);
      assert.deepEqual(await backend.search([], {}, 5), []);
    },
  },
  {
    title: 'search() finds tags',
    async run(backend) {
      const { id } = await stored(backend, 'something', { tags: ['kubernetes-ingress'] });
      await stored(backend, 'something else');
      assert.deepEqual(idsOf((await backend.search(['ingress'], {}, 5)).map(({ memory }) => memory)), [id]);
    },
  },
  {
    title: 'alike() finds memories with the same long words',
    async run(backend) {
      const near = await stored(backend, 'The integration environment restarts nightly');
      await stored(backend, 'Something else entirely');
      const alike = await backend.alike('the integration environment restarts every night', 5);
      assert.deepEqual(idsOf(alike), [near.id]);
    },
  },
  {
    title: 'import() keeps ids and times, and does the same once when it is repeated',
    async run(backend) {
      const drafts = [draft('a', { id: 'A', createdMs: 5 }), draft('b', { id: 'B' }), draft('a', { id: 'C' })];
      assert.deepEqual(await backend.import(drafts), { imported: 2, skipped: 1 });
      assert.deepEqual(await backend.import(drafts), { imported: 0, skipped: 3 });
      assert.equal((await backend.get(['A']))[0]?.createdMs, 5);
      await backend.delete('B');
      assert.deepEqual(await backend.import(drafts), { imported: 0, skipped: 3 }, 'a deleted one stays deleted');
    },
  },
  {
    title: 'all() gives every memory that is there once',
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
    title: 'changesSince() tells what was made, changed and deleted, in order and without end',
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
        changes.push(...page);
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
    title: 'setVectors() keeps vectors of the current content only, and they leave with it',
    async run(backend) {
      const [a, b] = [await stored(backend, 'a'), await stored(backend, 'b')];
      assert.deepEqual(idsOf(await backend.pendingVectors('m', 9)), [b.id, a.id]);
      const vector = (memory: MemoryRecord, place: number) => ({
        id: memory.id,
        rev: memory.rev,
        codes: Int8Array.of(1, -2, 127, -128),
        scale: 0.5,
        floats: UNIT(place),
      });
      const start = await backend.lastSeq();
      assert.equal(
        await backend.setVectors('m', [vector(a, 0), { ...vector(b, 1), rev: 7 }, vector({ ...a, id: 'x' }, 1)]),
        1,
      );
      assert.deepEqual(idsOf(await backend.pendingVectors('m', 9)), [b.id]);
      assert.equal((await backend.pendingVectors('other', 9)).length, 2);
      const [kept, ...none] = await backend.vectorsSince('m', start, 9);
      assert.equal(kept?.id, a.id);
      assert.deepEqual([...(kept?.codes ?? [])], [1, -2, 127, -128]);
      assert.equal(kept?.scale, 0.5);
      assert.deepEqual(none, []);
      assert.deepEqual(await backend.vectorsSince('m', kept?.seq ?? 0, 9), []);
      assert.deepEqual([...((await backend.vectorFloats('m', [a.id, b.id])).get(a.id) ?? [])], [1, 0, 0, 0]);
      await backend.update(a.id, { content: 'another' });
      assert.deepEqual(await backend.vectorsSince('m', 0, 9), []);
      assert.equal((await backend.pendingVectors('m', 9)).length, 2);
    },
  },
  {
    title: 'note() gives what setNote() kept',
    async run(backend) {
      assert.equal(await backend.note('n'), undefined);
      await backend.setNote('n', AWKWARD);
      assert.equal(await backend.note('n'), AWKWARD);
    },
  },
  {
    title: 'stats() counts what is there, by category and by embedder',
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
      assert.deepEqual(stats.setAside, []);
    },
  },
  {
    title: 'reading gives nothing, and fails at nothing, when there is no store yet',
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
  {
    title: 'put() loses nothing when a hundred come at once',
    async run(backend) {
      const puts = Array.from({ length: 100 }, (_, index) => backend.put(draft(`note number ${index}`)));
      const ids = new Set((await Promise.all(puts)).map(({ memory }) => memory.id));
      assert.equal(ids.size, 100);
      assert.equal((await backend.stats()).memories, 100);
    },
  },
];
