import { chmod, link, readlink, stat, utimes } from 'node:fs/promises';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../../src/contract/json.js';
import { openTools, type Answer, type Tools } from '../filesystem-tools.js';

/** One edit of one file that was read: the answer and the bytes after it. */
async function edit(content: string | Buffer, args: JsonObject): Promise<{ answer: Answer; bytes: Buffer }> {
  await using tools = await openTools({ 'a.txt': content });
  await tools.call('read_file', { path: 'a.txt' });
  const answer = await tools.call('edit_file', { path: 'a.txt', ...args });
  return { answer, bytes: await tools.read('a.txt') };
}

const after = async (content: string | Buffer, args: JsonObject): Promise<string> =>
  (await edit(content, args)).bytes.toString();
const replace = (old_string: string, new_string: string, more: JsonObject = {}): JsonObject => ({
  old_string,
  new_string,
  ...more,
});

describe('edit_file()', () => {
  it('edit_file() replaces the one occurrence and reports where', async () => {
    const { answer, bytes } = await edit('one\ntwo\nthree\n', replace('two', 'TWO'));
    expect(bytes.toString()).toBe('one\nTWO\nthree\n');
    expect(answer.data).toEqual({
      path: 'a.txt',
      applied: [{ line: 2, count: 1, strategy: 'exact' }],
      etag: expect.any(String) as string,
    });
    expect(answer.text).toContain('--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@\n one\n-two\n+TWO\n three');
  });

  it('edit_file() treats the new text literally when it looks like a replacement pattern', async () => {
    expect(await after('a b c', replace('b', "$& $1 $$ $` $'"))).toBe("a $& $1 $$ $` $' c");
  });

  it('edit_file() deletes the text when new_string is empty', async () => {
    expect(await after('one\ntwo\nthree\n', replace('two\n', ''))).toBe('one\nthree\n');
  });

  it('edit_file() fails with MULTIPLE_MATCHES and the lines and does not change the file when there are two', async () => {
    const { answer, bytes } = await edit('x\ny\nx\n', replace('x', 'z'));
    expect(answer).toMatchObject({ code: 'MULTIPLE_MATCHES', details: { count: 2, lines: [1, 3] } });
    expect(bytes.toString()).toBe('x\ny\nx\n');
  });

  it('edit_file() names at most ten lines when there are more matches', async () => {
    const { answer } = await edit('x\n'.repeat(30), replace('x', 'z'));
    expect(answer.details).toEqual({ count: 30, lines: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10], strategy: 'exact' });
  });

  it('edit_file() fails with MULTIPLE_MATCHES when the matches overlap', async () => {
    expect((await edit('}\n}\n}\n', replace('}\n}', ''))).answer.code).toBe('MULTIPLE_MATCHES');
  });

  it('edit_file() replaces all when replace_all is set', async () => {
    const { answer, bytes } = await edit('x\ny\nx\nxx\n', replace('x', 'z', { replace_all: true }));
    expect(bytes.toString()).toBe('z\ny\nz\nzz\n');
    expect(answer.data.applied).toEqual([{ line: 1, count: 4, strategy: 'exact' }]);
  });

  it('edit_file() replaces exactly expected_count occurrences or none', async () => {
    expect(await after('x x', replace('x', 'z', { expected_count: 2 }))).toBe('z z');
    for (const more of [{ expected_count: 3 }, { expected_count: 1 }, { expected_count: 3, replace_all: true }]) {
      const { answer, bytes } = await edit('x x', replace('x', 'z', more));
      expect(answer.code).toBe('MULTIPLE_MATCHES');
      expect(bytes.toString()).toBe('x x');
    }
  });

  it('edit_file() answers NO_MATCH with the three nearest regions when the text is not there', async () => {
    const content = [
      'function alpha() {',
      '  return 1;',
      '}',
      '',
      'function alphb() {',
      '  return 2;',
      '}',
      '',
      'function gamma() {',
      '}',
      '',
    ].join('\n');
    const { answer, bytes } = await edit(content, replace('function  alpha() {\n  return 1;', 'x'));
    expect(answer.code).toBe('NO_MATCH');
    expect(answer.details.nearest).toEqual([
      { line: 1, end_line: 2 },
      { line: 5, end_line: 6 },
      { line: 9, end_line: 10 },
    ]);
    expect(answer.text).toContain('Lines 1 to 2 (only white space differs):\n     1\tfunction alpha() {');
    expect(bytes.toString()).toBe(content);
  });

  it.each([
    [replace('', 'x'), 'INVALID_ARGUMENT'],
    [replace('one', 'one'), 'NO_CHANGE'],
    [{ edits: [replace('one', 'two'), replace('two', 'one')] }, 'NO_CHANGE'],
    [{}, 'INVALID_ARGUMENT'],
    [{ old_string: 'one' }, 'INVALID_ARGUMENT'],
    [{ new_string: 'one' }, 'INVALID_ARGUMENT'],
    [{ edits: [] }, 'INVALID_ARGUMENT'],
    [{ edits: [replace('one', 'x')], old_string: 'one', new_string: 'y' }, 'INVALID_ARGUMENT'],
    [{ insert_line: 1, old_string: 'one', new_string: 'x' }, 'INVALID_ARGUMENT'],
    [{ insert_line: 9, new_string: 'x' }, 'INVALID_ARGUMENT'],
    [{ insert_line: 1, new_string: '' }, 'NO_CHANGE'],
  ])('edit_file() of %j fails with %s and does not change the file', async (args, code) => {
    const { answer, bytes } = await edit('one\n', args);
    expect(answer.code).toBe(code);
    expect(bytes.toString()).toBe('one\n');
  });

  it('edit_file() applies several edits, each to what the one before left', async () => {
    const { answer, bytes } = await edit('one\ntwo\n', {
      edits: [replace('one', 'first\nsecond'), replace('second\ntwo', '2')],
    });
    expect(bytes.toString()).toBe('first\n2\n');
    expect(answer.data.applied).toMatchObject([{ line: 1 }, { line: 2 }]);
  });

  it('edit_file() applies none when one of several fails', async () => {
    const { answer, bytes } = await edit('one\ntwo\n', { edits: [replace('one', '1'), replace('three', '3')] });
    expect(answer).toMatchObject({ code: 'NO_MATCH', text: expect.stringContaining('edits[1]') as string });
    expect(bytes.toString()).toBe('one\ntwo\n');
  });

  it.each([
    ['// ... rest of code'],
    ['  # ... existing code ...'],
    ['/* rest of the file unchanged ... */'],
    ['<!-- ... same as before -->'],
    ['// ... (other methods unchanged)'],
    ['{/* ... remaining props */}'],
    ['// rest of the function…'],
  ])('edit_file() fails with INVALID_ARGUMENT when the new text has the placeholder %s', async (line) => {
    const { answer, bytes } = await edit('one\ntwo\n', replace('one', `1\n${line}\n`));
    expect(answer.code).toBe('INVALID_ARGUMENT');
    expect(bytes.toString()).toBe('one\ntwo\n');
    expect((await edit(`one\n${line}\n`, replace(`one\n${line}`, `1\n${line}`))).answer.code).toBeUndefined();
  });

  it.each([
    'const { a, ...rest } = b;',
    'f(...existing);',
    '// ...',
    '// the rest of this file is generated',
    '# See existing code.',
    '  ...other,',
    '--rest',
  ])('edit_file() treats %s literally when it looks like a placeholder', async (line) => {
    expect(await after('one\n', replace('one', line))).toBe(`${line}\n`);
  });

  it.each([
    ['the line ends of the span', 'a\nb\nc\r\nd\r\ne\n', 'c\r\nd', 'C\nx\nD', 'a\nb\nC\r\nx\r\nD\r\ne\n'],
    ['those that most lines have, when the span has none', 'a\r\nb\r\nc\n', 'b', 'B\nx', 'a\r\nB\r\nx\r\nc\n'],
    ['LF when CRLF is given and the file has LF', 'a\nb\n', 'b', 'B\r\nx', 'a\nB\nx\n'],
  ])('edit_file() returns the new text %s', async (_what, content, old, now, expected) => {
    expect(await after(content, replace(old, now))).toBe(expected);
  });

  it.each([
    ['a byte order mark', Buffer.from('\ufeffone\r\ntwo'), Buffer.from('\ufeffONE\r\ntwo')],
    ['a missing final newline', Buffer.from('x\none'), Buffer.from('x\nONE')],
    ['latin1 bytes', Buffer.from('caf\xe9\none\n', 'latin1'), Buffer.from('caf\xe9\nONE\n', 'latin1')],
    ['UTF-16LE', Buffer.from('\ufeffé\r\none\r\n', 'utf16le'), Buffer.from('\ufeffé\r\nONE\r\n', 'utf16le')],
    [
      'UTF-16BE',
      Buffer.from('\ufeffé\r\none\r\n', 'utf16le').swap16(),
      Buffer.from('\ufeffé\r\nONE\r\n', 'utf16le').swap16(),
    ],
    [
      'smart quotes, ligatures and trailing spaces',
      Buffer.from('“ﬁ”\u00a0 \t \none  \n'),
      Buffer.from('“ﬁ”\u00a0 \t \nONE  \n'),
    ],
  ])('edit_file() keeps %s', async (_what, content, expected) => {
    expect((await edit(content, replace('one', 'ONE'))).bytes).toEqual(expected);
  });

  it('edit_file() edits latin1 files in latin1, and refuses characters that they cannot have', async () => {
    const content = Buffer.from('caf\xe9\n', 'latin1');
    expect((await edit(content, replace('café', 'thé'))).bytes).toEqual(Buffer.from('th\xe9\n', 'latin1'));
    expect((await edit(content, replace('café', '€'))).answer.code).toBe('INVALID_ARGUMENT');
    expect((await edit(content, replace('€', 'x'))).answer.code).toBe('NO_MATCH');
  });

  it('edit_file() does not find text across the halves of UTF-16 units', async () => {
    const content = Buffer.from('\ufeff\u6100\u0062\n', 'utf16le'); // the bytes 00 61 62 00: "扡" begins at an odd one
    expect((await edit(content, replace('\u6261', 'x'))).answer.code).toBe('NO_MATCH');
  });

  it('edit_file() keeps the mode and the link', async () => {
    await using tools = await openTools({ 'run.sh': 'one\n', link: { link: 'run.sh' } });
    await chmod(tools.path('run.sh'), 0o755);
    await tools.call('read_file', { path: 'run.sh' });
    await tools.call('edit_file', { path: 'link', ...replace('one', 'two') });
    expect((await stat(tools.path('run.sh'))).mode & 0o777).toBe(0o755);
    expect(await readlink(tools.path('link'))).toBe('run.sh');
    expect((await tools.read('run.sh')).toString()).toBe('two\n');
  });

  it.each([
    ['at the beginning', 'a\nb\n', 0, 'x', 'x\na\nb\n'],
    ['after a line', 'a\nb\n', 1, 'x\ny\n', 'a\nx\ny\nb\n'],
    ['at the end', 'a\nb\n', 2, 'x', 'a\nb\nx\n'],
    ['at the end of a file without a final newline', 'a\nb', 2, 'x\n', 'a\nb\nx'],
    ['into an empty file', '', 0, 'x', 'x\n'],
    ['with the line ends of the file', 'a\r\nb\r\n', 1, 'x\ny', 'a\r\nx\r\ny\r\nb\r\n'],
    ['behind a byte order mark', '\ufeffa\n', 0, 'x', '\ufeffx\na\n'],
  ])('edit_file() inserts lines %s', async (_what, content, line, text, expected) => {
    expect(await after(content, { insert_line: line, new_string: text })).toBe(expected);
  });

  it('edit_file() shows the diff and writes nothing when dry_run is set', async () => {
    const { answer, bytes } = await edit('one\n', replace('one', 'two', { dry_run: true }));
    expect(answer.text).toContain('-one\n+two');
    expect(bytes.toString()).toBe('one\n');
  });

  it('edit_file() shows a diff with the right line numbers when the change is far down', async () => {
    const lines = Array.from({ length: 1_000 }, (_, index) => `line ${index + 1}`);
    const { answer } = await edit(lines.join('\n'), replace('line 900\n', 'LINE 900\nnew\n'));
    expect(answer.text).toContain(
      '@@ -897,7 +897,8 @@\n line 897\n line 898\n line 899\n-line 900\n+LINE 900\n+new\n line 901',
    );
  });

  it('edit_file() fails with READ_REQUIRED, FILE_CHANGED or NOT_FOUND when the session has not seen the file as it is', async () => {
    await using tools = await openTools({ 'a.txt': 'one\n' });
    const again = async (): Promise<unknown> =>
      (await tools.call('edit_file', { path: 'a.txt', ...replace('one', 'two') })).code;
    expect(await again()).toBe('READ_REQUIRED');
    await tools.call('read_file', { path: 'a.txt' });
    await tools.write('a.txt', 'one more\n');
    expect(await again()).toBe('FILE_CHANGED');
    await tools.call('read_file', { path: 'a.txt' });
    expect(await again()).toBeUndefined();
    expect(await tools.call('edit_file', { path: 'aa.txt', ...replace('a', 'b') })).toMatchObject({
      code: 'NOT_FOUND',
      details: { nearest: expect.arrayContaining(['a.txt']) as string[] },
    });
  });

  it('edit_file() lands every one of 100 concurrent edits', async () => {
    const lines = Array.from({ length: 100 }, (_, index) => `<${index}>`);
    await using tools = await openTools({ 'a.txt': lines.join('\n') });
    await tools.call('read_file', { path: 'a.txt' });
    const answers = await Promise.all(
      lines.map((line, index) => tools.call('edit_file', { path: 'a.txt', ...replace(line, `done ${index}`) })),
    );
    expect(answers.filter((answer) => answer.code !== undefined)).toEqual([]);
    expect((await tools.read('a.txt')).toString()).toBe(lines.map((_, index) => `done ${index}`).join('\n'));
  });

  it('edit_file() lands every one of 100 concurrent edits when they come by a link and by two names', async () => {
    const lines = Array.from({ length: 100 }, (_, index) => `<${index}>`);
    for (const kind of ['symbolic', 'hard'] as const) {
      await using tools = await openTools({ 'a.txt': lines.join('\n') });
      if (kind === 'hard') await link(tools.path('a.txt'), tools.path('b.txt'));
      else await tools.write('b.txt', { link: 'a.txt' });
      await tools.call('read_file', { path: 'a.txt' });
      const answers = await Promise.all(
        lines.map((line, index) =>
          tools.call('edit_file', { path: index % 2 ? 'a.txt' : 'b.txt', ...replace(line, `done ${index}`) }),
        ),
      );
      expect(answers.filter((answer) => answer.code !== undefined)).toEqual([]);
      expect((await tools.read('b.txt')).toString()).toBe(lines.map((_, index) => `done ${index}`).join('\n'));
    }
  });

  it.each([
    ['NO_MATCH', replace('three', 'x')],
    ['MULTIPLE_MATCHES', replace('one', 'x')],
    ['MULTIPLE_MATCHES', replace('one', 'x', { expected_count: 3 })],
    ['INVALID_ARGUMENT', replace('', 'x')],
    ['NO_CHANGE', replace('two', 'two')],
    ['INVALID_ARGUMENT', replace('two', '// ... rest of the code')],
    ['INVALID_ARGUMENT', { insert_line: 9, new_string: 'x' }],
    ['FILE_CHANGED', { ...replace('two', 'x'), if_match: '0123456789abcdef' }],
    [undefined, { ...replace('two', 'x'), dry_run: true }],
    [undefined, { insert_line: 1, new_string: 'x', dry_run: true }],
  ])('edit_file() fails with %s for %j and changes neither the bytes nor the time', async (code, args) => {
    await using tools = await openTools({ 'a.txt': 'one\ntwo\none\n' });
    await tools.call('read_file', { path: 'a.txt' });
    await utimes(tools.path('a.txt'), 1_000, 1_000);
    const before = await stat(tools.path('a.txt'), { bigint: true });
    expect((await tools.call('edit_file', { path: 'a.txt', ...args })).code).toBe(code);
    const after = await stat(tools.path('a.txt'), { bigint: true });
    expect([after.mtimeNs, after.ctimeNs, after.ino]).toEqual([before.mtimeNs, before.ctimeNs, before.ino]);
    expect((await tools.read('a.txt')).toString()).toBe('one\ntwo\none\n');
  });

  it('edit_file() fails with TOO_LARGE when a short edit would make more than memory holds', async () => {
    const { answer, bytes } = await edit(
      'a'.repeat(100_000),
      replace('a', 'x'.repeat(1_000_000), { replace_all: true }),
    );
    expect(answer.code).toBe('TOO_LARGE');
    expect(bytes).toHaveLength(100_000);
    await using tools = await openTools({ 'a.txt': Buffer.alloc(2_000_000, '\n') }, { requireRead: false });
    const newlines = { path: 'a.txt', ...replace('\n', 'x', { replace_all: true }) };
    expect((await tools.call('edit_file', newlines)).code).toBe('TOO_LARGE');
    const one = await tools.call('edit_file', { path: 'a.txt', ...replace('\n', 'x') });
    expect(one).toMatchObject({ code: 'MULTIPLE_MATCHES', text: expect.stringContaining('at least') as string });
  });

  it('edit_file() reports that the looser readings were not tried when the file is above 16 MiB', async () => {
    const content = Buffer.from('some line that is here\r\n'.repeat(720_000));
    await using tools = await openTools({ 'a.txt': content }, { requireRead: false });
    const answer = await tools.call('edit_file', {
      path: 'a.txt',
      ...replace('some line that is here\nsome line that is here\n', 'x'),
    });
    expect(answer).toMatchObject({
      code: 'NO_MATCH',
      text: expect.stringMatching(/larger than 16 MiB.*only its first 40000 lines were compared/s) as string,
    });
    expect(answer.details.nearest).toHaveLength(3);
  });

  it('edit_file() yields to other calls while it searches a file', async () => {
    const lines = Array.from(
      { length: 18_000 },
      (_, index) => `  const value${index} = compute(${index}, "text – ${index % 17}");\r\n`,
    );
    await using tools = await openTools({ 'a.txt': lines.join('') }, { requireRead: false });
    const loop = monitorEventLoopDelay({ resolution: 5 });
    loop.enable();
    const edits = [
      ...Array.from({ length: 20 }, (_, index) => replace(`value${index} = `, `VALUE${index} = `)),
      replace('const value400 = compute(400,\n other', 'x'),
    ];
    expect((await tools.call('edit_file', { path: 'a.txt', edits })).code).toBe('NO_MATCH');
    loop.disable();
    // Ten times the figure, 50 ms: a limit of patience.
    expect(loop.max / 1e6).toBeLessThan(500);
  });

  it('edit_file() fails with BINARY_FILE when the file is not text', async () => {
    await using tools = await openTools({ 'a.bin': Buffer.from([0, 1, 2, 3]) }, { requireRead: false });
    expect((await tools.call('edit_file', { path: 'a.bin', ...replace('a', 'b') })).code).toBe('BINARY_FILE');
  });

  it('edit_file() refuses when the path is outside or protected', async () => {
    await using tools = await openTools(
      { link: { link: '/etc/passwd' }, '.git/config': 'one\n', gitlink: { link: '.git/config' } },
      { requireRead: false },
    );
    for (const [path, code] of [
      ['../outside/secret.txt', 'OUTSIDE_PROJECT'],
      ['link', 'OUTSIDE_PROJECT'],
      ['.git/config', 'PROTECTED_PATH'],
      ['gitlink', 'PROTECTED_PATH'],
    ]) {
      expect((await tools.call('edit_file', { path, ...replace('secret', 'x') })).code).toBe(code);
    }
    expect((await tools.read('.git/config')).toString()).toBe('one\n');
  });

  it('edit_file() changes nothing but the asked span when the file is any bytes', async () => {
    await using tools: Tools = await openTools({}, { requireRead: false });
    const part = fc.oneof(
      fc.string({ unit: 'grapheme', maxLength: 8 }).map((text) => Buffer.from(text)),
      fc.constantFrom('\n', '\r\n', '\r', ' ', '\t', '$&', '\ufeff', 'é').map((text) => Buffer.from(text)),
      fc.uint8Array({ maxLength: 6 }).map((bytes) => Buffer.from(bytes.map((byte) => byte || 1))),
    );
    const content = fc.array(part, { maxLength: 20 }).map((parts) => Buffer.concat(parts));
    const text = fc
      .array(fc.constantFrom('a', 'Z', '\n', '$1', ' ', '\\', '{'), { minLength: 1, maxLength: 6 })
      .map((parts) => parts.join(''));
    await fc.assert(
      fc.asyncProperty(content, content, text, async (head, tail, newText) => {
        const mark = Buffer.from('<<MARK>>');
        await tools.write('a.txt', Buffer.concat([head, mark, tail]));
        const { code } = await tools.call('edit_file', { path: 'a.txt', ...replace('<<MARK>>', newText) });
        const bytes = await tools.read('a.txt');
        // UTF-16 by its mark, or too many control characters: then it is not this text.
        if (code === 'NO_MATCH' || code === 'BINARY_FILE')
          return expect(bytes).toEqual(Buffer.concat([head, mark, tail]));
        expect(code).toBeUndefined();
        expect(bytes.subarray(0, head.length)).toEqual(head);
        expect(bytes.subarray(bytes.length - tail.length)).toEqual(tail);
        const middle = bytes.subarray(head.length, bytes.length - tail.length).toString();
        expect([newText, newText.replaceAll('\n', '\r\n')]).toContain(middle);
      }),
      { numRuns: 150 },
    );
  });
});
