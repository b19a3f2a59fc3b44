import { lstat, mkdir, readdir, rename, symlink } from 'node:fs/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ToolError } from '../../../src/contract/errors.js';
import { copyEntry } from '../../../src/servers/project/entries/copy-entry.js';
import { deleteEntry } from '../../../src/servers/project/entries/delete-entry.js';
import { moveEntry } from '../../../src/servers/project/entries/move-entry.js';
import { ProjectFiles } from '../../../src/servers/project/project-files.js';
import type { ExtraRoot } from '../../../src/servers/project/scope/project-scope.js';
import { createTestProject, type TestProject } from '../../../src/testing/project.js';

let world: TestProject;

beforeEach(async () => {
  world = await createTestProject({
    'outside/secret.txt': 'secret',
    'above/proj/src/a.txt': 'inside',
    'above/proj/vendor/lib/b.txt': 'vendored',
    'above/proj/to-lib': { link: 'vendor/lib' },
    'above/beside/c.txt': 'beside',
    'link-to-above': { link: 'above' },
  });
});
afterEach(() => world[Symbol.asyncDispose]());

const open = (...extraRoots: ExtraRoot[]): ProjectFiles =>
  new ProjectFiles({ projectDir: world.resolve('above/proj'), extraRoots, fsync: false });

async function codeOf(run: Promise<unknown>): Promise<string> {
  return run.then(
    () => 'none',
    (error: unknown) => {
      if (ToolError.isInstance(error)) return error.code;
      throw error;
    },
  );
}

const INSIDE = Buffer.from('x');

/** Every way to change what is at a path. */
const changes = (files: ProjectFiles, path: string): Promise<string>[] => [
  codeOf(files.write(path, INSIDE)),
  codeOf(files.write(`${path}.new`, INSIDE, { createDirs: true })),
  codeOf(deleteEntry(files, path, { recursive: true })),
  codeOf(moveEntry(files, path, 'src/moved')),
  codeOf(moveEntry(files, 'src/a.txt', path, { overwrite: true })),
  codeOf(copyEntry(files, 'src/a.txt', path, { overwrite: true })),
];

describe('extraRoots', () => {
  it('a read-only root in the project can be read, and nothing in it changed, also through a link', async () => {
    const files = open({ path: world.resolve('above/proj/vendor/lib'), mode: 'ro' });
    expect((await files.read('to-lib/b.txt')).bytes.toString()).toBe('vendored');
    for (const path of ['vendor/lib/b.txt', 'to-lib/b.txt', world.resolve('above/proj/vendor/lib/b.txt')]) {
      for (const code of await Promise.all(changes(files, path))) expect(code, path).toBe('PERMISSION_DENIED');
    }
    // What holds it stays too, and so does what is copied over it.
    for (const path of ['vendor', 'vendor/lib']) {
      expect(await codeOf(deleteEntry(files, path, { recursive: true }))).toMatch(/INVALID_ARGUMENT|PERMISSION_DENIED/);
      expect(await codeOf(moveEntry(files, path, 'elsewhere'))).toMatch(/INVALID_ARGUMENT|PERMISSION_DENIED/);
    }
    expect(await codeOf(copyEntry(files, 'vendor', 'copied', { recursive: true }))).toBe('none');
    expect(await world.read('above/proj/vendor/lib/b.txt')).toBe('vendored');
  });

  it('a read-only root above the project leaves the project writable and what is beside it read-only', async () => {
    const files = open({ path: world.resolve('above'), mode: 'ro' });
    expect((await files.read('../beside/c.txt')).bytes.toString()).toBe('beside');
    for (const code of await Promise.all(changes(files, '../beside/c.txt'))) expect(code).toBe('PERMISSION_DENIED');
    expect(await codeOf(deleteEntry(files, '..', { recursive: true }))).not.toBe('none');
    expect(await codeOf(files.write('src/new.txt', INSIDE))).toBe('none');
    expect(await codeOf(files.read('../../outside/secret.txt'))).toBe('OUTSIDE_PROJECT');
    expect(await world.read('above/beside/c.txt')).toBe('beside');
  });

  it('a root given as a link is the directory that it led to, also when the link leads elsewhere later', async () => {
    const files = open({ path: world.resolve('link-to-above/beside'), mode: 'rw' });
    expect((await files.read(world.resolve('link-to-above/beside/c.txt'))).bytes.toString()).toBe('beside');
    await rename(world.resolve('link-to-above'), world.resolve('old-link'));
    await mkdir(world.resolve('outside/beside'));
    await world.write('outside/beside/c.txt', 'secret');
    await symlink('outside', world.resolve('link-to-above'));
    expect((await files.read(world.resolve('link-to-above/beside/c.txt'))).bytes.toString()).toBe('beside');
    expect(await codeOf(files.read('../../outside/beside/c.txt'))).toBe('OUTSIDE_PROJECT');
  });
});

describe('ProjectFiles of a replaced project directory', () => {
  it('does not follow a link to the outside that replaced it during use', async () => {
    const files = open();
    await files.read('src/a.txt');
    await rename(world.resolve('above/proj'), world.resolve('above/old'));
    await symlink('../outside', world.resolve('above/proj'));
    expect(await codeOf(files.read('secret.txt'))).toBe('OUTSIDE_PROJECT');
    expect(await codeOf(files.write('new.txt', INSIDE, { createDirs: true }))).toBe('OUTSIDE_PROJECT');
    expect(await codeOf(files.write('a/b/new.txt', INSIDE, { createDirs: true }))).toBe('OUTSIDE_PROJECT');
    expect(await codeOf(deleteEntry(files, 'secret.txt'))).toBe('OUTSIDE_PROJECT');
    expect(await codeOf(copyEntry(files, 'secret.txt', 'copy.txt'))).toBe('OUTSIDE_PROJECT');
    expect(await readdir(world.resolve('outside'))).toEqual(['secret.txt']);
  });

  it('fails with NOT_FOUND, and does not create it again, when it was removed', async () => {
    const files = open();
    await rename(world.resolve('above/proj'), world.resolve('above/old'));
    const runs = [
      () => files.read('src/a.txt'),
      () => files.write('a/b.txt', INSIDE, { createDirs: true }),
      () => deleteEntry(files, 'src'),
    ];
    for (const run of runs) expect(await codeOf(run())).toBe('NOT_FOUND');
    await expect(lstat(world.resolve('above/proj'))).rejects.toMatchObject({ code: 'ENOENT' });
  });
});
