import { access, mkdir, open, rename, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { spawnChild } from '../../../src/process/index.js';
import { soaking } from '../../soak.js';
import { openTools, type Tools } from '../filesystem/filesystem-tools.js';
import { PATIENCE_MS } from './every-tool.js';

const PATIENCE = { timeout: 120_000 };
/** Above what one call copies. */
const MANY = soaking ? 200_000 : 21_000;

/** Makes a tree that is deeper than any path can say, and gives the way to remove it again. */
async function deepTree(tools: Tools, name: string, levels: number): Promise<AsyncDisposable> {
  const perPath = Math.floor(3_000 / (name.length + 1));
  // Each new directory is put above the existing ones, because the system accepts no longer path.
  for (let made = 0; made < levels; made += perPath) {
    const piece = Array<string>(Math.min(perPath, levels - made))
      .fill(name)
      .join('/');
    await mkdir(join(tools.path('piece'), piece), { recursive: true });
    if (made > 0) await rename(tools.path(name), join(tools.path('piece'), piece, name));
    await rename(join(tools.path('piece'), name), tools.path(name));
    await rmdir(tools.path('piece'));
  }
  return {
    async [Symbol.asyncDispose]() {
      await using remover = spawnChild({ command: 'rm', args: ['-rf', name, 'moved'], cwd: tools.projectDir });
      remover.stdout.resume();
      await remover.exited;
    },
  };
}

async function fill(directory: string, count: number): Promise<void> {
  await mkdir(directory);
  for (let index = 0; index < count; index += 500) {
    await Promise.all(
      Array.from({ length: Math.min(500, count - index) }, async (_, each) =>
        (await open(`${directory}/f-${index + each}`, 'w')).close(),
      ),
    );
  }
}

describe('filesystem tools on a tree of 5,000 levels', () => {
  it('is listed to the requested depth, and refused by tools that would have to walk all of it', PATIENCE, async () => {
    await using tools = await openTools();
    await using _tree = await deepTree(tools, 'd', 5_000);
    const { data } = await tools.call('list_directory', { path: '.', depth: 10 });
    expect(data['entries']).toHaveLength(11);
    expect((await tools.call('stat', { path: 'd/d' })).data).toMatchObject({ type: 'dir' });
    const before = process.memoryUsage().rss;
    for (const [tool, args] of [
      ['delete', { path: 'd', recursive: true }],
      ['copy', { source: 'd', destination: 'copied', recursive: true }],
      ['move', { source: 'd', destination: 'moved' }],
    ] as const)
      expect((await tools.call(tool, args)).code, tool).toBe('TOO_LARGE');
    expect(process.memoryUsage().rss - before).toBeLessThan(64 * 1024 * 1024);
    await access(tools.path('d/d/d'));
    await expect(access(tools.path('copied'))).rejects.toMatchObject({ code: 'ENOENT' });
  });

  it('fails with a code where long names exceed the path length of the system', PATIENCE, async () => {
    await using tools = await openTools();
    const name = 'n'.repeat(250);
    await using _tree = await deepTree(tools, name, 60);
    for (const [tool, args] of [
      ['delete', { path: name, recursive: true }],
      ['copy', { source: name, destination: 'copied', recursive: true }],
      ['move', { source: name, destination: 'moved' }],
    ] as const)
      expect((await tools.call(tool, args)).code, tool).toBe('INVALID_ARGUMENT');
  });
});

describe(`filesystem tools on a directory of ${MANY} entries`, () => {
  it('is listed in part, not copied, and moved and deleted whole', PATIENCE, async () => {
    await using tools = await openTools();
    await fill(tools.path('many'), MANY);
    const { data, text } = await tools.call('list_directory', { path: 'many' });
    expect(data).toMatchObject({ truncated: true });
    expect(data['entries']).toHaveLength(1_000);
    expect(text.length).toBeLessThan(64 * 1024);
    expect((await tools.call('copy', { source: 'many', destination: 'copied', recursive: true })).code).toBe(
      'TOO_LARGE',
    );
    await expect(access(tools.path('copied'))).rejects.toMatchObject({ code: 'ENOENT' });
    expect((await tools.call('move', { source: 'many', destination: 'moved' })).code).toBeUndefined();
    expect((await tools.call('delete', { path: 'moved', recursive: true })).data).toMatchObject({
      removed: MANY + 1,
    });
  });

  it('is listed in time even with a .gitignore whose patterns take exponential time', PATIENCE, async () => {
    const hostile = [
      '*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*b',
      '{a,b}'.repeat(20),
      `${'**/'.repeat(200)}x`,
      '[a-'.repeat(50),
      '!'.repeat(99),
    ];
    await using tools = await openTools({ '.gitignore': hostile.join('\n'), ['a'.repeat(60)]: '', 'b/c.txt': '' });
    const started = performance.now();
    const { data } = await tools.call('list_directory', { path: '.', depth: 3 });
    expect(performance.now() - started).toBeLessThan(PATIENCE_MS * 2);
    expect(data['entries']).toContainEqual(expect.objectContaining({ path: 'b/c.txt' }));
  });
});
