import { writeFileSync } from 'node:fs';
import { chmod, lstat, mkdir, readdir, readlink, stat, truncate } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { spawnChild } from '../../../../src/process/index.js';
import { copyEntry } from '../../../../src/servers/project/entries/copy-entry.js';
import { ProjectFiles } from '../../../../src/servers/project/project-files.js';
import { openTools } from '../filesystem-tools.js';

describe.each(['descriptor', 'inode'] as const)('copy() (by %s)', (verification) => {
  it('copy() copies bytes and mode of a file, and makes the directories above it', async () => {
    const content = Buffer.from(Array.from({ length: 300_000 }, (_, index) => index % 251));
    await using tools = await openTools({ 'a.bin': content, empty: '' }, { verification });
    await chmod(tools.path('a.bin'), 0o4751);
    expect((await tools.call('copy', { source: 'a.bin', destination: 'x/b.bin' })).data).toEqual({
      source: 'a.bin',
      destination: 'x/b.bin',
      files: 1,
      bytes: 300_000,
      overwritten: false,
    });
    expect((await tools.read('x/b.bin')).equals(content)).toBe(true);
    expect((await stat(tools.path('x/b.bin'))).mode & 0o7777).toBe(0o751);
    await tools.call('copy', { source: 'empty', destination: 'x/empty' });
    expect((await readdir(tools.path('x'))).sort()).toEqual(['b.bin', 'empty']);
  });

  it('copy() copies a directory with recursive only', async () => {
    await using tools = await openTools(
      {
        'a/x.txt': 'xx',
        'a/sub/y.txt': 'y',
        'a/l': { link: 'sub/y.txt' },
        'a/.toolwright-0123abcd-1-2-0123456789ab.tmp': '',
      },
      { verification },
    );
    await chmod(tools.path('a/sub'), 0o711);
    expect((await tools.call('copy', { source: 'a', destination: 'b' })).code).toBe('INVALID_ARGUMENT');
    const { data } = await tools.call('copy', { source: 'a', destination: 'b', recursive: true });
    expect(data).toMatchObject({ files: 3, bytes: 3 });
    expect((await readdir(tools.path('b'), { recursive: true })).sort()).toEqual(['l', 'sub', 'sub/y.txt', 'x.txt']);
    expect(await readlink(tools.path('b/l'))).toBe('sub/y.txt');
    expect((await stat(tools.path('b/sub'))).mode & 0o777).toBe(0o711);
  });

  it('copy() replaces a file or a link only when overwrite is set, and a directory never', async () => {
    await using tools = await openTools(
      { 'a.txt': 'a', 'b.txt': 'b', l: { link: 'b.txt' }, 'dir/x': '', 'two/y': '' },
      { verification },
    );
    for (const destination of ['b.txt', 'l', 'dir'])
      expect((await tools.call('copy', { source: 'a.txt', destination })).code).toBe('INVALID_ARGUMENT');
    const over = { overwrite: true, recursive: true };
    for (const [source, destination] of [
      ['a.txt', 'dir'],
      ['dir', 'two'],
      ['dir', 'b.txt'],
    ] as const) {
      expect((await tools.call('copy', { source, destination, ...over })).code).toBe('INVALID_ARGUMENT');
    }
    await tools.call('copy', { source: 'a.txt', destination: 'l', ...over });
    expect((await lstat(tools.path('l'))).isFile()).toBe(true);
    expect((await tools.read('b.txt')).toString()).toBe('b');
    const answer = await tools.call('copy', { source: 'a.txt', destination: 'b.txt', ...over });
    expect(answer.data.overwritten).toBe(true);
    expect((await tools.read('b.txt')).toString()).toBe('a');
  });

  it('copy() lets one of many win when all want the same new name', async () => {
    await using tools = await openTools({ a: 'a', b: 'b' }, { verification });
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, index) => tools.call('copy', { source: index % 2 ? 'a' : 'b', destination: 'c' })),
    );
    expect(answers.filter(({ code }) => code === undefined)).toHaveLength(1);
    expect((await readdir(tools.projectDir)).sort()).toEqual(['.keep', 'a', 'b', 'c']);
  });

  it('copy() copies a link as a link, and fails with OUTSIDE_PROJECT when the copy would lead outside', async () => {
    await using tools = await openTools(
      { 'a/b.txt': '', 'a/l': { link: '../a/b.txt' }, 'a/gone': { link: 'none' }, out: { link: '../outside' } },
      { verification },
    );
    await tools.call('copy', { source: 'a/l', destination: 'c/l' });
    await tools.call('copy', { source: 'a/gone', destination: 'gone' });
    expect(await readlink(tools.path('c/l'))).toBe('../a/b.txt');
    expect(await readlink(tools.path('gone'))).toBe('none');
    for (const [source, destination] of [
      ['a/l', 'l'],
      ['out', 'out2'],
      ['../outside/secret.txt', 'x'],
      ['out/secret.txt', 'x'],
      ['a/b.txt', 'out/x'],
    ] as const) {
      expect((await tools.call('copy', { source, destination })).code).toBe('OUTSIDE_PROJECT');
    }
    expect(await readdir(tools.world.resolve('outside'))).toEqual(['secret.txt']);
    expect((await readdir(tools.projectDir)).sort()).toEqual(['.keep', 'a', 'c', 'gone', 'out']);
  });

  it('copy() refuses a destination in the source, and the source itself', async () => {
    await using tools = await openTools({ 'a/x': '', same: { link: 'a' } }, { verification });
    const args = { source: 'a', recursive: true };
    expect((await tools.call('copy', { ...args, destination: 'a' })).code).toBe('NO_CHANGE');
    for (const destination of ['a/b', 'same/new/b'])
      expect((await tools.call('copy', { ...args, destination })).code).toBe('INVALID_ARGUMENT');
    expect(await readdir(tools.path('a'))).toEqual(['x']);
  });

  it('copy() fails immediately with INVALID_ARGUMENT and copies nothing when there is a FIFO', async () => {
    await using tools = await openTools({ 'a/x': '' }, { verification });
    await spawnChild({ command: 'mkfifo', args: ['a/fifo'], cwd: tools.projectDir }).exited;
    for (const source of ['a', 'a/fifo']) {
      const answer = await tools.call('copy', { source, destination: 'b', recursive: true });
      expect(answer.code).toBe('INVALID_ARGUMENT');
    }
    expect((await readdir(tools.projectDir)).sort()).toEqual(['.keep', 'a']);
  });

  it('copy() fails with PROTECTED_PATH and copies nothing when the copy would hold what is protected', async () => {
    await using tools = await openTools({ 'sub/.git/config': 'x', 'sub/a': '', 'a.txt': 'a' }, { verification });
    for (const [source, destination] of [
      ['sub', 'b'],
      ['a.txt', '.envrc'],
      ['a.txt', '.git/hooks/pre-commit'],
    ] as const) {
      expect((await tools.call('copy', { source, destination, recursive: true })).code).toBe('PROTECTED_PATH');
    }
    expect((await tools.call('copy', { source: 'sub/.git/config', destination: 'seen' })).code).toBeUndefined();
    expect((await readdir(tools.projectDir)).sort()).toEqual(['.keep', 'a.txt', 'seen', 'sub']);
  });

  it('copyEntry() leaves no part of a file when it is aborted', async () => {
    await using tools = await openTools({ big: '' });
    await truncate(tools.path('big'), 256 * 1024 * 1024);
    const files = new ProjectFiles({ projectDir: tools.projectDir, verification, fsync: false });
    const controller = new AbortController();
    const onProgress = (): void => controller.abort();
    await expect(copyEntry(files, 'big', 'new/copy', { signal: controller.signal, onProgress })).rejects.toMatchObject({
      code: 'CANCELLED',
    });
    expect((await readdir(tools.projectDir)).sort()).toEqual(['.keep', 'big']);
  });

  it('copyEntry() reports the copy', async () => {
    await using tools = await openTools({ 'a/x': '' });
    const files = new ProjectFiles({ projectDir: tools.projectDir, verification, fsync: false });
    const changes: unknown[] = [];
    files.onChanged((change) => changes.push(change));
    await copyEntry(files, 'a/x', 'y');
    await copyEntry(files, 'a', 'b', { recursive: true });
    expect(changes).toEqual([
      { path: 'y', absolute: tools.path('y'), kind: 'created' },
      { path: 'b', absolute: tools.path('b'), kind: 'created', directory: true },
    ]);
  });
});

