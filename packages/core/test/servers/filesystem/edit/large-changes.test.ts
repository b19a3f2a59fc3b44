// Changes of more lines than a call has room for arguments: each is made, and its answer says so.

import { expect, it } from 'vitest';
import { openTools } from '../filesystem-tools.js';

const LINES = 200_000;
const OLD = 'old line\n'.repeat(LINES);

it('edit_file() replaces 200,000 lines and answers with the beginning of the diff', async () => {
  await using tools = await openTools({ 'a.txt': OLD });
  await tools.call('read_file', { path: 'a.txt', limit: 1 });
  const answer = await tools.call('edit_file', {
    path: 'a.txt',
    old_string: 'old',
    new_string: 'new',
    replace_all: true,
  });
  expect(answer).toMatchObject({ code: undefined, data: { applied: [{ line: 1, count: LINES, strategy: 'exact' }] } });
  expect(answer.text).toMatch(/more lines of the diff\]/);
  expect((await tools.read('a.txt')).equals(Buffer.from('new line\n'.repeat(LINES)))).toBe(true);
});

it('write_file() replaces 200,000 lines and counts them', async () => {
  await using tools = await openTools({ 'a.txt': OLD });
  await tools.call('read_file', { path: 'a.txt', limit: 1 });
  const answer = await tools.call('write_file', { path: 'a.txt', content: 'new line\n'.repeat(LINES) });
  expect(answer).toMatchObject({ code: undefined, data: { diff_stat: { added: LINES, removed: LINES } } });
});

it('apply_patch() adds, updates and deletes 200,000 lines', async () => {
  await using tools = await openTools({ 'a.txt': OLD, 'b.txt': OLD });
  for (const path of ['a.txt', 'b.txt']) await tools.call('read_file', { path, limit: 1 });
  const patch = [
    '*** Begin Patch',
    '*** Add File: c.txt',
    '+new line\n'.repeat(LINES) + '*** Update File: a.txt',
    '@@',
    '-old line\n'.repeat(LINES) + '+new line\n'.repeat(LINES) + '*** Delete File: b.txt',
    '*** End Patch',
  ].join('\n');
  const answer = await tools.call('apply_patch', { patch });
  expect(answer.text.slice(0, 500)).toContain('Made 3 changes');
  expect((await tools.read('a.txt')).equals(Buffer.from('new line\n'.repeat(LINES)))).toBe(true);
});

it('edit_file() of a stale file of 200,000 lines fails with FILE_CHANGED and the beginning of the difference', async () => {
  await using tools = await openTools({ 'a.txt': 'o\n'.repeat(LINES) });
  await tools.call('read_file', { path: 'a.txt' });
  await tools.call('write_file', { path: 'a.txt', content: 'p\n'.repeat(LINES) });
  await tools.write('a.txt', 'q\n'.repeat(LINES));
  const answer = await tools.call('edit_file', { path: 'a.txt', old_string: 'q', new_string: 'r', replace_all: true });
  expect(answer).toMatchObject({ code: 'FILE_CHANGED', details: { difference: 'cut' } });
});

it('write_file() replaces 60 million lines without running out of memory', async () => {
  await using tools = await openTools({ 'a.txt': '\n'.repeat(60_000_000) });
  await tools.call('read_file', { path: 'a.txt', limit: 1 });
  const answer = await tools.call('write_file', { path: 'a.txt', content: 'a\n'.repeat(30_000_000) });
  expect(answer).toMatchObject({ code: undefined, data: { diff_stat: { added: 30_000_000, removed: 60_000_000 } } });
}, 60_000);

it('edit_file() reports how many lines of a long diff are omitted', async () => {
  await using tools = await openTools({ 'a.txt': OLD });
  await tools.call('read_file', { path: 'a.txt', limit: 1 });
  const edit = { path: 'a.txt', old_string: 'old', new_string: 'new', replace_all: true };
  const { body } = await tools.call('edit_file', edit);
  const shown = body.split('\n').filter((line) => /^[-+](?!--|\+\+)/.test(line)).length;
  expect(body).toContain(`[${2 * LINES - shown} more lines of the diff]`);
});
