import { chmod, mkdir, utimes, writeFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { PROJECT } from '../search/search-project.js';
import { openTools } from '../filesystem-tools.js';

describe('list_directory()', () => {
  const paths = (data: Record<string, unknown>): string[] =>
    (data.entries as { path: string }[]).map((entry) => entry.path);

  it('list_directory() returns the entries of the project, without ignored ones', async () => {
    await using tools = await openTools(PROJECT);
    const { data, text } = await tools.call('list_directory');
    expect(paths(data)).toEqual(['.git', '.gitignore', '.hidden', '.keep', 'docs', 'src']);
    expect(data.entries).toMatchObject([
      { type: 'dir' },
      { type: 'file', size: 20, mtime_ms: expect.any(Number) as number },
      {},
      {},
      {},
      {},
    ]);
    expect(text).toContain('.gitignore  20\n.hidden/\n');
  });

  it('list_directory() goes as deep as asked, never into .git', async () => {
    await using tools = await openTools({ ...PROJECT, 'sub/.git/config': 'x' });
    expect(paths((await tools.call('list_directory', { depth: 2, include_hidden: true })).data)).toEqual([
      '.git',
      '.gitignore',
      '.hidden',
      '.hidden/d.ts',
      '.keep',
      'docs',
      'docs/c.md',
      'src',
      'src/a.ts',
      'src/deep',
      'sub',
    ]);
    expect(paths((await tools.call('list_directory', { path: 'src', depth: 10 })).data)).toEqual([
      'src/a.ts',
      'src/deep',
      'src/deep/b.ts',
    ]);
  });

  it('list_directory() omits the placeholder of a protected path, and nothing else with its mode', async () => {
    await using tools = await openTools({ 'full/inner.txt': 'x', n: 'n', empty: '' });
    for (const [name, mode] of [
      ['full', 0o1700],
      ['n', 0o1600],
      ['empty', 0o1600],
    ] as const)
      await chmod(tools.path(name), mode);
    for (const name of ['bare', '.vscode']) {
      await mkdir(tools.path(name), { mode: 0o700 });
      await chmod(tools.path(name), 0o1700);
    }
    await utimes(tools.path('full'), 0, 0);
    await utimes(tools.path('.vscode'), 0, 0);
    expect(paths((await tools.call('list_directory', { depth: 2 })).data)).toEqual(
      expect.arrayContaining(['bare', 'empty', 'full', 'full/inner.txt', 'n']),
    );
    expect(paths((await tools.call('list_directory')).data)).not.toContain('.vscode');
  });

  it('list_directory() returns ignored entries and omits hidden ones when requested', async () => {
    await using tools = await openTools(PROJECT);
    expect(paths((await tools.call('list_directory', { include_ignored: true, include_hidden: false })).data)).toEqual([
      'docs',
      'ignored.log',
      'node_modules',
      'src',
    ]);
    expect(paths((await tools.call('list_directory', { path: 'node_modules' })).data)).toEqual(['node_modules/m']);
  });

  it('list_directory() shows links and follows none', async () => {
    await using tools = await openTools({
      'src/a.ts': '',
      in: { link: 'src' },
      out: { link: '../outside' },
      gone: { link: 'nowhere' },
      goneOut: { link: '/nowhere/at/all' },
      loop: { link: 'loop' },
    });
    const { data, text } = await tools.call('list_directory', { depth: 5 });
    expect(data.entries).toMatchObject([
      { path: '.keep' },
      { path: 'gone', type: 'symlink', target: 'nowhere', outside: false },
      { path: 'goneOut', target: '/nowhere/at/all', outside: true },
      { path: 'in', target: 'src', outside: false },
      { path: 'loop', target: 'loop', outside: false },
      { path: 'out', target: '../outside', outside: true },
      { path: 'src', type: 'dir' },
      { path: 'src/a.ts', type: 'file' },
    ]);
    expect(text).toContain('out -> ../outside (outside the project)');
    expect((await tools.call('list_directory', { path: 'out' })).code).toBe('OUTSIDE_PROJECT');
    expect((await tools.call('list_directory', { path: 'in' })).data.entries).toMatchObject([{ path: 'in/a.ts' }]);
    for (const path of ['..', '../proj-evil', '/', '/proc/self'])
      expect((await tools.call('list_directory', { path })).code).toBe('OUTSIDE_PROJECT');
  });

  it('list_directory() returns the first entries in order when there are more than the limit', async () => {
    await using tools = await openTools();
    await mkdir(tools.path('many'));
    await Promise.all(
      Array.from({ length: 3_000 }, (_, index) => writeFile(tools.path(`many/${String(index).padStart(4, '0')}`), '')),
    );
    const { data, text } = await tools.call('list_directory', { path: 'many', limit: 10 });
    expect(paths(data)).toEqual(Array.from({ length: 10 }, (_, index) => `many/000${index}`));
    expect(data.truncated).toBe(true);
    expect(text).toContain('There are more');
  });

  it('list_directory() makes control characters of names visible in its text', async () => {
    await using tools = await openTools({ 'a\n\u001b[31mb': '' });
    const { data, text } = await tools.call('list_directory');
    expect(paths(data)).toEqual(['.keep', 'a\n\u001b[31mb']);
    expect(text).toContain('a\\u{a}\\u{1b}[31mb');
  });

  it('list_directory() fails with INVALID_ARGUMENT for a file and NOT_FOUND for nothing', async () => {
    await using tools = await openTools(PROJECT);
    expect((await tools.call('list_directory', { path: 'src/a.ts' })).code).toBe('INVALID_ARGUMENT');
    expect((await tools.call('list_directory', { path: 'scr' })).code).toBe('NOT_FOUND');
  });
});
