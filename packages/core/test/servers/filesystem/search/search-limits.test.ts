// Searches with patterns or trees that are too large stop at their limits, and do not delay other calls.

import { writeFileSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { describe, expect, it } from 'vitest';
import { expectNoLeaks } from '../../../../src/testing/leaks.js';
import { rows } from './search-project.js';
import { temporaryName } from '../../../../src/servers/project/write/atomic-write.js';
import { openTools } from '../filesystem-tools.js';

/** The longest that the event loop stood still meanwhile, in milliseconds. */
async function stallDuring(work: () => Promise<unknown>): Promise<number> {
  const delay = monitorEventLoopDelay({ resolution: 5 });
  delay.enable();
  await work();
  delay.disable();
  return delay.max / 1e6;
}

const CATASTROPHE = '(a+)+$';
const HOSTILE = `${'a'.repeat(40)}!\n`;

describe('search tools with a pattern of exponential time', () => {
  it('grep() by rg returns immediately', async () => {
    await using tools = await openTools({ 'a.txt': HOSTILE }, { search: 'rg' });
    const { data } = await tools.call('grep', { pattern: CATASTROPHE });
    expect(data).toMatchObject({ matches: [], timed_out: false, engine: 'rg' });
  });

  it('grep() by js returns what it found with timed_out, and does not block other calls', async () => {
    await using tools = await openTools(
      { 'a.txt': 'aa\n', 'b.txt': `aaa\n${HOSTILE}`, 'c.txt': 'aa\n' },
      { search: 'js' },
    );
    await using _ = expectNoLeaks();
    let answer;
    const stall = await stallDuring(async () => {
      answer = await tools.call('grep', { pattern: CATASTROPHE, timeout_ms: 1_500 });
    });
    expect(answer).toMatchObject({
      code: undefined,
      data: {
        timed_out: true,
        truncated: false,
        engine: 'js',
        matches: [
          { path: 'a.txt', line: 1 },
          { path: 'b.txt', line: 1 },
        ],
      },
    });
    expect(stall).toBeLessThan(500);
  });

  it('grep() by js fails with CANCELLED when the call is cancelled meanwhile', async () => {
    await using tools = await openTools({ 'b.txt': HOSTILE }, { search: 'js' });
    await using _ = expectNoLeaks();
    const controller = new AbortController();
    const answer = tools.call('grep', { pattern: CATASTROPHE }, { signal: controller.signal });
    setTimeout(() => controller.abort(), 300);
    expect((await answer).code).toBe('CANCELLED');
  });

  it('grep() by js serves ten searches at once, four at a time', async () => {
    await using tools = await openTools({ 'a.txt': 'needle\n', 'b.txt': HOSTILE }, { search: 'js' });
    await using _ = expectNoLeaks();
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_each, index) =>
        tools.call('grep', index % 2 === 0 ? { pattern: 'needle' } : { pattern: CATASTROPHE, timeout_ms: 300 }),
      ),
    );
    for (const [index, { code, data }] of answers.entries()) {
      expect(code).toBeUndefined();
      if (index % 2 === 0) expect(rows(data)).toMatchObject([{ path: 'a.txt' }]);
      else expect(data.timed_out).toBe(true);
    }
  });

  it('glob() and list_directory() are not slowed down by an ignore file of a hostile repository', async () => {
    const hostile = `${'*a'.repeat(60)}b\n${'**/'.repeat(200)}x\n${'{a,b}'.repeat(20)}\n`;
    await using tools = await openTools({ '.gitignore': hostile, ['a'.repeat(200)]: '', 'd/x': '' }, { search: 'js' });
    const stall = await stallDuring(async () => {
      expect((await tools.call('glob', { pattern: '**', sort: 'path' })).data.files).toEqual([
        '.gitignore',
        '.keep',
        'a'.repeat(200),
      ]);
      await tools.call('list_directory', { depth: 3 });
    });
    expect(stall).toBeLessThan(500);
  });
});

