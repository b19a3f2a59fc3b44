// Contract cases for changes: storing, updating, deleting, restoring and importing.

import assert from 'node:assert/strict';
import type { MemoryBackendCase } from './memory-backend-case.js';
import { AWKWARD, contentsOf, draft, idsOf, rejects, stored } from './fixtures.js';

export const keepingCases: readonly MemoryBackendCase[] = [
  {
    title: 'put() stores every field, and assigns an ID, times and revision 1',
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
    title: 'put() merges tags and the higher importance when the content differs only in case and white space',
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
    title: 'put() stores the same content twice when duplicates are allowed',
    async run(backend) {
      const [a, b] = [await stored(backend, 'same'), await stored(backend, 'same')];
      assert.notEqual(a.id, b.id);
      assert.equal((await backend.list({}, 'created', 10)).length, 2);
    },
  },
  {
    title: 'put() replaces the memory with the same key, and keeps its ID and history',
    async run(backend) {
      const first = await backend.put(draft('port 80', { key: 'port' }));
      const second = await backend.put(draft('port 8080', { key: 'port', category: 'bug' }));
      assert.equal(second.outcome, 'updated');
      assert.equal(second.memory.id, first.memory.id);
      assert.equal(second.memory.category, 'bug');
      assert.deepEqual(contentsOf((await backend.history(first.memory.id)).map(({ before }) => before)), ['port 80']);
      await backend.delete(first.memory.id);
      assert.equal(
        (await backend.put(draft('port 443', { key: 'port' }))).outcome,
        'created',
        'the key can be used again',
      );
    },
  },
  {
    title: 'get() returns memories in the order of the IDs, without unknown and deleted ones',
    async run(backend) {
      const [a, b] = [await stored(backend, 'a'), await stored(backend, 'b')];
      assert.deepEqual(idsOf(await backend.get([b.id, 'nowhere', a.id])), [b.id, a.id]);
      await backend.delete(a.id);
      assert.deepEqual(idsOf(await backend.get([a.id, b.id])), [b.id]);
    },
  },
  {
    title: 'update() changes only the given fields, and increments the revision',
    async run(backend) {
      const { id } = await stored(backend, 'old words', { tags: ['x'], documentationPath: 'd.md' });
      const updated = await backend.update(id, { content: 'new terms', documentationPath: null });
      assert.equal(updated?.content, 'new terms');
      assert.equal(updated.documentationPath, null);
      assert.deepEqual(updated.tags, ['x']);
      assert.equal(updated.rev, 2);
      assert.deepEqual(idsOf(await backend.search(['terms'], {}, 5)), [id]);
      assert.deepEqual(await backend.search(['old'], {}, 5), []);
      assert.equal(await backend.update('nowhere', { importance: 1 }), undefined);
    },
  },
  {
    title: 'update() rejects with FILE_CHANGED and changes nothing when the revision is not the expected one',
    async run(backend) {
      const { id } = await stored(backend, 'a');
      await backend.update(id, { importance: 6 }, 1);
      await rejects(backend.update(id, { importance: 7 }, 1), 'FILE_CHANGED');
      assert.equal((await backend.get([id]))[0]?.importance, 6);
    },
  },
  {
    title: 'delete() hides a memory everywhere until restore() restores it',
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
    title: 'delete() leaves no history and blocks the ID for imports when it is permanent',
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
    title: 'restore() rejects with NAME_CONFLICT when another memory has the key',
    async run(backend) {
      const { id } = await stored(backend, 'a', { key: 'k' });
      await backend.delete(id);
      await stored(backend, 'b', { key: 'k' });
      await rejects(backend.restore(id), 'NAME_CONFLICT');
    },
  },
  {
    title: 'restore() restores an earlier revision as a new one',
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
    title: 'import() keeps IDs and times, and changes nothing when it is repeated',
    async run(backend) {
      const drafts = [draft('a', { id: 'A', createdMs: 5 }), draft('b', { id: 'B' }), draft('a', { id: 'C' })];
      assert.deepEqual(await backend.import(drafts), { imported: 2, skipped: 1 });
      assert.deepEqual(await backend.import(drafts), { imported: 0, skipped: 3 });
      assert.equal((await backend.get(['A']))[0]?.createdMs, 5);
      await backend.delete('B');
      assert.deepEqual(await backend.import(drafts), { imported: 0, skipped: 3 }, 'a deleted memory stays deleted');
    },
  },
  {
    title: 'note() returns what setNote() stored',
    async run(backend) {
      assert.equal(await backend.note('n'), undefined);
      await backend.setNote('n', AWKWARD);
      assert.equal(await backend.note('n'), AWKWARD);
    },
  },
  {
    title: 'put() loses nothing when called a hundred times concurrently',
    async run(backend) {
      const puts = Array.from({ length: 100 }, (_, index) => backend.put(draft(`note number ${index}`)));
      const ids = new Set((await Promise.all(puts)).map(({ memory }) => memory.id));
      assert.equal(ids.size, 100);
      assert.equal((await backend.stats()).memories, 100);
    },
  },
];
