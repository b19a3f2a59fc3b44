import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../src/json.js';
import { openTools, type Tools } from './tools.js';

const CALLS: readonly (readonly [tool: string, args: JsonObject])[] = [
  ['edit_file', { path: 'a.txt', old_string: 'one', new_string: 'ONE' }],
  ['write_file', { path: 'a.txt', content: 'all new\n' }],
];

async function stale(tools: Tools, before: string | Buffer, now: string | Buffer): Promise<void> {
  await tools.write('a.txt', before);
  await tools.call('read_file', { path: 'a.txt' });
  await tools.write('a.txt', now);
}

describe.each(CALLS)('%s() of a file that has changed', (tool, args) => {
  it(`${tool}() answers FILE_CHANGED with the difference since the file was read`, async () => {
    await using tools = await openTools();
    await stale(tools, 'one\ntwo\nthree\n', 'one\n2\nthree\n');
    const answer = await tools.call(tool, args);
    expect(answer.code).toBe('FILE_CHANGED');
    expect(answer.text).toContain('@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n');
    const etag = (await tools.call('read_file', { path: 'a.txt' }, { sessionId: 'other' })).data.etag;
    expect(answer.details).toMatchObject({ etag, difference: 'whole' });
    expect(await tools.call(tool, { ...args, if_match: answer.details.etag ?? '' })).toMatchObject({ code: undefined });
  });

  it(`${tool}() answers FILE_CHANGED with the difference from the etag of if_match`, async () => {
    await using tools = await openTools({ 'a.txt': 'one\n' });
    const { etag = '' } = (await tools.call('read_file', { path: 'a.txt' })).data;
    await tools.write('a.txt', 'one\ntwo\n');
    await tools.call('read_file', { path: 'a.txt' });
    const answer = await tools.call(tool, { ...args, if_match: etag });
    expect(answer).toMatchObject({ code: 'FILE_CHANGED', details: { seen_etag: etag } });
    expect(answer.text).toContain(' one\n+two\n');
    expect((await tools.call(tool, { ...args, if_match: '0123456789abcdef' })).details.difference).toBe('unknown');
  });

  it(`${tool}() answers FILE_CHANGED with the difference from what the session wrote itself`, async () => {
    await using tools = await openTools();
    await tools.call('write_file', { path: 'a.txt', content: 'one\n' });
    await tools.write('a.txt', 'one\nmore\n');
    expect((await tools.call(tool, args)).text).toContain(' one\n+more\n');
  });

  it(`${tool}() cuts the difference at 200 lines and 8 KiB, and says so`, async () => {
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
