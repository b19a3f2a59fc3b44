// A store on a full disk reports it, loses nothing, and works again when space is freed.

import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, type TestContext } from 'vitest';
import { spawnChild } from '../../../../src/process/index.js';
import { openTools, type Tools } from '../memory-tools.js';

describe.runIf(process.getuid?.() === 0 && process.platform === 'linux')('SqliteBackend on a small disk', () => {
  let disk: string;
  let mounted = false;
  beforeEach(async (context: TestContext) => {
    disk = await mkdtemp(join(tmpdir(), 'toolwright-disk-'));
    mounted = (await run('mount', '-t', 'tmpfs', '-o', 'size=2000k', 'tmpfs', disk)) === 0;
    if (!mounted) context.skip('this machine does not let us mount a small disk');
    await mkdir(join(disk, 'proj'));
  });
  afterEach(async () => {
    if (mounted) await run('umount', '-l', disk);
    await rm(disk, { recursive: true, force: true });
  });

  const run = async (command: string, ...args: string[]): Promise<number | null> =>
    (await spawnChild({ command, args, cwd: '/' }).exited.catch(() => ({ code: 1 }))).code;
  const fill = (kib: number): Promise<void> => writeFile(join(disk, 'fill'), Buffer.alloc(kib * 1024, 'x'));
  const open = (): Promise<Tools> => openTools({}, { projectDir: join(disk, 'proj') });
  const store = async (tools: Tools, content: string): Promise<string | undefined> =>
    (await tools.call('store', { content, category: 'technical', on_duplicate: 'allow' })).code;
  /** Stores memories until it fails. Returns how many were stored, and the error code. */
  const storeAll = async (tools: Tools): Promise<[number, string | undefined]> => {
    for (let number = 0; number < 2_000; number++) {
      const code = await store(tools, `${number} ${'abc def '.repeat(50)}`);
      if (code !== undefined) return [number, code];
    }
    return [2_000, undefined];
  };

  it.each([1_990, 1_985, 1_960, 1_900, 1_700, 1_000])(
    'store answers NO_SPACE with %i of 2,000 KiB in use, and stores when they are free',
    async (kib) => {
      await using tools = await open();
      await fill(kib);
      const [, code] = await storeAll(tools);
      expect(code).toBe('NO_SPACE');
      expect(['NO_SPACE', undefined]).toContain((await tools.call('retrieve', { query: 'abc' })).code);
      await rm(join(disk, 'fill'));
      for (let number = 0; number < 5; number++) expect(await store(tools, `after it ${number}`)).toBeUndefined();
      expect((await tools.call('retrieve', { query: 'after it' })).data.results).not.toEqual([]);
    },
  );

  it('store works again after the store has filled the disk when some space is freed', async () => {
    await using tools = await open();
    const [stored, code] = await storeAll(tools);
    expect(code).toBe('NO_SPACE');
    expect(stored).toBeGreaterThan(100); // without a limit, the log would fill the disk after about 30
    expect(await run('mount', '-o', 'remount,size=2300k', disk)).toBe(0);
    const { memories } = (await tools.call('list', { limit: 200 })).data;
    for (const { id } of memories.slice(0, 20))
      expect((await tools.call('delete', { memory_id: id, hard: true })).code).toBeUndefined();
    expect(await store(tools, 'after deleting')).toBeUndefined();
    await using another = tools.another();
    expect(await store(another, 'from another host')).toBeUndefined();
  }, 60_000);
});
