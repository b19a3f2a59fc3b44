import {
  chmod,
  chown,
  link,
  mkdir,
  readdir,
  readFile,
  readlink,
  rm,
  stat,
  symlink,
  unlink,
  utimes,
  writeFile,
} from 'node:fs/promises';
import { createServer } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ToolError } from '../../../src/contract/errors.js';
import { spawnChild } from '../../../src/process/index.js';
import { ProjectFiles, type ProjectFilesOptions } from '../../../src/servers/project/project-files.js';
import { createTestProject, type TestProject } from '../../../src/testing/project.js';

let world: TestProject;
let projectDir: string;
const p = (name: string): string => `${projectDir}/${name}`;
const bytes = (text: string): Buffer => Buffer.from(text);

beforeEach(async () => {
  world = await createTestProject({ 'outside/secret.txt': 'secret', 'proj/src/a.ts': 'one\n', 'proj/b.txt': 'two\n' });
  projectDir = world.resolve('proj');
});
afterEach(() => world[Symbol.asyncDispose]());

async function codeOf(promise: Promise<unknown>): Promise<string> {
  return promise.then(
    () => 'none',
    (error: unknown) => (ToolError.isInstance(error) ? error.code : String(error)),
  );
}

async function run(command: string, ...args: string[]): Promise<void> {
  const child = spawnChild({ command, args, cwd: projectDir });
  child.stdout.resume();
  const { code } = await child.exited;
  expect(code).toBe(0);
}

/** Every name below a directory. */
async function everything(directory: string): Promise<string[]> {
  return (await readdir(directory, { recursive: true })).sort();
}

