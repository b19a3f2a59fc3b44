// Reading files that are larger than memory: bounded memory, a responsive event loop, and cancellation.

import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { link, open, truncate, type FileHandle } from 'node:fs/promises';
import { text as textOfStream } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../../src/contract/json.js';
import { spawnChild } from '../../../../src/process/index.js';
import { readPage, type FilePage } from '../../../../src/servers/filesystem/read/file-pages.js';
import { FilePlaces, LinePlaces } from '../../../../src/servers/filesystem/read/line-places.js';
import { readPageOf } from '../../../../src/servers/filesystem/read/page-answer.js';
import { ProjectFiles } from '../../../../src/servers/project/project-files.js';
import type { ToolContext } from '../../../../src/tool/define-tool.js';
import { openTools } from '../filesystem-tools.js';

const MIB = 1024 * 1024;
const FIXTURE = fileURLToPath(new URL('../../fixtures/read-huge.mjs', import.meta.url));

interface Measured {
  answers: { body: string; data: JsonObject; code?: string }[];
  moreBytes: number;
  longestMs: number;
}

/** Calls in a fresh process, whose memory and event loop are its own. */
async function measured(projectDir: string, calls: [tool: string, args: JsonObject][]): Promise<Measured> {
  const args = ['--import', 'tsx', FIXTURE, projectDir, JSON.stringify(calls)];
  const child = spawnChild({
    command: process.execPath,
    args,
    cwd: fileURLToPath(new URL('.', import.meta.url)),
    stdin: 'ignore',
  });
  const [output, { code }] = await Promise.all([textOfStream(child.stdout), child.exited]);
  expect(code, child.stderrTail()).toBe(0);
  return JSON.parse(output) as Measured;
}

async function writeRepeated(path: string, piece: string, times: number): Promise<void> {
  const stream = createWriteStream(path);
  for (let i = 0; i < times; i++) if (!stream.write(piece)) await once(stream, 'drain');
  stream.end();
  await once(stream, 'close');
}