describe('copy() of a directory when it fails', () => {
  const run = async (command: string, ...args: string[]): Promise<number | null> =>
    (await spawnChild({ command, args, cwd: '/' }).exited.catch(() => ({ code: 1 }))).code;

  it.runIf(process.getuid?.() === 0 && process.platform === 'linux')(
    'copy() removes what it has copied, and reports it, when the disk is full',
    async (context) => {
      const half = Buffer.alloc(150 * 1024, 'x');
      await using tools = await openTools({
        'a/1/x.bin': half,
        'a/2/y.bin': half,
        'a/3/z.bin': half,
        'a/l': { link: '1' },
      });
      await mkdir(tools.path('small'));
      if ((await run('mount', '-t', 'tmpfs', '-o', 'size=400k', 'tmpfs', tools.path('small'))) !== 0)
        return context.skip('this machine does not let us mount a small disk');
      try {
        const answer = await tools.call('copy', { source: 'a', destination: 'small/deep/b', recursive: true });
        expect(answer).toMatchObject({ code: 'NO_SPACE' });
        expect(answer.text).toContain('The partial copy in "small/deep/b" was removed.');
        expect(await readdir(tools.path('small'))).toEqual([]);
      } finally {
        await run('umount', '-l', tools.path('small'));
      }
    },
  );

  it('copy() keeps entries that another process has added, and names them', async () => {
    const files = Object.fromEntries(Array.from({ length: 150 }, (_, index) => [`a/${index}.txt`, 'x']));
    await using tools = await openTools(files);
    const project = new ProjectFiles({ projectDir: tools.projectDir, fsync: false });
    const given = new AbortController();
    const copying = copyEntry(project, 'a', 'b', {
      recursive: true,
      signal: given.signal,
      onProgress: () => {
        writeFileSync(tools.path('b/theirs.txt'), 'theirs');
        given.abort();
      },
    });
    await expect(copying).rejects.toMatchObject({ code: 'CANCELLED', details: { left: ['b'] } });
    expect(await readdir(tools.path('b'))).toEqual(['theirs.txt']);
  });
});