describe.each(['descriptor', 'inode'] as const)('ProjectFiles (by %s)', (verification) => {
  const open = (options: Partial<ProjectFilesOptions> = {}): ProjectFiles =>
    new ProjectFiles({ projectDir, verification, ...options });

  describe('containment', () => {
    it('read() throws OUTSIDE_PROJECT when a link leads out of the project', async () => {
      await symlink('/etc/passwd', p('file'));
      await symlink(world.resolve('outside'), p('dir'));
      await symlink('file', p('chain1'));
      await symlink('chain1', p('chain2'));
      for (const path of ['file', 'dir/secret.txt', 'chain2'])
        expect(await codeOf(open().read(path))).toBe('OUTSIDE_PROJECT');
    });

    it('write() throws OUTSIDE_PROJECT and changes nothing when a link leads out of the project', async () => {
      await symlink(world.resolve('outside/secret.txt'), p('file'));
      await symlink(world.resolve('outside'), p('dir'));
      for (const path of ['file', 'dir/secret.txt', 'dir/new.txt', 'dir/sub/new.txt']) {
        expect(await codeOf(open().write(path, bytes('x'), { createDirs: true }))).toBe('OUTSIDE_PROJECT');
      }
      expect(await everything(world.resolve('outside'))).toEqual(['secret.txt']);
      expect(await world.read('outside/secret.txt')).toBe('secret');
    });

    it('write() throws OUTSIDE_PROJECT and creates nothing when a link leads nowhere', async () => {
      await symlink(world.resolve('outside/new.txt'), p('out'));
      await symlink('new.txt', p('in'));
      await symlink(world.resolve('outside/newdir'), p('dir'));
      const before = await everything(world.projectDir);
      for (const path of ['out', 'in', 'dir/x.txt']) {
        expect(await codeOf(open().write(path, bytes('x'), { createDirs: true }))).toBe('OUTSIDE_PROJECT');
        expect(await codeOf(open().read(path))).toBe('OUTSIDE_PROJECT');
      }
      expect(await everything(world.projectDir)).toEqual(before);
    });

    it('read() and write() throw INVALID_ARGUMENT when links lead in a circle', async () => {
      await symlink('loop2', p('loop1'));
      await symlink('loop1', p('loop2'));
      expect(await codeOf(open().read('loop1'))).toBe('INVALID_ARGUMENT');
      expect(await codeOf(open().write('loop1', bytes('x')))).toBe('INVALID_ARGUMENT');
      expect(await codeOf(open().read('loop1/x'))).toBe('INVALID_ARGUMENT');
    });

    it('read() follows links when they stay inside', async () => {
      await symlink('src', p('dir'));
      await symlink(p('src/a.ts'), p('file'));
      await symlink('../proj/b.txt', p('around'));
      expect((await open().read('dir/a.ts')).bytes.toString()).toBe('one\n');
      expect((await open().read('file')).bytes.toString()).toBe('one\n');
      expect((await open().read('around')).bytes.toString()).toBe('two\n');
    });

    it('read() and write() fail immediately with INVALID_ARGUMENT when the path is no regular file', async () => {
      await run('mkfifo', 'fifo');
      const server = createServer();
      await new Promise<void>((resolve) => server.listen(p('sock'), resolve));
      try {
        for (const [path, kind] of [
          ['fifo', 'FIFO'],
          ['sock', 'socket'],
          ['src', 'directory'],
        ] as const) {
          await expect(open().read(path)).rejects.toMatchObject({
            code: 'INVALID_ARGUMENT',
            message: expect.stringContaining(kind) as string,
          });
          await expect(open().write(path, bytes('x'))).rejects.toMatchObject({
            code: 'INVALID_ARGUMENT',
            message: expect.stringContaining(kind) as string,
          });
        }
      } finally {
        server.close();
      }
    });

    it('read() throws OUTSIDE_PROJECT when a link leads to a device or to /proc', async () => {
      for (const [name, target] of [
        ['zero', '/dev/zero'],
        ['environ', '/proc/self/environ'],
        ['stdin', '/dev/stdin'],
        ['fd', '/proc/self/fd/0'],
        ['mem', '/proc/self/mem'],
      ] as const) {
        await symlink(target, p(name));
        expect(await codeOf(open().read(name))).toBe('OUTSIDE_PROJECT');
      }
    });

    it('write() throws PROTECTED_PATH when it is requested, or a link leads, to a protected file', async () => {
      await mkdir(p('.git'));
      await writeFile(p('.git/config'), 'keep');
      await symlink('.git/config', p('link'));
      await symlink('.git', p('dir'));
      for (const path of [
        '.git/config',
        'link',
        'dir/config',
        'dir/hooks/pre-commit',
        '.vscode/tasks.json',
        '.envrc',
      ]) {
        expect(await codeOf(open().write(path, bytes('x'), { createDirs: true }))).toBe('PROTECTED_PATH');
      }
      expect(await readFile(p('.git/config'), 'utf8')).toBe('keep');
      expect(await readdir(p('.git'))).toEqual(['config']);
      expect((await open().read('link')).bytes.toString()).toBe('keep');
    });

    it('write() makes no protected directory when only a link on the way leads into one', async () => {
      await mkdir(p('.claude'));
      await symlink('.claude', p('notes'));
      expect(await codeOf(open().write('notes/new/x.md', bytes('x'), { createDirs: true }))).toBe('PROTECTED_PATH');
      expect(await readdir(p('.claude'))).toEqual([]);
    });

    it('write() works in an extra root when its mode is rw, and read() in any', async () => {
      const files = open({ extraRoots: [{ path: world.resolve('outside'), mode: 'rw' }] });
      expect((await files.read(world.resolve('outside/secret.txt'))).bytes.toString()).toBe('secret');
      await files.write('../outside/new.txt', bytes('x'));
      expect(await world.read('outside/new.txt')).toBe('x');
      expect(
        await codeOf(
          open({ extraRoots: [{ path: world.resolve('outside'), mode: 'ro' }] }).write(
            world.resolve('outside/new.txt'),
            bytes('y'),
          ),
        ),
      ).toBe('PERMISSION_DENIED');
    });
  });

  describe('write()', () => {
    it('write() creates a file with the mode that the umask says', async () => {
      const umask = process.umask(0o027);
      try {
        expect(await open().write('new.txt', bytes('x'))).toMatchObject({ created: true });
      } finally {
        process.umask(umask);
      }
      expect((await stat(p('new.txt'))).mode & 0o7777).toBe(0o640);
    });

    it('write() keeps mode and owner when it replaces a file', async () => {
      await chmod(p('b.txt'), 0o4755);
      await chown(p('b.txt'), 12_345, 54_321);
      await chmod(p('b.txt'), 0o4755);
      expect(await open().write('b.txt', bytes('new'))).toMatchObject({ created: false });
      expect(await stat(p('b.txt'))).toMatchObject({ uid: 12_345, gid: 54_321 });
      expect((await stat(p('b.txt'))).mode & 0o7777).toBe(0o4755);
    });

    it('write() keeps the link and changes its target when the path is a link inside', async () => {
      await symlink('../b.txt', p('src/link'));
      await open().write('src/link', bytes('new'));
      expect(await readlink(p('src/link'))).toBe('../b.txt');
      expect(await readFile(p('b.txt'), 'utf8')).toBe('new');
    });

    it.each([
      ['longer', 'a much longer content than before\n'],
      ['shorter', '2'],
      ['empty', ''],
    ])('write() writes in place when a file has two names and the content becomes %s', async (_what, content) => {
      await link(p('b.txt'), p('other'));
      const { ino } = await stat(p('b.txt'));
      await open().write('b.txt', bytes(content));
      expect(await readFile(p('other'), 'utf8')).toBe(content);
      expect((await stat(p('b.txt'))).ino).toBe(ino);
    });

    it('write() throws NOT_FOUND with the nearest names when the directory is missing and createDirs is off', async () => {
      await expect(open().write('scr/new.ts', bytes('x'))).rejects.toMatchObject({
        code: 'NOT_FOUND',
        details: { nearest: expect.arrayContaining(['src']) as string[] },
      });
    });

    it('write() makes the missing directories when createDirs is on', async () => {
      await open().write('x/y/z.txt', bytes('deep'), { createDirs: true });
      expect(await readFile(p('x/y/z.txt'), 'utf8')).toBe('deep');
    });

    it('write() throws INVALID_ARGUMENT when a file is in place of a directory', async () => {
      expect(await codeOf(open().write('b.txt/x', bytes('x'), { createDirs: true }))).toBe('INVALID_ARGUMENT');
    });

    it('write() throws FILE_CHANGED when ifMatch is not the etag', async () => {
      const { etag } = await open().read('b.txt');
      await expect(open().write('b.txt', bytes('new'), { ifMatch: etag })).resolves.toMatchObject({ created: false });
      expect(await codeOf(open().write('b.txt', bytes('newer'), { ifMatch: etag }))).toBe('FILE_CHANGED');
      expect(await codeOf(open().write('gone.txt', bytes('x'), { ifMatch: etag }))).toBe('FILE_CHANGED');
      expect(await readFile(p('b.txt'), 'utf8')).toBe('new');
    });

    it('write() returns the same etag as read()', async () => {
      const { etag } = await open().write('b.txt', bytes('hello'));
      expect(etag).toBe('2cf24dba5fb0a30e');
      expect((await open().read('b.txt')).etag).toBe(etag);
    });

    it('write() leaves nothing but the file behind', async () => {
      await open().write('b.txt', bytes('x'));
      await open().write('c.txt', bytes('x'));
      expect(await everything(projectDir)).toEqual(['b.txt', 'c.txt', 'src', 'src/a.ts']);
    });

    it('write() takes names of 255 bytes, with characters that mean something elsewhere', async () => {
      for (const name of ['x'.repeat(255), 'a b', '*', "'", '$x', 'é\u0301', 'a\nb', '-rf', '#']) {
        await open().write(name, bytes(name));
        expect(await readFile(p(name), 'utf8')).toBe(name);
      }
    });
  });

  describe('change()', () => {
    it('change() does not modify the file when the change throws or returns nothing', async () => {
      await expect(
        open().change('b.txt', {}, () => {
          throw new Error('no');
        }),
      ).rejects.toMatchObject({ code: 'EXECUTION_FAILED' });
      expect(await open().change('b.txt', {}, () => undefined)).toMatchObject({ written: false });
      expect(await readFile(p('b.txt'), 'utf8')).toBe('two\n');
    });

    it('change() removes the directories it made when the change throws', async () => {
      await expect(
        open().change('x/y/z', { createDirs: true }, () => {
          throw new Error('no');
        }),
      ).rejects.toThrow();
      expect(await everything(projectDir)).toEqual(['b.txt', 'src', 'src/a.ts']);
    });

    it('change() throws CANCELLED and leaves nothing behind when it is aborted', async () => {
      const controller = new AbortController();
      const change = open().change('b.txt', { signal: controller.signal }, () => {
        controller.abort();
        return Buffer.alloc(4 * 1024 * 1024, 'x');
      });
      expect(await codeOf(change)).toBe('CANCELLED');
      expect(await everything(projectDir)).toEqual(['b.txt', 'src', 'src/a.ts']);
      expect(await readFile(p('b.txt'), 'utf8')).toBe('two\n');
    });

    it('change() throws FILE_CHANGED when another process writes the file in between', async () => {
      const change = open().change('b.txt', {}, async () => {
        await writeFile(p('b.txt'), 'theirs');
        return bytes('ours');
      });
      expect(await codeOf(change)).toBe('FILE_CHANGED');
      expect(await readFile(p('b.txt'), 'utf8')).toBe('theirs');
    });

    it('change() throws FILE_CHANGED when another process creates the file in between', async () => {
      const change = open().change('new.txt', {}, async () => {
        await writeFile(p('new.txt'), 'theirs');
        return bytes('ours');
      });
      expect(await codeOf(change)).toBe('FILE_CHANGED');
      expect(await readFile(p('new.txt'), 'utf8')).toBe('theirs');
    });

    it('change() lands every one of 100 concurrent changes when they come by different spellings and links', async () => {
      await symlink('b.txt', p('link'));
      const spellings = ['b.txt', './b.txt', 'src/../b.txt', p('b.txt'), 'link'];
      const [first, second] = [open({ fsync: false }), open({ fsync: false })];
      await Promise.all(
        Array.from({ length: 100 }, (_, index) =>
          (index % 2 ? first : second).change(spellings[index % spellings.length] ?? '', {}, (current) =>
            Buffer.concat([current?.bytes ?? bytes(''), bytes(`${index}\n`)]),
          ),
        ),
      );
      const lines = (await readFile(p('b.txt'), 'utf8')).trim().split('\n');
      expect(
        lines
          .slice(1)
          .map(Number)
          .sort((a, b) => a - b),
      ).toEqual(Array.from({ length: 100 }, (_, index) => index));
    });

    it('change() lands every concurrent change when they come by two names of one inode', async () => {
      await link(p('b.txt'), p('other'));
      const files = open({ fsync: false });
      await Promise.all(
        Array.from({ length: 40 }, (_, index) =>
          files.change(index % 2 ? 'other' : 'b.txt', {}, (current) =>
            Buffer.concat([current?.bytes ?? bytes(''), bytes('x\n')]),
          ),
        ),
      );
      expect((await readFile(p('other'), 'utf8')).split('\n')).toHaveLength(42);
    });
  });
});

