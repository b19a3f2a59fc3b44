// Paging through searches and listings: every row once, whatever the page, and no cursor of anything else.

import { utimes } from 'node:fs/promises';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../../src/contract/json.js';
import { tries } from '../../../soak.js';
import type { TestFile } from '../../../../src/testing/project.js';
import { openTools, type Tools } from '../filesystem-tools.js';

const PAGED = { grep: 'matches', glob: 'files', list_directory: 'entries' } as const;

async function pages(tools: Tools, tool: keyof typeof PAGED, args: JsonObject): Promise<unknown[]> {
  const rows: unknown[] = [];
  let cursor: unknown;
  for (let page = 0; page < 200; page++) {
    const { data, code, text } = await tools.call(tool, {
      ...args,
      ...(cursor !== undefined && { cursor }),
    });
    expect(code, text).toBeUndefined();
    rows.push(...(data[PAGED[tool]] as unknown[]));
    cursor = data.cursor;
    expect(cursor !== undefined).toBe(data.truncated);
    if (cursor === undefined) return rows;
  }
  throw new Error('200 pages, and no end');
}

describe.each(['rg', 'js'] as const)('grep() and glob() cursors by %s', (search) => {
  it('return every row exactly once, in one order, over random trees and page sizes', async () => {
    const name = fc.constantFrom('a', 'b', 'ab', 'a.b', '.c', 'a-b', 'é', '\u{1f600}', '\ufffd', 'a b', 'a!b');
    const path = fc.array(name, { minLength: 1, maxLength: 4 }).map((names) => names.join('/'));
    const file = fc.tuple(path, fc.nat(4), fc.nat(3));
    await fc.assert(
      fc.asyncProperty(fc.array(file, { maxLength: 15 }), fc.integer({ min: 1, max: 5 }), async (files, limit) => {
        await using tools = await openTools({}, { search });
        for (const [each, lines, time] of files) {
          const written = await tools.write(each, 'x\n'.repeat(lines)).then(
            () => true,
            () => false,
          ); // a directory, or below a file
          if (written) await utimes(tools.path(each), time, time);
        }
        const questions: [keyof typeof PAGED, JsonObject][] = [
          ['grep', { pattern: 'x' }],
          ['grep', { pattern: 'x', mode: 'count' }],
          ['glob', { pattern: '**', sort: 'path' }],
          ['glob', { pattern: '**', sort: 'mtime' }],
          ['list_directory', { depth: 10 }],
          ['list_directory', { depth: 2 }],
        ];
        for (const [tool, args] of questions) {
          const whole = (await tools.call(tool, { ...args, limit: 10_000 })).data[PAGED[tool]];
          expect(await pages(tools, tool, { ...args, limit }), JSON.stringify([tool, args])).toEqual(whole);
        }
      }),
      { numRuns: tries(50) },
    );
  }, 120_000);

  it('return the rest of a file, and lines around rows, when a page ends in it', async () => {
    await using tools = await openTools({ 'a.txt': 'x\n1\n2\nx\nx\n3\n4\n', 'b.txt': 'x\n' }, { search });
    const args = { pattern: 'x', before: 1, after: 1 };
    const whole = (await tools.call('grep', args)).data.matches;
    for (const limit of [1, 2, 3]) expect(await pages(tools, 'grep', { ...args, limit })).toEqual(whole);
  });

  it('continue in order when files are added and removed in between', async () => {
    await using tools = await openTools({ 'a.txt': 'x\n', 'c.txt': 'x\n', 'e.txt': 'x\n' }, { search });
    const first = (await tools.call('grep', { pattern: 'x', limit: 2 })).data;
    expect(first.matches).toMatchObject([{ path: 'a.txt' }, { path: 'c.txt' }]);
    await tools.write('b.txt', 'x\n');
    await tools.write('d.txt', 'x\n');
    const second = (await tools.call('grep', { pattern: 'x', limit: 2, cursor: first.cursor! })).data;
    expect(second.matches).toMatchObject([{ path: 'd.txt' }, { path: 'e.txt' }]);
  });

  it('fail with INVALID_ARGUMENT when they are forged, cut, or of another question', async () => {
    await using tools = await openTools({ 'a.txt': 'x\n', 'b.txt': 'x\n' }, { search });
    for (const [tool, args, other] of [
      ['grep', { pattern: 'x' }, { pattern: 'y' }],
      ['glob', { pattern: '*' }, { pattern: '*', sort: 'path' }],
      ['list_directory', {}, { depth: 2 }],
    ] as const) {
      const cursor = (await tools.call(tool, { ...args, limit: 1 })).data.cursor as string;
      expect((await tools.call(tool, { ...args, cursor, limit: 2 })).code).toBeUndefined();
      const bytes = Buffer.from(cursor, 'base64url');
      for (const forged of [
        'x',
        cursor.slice(0, -4),
        cursor.slice(4),
        Buffer.concat([bytes.subarray(0, 12), Buffer.from('["../../etc/passwd",0]')]).toString('base64url'),
        Buffer.from('{"__proto__":1}').toString('base64url'),
      ])
        expect((await tools.call(tool, { ...args, cursor: forged })).code, forged).toBe('INVALID_ARGUMENT');
      expect((await tools.call(tool, { ...other, cursor })).code).toBe('INVALID_ARGUMENT');
    }
  });

  it('end an answer whose rows would be more than about 512 KiB', async () => {
    const files: Record<string, TestFile> = { 'wide.txt': `x${'y'.repeat(600)}\n`.repeat(3_000) };
    await using tools = await openTools(files, { search });
    const { data } = await tools.call('grep', { pattern: 'x', limit: 10_000 });
    expect(data.truncated).toBe(true);
    expect(JSON.stringify(data).length).toBeLessThan(700_000);
    expect((await pages(tools, 'grep', { pattern: 'x', limit: 10_000 })).length).toBe(3_000);
  });
});
