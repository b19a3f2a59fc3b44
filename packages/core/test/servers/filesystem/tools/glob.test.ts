import { describe, expect, it } from 'vitest';
import type { TestFile } from '../../../../src/testing/project.js';
import { PROJECT } from '../search/search-project.js';
import { openTools as openAny } from '../filesystem-tools.js';

describe.each(['rg', 'js'] as const)('glob() by %s', (search) => {
  const openTools = (files: Record<string, TestFile> = {}) => openAny(files, { search });

  it.each([
    ['*.ts', ['.hidden/d.ts', 'src/a.ts', 'src/deep/b.ts']],
    ['src/*.ts', ['src/a.ts']],
    ['src/**/*.ts', ['src/a.ts', 'src/deep/b.ts']],
    ['**/*.{ts,md}', ['.hidden/d.ts', 'docs/c.md', 'src/a.ts', 'src/deep/b.ts']],
    ['/*', ['.gitignore', '.keep']],
    ['*.log', []],
    ['**/config', []],
    ['docs/', ['docs/c.md']],
  ])('glob() of %s returns %j', async (pattern, expected) => {
    await using tools = await openTools(PROJECT);
    expect((await tools.call('glob', { pattern, sort: 'path' })).data).toEqual({
      files: expected,
      truncated: false,
      engine: search,
    });
  });

  it('glob() returns ignored files when requested, and omits excluded ones', async () => {
    await using tools = await openTools(PROJECT);
    expect(
      (await tools.call('glob', { pattern: '*.{log,js}', include_ignored: true, sort: 'path' })).data.files,
    ).toEqual(['ignored.log', 'node_modules/m/index.js']);
    expect(
      (await tools.call('glob', { pattern: '*.ts', exclude: ['deep', '.hidden/**'], sort: 'path' })).data.files,
    ).toEqual(['src/a.ts']);
  });

  it('glob() returns the newest first, and reports when there are more', async () => {
    await using tools = await openTools({ 'a.x': '', 'b.x': '', 'c.x': '' });
    const { utimes } = await import('node:fs/promises');
    await utimes(tools.path('b.x'), 3, 3);
    await utimes(tools.path('c.x'), 2, 2);
    await utimes(tools.path('a.x'), 1, 1);
    expect((await tools.call('glob', { pattern: '*.x' })).data.files).toEqual(['b.x', 'c.x', 'a.x']);
    expect((await tools.call('glob', { pattern: '*.x', limit: 2 })).data).toMatchObject({
      files: ['b.x', 'c.x'],
      truncated: true,
    });
    expect((await tools.call('glob', { pattern: '*.x', limit: 2, sort: 'path' })).data).toMatchObject({
      files: ['a.x', 'b.x'],
      truncated: true,
    });
  });

  it('glob() returns nothing outside the project', async () => {
    await using tools = await openTools({ link: { link: '../outside' } });
    expect((await tools.call('glob', { pattern: '**', include_ignored: true })).data.files).toEqual(['.keep']);
    expect((await tools.call('glob', { pattern: '*', path: 'link' })).code).toBe('OUTSIDE_PROJECT');
    expect((await tools.call('glob', { pattern: '../**' })).code).toBe('INVALID_ARGUMENT');
  });
});