describe('ProjectFiles', () => {
  const open = (options: Partial<ProjectFilesOptions> = {}): ProjectFiles =>
    new ProjectFiles({ projectDir, ...options });
  const changed = () => bytes('changed');

  it('resolve() returns the requested path and the real one', async () => {
    await symlink('src', p('dir'));
    expect(await open().resolve('dir/a.ts', 'read')).toEqual({
      path: 'dir/a.ts',
      realPath: 'src/a.ts',
      absolute: p('src/a.ts'),
      exists: true,
    });
    expect(await open().resolve('dir/new/b.ts', 'write')).toEqual({
      path: 'dir/new/b.ts',
      realPath: 'src/new/b.ts',
      absolute: p('src/new/b.ts'),
      exists: false,
    });
    await expect(open().resolve('dir/aa.ts', 'read')).rejects.toMatchObject({
      code: 'NOT_FOUND',
      details: { nearest: ['src/a.ts'] },
    });
    expect(await codeOf(open().resolve('.git/x', 'write'))).toBe('PROTECTED_PATH');
  });

  it('read() throws NOT_FOUND with the nearest names when there is no such file', async () => {
    await expect(open().read('src/aa.ts')).rejects.toMatchObject({
      code: 'NOT_FOUND',
      details: { nearest: ['src/a.ts'] },
    });
    await expect(open().read('b.txt/x')).rejects.toMatchObject({
      code: 'NOT_FOUND',
      message: expect.stringContaining('"b.txt" is a file') as string,
    });
  });

  it('change() throws READ_REQUIRED when the session has not read the file', async () => {
    const files = open();
    expect(await codeOf(files.change('b.txt', { requireRead: true, sessionId: 's' }, changed))).toBe('READ_REQUIRED');
    expect(await codeOf(files.change('new.txt', { requireRead: true, sessionId: 's' }, changed))).toBe('none');
    expect(await codeOf(files.change('new.txt', { requireRead: true, sessionId: 's' }, changed))).toBe('none');
    expect(await codeOf(files.change('new.txt', { requireRead: true, sessionId: 't' }, changed))).toBe('READ_REQUIRED');
    expect(await codeOf(files.change('new.txt', { requireRead: true }, changed))).toBe('READ_REQUIRED');
  });

  it('change() throws READ_REQUIRED when ifMatch names a version that the session has not seen', async () => {
    const files = open();
    const { etag } = await files.read('b.txt');
    expect(await codeOf(files.change('b.txt', { requireRead: true, ifMatch: etag }, changed))).toBe('READ_REQUIRED');
    expect(await codeOf(files.change('b.txt', { ifMatch: etag }, changed))).toBe('none');
  });

  describe('after a read in the session', () => {
    let files: ProjectFiles;
    const again = (path = 'b.txt', sessionId = 's'): Promise<string> =>
      codeOf(files.change(path, { requireRead: true, sessionId }, changed));
    beforeEach(async () => {
      files = open();
      await codeOf(files.change('b.txt', { sessionId: 's' }, () => bytes('seen')));
    });

    it('change() goes through when only the time of the file changed', async () => {
      await utimes(p('b.txt'), 1, 1);
      expect(await again()).toBe('none');
    });

    it('change() goes through when the file was replaced by an equal one', async () => {
      await unlink(p('b.txt'));
      await writeFile(p('b.txt'), 'seen');
      expect(await again()).toBe('none');
    });

    it('change() goes through when the file was renamed', async () => {
      await run('mv', 'b.txt', 'c.txt');
      expect(await again('c.txt')).toBe('none');
    });

    it('change() throws FILE_CHANGED when the content changed at the same size and time', async () => {
      const { atime, mtime } = await stat(p('b.txt'));
      await writeFile(p('b.txt'), 'SEEN');
      await utimes(p('b.txt'), atime, mtime);
      expect(await again()).toBe('FILE_CHANGED');
    });

    it('change() throws FILE_CHANGED when an editor replaced the file', async () => {
      await writeFile(p('tmp'), 'edited');
      await run('mv', 'tmp', 'b.txt');
      expect(await again()).toBe('FILE_CHANGED');
    });

    it('change() throws FILE_CHANGED when another session wrote the file', async () => {
      await files.change('b.txt', { sessionId: 't' }, () => bytes('theirs'));
      expect(await again()).not.toBe('none');
    });
  });

  it('onChanged() reports each written file, and not when a listener throws or has left', async () => {
    const files = open();
    const changes: unknown[] = [];
    files.onChanged(() => {
      throw new Error('mine');
    });
    const stop = files.onChanged((change) => changes.push(change));
    await files.write('b.txt', bytes('x'));
    await files.write('new.txt', bytes('x'));
    await codeOf(files.write('../x', bytes('x')));
    stop();
    await files.write('b.txt', bytes('y'));
    expect(changes).toEqual([
      { path: 'b.txt', absolute: p('b.txt'), kind: 'changed' },
      { path: 'new.txt', absolute: p('new.txt'), kind: 'created' },
    ]);
  });

  it('read() throws TOO_LARGE when the file is above 64 MiB', async () => {
    await run('truncate', '-s', '65M', 'big');
    expect(await codeOf(open().read('big'))).toBe('TOO_LARGE');
  });

  // Root may write anywhere, so these tests give root up for a moment.
  describe.runIf(process.getuid?.() === 0)('as another user', () => {
    const NOBODY = 65_534;
    async function asNobody<T>(act: () => Promise<T>): Promise<T> {
      process.setegid?.(NOBODY);
      process.seteuid?.(NOBODY);
      try {
        return await act();
      } finally {
        process.seteuid?.(0);
        process.setegid?.(0);
      }
    }
    beforeEach(async () => {
      await chmod(world.projectDir, 0o755);
      await chmod(projectDir, 0o755);
    });

    it('write() writes in place when the directory is not writable and the file is', async () => {
      await chmod(p('b.txt'), 0o666);
      const { ino } = await stat(p('b.txt'));
      const files = open();
      await asNobody(() => files.write('b.txt', bytes('in place')));
      expect(await readFile(p('b.txt'), 'utf8')).toBe('in place');
      expect((await stat(p('b.txt'))).ino).toBe(ino);
    });

    it('write() writes in place when the owner could not be kept', async () => {
      await chmod(projectDir, 0o777);
      await chmod(p('b.txt'), 0o666);
      const files = open();
      await asNobody(() => files.write('b.txt', bytes('in place')));
      expect(await stat(p('b.txt'))).toMatchObject({ uid: 0, gid: 0 });
      expect(await everything(projectDir)).toEqual(['b.txt', 'src', 'src/a.ts']);
    });

    it('read() and write() throw PERMISSION_DENIED when the system does not permit it', async () => {
      await chmod(p('b.txt'), 0o600);
      const files = open();
      expect(await asNobody(() => codeOf(files.read('b.txt')))).toBe('PERMISSION_DENIED');
      expect(await asNobody(() => codeOf(files.write('b.txt', bytes('x'))))).toBe('PERMISSION_DENIED');
      expect(await asNobody(() => codeOf(files.write('new', bytes('x'))))).toBe('PERMISSION_DENIED');
    });
  });

  describe.runIf(process.getuid?.() === 0 && process.platform === 'linux')('on a full disk', () => {
    let mounted = false;
    beforeEach(async (context) => {
      await mkdir(p('small'));
      const mount = spawnChild({
        command: 'mount',
        args: ['-t', 'tmpfs', '-o', 'size=256k', 'tmpfs', p('small')],
        cwd: projectDir,
      });
      mounted = (await mount.exited.catch(() => ({ code: 1 }))).code === 0;
      if (!mounted) context.skip('this machine does not let us mount a small disk');
      await writeFile(p('small/old.txt'), 'old content\n');
      await writeFile(p('small/fill'), Buffer.alloc(200 * 1024, 'x'));
    });
    afterEach(async () => {
      if (mounted) await run('umount', p('small'));
      await rm(p('small'), { recursive: true, force: true });
    });

    it('write() throws NO_SPACE and leaves the old content whole', async () => {
      expect(await codeOf(open().write('small/old.txt', Buffer.alloc(120 * 1024, 'y')))).toBe('NO_SPACE');
      expect(await readFile(p('small/old.txt'), 'utf8')).toBe('old content\n');
      expect((await readdir(p('small'))).sort()).toEqual(['fill', 'old.txt']);
    });

    it('write() throws NO_SPACE and leaves the old content whole when it must write in place', async () => {
      await link(p('small/old.txt'), p('small/other'));
      expect(await codeOf(open().write('small/old.txt', Buffer.alloc(120 * 1024, 'y')))).toBe('NO_SPACE');
      expect(await readFile(p('small/other'), 'utf8')).toBe('old content\n');
    });

    it('write() throws NO_SPACE and creates nothing when the file is new', async () => {
      expect(await codeOf(open().write('small/new/x', Buffer.alloc(120 * 1024, 'y'), { createDirs: true }))).toBe(
        'NO_SPACE',
      );
      expect((await readdir(p('small'))).sort()).toEqual(['fill', 'old.txt']);
    });
  });
});

describe('file handles', () => {
  it('read(), write() and every refusal leave no handle open', async () => {
    const files = new ProjectFiles({ projectDir, fsync: false });
    await symlink('/etc/passwd', p('out'));
    await symlink('loop', p('loop'));
    await symlink('nowhere', p('nowhere'));
    const work = async (): Promise<void> => {
      for (const path of ['b.txt', 'src', 'out', 'loop', 'nowhere', 'missing', 'b.txt/x', '.git/x', 'src/a.ts']) {
        await codeOf(files.read(path));
        await codeOf(files.resolve(path, 'write'));
      }
      for (const path of ['b.txt', 'x/y/z', 'src', 'out/x', 'loop', 'nowhere', 'b.txt/x', '.git/x'])
        await codeOf(files.write(path, bytes('x'), { createDirs: true }));
    };
    await work();
    const before = (await readdir('/proc/self/fd')).length;
    for (let round = 0; round < 5; round++) await work();
    expect((await readdir('/proc/self/fd')).length).toBeLessThanOrEqual(before);
  });
});
