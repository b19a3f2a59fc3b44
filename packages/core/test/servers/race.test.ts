import { once } from 'node:events';
import { mkdir, readdir, readFile, realpath, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ToolError } from '../../src/errors.js';
import { copyEntry } from '../../src/servers/copy-entry.js';
import { deleteEntry } from '../../src/servers/delete-entry.js';
import { moveEntry } from '../../src/servers/move-entry.js';
import { ProjectFiles } from '../../src/servers/project-files.js';
import { createTestProject, type TestProject } from '../../src/testing/project.js';

// A smoke test: one JavaScript thread swaps. The full race, with a swapper of native speed, is part of the soak tests.
const DURATION_MS = 1_000;

let world: TestProject;
let project: string;

beforeEach(async () => {
  world = await createTestProject({ 'outside/file.txt': 'OUTSIDE', 'proj/dir/file.txt': 'INSIDE' });
  project = world.resolve('proj');
  await symlink(world.resolve('outside'), join(project, 'link'));
});
afterEach(() => world[Symbol.asyncDispose]());

/** Runs `attempt` again and again while a thread swaps `dir`; what it throws is counted as refused. */
async function whileSwapping(
  attempt: (index: number) => Promise<void>,
): Promise<{ served: number; refused: number; swaps: number }> {
  const stop = new SharedArrayBuffer(4);
  const worker = new Worker(new URL('./fixtures/swapper.mjs', import.meta.url), {
    workerData: { dir: join(project, 'dir'), directory: join(project, 'dir.real'), link: join(project, 'link'), stop },
  });
  await once(worker, 'message');
  let served = 0;
  let refused = 0;
  const end = performance.now() + DURATION_MS;
  for (let index = 0; performance.now() < end; index++) {
    try {
      await attempt(index);
      served++;
    } catch (error) {
      if (!ToolError.isInstance(error) && !(error as NodeJS.ErrnoException).code) throw error;
      refused++;
    }
  }
  Atomics.store(new Int32Array(stop), 0, 1);
  const [swaps] = (await once(worker, 'message')) as [number];
  await worker.terminate();
  return { served, refused, swaps };
}

describe('ProjectFiles while a directory is swapped for a link', () => {
  it('P4 read() never gives what is outside', async () => {
    const files = new ProjectFiles({ projectDir: project });
    let escapes = 0;
    const counts = await whileSwapping(async () => {
      if ((await files.read('dir/file.txt')).bytes.toString() !== 'INSIDE') escapes++;
    });
    expect(escapes).toBe(0);
    expect(counts.served).toBeGreaterThan(0);
    expect(counts.refused).toBeGreaterThan(0);
  });

  it('P4 write() never writes outside', async () => {
    const files = new ProjectFiles({ projectDir: project, fsync: false });
    const counts = await whileSwapping(async (index) => {
      await files.write(index % 2 ? 'dir/file.txt' : `dir/new-${index % 50}.txt`, Buffer.from('INSIDE'));
    });
    expect(await readdir(world.resolve('outside'))).toEqual(['file.txt']);
    expect(await readFile(world.resolve('outside/file.txt'), 'utf8')).toBe('OUTSIDE');
    expect(counts.served).toBeGreaterThan(0);
    expect(counts.refused).toBeGreaterThan(0);
  });

  it('P4 the swapper makes a naive check-then-open escape', async () => {
    let escapes = 0;
    await whileSwapping(async () => {
      const path = join(project, 'dir/file.txt');
      if (!(await realpath(path)).startsWith(`${project}/`)) return;
      if ((await readFile(path, 'utf8')) === 'OUTSIDE') escapes++;
    });
    expect(escapes).toBeGreaterThan(0);
  });

  it('P4 write() makes no directory outside when the directory on the way is swapped', async () => {
    const files = new ProjectFiles({ projectDir: project, fsync: false });
    await mkdir(join(project, 'dir/sub'));
    await writeFile(join(project, 'dir/sub/keep'), '');
    await whileSwapping(async (index) => {
      await files.write(`dir/sub/${index}/x.txt`, Buffer.from('INSIDE'), { createDirs: true });
    });
    expect(await readdir(world.resolve('outside'))).toEqual(['file.txt']);
  });

  /** Nothing was taken from the outside, put into it, or read from it into the project. */
  async function expectNoEscape(): Promise<void> {
    expect(await readdir(world.resolve('outside'))).toEqual(['file.txt']);
    expect(await readFile(world.resolve('outside/file.txt'), 'utf8')).toBe('OUTSIDE');
    for (const entry of await readdir(project, { recursive: true, withFileTypes: true })) {
      if (entry.isFile()) expect(await readFile(join(entry.parentPath, entry.name), 'utf8')).not.toBe('OUTSIDE');
    }
  }

  it('P4 deleteEntry() never deletes outside, a file or a tree', async () => {
    const files = new ProjectFiles({ projectDir: project, fsync: false });
    const counts = await whileSwapping(async (index) => {
      if (index % 3 === 0) await files.write('dir/file.txt', Buffer.from('INSIDE'), { createDirs: true });
      else if (index % 3 === 1) await deleteEntry(files, 'dir/file.txt');
      else await deleteEntry(files, 'dir', { recursive: true });
    });
    await expectNoEscape();
    expect(counts.served).toBeGreaterThan(0);
    expect(counts.refused).toBeGreaterThan(0);
  });

  it('P4 moveEntry() never moves from or to the outside', async () => {
    const files = new ProjectFiles({ projectDir: project, fsync: false });
    await mkdir(join(project, 'safe'));
    const counts = await whileSwapping(async (index) => {
      const overwrite = index % 4 > 1;
      if (index % 2) await moveEntry(files, 'safe/file.txt', 'dir/file.txt', { overwrite });
      else await moveEntry(files, 'dir/file.txt', 'safe/file.txt', { overwrite });
    });
    await expectNoEscape();
    expect(counts.served).toBeGreaterThan(0);
    expect(counts.refused).toBeGreaterThan(0);
  });

  it('P4 copyEntry() never copies from or to the outside', async () => {
    const files = new ProjectFiles({ projectDir: project, fsync: false });
    await mkdir(join(project, 'safe'));
    await writeFile(join(project, 'safe/file.txt'), 'INSIDE');
    const counts = await whileSwapping(async (index) => {
      if (index % 3 === 0) await copyEntry(files, 'safe/file.txt', `dir/new-${index % 50}.txt`, { overwrite: true });
      else if (index % 3 === 1) await copyEntry(files, 'dir/file.txt', 'safe/copy.txt', { overwrite: true });
      else await copyEntry(files, 'dir', `safe/tree-${index}`, { recursive: true });
    });
    await expectNoEscape();
    expect(counts.served).toBeGreaterThan(0);
    expect(counts.refused).toBeGreaterThan(0);
  });
});
