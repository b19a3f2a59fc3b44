import { chmod, stat } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { openTools } from '../filesystem-tools.js';

describe('write_file()', () => {
  it('write_file() creates a file and its directories, and reports what it did', async () => {
    await using tools = await openTools();
    const { data } = await tools.call('write_file', { path: 'src/new/a.ts', content: 'one\ntwo\n' });
    expect(data).toEqual({
      path: 'src/new/a.ts',
      created: true,
      bytes_written: 8,
      etag: expect.stringMatching(/^[0-9a-f]{16}$/) as string,
      diff_stat: { added: 2, removed: 0 },
    });
    expect((await tools.read('src/new/a.ts')).toString()).toBe('one\ntwo\n');
  });

  it.each<[string, Buffer, string, Buffer, string | undefined]>([
    ['UTF-8 and its line ends go', Buffer.from('one\r\n'), 'é\n', Buffer.from('é\n'), undefined],
    ['UTF-8 with a mark', Buffer.from('\ufeffone\n'), 'é\r\n', Buffer.from('\ufeffé\r\n'), undefined],
    ['a mark that is given too', Buffer.from('\ufeffone\n'), '\ufeffé\n', Buffer.from('\ufeffé\n'), undefined],
    ['UTF-16LE', Buffer.from('\ufeffone', 'utf16le'), '漢\r\n', Buffer.from('\ufeff漢\r\n', 'utf16le'), 'utf-16le'],
    [
      'UTF-16BE',
      Buffer.from('\ufeffone', 'utf16le').swap16(),
      '漢\n',
      Buffer.from('\ufeff漢\n', 'utf16le').swap16(),
      'utf-16be',
    ],
    ['latin1', Buffer.from('caf\xe9\n', 'latin1'), 'thé\n', Buffer.from('th\xe9\n', 'latin1'), 'latin1'],
    ['latin1 without the character', Buffer.from('caf\xe9\n', 'latin1'), '€\n', Buffer.from('€\n'), undefined],
    ['latin1 that would be read as UTF-8', Buffer.from('caf\xe9\n', 'latin1'), 'Ã©\n', Buffer.from('Ã©\n'), undefined],
    ['UTF-16 and nothing is left', Buffer.from('\ufeffone', 'utf16le'), '', Buffer.alloc(0), undefined],
  ])('write_file() keeps the encoding of the old file: %s', async (_what, before, content, after, encoding) => {
    await using tools = await openTools({ 'a.txt': before });
    await tools.call('read_file', { path: 'a.txt' });
    const { code, data } = await tools.call('write_file', { path: 'a.txt', content });
    expect(code).toBeUndefined();
    expect(await tools.read('a.txt')).toEqual(after);
    expect(data).toMatchObject({ bytes_written: after.length, diff_stat: { removed: 1 } });
    expect(data.encoding).toBe(encoding);
  });

  it('write_file() fails with TOO_LARGE and writes nothing when the content is above 64 MiB', async () => {
    await using tools = await openTools();
    expect((await tools.call('write_file', { path: 'a', content: 'é'.repeat(32 * 1024 * 1024 + 1) })).code).toBe(
      'TOO_LARGE',
    );
    expect((await tools.call('stat', { path: 'a' })).code).toBe('NOT_FOUND');
  });

  it('write_file() counts the lines that differ when it replaces a file', async () => {
    await using tools = await openTools({ 'a.txt': 'a\nb\nc\nd\ne\n' });
    await tools.call('read_file', { path: 'a.txt' });
    expect((await tools.call('write_file', { path: 'a.txt', content: 'a\nB\nc\ne\nf\n' })).data).toMatchObject({
      created: false,
      diff_stat: { added: 2, removed: 2 },
    });
  });

  it('write_file() counts in bounded time when two large files have nothing in common', async () => {
    const lines = (seed: number): string =>
      Array.from({ length: 100_000 }, (_, index) => `${(index * seed) % 99_991}\n`).join('');
    await using tools = await openTools({ 'a.txt': lines(7) });
    await tools.call('read_file', { path: 'a.txt' });
    const startedAt = performance.now();
    const { data } = await tools.call('write_file', { path: 'a.txt', content: lines(11) });
    expect(performance.now() - startedAt).toBeLessThan(3_000);
    expect((data.diff_stat as { added: number }).added).toBeGreaterThan(0);
  });

  it('write_file() fails with READ_REQUIRED and changes nothing when the file was not read', async () => {
    await using tools = await openTools({ 'a.txt': 'old' });
    expect((await tools.call('write_file', { path: 'a.txt', content: 'new' })).code).toBe('READ_REQUIRED');
    expect((await tools.read('a.txt')).toString()).toBe('old');
  });

  it('write_file() counts reads by session', async () => {
    await using tools = await openTools({ 'a.txt': 'old' });
    await tools.call('read_file', { path: 'a.txt' }, { sessionId: 'one' });
    expect((await tools.call('write_file', { path: 'a.txt', content: 'new' }, { sessionId: 'two' })).code).toBe(
      'READ_REQUIRED',
    );
    expect((await tools.call('write_file', { path: 'a.txt', content: 'new' })).code).toBe('READ_REQUIRED');
    expect(
      (await tools.call('write_file', { path: 'a.txt', content: 'new' }, { sessionId: 'one' })).code,
    ).toBeUndefined();
    expect(
      (await tools.call('write_file', { path: 'a.txt', content: 'newer' }, { sessionId: 'one' })).code,
    ).toBeUndefined();
  });

  it('write_file() fails with FILE_CHANGED when the file changed since it was read', async () => {
    await using tools = await openTools({ 'a.txt': 'old' });
    await tools.call('read_file', { path: 'a.txt' });
    await tools.write('a.txt', 'theirs');
    expect((await tools.call('write_file', { path: 'a.txt', content: 'new' })).code).toBe('FILE_CHANGED');
    expect((await tools.read('a.txt')).toString()).toBe('theirs');
  });

  it('write_file() overwrites unread files when requireRead is off', async () => {
    await using tools = await openTools({ 'a.txt': 'old' }, { requireRead: false });
    expect((await tools.call('write_file', { path: 'a.txt', content: 'new' })).code).toBeUndefined();
  });

  it('write_file() writes when if_match is the etag, and fails with FILE_CHANGED when not', async () => {
    await using tools = await openTools({ 'a.txt': 'old' });
    const { etag } = (await tools.call('read_file', { path: 'a.txt' }, { sessionId: 'other' })).data;
    expect((await tools.call('write_file', { path: 'a.txt', content: 'new', if_match: etag })).code).toBeUndefined();
    expect((await tools.call('write_file', { path: 'a.txt', content: 'newer', if_match: etag })).code).toBe(
      'FILE_CHANGED',
    );
  });

  it('write_file() fails with INVALID_ARGUMENT when create_only is set and the file exists', async () => {
    await using tools = await openTools({ 'a.txt': 'old' });
    await tools.call('read_file', { path: 'a.txt' });
    expect((await tools.call('write_file', { path: 'a.txt', content: 'new', create_only: true })).code).toBe(
      'INVALID_ARGUMENT',
    );
    expect((await tools.call('write_file', { path: 'b.txt', content: 'new', create_only: true })).data.created).toBe(
      true,
    );
  });

  it('write_file() fails with NOT_FOUND when create_dirs is off and the directory is missing', async () => {
    await using tools = await openTools();
    expect((await tools.call('write_file', { path: 'x/a.txt', content: 'new', create_dirs: false })).code).toBe(
      'NOT_FOUND',
    );
  });

  it('write_file() keeps the mode when it replaces a file', async () => {
    await using tools = await openTools({ 'run.sh': '#!/bin/sh\n' });
    await chmod(tools.path('run.sh'), 0o755);
    await tools.call('read_file', { path: 'run.sh' });
    await tools.call('write_file', { path: 'run.sh', content: '#!/bin/sh\nexit 0\n' });
    expect((await stat(tools.path('run.sh'))).mode & 0o777).toBe(0o755);
  });

  it('write_file() refuses and writes nothing when the path is outside or protected', async () => {
    await using tools = await openTools({
      link: { link: '/etc/passwd' },
      dir: { link: '../outside' },
      dangling: { link: '../outside/new.txt' },
    });
    for (const path of [
      '../outside/x.txt',
      '../proj-evil/secret.txt',
      '/tmp/toolwright-escape.txt',
      'link',
      'dir/x.txt',
      'dangling',
    ]) {
      expect((await tools.call('write_file', { path, content: 'x' })).code).toBe('OUTSIDE_PROJECT');
    }
    for (const path of ['.git/hooks/pre-commit', '.GIT/config', '.mcp.json', 'sub/.vscode/tasks.json', '.envrc']) {
      expect((await tools.call('write_file', { path, content: 'x' })).code).toBe('PROTECTED_PATH');
    }
    expect(await tools.world.read('proj-evil/secret.txt')).toBe('secret needle\n');
    expect((await tools.call('list_directory', { path: '.', include_ignored: true })).data.entries).toHaveLength(4);
  });

  it('write_file() fails with INVALID_ARGUMENT when the path or the content cannot be written', async () => {
    await using tools = await openTools();
    for (const path of ['', 'a\0b', 'x'.repeat(5_000), 'x'.repeat(300), '.'])
      expect((await tools.call('write_file', { path, content: '' })).code).toBe('INVALID_ARGUMENT');
    expect((await tools.call('write_file', { path: 'a', content: '\ud800' })).code).toBe('INVALID_ARGUMENT');
  });
});
