import { describe, expect, it } from 'vitest';
import { openTools } from '../filesystem-tools.js';

const numbers = (count: number): string => Array.from({ length: count }, (_, index) => `line ${index + 1}\n`).join('');
type Files = Record<string, unknown>[];

describe('read_many()', () => {
  it('read_many() returns each file as read_file does, in order', async () => {
    await using tools = await openTools({ 'a.txt': 'one\ntwo\n', 'b.txt': '' });
    const { text, data } = await tools.call('read_many', { paths: ['b.txt', 'a.txt'] });
    expect(text).toBe('==> b.txt <==\n[The file is empty.]\n\n==> a.txt <==\n     1\tone\n     2\ttwo');
    const single = await tools.call('read_file', { path: 'a.txt' });
    expect((data.files as Files)[1]).toEqual({ ...single.data, ok: true });
  });

  it('read_many() reads the others when one cannot be read', async () => {
    await using tools = await openTools({
      'a.txt': 'one',
      bin: Buffer.alloc(9),
      out: { link: '../outside/secret.txt' },
    });
    const { code, text, data } = await tools.call('read_many', {
      paths: ['none.txt', 'a.txt', 'bin', 'out', '../outside/secret.txt', '.'],
    });
    expect(code).toBeUndefined();
    expect((data.files as Files).map(({ ok, error }) => (ok ? 'ok' : (error as { code: string }).code))).toEqual([
      ...['NOT_FOUND', 'ok', 'BINARY_FILE', 'OUTSIDE_PROJECT', 'OUTSIDE_PROJECT', 'INVALID_ARGUMENT'],
    ]);
    expect(text).toContain('[NOT_FOUND]');
    expect(text).not.toContain('secret needle');
  });

  it('read_many() shares the size of a result: short files whole, long ones cut equally', async () => {
    await using tools = await openTools({
      'short.txt': numbers(10),
      'long.txt': numbers(50_000),
      'wide.txt': `${'x'.repeat(999)}\n`.repeat(500),
    });
    const { text, data } = await tools.call('read_many', { paths: ['long.txt', 'short.txt', 'wide.txt'] });
    const [long, short, wide] = data.files as Files;
    expect(short).toMatchObject({ truncated: false, end_line: 10 });
    expect(Buffer.byteLength(text)).toBeLessThan(51 * 1024);
    expect(wide?.end_line).toBeGreaterThanOrEqual(24);
    expect(long?.end_line).toBeGreaterThanOrEqual(990);
    expect(long?.next_offset).toBe(Number(long?.end_line) + 1);
  });

  it('read_many() stops at limit lines of each, and a file that was read may be edited', async () => {
    await using tools = await openTools({ 'a.txt': numbers(9), 'b.txt': numbers(9) });
    const { data } = await tools.call('read_many', { paths: ['a.txt', 'b.txt'], limit: 3 });
    expect(data.files).toMatchObject([
      { end_line: 3, next_offset: 4, total_lines: 9 },
      { end_line: 3, next_offset: 4 },
    ]);
    const edit = { path: 'b.txt', old_string: 'line 9', new_string: 'line nine' };
    expect((await tools.call('edit_file', edit)).code).toBeUndefined();
  });

  it('read_many() fails with INVALID_ARGUMENT for no path or more than 50', async () => {
    await using tools = await openTools({ a: '' });
    for (const paths of [[], Array.from({ length: 51 }, () => 'a')])
      expect((await tools.call('read_many', { paths })).code).toBe('INVALID_ARGUMENT');
    expect((await tools.call('read_many', { paths: Array.from({ length: 50 }, () => 'a') })).code).toBeUndefined();
  });

  it('read_many() returns a file twice when it is requested twice, and each failure', async () => {
    await using tools = await openTools({ 'a.txt': 'one\n', 'b.txt': 'two\n' });
    const { data, text } = await tools.call('read_many', { paths: ['a.txt', 'none', 'b.txt', 'a.txt', 'none'] });
    const files = data.files as Files;
    expect(files.map(({ path, ok }) => [path, ok])).toEqual([
      ['a.txt', true],
      ['none', false],
      ['b.txt', true],
      ['a.txt', true],
      ['none', false],
    ]);
    expect(files[3]).toEqual(files[0]);
    expect(text.match(/ {5}1\tone/g)).toHaveLength(2);
  });

  it('read_many() respects the size of a result when 50 files have long lines', async () => {
    const paths = Array.from({ length: 50 }, (_, index) => `${index}.txt`);
    await using tools = await openTools(
      Object.fromEntries(paths.map((path) => [path, `${'é'.repeat(300_000)}\n`.repeat(2)])),
    );
    const { data, text } = await tools.call('read_many', { paths });
    expect((data.files as Files).map(({ path, ok }) => ok && path)).toEqual(paths);
    // Beside the text there are a header and a notice of each file.
    expect(Buffer.byteLength(text)).toBeLessThan(50 * 1024 + 50 * 300);
    for (const file of data.files as Files) expect(file).toMatchObject({ truncated: true, total_lines: 2 });
  });

  it('read_many() stops between files, and within one, when it is cancelled', async () => {
    await using tools = await openTools({ 'a.txt': 'one\n', 'big.txt': 'x'.repeat(40 * 1024 * 1024) });
    const controller = new AbortController();
    let progress = 0;
    const onProgress = (): void => {
      progress++;
      controller.abort();
    };
    const paths = ['a.txt', 'big.txt', 'none', 'big.txt'];
    const { code } = await tools.call('read_many', { paths }, { signal: controller.signal, onProgress });
    expect(code).toBe('CANCELLED');
    expect(progress).toBe(1);
  });
});
