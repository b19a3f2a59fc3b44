import { createHash } from 'node:crypto';
import { symlink, truncate, open } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { openTools } from '../filesystem-tools.js';

const etag = (bytes: string | Buffer): string => createHash('sha256').update(bytes).digest('hex').slice(0, 16);
const numbers = (count: number): string => Array.from({ length: count }, (_, index) => `line ${index + 1}\n`).join('');

describe('read_file()', () => {
  it('read_file() returns numbered lines and details of the file', async () => {
    await using tools = await openTools({ 'a.txt': 'one\ntwo\n' });
    const { body, data } = await tools.call('read_file', { path: 'a.txt' });
    expect(body).toBe('     1\tone\n     2\ttwo');
    expect(data).toEqual({
      path: 'a.txt',
      start_line: 1,
      end_line: 2,
      total_lines: 2,
      size: 8,
      etag: etag('one\ntwo\n'),
      encoding: 'utf-8',
      bom: false,
      eol: 'lf',
      truncated: false,
    });
  });

  it('read_file() returns the bare lines when line_numbers is false', async () => {
    await using tools = await openTools({ 'a.txt': 'one\n\n  two' });
    expect((await tools.call('read_file', { path: 'a.txt', line_numbers: false })).text).toBe('one\n\n  two');
  });

  it('read_file() returns a page and how to read on when there are more lines', async () => {
    await using tools = await openTools({ 'a.txt': numbers(100) });
    const { body, text, data } = await tools.call('read_file', { path: 'a.txt', offset: 11, limit: 3 });
    expect(body).toBe('    11\tline 11\n    12\tline 12\n    13\tline 13');
    expect(data).toMatchObject({ start_line: 11, end_line: 13, total_lines: 100, truncated: true, next_offset: 14 });
    expect(text).toContain('offset=14');
    expect((await tools.call('read_file', { path: 'a.txt', offset: 98 })).data).toMatchObject({
      end_line: 100,
      truncated: false,
    });
  });

  it('read_file() stops at 2,000 lines and at 50 KiB when the file has more', async () => {
    await using tools = await openTools({
      'lines.txt': numbers(5_000),
      'wide.txt': `${'x'.repeat(999)}\n`.repeat(200),
    });
    expect((await tools.call('read_file', { path: 'lines.txt', limit: 100_000 })).data).toMatchObject({
      end_line: 2_000,
      next_offset: 2_001,
      total_lines: 5_000,
    });
    const wide = await tools.call('read_file', { path: 'wide.txt' });
    expect(wide.data).toMatchObject({ end_line: 50, next_offset: 51, total_lines: 200 });
    expect(Buffer.byteLength(wide.body)).toBeLessThanOrEqual(50 * 1024);
  });

  it('read_file() reads the whole of a file in pages without a gap', async () => {
    const content = Array.from({ length: 3_000 }, (_, index) => 'é'.repeat(index % 90) + index).join('\n');
    await using tools = await openTools({ 'a.txt': content });
    const pages: string[] = [];
    for (let offset: number | undefined = 1; offset !== undefined;) {
      const { body, data } = await tools.call('read_file', { path: 'a.txt', offset, line_numbers: false });
      pages.push(body);
      offset = data.next_offset as number | undefined;
    }
    expect(pages.length).toBeGreaterThan(2);
    expect(pages.join('\n')).toBe(content);
  });

  it('read_file() cuts a long line between characters and reports how much is missing', async () => {
    await using tools = await openTools({
      'a.txt': `${'😀'.repeat(3_000)}\nend\n`,
      'b.txt': `${'a'.repeat(1_999)}😀b\r\n`,
    });
    const { body, text, data } = await tools.call('read_file', { path: 'a.txt' });
    expect(body).toBe(`     1\t${'😀'.repeat(1_000)}... [4000 more characters: offset=1 column=2001]\n     2\tend`);
    expect(text).toContain('line 1');
    expect(data).toMatchObject({ truncated: true, end_line: 2, cut_lines: [{ line: 1, column: 2_001 }] });
    expect(data).not.toHaveProperty('next_offset');
    expect((await tools.call('read_file', { path: 'b.txt' })).body).toBe(
      `     1\t${'a'.repeat(1_999)}... [3 more characters: offset=1 column=2000]`,
    );
  });

  it('read_file() does not call a line of exactly 2,000 characters long', async () => {
    await using tools = await openTools({ 'a.txt': `${'é'.repeat(2_000)}\r\n` });
    expect(await tools.call('read_file', { path: 'a.txt' })).toMatchObject({
      body: `     1\t${'é'.repeat(2_000)}`,
      data: { truncated: false, eol: 'crlf' },
    });
  });

  it('read_file() returns no lines when the file is empty', async () => {
    await using tools = await openTools({ 'a.txt': '' });
    expect((await tools.call('read_file', { path: 'a.txt' })).data).toMatchObject({
      start_line: 1,
      end_line: 0,
      total_lines: 0,
      eol: 'none',
      truncated: false,
    });
  });

  it('read_file() fails with INVALID_ARGUMENT and the number of lines when offset is past the end', async () => {
    await using tools = await openTools({ 'a.txt': 'one\ntwo\n' });
    expect(await tools.call('read_file', { path: 'a.txt', offset: 3 })).toMatchObject({
      code: 'INVALID_ARGUMENT',
      text: expect.stringContaining('has 2 lines') as string,
      details: { total_lines: 2 },
    });
  });

  it.each([
    ['one\r\ntwo\r\n', 'crlf'],
    ['one\r\ntwo\n', 'mixed'],
    ['one', 'none'],
    ['one\rtwo\n', 'lf'],
    ['\n', 'lf'],
  ])('read_file() of %j returns the line ends %s', async (content, eol) => {
    await using tools = await openTools({ 'a.txt': content });
    expect((await tools.call('read_file', { path: 'a.txt' })).data).toMatchObject({ eol });
  });

  it.each([
    ['UTF-8 with a mark', Buffer.from('\ufeffé\n'), 'utf-8', true, 'é'],
    ['UTF-16LE', Buffer.from('\ufeffé😀\r\n', 'utf16le'), 'utf-16le', true, 'é😀'],
    ['UTF-16BE', Buffer.from('\ufeffé😀\r\n', 'utf16le').swap16(), 'utf-16be', true, 'é😀'],
    ['latin1', Buffer.from('caf\xe9\n', 'latin1'), 'latin1', false, 'café'],
  ])('read_file() shows %s and names its encoding', async (_what, bytes, encoding, bom, shown) => {
    await using tools = await openTools({ 'a.txt': bytes });
    const { body, data } = await tools.call('read_file', { path: 'a.txt' });
    expect(body).toBe(`     1\t${shown}`);
    expect(data).toMatchObject({ encoding, bom, total_lines: 1, etag: etag(bytes) });
  });

  it('read_file() treats a file as latin1 when a byte far behind its beginning is not UTF-8', async () => {
    const bytes = Buffer.concat([Buffer.from('é\n'.repeat(300_000)), Buffer.from([0xff, 0x0a])]);
    await using tools = await openTools({ 'a.txt': bytes, 'b.txt': 'é\n'.repeat(300_000) });
    expect(await tools.call('read_file', { path: 'a.txt', limit: 1 })).toMatchObject({
      body: '     1\tÃ©',
      data: { encoding: 'latin1' },
    });
    expect(await tools.call('read_file', { path: 'b.txt', limit: 1 })).toMatchObject({
      body: '     1\té',
      data: { encoding: 'utf-8' },
    });
  });

  it('read_file() fails with BINARY_FILE by content, not by name', async () => {
    const png = Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex');
    await using tools = await openTools({
      'image.txt': png,
      'text.png': 'just text\n',
      'utf32.txt': Buffer.from('fffe000041000000', 'hex'),
    });
    expect(await tools.call('read_file', { path: 'image.txt' })).toMatchObject({
      code: 'BINARY_FILE',
      text: expect.stringContaining('89 50 4e 47') as string,
    });
    expect((await tools.call('read_file', { path: 'utf32.txt' })).code).toBe('BINARY_FILE');
    expect((await tools.call('read_file', { path: 'text.png' })).code).toBeUndefined();
  });

  it('read_file() fails with NOT_FOUND and the nearest names when there is no such file', async () => {
    await using tools = await openTools({ 'src/index.ts': '', 'src/inbox.ts': '' });
    expect(await tools.call('read_file', { path: 'src/indx.ts' })).toMatchObject({
      code: 'NOT_FOUND',
      details: { nearest: ['src/index.ts', 'src/inbox.ts'] },
    });
  });

  it('read_file() fails with OUTSIDE_PROJECT when the path is or leads outside', async () => {
    await using tools = await openTools({
      link: { link: '/etc/passwd' },
      dir: { link: '../outside' },
      dangling: { link: 'nowhere' },
    });
    for (const path of [
      '../outside/secret.txt',
      '../proj-evil/secret.txt',
      tools.world.resolve('outside/secret.txt'),
      '/etc/passwd',
      'link',
      'dir/secret.txt',
      'dangling',
    ]) {
      const { code, text } = await tools.call('read_file', { path });
      expect(code).toBe('OUTSIDE_PROJECT');
      expect(text).not.toContain('needle');
    }
  });

  it('read_file() returns the first page of a 1 GB file without reading the whole', async () => {
    await using tools = await openTools();
    const handle = await open(tools.path('big.txt'), 'w');
    await handle.writeFile(numbers(200_000));
    await handle.close();
    await truncate(tools.path('big.txt'), 1024 ** 3);
    await tools.call('read_file', { path: 'big.txt', limit: 1 });
    const startedAt = performance.now();
    const { data } = await tools.call('read_file', { path: 'big.txt' });
    expect(performance.now() - startedAt).toBeLessThan(1_000);
    expect(data).toMatchObject({ end_line: 2_000, next_offset: 2_001, size: 1024 ** 3, truncated: true });
    expect(data).not.toHaveProperty('total_lines');
    expect(data.etag).toMatch(/^[0-9a-f]{16}$/);
    expect((await tools.call('read_file', { path: 'big.txt', offset: 150_000, limit: 1 })).body).toBe(
      '150000\tline 150000',
    );
  });

  it('read_file() stops and reports progress when a long file is read and the call is cancelled', async () => {
    await using tools = await openTools();
    await (await open(tools.path('big.txt'), 'w')).close();
    await truncate(tools.path('big.txt'), 4 * 1024 ** 3);
    const handle = await open(tools.path('big.txt'), 'r+');
    await handle.write('text\n'.repeat(2_000));
    await handle.close();
    const controller = new AbortController();
    const progress: number[] = [];
    const { code } = await tools.call(
      'read_file',
      { path: 'big.txt', offset: 100_000 },
      {
        signal: controller.signal,
        onProgress: (each) => {
          progress.push(each.progress);
          if (progress.length === 2) controller.abort();
        },
      },
    );
    expect(code).toBe('CANCELLED');
    expect(progress).toHaveLength(2);
  });

  it('read_file() claims the path, and the file behind a link', async () => {
    await using tools = await openTools({ 'src/a.ts': '', link: { link: 'src/a.ts' } });
    const patterns = async (path: string): Promise<string[]> =>
      (await tools.provider.prepareCall('filesystem.read_file', { path })).claims.map((claim) => claim.pattern);
    expect(await patterns('./src/../src/a.ts')).toEqual(['src/a.ts']);
    expect(await patterns('link')).toEqual(['link', 'src/a.ts']);
    expect((await tools.provider.prepareCall('filesystem.read_file', { path: '../x' })).refused?.error?.code).toBe(
      'OUTSIDE_PROJECT',
    );
  });

  it('read_file() returns absolute paths when the file is in an extra root', async () => {
    await using tools = await openTools();
    await symlink('../outside', tools.path('dir'));
    await using wide = await openTools({}, { extraRoots: [{ path: tools.world.resolve('outside'), mode: 'ro' }] });
    expect((await wide.call('read_file', { path: tools.world.resolve('outside/secret.txt') })).data.path).toBe(
      tools.world.resolve('outside/secret.txt'),
    );
  });
});
