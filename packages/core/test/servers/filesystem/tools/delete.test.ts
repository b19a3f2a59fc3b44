import { mkdir, readdir, symlink, writeFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { spawnChild } from '../../../../src/process/index.js';
import { deleteEntry } from '../../../../src/servers/project/entries/delete-entry.js';
import { ProjectFiles } from '../../../../src/servers/project/project-files.js';
import { type FileChange } from '../../../../src/servers/project/write/change-together.js';
import { openTools } from '../filesystem-tools.js';

describe.each(['descriptor', 'inode'] as const)('delete() (by %s)', (verification) => {
  it('delete() deletes a file, an empty directory, and with recursive a full one', async () => {
    await using tools = await openTools({ 'a.txt': '', 'dir/sub/b.txt': '', 'dir/c.txt': '' }, { verification });
    await mkdir(tools.path('empty'));
    expect((await tools.call('delete', { path: 'a.txt' })).data).toEqual({ path: 'a.txt', removed: 1 });
    expect((await tools.call('delete', { path: 'empty' })).data).toEqual({ path: 'empty', removed: 1 });
    expect((await tools.call('delete', { path: 'dir', recursive: true })).data).toEqual({ path: 'dir', removed: 4 });
    expect(await readdir(tools.projectDir)).toEqual(['.keep']);
  });

  it('delete() fails with INVALID_ARGUMENT and deletes nothing when a directory is not empty', async () => {
    await using tools = await openTools({ 'dir/a.txt': '' }, { verification });
    expect(await tools.call('delete', { path: 'dir' })).toMatchObject({
      code: 'INVALID_ARGUMENT',
      text: expect.stringContaining('recursive') as string,
    });
    expect(await readdir(tools.path('dir'))).toEqual(['a.txt']);
  });

  it('delete() deletes a link and never what it leads to', async () => {
    await using tools = await openTools(
      { 'src/a.txt': 'a', in: { link: 'src' }, out: { link: '../outside' }, gone: { link: 'none' } },
      { verification },
    );
    await symlink(tools.world.resolve('outside'), tools.path('src/out'));
    for (const path of ['in', 'out', 'gone'])
      expect((await tools.call('delete', { path, recursive: true })).data.removed).toBe(1);
    expect((await tools.call('delete', { path: 'src', recursive: true })).data.removed).toBe(3);
    expect(await readdir(tools.world.resolve('outside'))).toEqual(['secret.txt']);
  });

  it('delete() removes a FIFO without opening it, and names that are not UTF-8', async () => {
    await using tools = await openTools({ 'dir/a': '' }, { verification });
    const child = spawnChild({ command: 'mkfifo', args: ['dir/fifo'], cwd: tools.projectDir });
    await child.exited;
    await writeFile(Buffer.concat([Buffer.from(`${tools.path('dir')}/`), Buffer.from([0xff, 0x61])]), '');
    expect((await tools.call('delete', { path: 'dir', recursive: true })).data.removed).toBe(4);
  });

  it('delete() deletes all of a directory with more entries than one batch', async () => {
    await using tools = await openTools({}, { verification });
    await mkdir(tools.path('many'));
    await Promise.all(Array.from({ length: 2_500 }, (_, index) => writeFile(tools.path(`many/${index}`), '')));
    expect((await tools.call('delete', { path: 'many', recursive: true })).data.removed).toBe(2_501);
  });

  it('delete() fails with PROTECTED_PATH and deletes nothing when anything in the tree is protected', async () => {
    await using tools = await openTools(
      { 'sub/a.txt': '', 'sub/deep/.git/config': 'keep', '.git/config': 'keep', '.envrc': '', git: { link: '.git' } },
      { verification },
    );
    for (const path of ['.git', '.GIT/config', '.envrc', 'sub', 'sub/deep/.git', 'git/config'])
      expect((await tools.call('delete', { path, recursive: true })).code).toBe('PROTECTED_PATH');
    expect((await readdir(tools.path('sub'))).sort()).toEqual(['a.txt', 'deep']);
    expect((await tools.read('.git/config')).toString()).toBe('keep');
  });

  it('delete() keeps roots, what holds a root, and what is in a read-only one', async () => {
    await using world = await openTools({ 'vendor/lib/x': '' });
    const extraRoots = [{ path: world.path('vendor/lib'), mode: 'ro' as const }];
    const projectFiles = new ProjectFiles({ projectDir: world.projectDir, extraRoots, verification });
    await using tools = await openTools({}, { projectFiles });
    for (const path of ['.', world.projectDir, 'vendor'])
      expect((await tools.call('delete', { path, recursive: true })).code).toBe('INVALID_ARGUMENT');
    for (const path of ['vendor/lib', 'vendor/lib/x'])
      expect((await tools.call('delete', { path, recursive: true })).code).toBe('PERMISSION_DENIED');
    expect(await readdir(world.path('vendor/lib'))).toEqual(['x']);
  });

  it('delete() fails with OUTSIDE_PROJECT when the path or a link on the way leads outside', async () => {
    await using tools = await openTools({ dir: { link: '../outside' } }, { verification });
    for (const path of ['../outside/secret.txt', '../proj-evil', 'dir/secret.txt', '/etc/passwd'])
      expect((await tools.call('delete', { path, recursive: true })).code).toBe('OUTSIDE_PROJECT');
    expect(await readdir(tools.world.resolve('outside'))).toEqual(['secret.txt']);
  });

  it('delete() fails with NOT_FOUND when nothing is there', async () => {
    await using tools = await openTools({ 'a.txt': '' }, { verification });
    expect((await tools.call('delete', { path: 'b.txt' })).code).toBe('NOT_FOUND');
    expect((await tools.call('delete', { path: 'none/b.txt' })).code).toBe('NOT_FOUND');
  });

  it('deleteEntry() stops when it is aborted, and reports that the directory changed', async () => {
    await using tools = await openTools({});
    await mkdir(tools.path('many'));
    await Promise.all(Array.from({ length: 1_500 }, (_, index) => writeFile(tools.path(`many/${index}`), '')));
    const files = new ProjectFiles({ projectDir: tools.projectDir, verification });
    const changes: FileChange[] = [];
    files.onChanged((change) => changes.push(change));
    const controller = new AbortController();
    await expect(
      deleteEntry(files, 'many', {
        recursive: true,
        signal: controller.signal,
        onProgress: () => controller.abort(),
      }),
    ).rejects.toMatchObject({ code: 'CANCELLED' });
    expect(await readdir(tools.path('many'))).toHaveLength(500);
    expect(changes).toEqual([{ path: 'many', absolute: tools.path('many'), kind: 'changed', directory: true }]);
    await deleteEntry(files, 'many', { recursive: true });
    expect(changes.at(-1)).toMatchObject({ kind: 'deleted', directory: true });
  });
});
