import { rename, stat, unlink } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../../src/contract/json.js';
import { openTools, type Tools } from '../filesystem-tools.js';

const CALLS: readonly (readonly [tool: string, args: JsonObject])[] = [
  ['edit_file', { path: 'a.txt', old_string: 'one', new_string: 'ONE' }],
  ['write_file', { path: 'a.txt', content: 'all new\n' }],
];

async function stale(tools: Tools, before: string | Buffer, now: string | Buffer): Promise<void> {
  await tools.write('a.txt', before);
  await tools.call('read_file', { path: 'a.txt' });
  await tools.write('a.txt', now);
}

describe.each(CALLS)('%s() on a changed file', (tool, args) => {
  it(`${tool}() fails with FILE_CHANGED and the difference since the file was read`, async () => {
    await using tools = await openTools();
    await stale(tools, 'one\ntwo\nthree\n', 'one\n2\nthree\n');
    const answer = await tools.call(tool, args);
    expect(answer.code).toBe('FILE_CHANGED');
    expect(answer.text).toContain('@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n');
    const etag = (await tools.call('read_file', { path: 'a.txt' }, { sessionId: 'other' })).data.etag;
    expect(answer.details).toMatchObject({ etag, difference: 'whole' });
    expect(await tools.call(tool, { ...args, if_match: answer.details.etag ?? '' })).toMatchObject({ code: undefined });
  });

  it(`${tool}() fails with FILE_CHANGED and the difference from the etag of if_match`, async () => {
    await using tools = await openTools({ 'a.txt': 'one\n' });
    const { etag = '' } = (await tools.call('read_file', { path: 'a.txt' })).data;
    await tools.write('a.txt', 'one\ntwo\n');
    await tools.call('read_file', { path: 'a.txt' });
    const answer = await tools.call(tool, { ...args, if_match: etag });
    expect(answer).toMatchObject({ code: 'FILE_CHANGED', details: { seen_etag: etag } });
    expect(answer.text).toContain(' one\n+two\n');
    expect((await tools.call(tool, { ...args, if_match: '0123456789abcdef' })).details.difference).toBe('unknown');
  });

  it(`${tool}() fails with FILE_CHANGED and the difference from what the session wrote itself`, async () => {
    await using tools = await openTools();
    await tools.call('write_file', { path: 'a.txt', content: 'one\n' });
    await tools.write('a.txt', 'one\nmore\n');
    expect((await tools.call(tool, args)).text).toContain(' one\n+more\n');
  });

  it(`${tool}() cuts the difference at 200 lines and 8 KiB, and reports it`, async () => {
    for (const length of [3, 2_000]) {
      await using tools = await openTools();
      await stale(tools, 'one\n', `one\n${`${'x'.repeat(length)}\n`.repeat(500)}`);
      const answer = await tools.call(tool, args);
      expect(answer).toMatchObject({ code: 'FILE_CHANGED', details: { difference: 'cut' } });
      expect(answer.text).toMatch(/\[\d+ more lines of the difference\]\nRead it again/);
      expect(answer.text.split('\n').length).toBeLessThan(210);
      expect(Buffer.byteLength(answer.text)).toBeLessThan(9 * 1024);
    }
  });

  it(`${tool}() asks to read again when what was seen is not kept, or is not text`, async () => {
    await using tools = await openTools();
    await stale(tools, `one\n${'x'.repeat(1024 * 1024)}\n`, 'one\n');
    const large = await tools.call(tool, args);
    expect(large).toMatchObject({ code: 'FILE_CHANGED', details: { difference: 'unknown' } });
    expect(large.text).toContain('not kept');
    await stale(tools, 'one\n', Buffer.from([0, 1, 2, 0]));
    expect((await tools.call(tool, args)).text).toContain('not text');
  });

  it(`${tool}() shows the difference of UTF-16 files as text`, async () => {
    await using tools = await openTools();
    await stale(tools, Buffer.from('\ufeffone\né\n', 'utf16le'), Buffer.from('\ufeffone\nè\n', 'utf16le'));
    expect((await tools.call(tool, args)).text).toContain('-é\n+è');
  });
});

/** Makes a file that has the inode of one that is gone, as file systems give their numbers again. */
async function reuseInode(tools: Tools, gone: string, path: string, content: string): Promise<boolean> {
  const { ino } = await stat(tools.path(gone));
  const spare: string[] = [];
  await unlink(tools.path(gone));
  for (let tries = 0; tries < 200; tries++) {
    await tools.write(path, content);
    if ((await stat(tools.path(path))).ino === ino) break;
    await rename(tools.path(path), tools.path(`spare-${tries}`)); // holds its number, so that the next one has another
    spare.push(tools.path(`spare-${tries}`));
  }
  for (const each of spare) await unlink(each);
  return (await stat(tools.path(path)).catch(() => undefined))?.ino === ino;
}

describe('edit tools on a file that reuses the inode of one that was read', () => {
  it.each(CALLS)('%s() fails with READ_REQUIRED, also with the etag of stat() or of a refusal', async (tool, args) => {
    await using tools = await openTools({ 'gone.txt': 'the first\n' });
    await tools.call('read_file', { path: 'gone.txt' });
    if (!(await reuseInode(tools, 'gone.txt', 'a.txt', 'one\n'))) return; // this file system counts on
    expect(await tools.call(tool, args)).toMatchObject({ code: 'READ_REQUIRED' });
    const { etag = '' } = (await tools.call('stat', { path: 'a.txt' })).data;
    expect((await tools.call(tool, { ...args, if_match: etag })).code).toBe('READ_REQUIRED');
    const refusal = await tools.call(tool, { ...args, if_match: '0123456789abcdef' });
    expect(refusal.code).toBe('FILE_CHANGED');
    expect(refusal.text).not.toContain('the first');
    expect((await tools.call(tool, { ...args, if_match: refusal.details.etag ?? '' })).code).toBe('READ_REQUIRED');
    await tools.call('read_file', { path: 'a.txt' });
    expect((await tools.call(tool, { ...args, if_match: etag })).code).toBeUndefined();
  });

  it('edit_file() fails with READ_REQUIRED when the file was moved by move()', async () => {
    await using tools = await openTools({ 'gone.txt': 'the first\n' });
    await tools.call('read_file', { path: 'gone.txt' });
    if (!(await reuseInode(tools, 'gone.txt', 'a.txt', 'one\n'))) return;
    await tools.call('move', { source: 'a.txt', destination: 'b.txt' });
    const edit = { path: 'b.txt', old_string: 'one', new_string: 'two' };
    expect(await tools.call('edit_file', edit)).toMatchObject({ code: 'READ_REQUIRED' });
  });
});

it('edit_file() fails with FILE_CHANGED and the difference when the file was moved by move() and then changed', async () => {
  await using tools = await openTools({ 'a.txt': 'one\ntwo\n' });
  await tools.call('read_file', { path: 'a.txt' });
  await tools.call('move', { source: 'a.txt', destination: 'b.txt' });
  await tools.write('b.txt', 'one\n2\n');
  const answer = await tools.call('edit_file', { path: 'b.txt', old_string: 'one', new_string: '1' });
  expect(answer).toMatchObject({ code: 'FILE_CHANGED', details: { difference: 'whole' } });
  expect(answer.text).toContain('-two\n+2');
});
