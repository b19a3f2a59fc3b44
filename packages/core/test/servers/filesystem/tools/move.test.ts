import { chmod, link, lstat, mkdir, mkdtemp, readdir, readlink, rm, stat } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { spawnChild } from '../../../../src/process/index.js';
import { ProjectFiles } from '../../../../src/servers/project/project-files.js';
import { openTools } from '../filesystem-tools.js';

/** Another file system than the one that tests work on, where there is one. */
const ELSEWHERE = '/dev/shm';

describe.each(['descriptor', 'inode'] as const)('move() (by %s)', (verification) => {
  it('move() renames a file, and makes the directories above the destination', async () => {
    await using tools = await openTools({ 'a.txt': 'one' }, { verification });
    expect((await tools.call('move', { source: 'a.txt', destination: 'x/y/b.txt' })).data).toEqual({
      source: 'a.txt',
      destination: 'x/y/b.txt',
      overwritten: false,
    });
    expect((await tools.read('x/y/b.txt')).toString()).toBe('one');
    expect((await readdir(tools.projectDir)).sort()).toEqual(['.keep', 'x']);
    expect((await stat(tools.path('x/y/b.txt'))).nlink).toBe(1);
  });

  it('move() moves a directory with everything in it', async () => {
    await using tools = await openTools({ 'a/b/c.txt': 'one', 'a/d.txt': '' }, { verification });
    expect((await tools.call('move', { source: 'a', destination: 'z' })).code).toBeUndefined();
    expect((await readdir(tools.path('z'), { recursive: true })).sort()).toEqual(['b', 'b/c.txt', 'd.txt']);
  });

  it('move() replaces a file only when overwrite is set, and a directory never', async () => {
    await using tools = await openTools({ 'a.txt': 'a', 'b.txt': 'b', 'dir/x': '', 'two/y': '' }, { verification });
    expect((await tools.call('move', { source: 'a.txt', destination: 'b.txt' })).code).toBe('INVALID_ARGUMENT');
    for (const [source, destination] of [
      ['a.txt', 'dir'],
      ['dir', 'b.txt'],
      ['dir', 'two'],
    ] as const) {
      expect((await tools.call('move', { source, destination, overwrite: true })).code).toBe('INVALID_ARGUMENT');
    }
    expect((await tools.read('b.txt')).toString()).toBe('b');
    const answer = await tools.call('move', { source: 'a.txt', destination: 'b.txt', overwrite: true });
    expect(answer.data.overwritten).toBe(true);
    expect((await tools.read('b.txt')).toString()).toBe('a');
  });

  it('move() lets one of many win when all want the same new name', async () => {
    await using tools = await openTools({}, { verification });
    for (let index = 0; index < 20; index++) {
      await tools.write(`f${index}`, String(index));
      await mkdir(tools.path(`d${index}`));
    }
    for (const kind of ['f', 'd']) {
      const answers = await Promise.all(
        Array.from({ length: 20 }, (_, index) =>
          tools.call('move', { source: `${kind}${index}`, destination: `won-${kind}` }),
        ),
      );
      expect(answers.filter(({ code }) => code === undefined)).toHaveLength(1);
    }
    expect(await readdir(tools.projectDir)).toHaveLength(1 + 19 + 19 + 2);
  });

  it('move() moves a link itself, and not to where it would lead outside', async () => {
    await using tools = await openTools(
      { 'a/b.txt': '', 'a/l': { link: 'b.txt' }, 'a/up': { link: '../a' }, out: { link: '../outside' } },
      { verification },
    );
    await tools.call('move', { source: 'a/l', destination: 'l' });
    expect(await readlink(tools.path('l'))).toBe('b.txt');
    await tools.call('move', { source: 'out', destination: 'out2' });
    expect(await readlink(tools.path('out2'))).toBe('../outside');
    expect((await tools.call('move', { source: 'a/up', destination: 'up' })).code).toBe('OUTSIDE_PROJECT');
    expect((await lstat(tools.path('a/up'))).isSymbolicLink()).toBe(true);
  });

  it('move() replaces a link at the destination and not what it leads to', async () => {
    await using tools = await openTools({ 'a.txt': 'a', 'b.txt': 'b', l: { link: 'b.txt' } }, { verification });
    await tools.call('move', { source: 'a.txt', destination: 'l', overwrite: true });
    expect((await lstat(tools.path('l'))).isFile()).toBe(true);
    expect((await tools.read('b.txt')).toString()).toBe('b');
  });

  it('move() treats two hard links as two files, whatever their spelling', async () => {
    await using tools = await openTools({ 'a.txt': 'one' }, { verification });
    await link(tools.path('a.txt'), tools.path('A.txt'));
    const args = { source: 'a.txt', destination: 'A.txt' };
    expect((await tools.call('move', args)).code).toBe('INVALID_ARGUMENT');
    expect((await tools.call('move', { ...args, overwrite: true })).data.overwritten).toBe(true);
    expect((await readdir(tools.projectDir)).sort()).toEqual(['.keep', 'A.txt']);
  });

  it('move() changes the spelling of a name, also on a file system that treats both as one', async () => {
    await using tools = await openTools({ 'a.txt': 'one', 'dir/x': '' }, { verification });
    expect((await tools.call('move', { source: 'a.txt', destination: 'A.txt' })).code).toBeUndefined();
    expect((await tools.call('move', { source: 'dir', destination: 'DIR' })).code).toBeUndefined();
    expect((await readdir(tools.projectDir)).sort()).toEqual(['.keep', 'A.txt', 'DIR']);
  });

  it('move() answers NO_CHANGE onto itself, and INVALID_ARGUMENT into itself, and leaves nothing behind', async () => {
    await using tools = await openTools({ 'a/x': '', same: { link: 'a' } }, { verification });
    expect((await tools.call('move', { source: 'a/x', destination: './a/../a/x' })).code).toBe('NO_CHANGE');
    for (const destination of ['a/b', 'a/new/b', 'same/new/b'])
      expect((await tools.call('move', { source: 'a', destination })).code).toBe('INVALID_ARGUMENT');
    expect(await readdir(tools.path('a'))).toEqual(['x']);
  });

  it('move() fails with PROTECTED_PATH for a protected path, one that contains it, and one that would become it', async () => {
    await using tools = await openTools(
      {
        '.git/config': 'keep',
        'sub/.vscode/tasks.json': '',
        'a.txt': '',
        'code/tasks.json': '',
        git: { link: '.git' },
      },
      { verification },
    );
    for (const [source, destination] of [
      ['.git', 'x'],
      ['.GIT/config', 'x'],
      ['sub', 'x'],
      ['a.txt', '.git/hooks/pre-commit'],
      ['a.txt', 'git/config'],
      ['a.txt', '.envrc'],
      ['code', '.vscode'],
    ] as const) {
      expect((await tools.call('move', { source, destination, overwrite: true })).code).toBe('PROTECTED_PATH');
    }
    expect((await readdir(tools.projectDir)).sort()).toEqual(['.git', '.keep', 'a.txt', 'code', 'git', 'sub']);
    expect(await readdir(tools.path('.git'))).toEqual(['config']);
  });

  it('move() checks the content of a directory at its new path too when the old one is allowed', async () => {
    await using tools = await openTools(
      { 'a/.vscode/x': '' },
      { verification, allowProtected: ['a/.vscode', 'a/.idea'] },
    );
    expect((await tools.call('move', { source: 'a', destination: 'b' })).code).toBe('PROTECTED_PATH');
    expect((await tools.call('move', { source: 'a/.vscode', destination: 'a/.idea' })).code).toBeUndefined();
  });

  it('move() fails with OUTSIDE_PROJECT when either side is outside', async () => {
    await using tools = await openTools({ 'a.txt': 'a', dir: { link: '../outside' } }, { verification });
    for (const [source, destination] of [
      ['a.txt', '../outside/a.txt'],
      ['a.txt', 'dir/a.txt'],
      ['a.txt', 'dir/new/a.txt'],
      ['dir/secret.txt', 'b.txt'],
      ['../proj-evil/secret.txt', 'b.txt'],
    ] as const) {
      expect((await tools.call('move', { source, destination })).code).toBe('OUTSIDE_PROJECT');
    }
    expect(await readdir(tools.world.resolve('outside'))).toEqual(['secret.txt']);
    expect((await readdir(tools.projectDir)).sort()).toEqual(['.keep', 'a.txt', 'dir']);
  });

  it('move() keeps roots, and takes nothing from or to a read-only one', async () => {
    await using world = await openTools({ 'vendor/lib/x': '', 'a.txt': '' });
    const extraRoots = [{ path: world.path('vendor/lib'), mode: 'ro' as const }];
    await using tools = await openTools(
      {},
      { projectFiles: new ProjectFiles({ projectDir: world.projectDir, extraRoots, verification }) },
    );
    for (const source of ['.', 'vendor'])
      expect((await tools.call('move', { source, destination: 'q' })).code).toBe('INVALID_ARGUMENT');
    expect((await tools.call('move', { source: 'vendor/lib/x', destination: 'q' })).code).toBe('PERMISSION_DENIED');
    expect((await tools.call('move', { source: 'a.txt', destination: 'vendor/lib/a' })).code).toBe('PERMISSION_DENIED');
  });

  it('move() moves a FIFO without opening it', async () => {
    await using tools = await openTools({}, { verification });
    await spawnChild({ command: 'mkfifo', args: ['fifo'], cwd: tools.projectDir }).exited;
    expect((await tools.call('move', { source: 'fifo', destination: 'pipe' })).code).toBeUndefined();
    expect((await lstat(tools.path('pipe'))).isFIFO()).toBe(true);
  });

  it('move() keeps what a session has read, and reports the move', async () => {
    await using world = await openTools({ 'a.txt': 'one\n' });
    const projectFiles = new ProjectFiles({ projectDir: world.projectDir, verification, fsync: false });
    await using tools = await openTools({}, { projectFiles });
    const changes: unknown[] = [];
    projectFiles.onChanged((change) => changes.push(change));
    await tools.call('read_file', { path: 'a.txt' });
    await tools.call('move', { source: 'a.txt', destination: 'b.txt' });
    expect(changes).toEqual([
      {
        path: 'b.txt',
        absolute: world.path('b.txt'),
        kind: 'moved',
        from: { path: 'a.txt', absolute: world.path('a.txt') },
      },
    ]);
    const edit = { path: 'b.txt', old_string: 'one', new_string: 'two' };
    expect((await tools.call('edit_file', edit)).code).toBeUndefined();
  });

  it('move() copies a file to another file system, and refuses a directory', async (test) => {
    await using world = await openTools({ 'a.txt': 'one\n', 'dir/x': '' });
    const other = await mkdtemp(`${ELSEWHERE}/toolwright-move-`).catch(() => test.skip(`there is no ${ELSEWHERE}`));
    try {
      const [here, there] = await Promise.all([stat(world.projectDir), stat(other)]);
      test.skip(here.dev === there.dev, 'there is only one file system');
      await chmod(world.path('a.txt'), 0o640);
      const extraRoots = [{ path: other, mode: 'rw' as const }];
      const projectFiles = new ProjectFiles({ projectDir: world.projectDir, extraRoots, verification, fsync: false });
      await using tools = await openTools({}, { projectFiles });
      await tools.call('read_file', { path: 'a.txt' });
      await tools.call('move', { source: 'a.txt', destination: `${other}/b.txt` });
      expect((await stat(`${other}/b.txt`)).mode & 0o777).toBe(0o640);
      expect((await readdir(world.projectDir)).sort()).toEqual(['.keep', 'dir']);
      const edit = { path: `${other}/b.txt`, old_string: 'one', new_string: 'two' };
      expect((await tools.call('edit_file', edit)).code).toBeUndefined();
      expect(await tools.call('move', { source: 'dir', destination: `${other}/dir` })).toMatchObject({
        code: 'INVALID_ARGUMENT',
        text: expect.stringContaining('recursive=true') as string,
      });
      expect(await readdir(other)).toEqual(['b.txt']);
    } finally {
      await rm(other, { recursive: true, force: true });
    }
  });
});