describe('read_file() of huge files', () => {
  it('read_file() reads on in one line of 50 MB, in bounded memory', async () => {
    const piece = 'héllo wörld 😀 '.repeat(4_000);
    await using tools = await openTools({ 'small.txt': 'one\n' });
    await writeRepeated(tools.path('line.txt'), piece, 700);
    const at = [2_001, 20_000_001, 700 * piece.length - 30_000];
    const { answers, moreBytes, longestMs } = await measured(tools.projectDir, [
      ['read_file', { path: 'line.txt', line_numbers: false }],
      ...at.map((column): [string, JsonObject] => ['read_file', { path: 'line.txt', column, line_numbers: false }]),
    ]);
    const [first, ...pages] = answers;
    expect(first!.data).toMatchObject({ total_lines: 1, next_offset: 1, next_column: 2_001 });
    for (const [index, { body, data }] of pages.entries()) {
      const start = (at[index]! - 1) % piece.length;
      expect(body).toBe(piece.repeat(3).slice(start, start + body.length));
      expect(body.length).toBeGreaterThan(25_000);
      expect(data.next_column).toBe(index < 2 ? at[index]! + body.length : undefined);
    }
    expect(moreBytes).toBeLessThan(64 * MIB);
    expect(longestMs).toBeLessThan(5_000); // ten times what it takes
  }, 60_000);

  it('read_file() reads the beginning, a later page and the end of a 1 GB file, in bounded memory', async () => {
    await using tools = await openTools({ 'small.txt': 'one\n' });
    const lines = Array.from({ length: 10_000 }, (_, index) => `a line of text, ${index % 10}\n`).join('');
    await writeRepeated(tools.path('big.txt'), lines, 100);
    const dense = lines.length * 100;
    await truncate(tools.path('big.txt'), 1024 * MIB - dense);
    const handle = await open(tools.path('big.txt'), 'a');
    for (let i = 0; i < 10; i++) await handle.writeFile(lines);
    await handle.close();
    const { answers, moreBytes, longestMs } = await measured(tools.projectDir, [
      ['read_file', { path: 'big.txt' }],
      ['read_file', { path: 'big.txt', offset: 900_000, limit: 1 }],
      ['read_file', { path: 'big.txt', offset: 900_001, limit: 1 }],
      ['read_file', { path: 'big.txt', tail: 3 }],
      // The hole is one line, of some 990 MB.
      ['read_file', { path: 'big.txt', offset: 1_000_001 }],
      ['read_file', { path: 'big.txt', offset: 99_000_000 }],
    ]);
    const [first, later, next, tail, hole, past] = answers;
    expect(first!.data).toMatchObject({
      start_line: 1,
      truncated: true,
      next_offset: Number(first!.data.end_line) + 1,
    });
    expect(later!.body).toBe('900000\ta line of text, 9');
    expect(next!.body).toBe('900001\ta line of text, 0');
    expect(tail!.body).toBe('a line of text, 7\na line of text, 8\na line of text, 9');
    expect(tail!.data).not.toHaveProperty('start_line');
    expect(hole!.data).toMatchObject({ start_line: 1_000_001, next_offset: 1_000_001, next_column: 2_001 });
    expect(past!.code).toBe('INVALID_ARGUMENT');
    expect(moreBytes).toBeLessThan(64 * MIB);
    expect(longestMs).toBeLessThan(5_000); // ten times what it takes
  }, 60_000);

  it('read_file() returns the end of a line when that is all of the end of a huge file', async () => {
    await using tools = await openTools();
    await writeRepeated(tools.path('line.txt'), '€'.repeat(MIB / 3), 80);
    const { body, text, data } = await tools.call('read_file', { path: 'line.txt', tail: 5 });
    expect(body).toMatch(/^\[this line begins earlier\] \.\.\.€{600,700}$/);
    expect(text).toContain('have no numbers');
    expect(data).toMatchObject({ truncated: true });
    expect(data).not.toHaveProperty('next_offset');
  });

  it('read_file() detects the encoding of a huge file from its beginning, and shows U+FFFD for invalid bytes', async () => {
    await using tools = await openTools();
    await writeRepeated(tools.path('a.txt'), 'é\n'.repeat(100_000), 240);
    const handle = await open(tools.path('a.txt'), 'r+');
    await handle.write(Buffer.from([0xff]), 0, 1, 300_000);
    await handle.close();
    const { body, text, data } = await tools.call('read_file', { path: 'a.txt', offset: 100_001, limit: 1 });
    expect(body).toBe('100001\t\ufffd\ufffd');
    expect(data.encoding).toBe('utf-8');
    expect(text).toContain('U+FFFD');
    const before = await tools.call('read_file', { path: 'a.txt', offset: 100_000, limit: 1 });
    expect(before.text).not.toContain('U+FFFD');
    expect(before.body).toBe('100000\té');
  });

  it.each([{ offset: 9_999_999 }, { column: 99_999_999 }])(
    'readPageOf() stops reading when its signal is aborted on the way (%j)',
    async (requested) => {
      await using tools = await openTools();
      await writeRepeated(tools.path('a.txt'), 'x'.repeat(MIB), 80);
      const files = new ProjectFiles({ projectDir: tools.projectDir });
      const controller = new AbortController();
      const seen: number[] = [];
      const progress = (each: { progress: number }): void => {
        seen.push(each.progress);
        controller.abort();
      };
      const context = {
        signal: controller.signal,
        progress,
        sessionId: undefined,
      } as Partial<ToolContext> as ToolContext;
      const limits = { maxLines: 10, maxBytes: 16 * 1024 };
      const reading = readPageOf(files, files.scope.parse('a.txt'), { ...requested, limit: 1 }, limits, context);
      await expect(reading).rejects.toMatchObject({ code: 'CANCELLED' });
      expect(seen).toEqual([32 * MIB]);
      // The same through the tool.
      const { signal } = controller;
      expect((await tools.call('read_file', { path: 'a.txt', ...requested }, { signal })).code).toBe('CANCELLED');
    },
  );

  it('read_many() reads 50 files of 8 MB in bounded memory', async () => {
    await using tools = await openTools({ 'small.txt': 'one\n' });
    await writeRepeated(tools.path('0.txt'), `${'long '.repeat(2_000)}\n`, 800);
    const paths = Array.from({ length: 50 }, (_, index) => `${index}.txt`);
    // Names of one file are files to the tool, and cost no disk.
    for (const path of paths.slice(1)) await link(tools.path('0.txt'), tools.path(path));
    const { answers, moreBytes, longestMs } = await measured(tools.projectDir, [['read_many', { paths }]]);
    expect((answers[0]!.data.files as JsonObject[]).map(({ total_lines }) => total_lines)).toEqual(
      paths.map(() => 800),
    );
    expect(moreBytes).toBeLessThan(64 * MIB);
    expect(longestMs).toBeLessThan(5_000); // ten times what it takes
  }, 60_000);
});

