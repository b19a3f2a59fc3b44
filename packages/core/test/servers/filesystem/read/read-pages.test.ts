// Reading on: from page to page, within long lines, from the end, and in encodings that are named.

import fc from 'fast-check';
import { appendFile, writeFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { openTools, type Tools } from '../filesystem-tools.js';

const numbers = (count: number): string => Array.from({ length: count }, (_, index) => `line ${index + 1}\n`).join('');
const SMALL = { output: { maxBytes: 16 * 1024, maxLines: 50 } };

/** The text of a file, read from page to page with what each answer says. */
async function readOn(
  tools: Tools,
  path: string,
  args: Record<string, number>,
): Promise<{ text: string; pages: number }> {
  let text = '';
  let pages = 0;
  for (let next: Record<string, unknown> | undefined = { offset: 1, column: 1 }; next; pages++) {
    const { code, body, data } = await tools.call('read_file', { path, line_numbers: false, ...args, ...next });
    expect(code).toBeUndefined();
    expect(Buffer.byteLength(body)).toBeLessThanOrEqual(16 * 1024);
    text += (pages > 0 && next.column === 1 ? '\n' : '') + body;
    expect(data.truncated).toBe(data.next_offset !== undefined);
    next = data.next_offset === undefined ? undefined : { offset: data.next_offset, column: data.next_column };
  }
  return { text, pages };
}

describe('read_file() by pages', () => {
  it('read_file() returns the whole text when each page is read at the cursor of the one before', async () => {
    await using tools = await openTools({}, SMALL);
    const part = fc.oneof(
      fc.constantFrom('\n', '\r\n', 'é', '😀', 'a\tb', '\r', ' '),
      fc
        .tuple(fc.constantFrom('x', 'é', '€', '😀', 'ab😀'), fc.integer({ min: 1, max: 9_000 }))
        .map(([of, n]) => of.repeat(n)),
    );
    const content = fc.array(part, { maxLength: 12 }).map((parts) => parts.join(''));
    const encodings = fc.constantFrom<BufferEncoding>('utf8', 'utf16le');
    let longest = 0;
    await fc.assert(
      fc.asyncProperty(content, fc.integer({ min: 1, max: 60 }), encodings, async (text, limit, encoding) => {
        await writeFile(tools.path('a.txt'), Buffer.from(encoding === 'utf16le' ? `\ufeff${text}` : text, encoding));
        const read = await readOn(tools, 'a.txt', { limit });
        expect(read.text).toBe(text.replace(/\r\n/g, '\n').replace(/\n$/, ''));
        longest = Math.max(longest, read.pages);
      }),
      { numRuns: 60 },
    );
    expect(longest).toBeGreaterThan(3);
  }, 60_000);

  it.each([1, 2, 3])(
    'read_file() keeps characters whole when they lie across chunks (%i bytes before)',
    async (shift) => {
      const text = `${'x'.repeat(256 * 1024 - shift)}😀\r\n${'x'.repeat(256 * 1024 - 9 - shift)}€é\n`;
      await using tools = await openTools({ 'a.txt': text });
      const { body } = await tools.call('read_file', {
        path: 'a.txt',
        offset: 1,
        column: 256 * 1024 - shift,
        line_numbers: false,
      });
      expect(body).toBe(`x😀`);
      const second = { path: 'a.txt', offset: 2, column: 256 * 1024 - 9 - shift, line_numbers: false };
      expect((await tools.call('read_file', second)).body).toBe('x€é');
    },
  );

  it('read_file() begins with the whole character when column is in the middle of one', async () => {
    await using tools = await openTools({ 'a.txt': 'a😀b\n' });
    const at = async (column: number): Promise<string> =>
      (await tools.call('read_file', { path: 'a.txt', column, line_numbers: false })).body;
    expect([await at(2), await at(3), await at(4), await at(5)]).toEqual(['😀b', '😀b', 'b', '']);
  });

  it('read_file() fails with INVALID_ARGUMENT and the length of the line when column is past its end', async () => {
    await using tools = await openTools({ 'a.txt': 'ab\r\ncd\n', empty: '' });
    expect(await tools.call('read_file', { path: 'a.txt', column: 4 })).toMatchObject({
      code: 'INVALID_ARGUMENT',
      text: expect.stringContaining('line 1 of "a.txt" has 2 characters') as string,
      details: { line_columns: 2 },
    });
    expect((await tools.call('read_file', { path: 'empty', column: 2 })).code).toBe('INVALID_ARGUMENT');
    expect((await tools.call('read_file', { path: 'empty', column: 1 })).code).toBeUndefined();
  });

  it('read_file() reports where to read on in a line that is cut at the end of the file', async () => {
    await using tools = await openTools({ 'a.txt': `one\n${'x'.repeat(5_000)}` });
    const { data, text } = await tools.call('read_file', { path: 'a.txt' });
    expect(data).toMatchObject({ next_offset: 2, next_column: 2_001, cut_lines: [{ line: 2, column: 2_001 }] });
    expect(text).toContain('Continue with offset=2, column=2001.');
    const rest = await tools.call('read_file', { path: 'a.txt', offset: 2, column: 2_001, line_numbers: false });
    expect(rest.text).toBe('x'.repeat(3_000));
    expect(rest.data).not.toHaveProperty('next_offset');
  });

  it('read_many() reports where to read on in a first line that its share has did not fit', async () => {
    const files = Object.fromEntries(
      Array.from({ length: 50 }, (_, index) => [`${index}.txt`, `${'é'.repeat(1_990)}\n`]),
    );
    await using tools = await openTools(files, { output: { maxBytes: 16 * 1024 } });
    const { data, text } = await tools.call('read_many', { paths: Object.keys(files) });
    const [first] = data.files as { next_offset: number; next_column: number }[];
    expect(first).toMatchObject({ next_offset: 1, cut_lines: [{ line: 1, column: first!.next_column }] });
    expect(text).toContain(`     1\t${'é'.repeat(first!.next_column - 1)}\n[`);
  });
});

describe('read_file() with tail', () => {
  it('read_file() returns the last lines with their numbers when tail is given', async () => {
    await using tools = await openTools({ 'a.txt': numbers(100), 'b.txt': 'one\r\ntwo', empty: '' });
    const { body, data } = await tools.call('read_file', { path: 'a.txt', tail: 2 });
    expect(body).toBe('    99\tline 99\n   100\tline 100');
    expect(data).toMatchObject({ start_line: 99, end_line: 100, total_lines: 100, truncated: false });
    expect((await tools.call('read_file', { path: 'b.txt', tail: 1 })).body).toBe('     2\ttwo');
    expect((await tools.call('read_file', { path: 'b.txt', tail: 9 })).body).toBe('     1\tone\n     2\ttwo');
    expect((await tools.call('read_file', { path: 'empty', tail: 3 })).data).toMatchObject({
      start_line: 1,
      end_line: 0,
    });
  });

  it('read_file() returns as tail the last lines of the whole file', async () => {
    await using tools = await openTools();
    const content = fc.array(fc.constantFrom('\n', '\r\n', 'é', '😀', 'abc', 'ਊ', 'Ā'), { maxLength: 30 });
    const encodings = fc.constantFrom('utf-8', 'utf-16le', 'utf-16be');
    await fc.assert(
      fc.asyncProperty(content, fc.integer({ min: 1, max: 8 }), encodings, async (parts, tail, encoding) => {
        const utf16 = Buffer.from(parts.join(''), 'utf16le');
        const bytes =
          encoding === 'utf-8' ? Buffer.from(parts.join('')) : encoding === 'utf-16le' ? utf16 : utf16.swap16();
        await writeFile(tools.path('a.txt'), bytes);
        const whole = await tools.call('read_file', { path: 'a.txt', encoding });
        const { body, data } = await tools.call('read_file', { path: 'a.txt', tail, encoding });
        expect(body).toBe(whole.body.split('\n').slice(-tail).join('\n'));
        expect(data).toEqual({
          ...whole.data,
          start_line: Math.max(1, Number(whole.data.total_lines) - tail + 1),
        });
      }),
      { numRuns: 60 },
    );
  }, 60_000);

  it('read_file() keeps the end when not all of tail has room', async () => {
    await using tools = await openTools({ 'a.txt': `${'x'.repeat(999)}\n`.repeat(99) + 'end\n' }, SMALL);
    const { body, text, data } = await tools.call('read_file', { path: 'a.txt', tail: 40 });
    expect(body.endsWith('   100\tend')).toBe(true);
    expect(Buffer.byteLength(body)).toBeLessThanOrEqual(16 * 1024);
    expect(data).toMatchObject({ end_line: 100, truncated: true, total_lines: 100 });
    expect(data.start_line).toBe(100 - body.split('\n').length + 1);
    expect(text).toContain('did not fit');
  });

  it('read_file() fails with INVALID_ARGUMENT when tail is given with offset or column', async () => {
    await using tools = await openTools({ 'a.txt': 'one\n' });
    for (const args of [{ offset: 1 }, { column: 1 }])
      expect((await tools.call('read_file', { path: 'a.txt', tail: 1, ...args })).code).toBe('INVALID_ARGUMENT');
  });

  it('read_file() notes what it has seen with tail, so that the file may be edited, until it grows', async () => {
    await using tools = await openTools({ 'a.txt': numbers(9) });
    await tools.call('read_file', { path: 'a.txt', tail: 1 });
    await appendFile(tools.path('a.txt'), 'more\n');
    const edit = { path: 'a.txt', old_string: 'line 1\n', new_string: 'line one\n' };
    expect((await tools.call('edit_file', edit)).code).toBe('FILE_CHANGED');
    await tools.call('read_file', { path: 'a.txt', tail: 1 });
    expect((await tools.call('edit_file', edit)).code).toBeUndefined();
  });
});

describe('read_file() with encoding', () => {
  it.each([
    ['utf-16le', Buffer.from('é😀\n', 'utf16le'), 'é😀'],
    ['utf-16be', Buffer.from('é😀\n', 'utf16le').swap16(), 'é😀'],
    ['latin1', Buffer.from('é\n'), 'Ã©'],
    ['windows-1252', Buffer.from([0x93, 0x61, 0x94, 0x0a]), '“a”'],
    ['utf-8', Buffer.from([0x61, 0xff, 0x0a]), 'a\ufffd'],
    ['utf-8', Buffer.from('a\0b\n'), 'a\0b'],
  ])('read_file() reads as %s when that is named (%#)', async (encoding, bytes, shown) => {
    await using tools = await openTools({ 'a.txt': bytes });
    const { body, text, data } = await tools.call('read_file', { path: 'a.txt', encoding });
    expect(body).toBe(`     1\t${shown}`);
    expect(data).toMatchObject({ encoding, bom: false, eol: 'lf', total_lines: 1 });
    expect(text).toContain('by edit_file');
    expect(text.includes('U+FFFD')).toBe(shown.includes('\ufffd'));
  });

  it('read_file() leaves a byte order mark out and reports nothing more when the named encoding is the one it has', async () => {
    await using tools = await openTools({ 'a.txt': Buffer.from('\ufeffé\n', 'utf16le'), 'b.txt': '\ufeffé\n' });
    for (const [path, encoding] of [
      ['a.txt', 'utf-16le'],
      ['b.txt', 'utf-8'],
    ])
      expect(await tools.call('read_file', { path: path!, encoding: encoding! })).toMatchObject({
        text: '     1\té',
        data: { encoding, bom: true },
      });
  });

  it('read_file() returns the same etag in every encoding, and an edit is made in the one that the content has', async () => {
    await using tools = await openTools({ 'a.txt': Buffer.from('caf\xe9 \x93\n', 'latin1') });
    const etags = new Set<unknown>();
    for (const encoding of ['auto', 'utf-8', 'utf-16le', 'utf-16be', 'latin1', 'windows-1252'])
      etags.add((await tools.call('read_file', { path: 'a.txt', encoding })).data.etag);
    expect(etags.size).toBe(1);
    const [etag] = etags as Set<string>;
    const edit = { path: 'a.txt', old_string: 'café', new_string: 'thé', if_match: etag! };
    expect((await tools.call('edit_file', edit)).code).toBeUndefined();
    expect(await tools.read('a.txt')).toEqual(Buffer.from('th\xe9 \x93\n', 'latin1'));
  });

  it('read_file() fails with INVALID_ARGUMENT and the list when there is no such encoding', async () => {
    await using tools = await openTools({ 'a.txt': 'one\n' });
    const { code, text } = await tools.call('read_file', { path: 'a.txt', encoding: 'shift_jis' });
    expect(code).toBe('INVALID_ARGUMENT');
    for (const label of ['auto', 'utf-8', 'utf-16le', 'utf-16be', 'latin1', 'windows-1252'])
      expect(text).toContain(label);
  });

  it('read_file() counts columns in the encoding that the whole file has', async () => {
    const bytes = Buffer.concat([Buffer.from('é'.repeat(20_000)), Buffer.from([0xff])]);
    await using tools = await openTools({ 'a.txt': bytes }, SMALL);
    const { text } = await readOn(tools, 'a.txt', {});
    expect(text).toBe(bytes.toString('latin1'));
  });
});