describe('search tools in a directory of 20,000 entries', () => {
  it('list_directory() returns the first entries in order and pages to the last, in bounded memory', async () => {
    await using tools = await openTools();
    await mkdir(tools.path('many'));
    const names = Array.from({ length: 20_000 }, (_each, index) => String(index).padStart(5, '0'));
    for (const name of names) writeFileSync(tools.path(`many/${name}`), '');
    globalThis.gc?.();
    const before = process.memoryUsage().heapUsed;
    const first = (await tools.call('list_directory', { path: 'many', limit: 10 })).data;
    // 20,000 names with their stats would be more than 10 MB; of twice the limit and 256 it holds no more.
    if (globalThis.gc) expect(process.memoryUsage().heapUsed - before).toBeLessThan(64 * 1024 * 1024);
    expect(first.truncated).toBe(true);
    const seen: string[] = [];
    let cursor: unknown;
    do {
      const { data } = await tools.call('list_directory', {
        path: 'many',
        limit: 10_000,
        ...(cursor ? { cursor: cursor } : {}),
      });
      seen.push(...(data.entries as { path: string }[]).map(({ path }) => path));
      cursor = data.cursor;
      expect(JSON.stringify(data).length).toBeLessThan(1024 * 1024);
    } while (cursor !== undefined);
    expect(seen).toEqual(names.map((name) => `many/${name}`));
  }, 120_000);

  it.each(['rg', 'js'] as const)('glob() and grep() by %s stop at their limits', async (search) => {
    await using tools = await openTools({}, { search });
    await mkdir(tools.path('many'));
    for (let at = 0; at < 3_000; at += 500)
      await Promise.all(
        Array.from({ length: 500 }, (_each, index) => writeFile(tools.path(`many/${at + index}.txt`), 'needle\n')),
      );
    expect((await tools.call('glob', { pattern: '*.txt', limit: 5 })).data).toMatchObject({
      truncated: true,
      files: { length: 5 },
    });
    expect((await tools.call('grep', { pattern: 'needle', limit: 5 })).data).toMatchObject({
      truncated: true,
      match_count: 5,
    });
  });

  it('grep() by js reads a big file in parts, with every line at its number', async () => {
    const lines = Array.from({ length: 300_000 }, (_each, index) =>
      index % 100_000 === 99_999 ? 'needle' : 'x'.repeat(30),
    );
    await using tools = await openTools(
      { 'big.txt': lines.join('\n'), 'wide.txt': `${'y'.repeat(9_000_000)}needle\nneedle` },
      { search: 'js' },
    );
    const { data } = await tools.call('grep', { pattern: 'needle' });
    expect(rows(data).map(({ path, line, column }) => [path, line, column])).toEqual([
      ['big.txt', 100_000, 1],
      ['big.txt', 200_000, 1],
      ['big.txt', 300_000, 1],
      ['wide.txt', 1, 9_000_001],
      ['wide.txt', 2, 1],
    ]);
  });
});

describe('search option', () => {
  it('createFilesystemServer() fails with INVALID_ARGUMENT when search is none that it knows', async () => {
    await expect(openTools({}, { search: 'grep' as 'rg' })).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
  });

  it.each(['rg', 'js'] as const)('grep() by %s names near types when there is none of that name', async (search) => {
    await using tools = await openTools({ 'a.ts': 'x' }, { search });
    const { code, text } = await tools.call('grep', { pattern: 'x', type: 'pyton' });
    expect(code).toBe('INVALID_ARGUMENT');
    expect(text).toContain('python');
  });

  it.each(['rg', 'js'] as const)('grep() by %s never shows a write under way, whatever the glob', async (search) => {
    await using tools = await openTools(
      { [temporaryName()]: 'needle\n', '.git/a': 'needle\n', 'a.txt': 'needle\n' },
      { search },
    );
    for (const glob of ['*', '**', '.toolwright*', ['*', '.git', '.git/**', '*.tmp']])
      expect(
        rows((await tools.call('grep', { pattern: 'needle', glob })).data)
          .map(({ path }) => path)
          .filter((path) => path !== 'a.txt'),
      ).toEqual([]);
  });
});
