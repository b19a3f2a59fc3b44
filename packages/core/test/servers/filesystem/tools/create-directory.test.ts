import { lstat, readdir } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { ProjectFiles } from '../../../../src/servers/project/project-files.js';
import { openTools } from '../filesystem-tools.js';

describe.each(['descriptor', 'inode'] as const)('create_directory() (by %s)', (verification) => {
  it('create_directory() makes a directory and those above it, and reports when it was there', async () => {
    await using tools = await openTools({ l: { link: 'a' } }, { verification });
    expect((await tools.call('create_directory', { path: 'a/b/c' })).data).toEqual({ path: 'a/b/c', created: true });
    expect((await lstat(tools.path('a/b/c'))).isDirectory()).toBe(true);
    for (const path of ['a/b/c', 'a', '.', 'l'])
      expect((await tools.call('create_directory', { path })).data).toEqual({ path, created: false });
    expect((await tools.call('create_directory', { path: 'l/d' })).data.created).toBe(true);
    expect((await readdir(tools.path('a'))).sort()).toEqual(['b', 'd']);
  });

  it('create_directory() makes nothing when a file is in the way', async () => {
    await using tools = await openTools({ 'a.txt': '' }, { verification });
    for (const path of ['a.txt', 'a.txt/b']) {
      expect((await tools.call('create_directory', { path })).code).toBe('INVALID_ARGUMENT');
    }
  });

  it('create_directory() makes nothing outside and nothing protected', async () => {
    await using tools = await openTools(
      { dir: { link: '../outside' }, gone: { link: '../outside/none' }, '.claude/x': '', notes: { link: '.claude' } },
      { verification },
    );
    for (const path of ['dir/x', 'gone', 'gone/x', '../outside/x'])
      expect((await tools.call('create_directory', { path })).code).toBe('OUTSIDE_PROJECT');
    for (const path of ['.git', 'sub/.vscode', 'notes/new'])
      expect((await tools.call('create_directory', { path })).code).toBe('PROTECTED_PATH');
    expect(await readdir(tools.world.resolve('outside'))).toEqual(['secret.txt']);
    expect((await readdir(tools.projectDir)).sort()).toEqual(['.claude', '.keep', 'dir', 'gone', 'notes']);
  });

  it('create_directory() reports the outermost directory that it made', async () => {
    await using world = await openTools({ 'a/x': '' });
    const projectFiles = new ProjectFiles({ projectDir: world.projectDir, verification });
    await using tools = await openTools({}, { projectFiles });
    const changes: unknown[] = [];
    projectFiles.onChanged((change) => changes.push(change));
    await tools.call('create_directory', { path: 'a/b/c' });
    await tools.call('create_directory', { path: 'a' });
    expect(changes).toEqual([{ path: 'a/b', absolute: world.path('a/b'), kind: 'created', directory: true }]);
  });
});