describe('LinePlaces', () => {
  /** Opens a file that changed long ago, and says of a page how many bytes were read for it. */
  async function reader(handle: FileHandle, places: LinePlaces | undefined, ageMs = 60_000) {
    const stats = await handle.stat({ bigint: true });
    const old = Object.assign(stats, { ctimeMs: BigInt(Date.now() - ageMs) });
    return async (offset: number, column = 1): Promise<{ page: FilePage; bytes: number }> => {
      let bytes = 0;
      const page = await readPage(handle, old, {
        from: { offset, column },
        limit: 2,
        maxLineUnits: 2_000,
        maxBytes: 50 * 1024,
        encoding: 'auto',
        places,
        onChunk: (read) => void (bytes = read),
      });
      // How far it was read beyond the page depends on where the chunks begin.
      return { page: { ...page!, linesSeen: page!.complete ? page!.linesSeen : 0 }, bytes };
    };
  }

  it('readPage() returns the same page with places as without, and reads little for it', async () => {
    await using tools = await openTools();
    // One byte before them, so that chunks end within a character.
    const long = `x${'😀'.repeat(2 * MIB)}\r\n`;
    await writeRepeated(tools.path('a.txt'), `${'line\r\nline\n'.repeat(100_000)}${long}`, 9);
    const handle = await open(tools.path('a.txt'));
    try {
      const plain = await reader(handle, undefined);
      const placed = await reader(handle, new LinePlaces());
      for (const [offset, column] of [
        [1_000_000, 1],
        [1_000_002, 1],
        [600_003, 4_000_000],
        [600_003, 4_000_100],
        [600_003, 3_999_900],
        [600_004, 1],
        [200_001, 1],
        [400_002, 4 * MIB - 1],
        [400_003, 1],
      ] as const) {
        const { page } = await placed(offset, column);
        const expected = await plain(offset, column);
        expect(page).toEqual(expected.page);
        const again = await placed(offset, column);
        expect(again.page).toEqual(expected.page);
        expect(again.bytes).toBeLessThan(16 * MIB);
        expect(expected.bytes).toBeGreaterThan(offset === 200_001 ? 0 : 8 * MIB);
      }
    } finally {
      await handle.close();
    }
  }, 60_000);

  it('FilePlaces returns the last place that is not behind a column', () => {
    const places = new FilePlaces(1024 * MIB);
    const state = { lf: 0, crlf: 0, begun: true, afterReturn: false };
    places.note(10 * MIB, { ...state, linesSeen: 2, units: undefined });
    places.note(20 * MIB, { ...state, linesSeen: 3, units: 10 });
    places.note(20 * MIB + 1, { ...state, linesSeen: 3, units: 11 });
    const byteBefore = (line: number, column: number): number | undefined => places.before(line, column)?.byte;
    expect([byteBefore(3, 1_000), byteBefore(4, 10), byteBefore(4, 11), byteBefore(5, 1)]).toEqual(
      [undefined, 10, 20, 20].map((mib) => mib && mib * MIB),
    );
    places.note(10 * MIB + 1, { ...state, linesSeen: 2, units: 7 });
    expect(byteBefore(3, 8)).toBe(10 * MIB + 1);
  });

  it('LinePlaces remembers nothing of a file that has just changed, and forgets its older version', async () => {
    await using tools = await openTools({ 'a.txt': 'one\n' });
    const handle = await open(tools.path('a.txt'));
    const stats = await handle.stat({ bigint: true });
    await handle.close();
    const places = new LinePlaces();
    expect(places.of(stats, 'utf-8')).toBeUndefined();
    const old = Object.assign(stats, { ctimeMs: BigInt(Date.now() - 60_000) });
    const first = places.of(old, 'utf-8');
    expect(places.of(old, 'utf-8')).toBe(first);
    expect(places.of(old, 'latin1')).not.toBe(first);
    expect(places.of(Object.assign(old, { mtimeNs: old.mtimeNs + 1n }), 'utf-8')).not.toBe(first);
  });
});
