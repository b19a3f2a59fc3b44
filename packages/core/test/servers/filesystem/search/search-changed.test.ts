// Files that change between ripgrep's look and the answer. The change is made while the tool asks whether it may show a
// path: ripgrep has read the file by then, and its rows have not been answered.

import {
  appendFileSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { describe, expect, it, vi } from 'vitest';
import { permitsAll } from '../../../../src/tool/define-tool.js';
import type { JsonObject } from '../../../../src/contract/json.js';
import { grepByRipgrep } from '../../../../src/servers/filesystem/search/grep-ripgrep.js';
import type { GrepQuestion } from '../../../../src/servers/filesystem/search/grep-question.js';
import { openSearchPlace } from '../../../../src/servers/filesystem/search/search-place.js';
import { ProjectFiles } from '../../../../src/servers/project/project-files.js';
import { expectNoLeaks } from '../../../../src/testing/leaks.js';
import { places, rows } from './search-project.js';
import { openTools, type Answer, type Tools } from '../filesystem-tools.js';

const ONE = { 'dir/a.txt': 'one\nneedle\ntwo\n', 'z.txt': 'needle\n' };

/** Outside is the same file. ripgrep has been looked for, which leaves a timer behind for a while. */
async function openOne(): Promise<Tools> {
  const tools = await openTools(ONE, { search: 'rg' });
  await tools.world.write('outside/dir/a.txt', ONE['dir/a.txt']);
  await tools.call('glob', { pattern: '*' });
  return tools;
}

/** A call during which `change` is made once, as soon as the tool asks for `path`. */
async function callChanged(
  tools: Tools,
  tool: string,
  args: JsonObject,
  path: string,
  change: () => void,
): Promise<Answer> {
  let isDone = false;
  const permits = (requested: string): boolean => {
    if (requested !== path || isDone) return true;
    isDone = true;
    change();
    return true;
  };
  const answer = await tools.call(tool, args, { permits });
  expect(isDone).toBe(true);
  return answer;
}

/** Puts a link in the place of a directory, to one with the same file. */
function swap(tools: Tools, target: string): void {
  renameSync(tools.path('dir'), tools.path('moved'));
  symlinkSync(target, tools.path('dir'));
}

const CHANGES: [what: string, change: (tools: Tools) => void][] = [
  ['the line is another', (tools) => writeFileSync(tools.path('dir/a.txt'), 'one\nNeedle\ntwo\n')],
  ['the line is elsewhere', (tools) => writeFileSync(tools.path('dir/a.txt'), 'one more\nneedle\ntwo\n')],
  ['the file is shorter', (tools) => writeFileSync(tools.path('dir/a.txt'), 'one\nneed')],
  ['the file is gone', (tools) => rmSync(tools.path('dir/a.txt'))],
  ['a link of the same content is in its place', (tools) => swapFile(tools)],
  ['a directory is in its place', (tools) => (rmSync(tools.path('dir/a.txt')), mkdirSync(tools.path('dir/a.txt')))],
  ['its directory is a link to the outside', (tools) => swap(tools, '../outside/dir')],
  ['its directory is a link within the project', (tools) => swap(tools, 'moved')],
];

function swapFile(tools: Tools): void {
  renameSync(tools.path('dir/a.txt'), tools.path('dir/b.log'));
  symlinkSync('b.log', tools.path('dir/a.txt'));
}

describe('grep() rows', () => {
  it.each(CHANGES)('grep() omits it and reports it when %s meanwhile', async (_what, change) => {
    await using tools = await openOne();
    await using _ = expectNoLeaks();
    const { data, text } = await callChanged(tools, 'grep', { pattern: 'needle' }, 'dir/a.txt', () => change(tools));
    expect(data).toMatchObject({ matches: [{ path: 'z.txt' }], match_count: 1, changed: 1, truncated: false });
    expect(text).toContain('[1 row was omitted: the files changed during the search. Search again.]');
  });

  it.each(CHANGES)('grep() of mode files leaves the file out when %s meanwhile', async (_what, change) => {
    await using tools = await openOne();
    const args = { pattern: 'needle', mode: 'files' };
    const { data } = await callChanged(tools, 'grep', args, 'dir/a.txt', () => change(tools));
    expect(data).toMatchObject({ matches: [{ path: 'z.txt' }], changed: 1 });
  });

  it.each([
    ...CHANGES.filter(([what]) => !/elsewhere/.test(what)),
    ['there are more', (tools: Tools) => appendFileSync(tools.path('dir/a.txt'), 'needle\n')] as const,
  ])('grep() of mode count leaves the file out when %s meanwhile', async (_what, change) => {
    await using tools = await openOne();
    await using _ = expectNoLeaks();
    const args = { pattern: 'needle', mode: 'count' };
    const { data } = await callChanged(tools, 'grep', args, 'dir/a.txt', () => change(tools));
    expect(data).toMatchObject({ matches: [{ path: 'z.txt', count: 1 }], changed: 1 });
  });

  it.each([
    [{ before: 1 }, 'One\nneedle\ntwo\n'],
    [{ after: 1 }, 'one\nneedle\nTwo\n'],
  ])('grep() omits it when a line of its context %j changed meanwhile', async (args, content) => {
    await using tools = await openOne();
    const change = (): void => writeFileSync(tools.path('dir/a.txt'), content);
    const { data } = await callChanged(tools, 'grep', { pattern: 'needle', ...args }, 'dir/a.txt', change);
    expect(data).toMatchObject({ matches: [{ path: 'z.txt' }], changed: 1 });
  });

  it('grep() returns it when the file only grew meanwhile', async () => {
    await using tools = await openOne();
    const grow = (): void => appendFileSync(tools.path('dir/a.txt'), 'more\n');
    const { data, text } = await callChanged(tools, 'grep', { pattern: 'needle' }, 'dir/a.txt', grow);
    expect(places(data)).toEqual(['dir/a.txt:2', 'z.txt:1']);
    expect(data).not.toHaveProperty('changed');
    expect(text).not.toContain('left out');
  });

  it('grep() continues after the last row that it returned, so that changes at the end of a page are seen', async () => {
    const files = Object.fromEntries(['a', 'b', 'c', 'd', 'e'].map((name) => [`${name}.txt`, 'needle\n']));
    await using tools = await openTools(files, { search: 'rg' });
    const first = await tools.call('grep', { pattern: 'needle', limit: 1 });
    const second = await callChanged(
      tools,
      'grep',
      { pattern: 'needle', limit: 2, cursor: first.data.cursor ?? '' },
      'd.txt',
      () => writeFileSync(tools.path('c.txt'), 'a needle\n'),
    );
    expect(places(second.data)).toEqual(['b.txt:1']);
    expect(second.data).toMatchObject({ changed: 1, truncated: true });
    const third = await tools.call('grep', { pattern: 'needle', cursor: second.data.cursor ?? '' });
    expect(places(third.data)).toEqual(['c.txt:1', 'd.txt:1', 'e.txt:1']);
  });
});

const wide = (text: string): Buffer => Buffer.from(`\ufeff${text}`, 'utf16le');
const LONG = `${'x'.repeat(2_000_000)} needle\n`;
const FAR = `needle\n${'some text of a line\n'.repeat(5_000)}needle`;

describe('grep() and glob() verifying files by inode', () => {
  it.each(CHANGES)('grep() and glob() omit what changed when %s meanwhile', async (what, change) => {
    await using tools = await openTools({ ...ONE, 'é/ü.txt': 'needle\n' }, { search: 'rg', verification: 'inode' });
    await tools.world.write('outside/dir/a.txt', ONE['dir/a.txt']);
    for (const mode of ['content', 'files', 'count']) {
      const { data } = await tools.call('grep', { pattern: 'needle', mode });
      expect(rows(data).map(({ path }) => path)).toEqual(['dir/a.txt', 'z.txt', 'é/ü.txt']);
      expect(data).not.toHaveProperty('changed');
    }
    const isName = !/line|shorter/.test(what);
    const [tool, args] = isName
      ? ['glob', { pattern: '*.txt', sort: 'path' }]
      : ['grep', { pattern: 'needle', mode: 'files' }];
    const { data } = await callChanged(tools, tool, args, 'dir/a.txt', () => change(tools));
    expect(data).toMatchObject({ changed: 1 });
    expect(JSON.stringify(data)).not.toContain('dir/a.txt');
  });
});

describe.skipIf(process.platform !== 'linux')('grep() and glob() cancelled before their rows were verified', () => {
  it.each([
    ['grep', { pattern: 'needle' }],
    ['grep', { pattern: 'needle', mode: 'count' }],
    ['glob', { pattern: '*.txt' }],
  ])('%s() %j fails with CANCELLED and leaves no file open', async (tool, args) => {
    await using tools = await openOne();
    await using _ = expectNoLeaks();
    const before = readdirSync('/proc/self/fd').length;
    const controller = new AbortController();
    const permits = (): boolean => {
      controller.abort();
      return true;
    };
    expect((await tools.call(tool, args, { permits, signal: controller.signal })).code).toBe('CANCELLED');
    expect((await tools.call(tool, args)).code).toBeUndefined();
    await vi.waitFor(() => expect(readdirSync('/proc/self/fd').length).toBeLessThanOrEqual(before));
  });
});

describe('grep() row places', () => {
  it.each([
    ['UTF-8 with a mark', Buffer.from('\ufeffone\nneedle\n'), Buffer.from('\ufeffone\nneedlE\n')],
    ['UTF-16LE', wide('é\nneedle \u{1f600}\n'), wide('é\nneedle \u{1f601}\n')],
    ['UTF-16BE', wide('é\nneedle ü\n').swap16(), wide('é\nneedle ä\n').swap16()],
    ['UTF-16 with half a pair and an odd byte', mixed('needle'), mixed('needlE')],
    ['UTF-16 of megabytes', wide(`${'\u{1f600} filler\n'.repeat(200_000)}needle\n`), wide('\u{1f600}\n'.repeat(9))],
    ['CRLF', 'one\r\nneedle\r\n', 'one\r\nneedle\n\n'],
    ['latin1', Buffer.from('caf\xe9\nneedle \xff\n', 'latin1'), Buffer.from('caf\xe9\nneedle \xfe\n', 'latin1')],
    ['a line of megabytes', LONG, LONG.replace('x', 'y')],
    ['lines far apart', FAR, FAR.replace(/needle$/, 'need')],
    ['a NUL behind', Buffer.from(`needle\n${'x\n'.repeat(90_000)}\0\n`), 'Needle\n'],
    ['an empty line at the end', 'needle', 'needl'],
  ])('grep() finds the row again in %s, and omits it when it is different', async (_what, content, other) => {
    await using tools = await openTools({ 'a.txt': content }, { search: 'rg' });
    const plain = (await tools.call('grep', { pattern: 'needle|^$', context: 2 })).data;
    expect(rows(plain).length).toBeGreaterThan(0);
    expect(plain).not.toHaveProperty('changed');
    const change = (): void => writeFileSync(tools.path('a.txt'), other);
    const { data } = await callChanged(tools, 'grep', { pattern: 'needle|^$', context: 2 }, 'a.txt', change);
    expect(data.changed).toBeGreaterThan(0);
    for (const row of rows(data)) expect(other.toString()).toContain(row.text);
  });

  it('grep() finds rows again that span lines', async () => {
    const content = 'x\nbegin\n a\nend\nbegin\nend\ny\nbegin\n b\nend\n';
    await using tools = await openTools({ 'a.txt': content }, { search: 'rg' });
    const args = { pattern: '(?s)begin.*?end', multiline: true, context: 1 };
    const plain = (await tools.call('grep', args)).data;
    expect(places(plain)).toEqual(['a.txt:2', 'a.txt:5', 'a.txt:8']);
    const change = (): void => writeFileSync(tools.path('a.txt'), content.replace(' a', ' A'));
    const { data } = await callChanged(tools, 'grep', args, 'a.txt', change);
    expect(places(data)).toEqual(['a.txt:5', 'a.txt:8']);
    expect(data.changed).toBe(1);
  });

  it('grep() and glob() find names again whatever bytes they and their directories have', async () => {
    await using tools = await openTools({}, { search: 'rg' });
    const directory = Buffer.concat([Buffer.from(tools.path('é')), Buffer.from([0xff])]);
    await mkdir(directory);
    for (const name of ['a\\b', 'ü.txt', '\x80'])
      await writeFile(Buffer.concat([directory, Buffer.from('/'), Buffer.from(name, 'latin1')]), 'needle\n');
    for (const mode of ['content', 'files', 'count']) {
      const { data } = await tools.call('grep', { pattern: 'needle', mode });
      expect(rows(data).length).toBe(3);
      expect(data).not.toHaveProperty('changed');
    }
    expect((await tools.call('glob', { pattern: '**' })).data).toMatchObject({ files: { length: 4 } });
  });
});

/** UTF-16 that is not whole. */
function mixed(word: string): Buffer {
  return Buffer.concat([wide('a\ud83d\nb '), Buffer.from(`${word}\n`, 'utf16le'), Buffer.from([0x41])]);
}

describe('glob() names', () => {
  it.each(CHANGES.filter(([what]) => !/line|shorter/.test(what)))(
    'glob() omits it and reports it when %s meanwhile',
    async (_what, change) => {
      await using tools = await openOne();
      await using _ = expectNoLeaks();
      const args = { pattern: '*.txt', sort: 'path' };
      const { data, text } = await callChanged(tools, 'glob', args, 'dir/a.txt', () => change(tools));
      expect(data).toMatchObject({ files: ['z.txt'], changed: 1, truncated: false });
      expect(text).toContain('1 row was omitted');
    },
  );

  it('glob() orders it by the time that the file inside has', async () => {
    await using tools = await openTools({ 'a.txt': '', 'b.txt': '', 'c.txt': '' }, { search: 'rg' });
    for (const [index, name] of ['a.txt', 'b.txt', 'c.txt'].entries())
      utimesSync(tools.path(name), 1_000 + index, 1_000 + index);
    // The time of a name is looked at when it is permitted: once all are, one changes.
    const seen = new Set<string>();
    const permits = (path: string): boolean => {
      seen.add(path);
      if (seen.size === 3) for (const each of seen) if (each !== path) utimesSync(tools.path(each), 5_000, 5_000);
      return true;
    };
    const { data } = await tools.call('glob', { pattern: '*.txt' }, { permits });
    const [last] = [...seen].slice(-1);
    expect((data.files as string[]).at(-1)).toBe(last);
    expect(data).not.toHaveProperty('changed');
  });
});

describe('grep() with a program that reports a missing file', () => {
  it('grepByRipgrep() returns nothing of it', async () => {
    await using tools = await openTools({ 'dir/a.txt': 'needle\n', link: { link: 'dir' } });
    await tools.world.write('outside/a.txt', 'needle OUTSIDE\n');
    const said = [
      ['./dir/a.txt', 'needle OUTSIDE\n', 0],
      ['./dir/a.txt', 'needle\n', 1],
      ['./dir/a.txt', 'needle\n', -1],
      ['./dir/a.txt', 'needle\n', 1e18],
      ['./link/a.txt', 'needle\n', 0],
      ['./dir/../dir/a.txt', 'needle\n', 0],
      ['./../outside/a.txt', 'needle OUTSIDE\n', 0],
      ['./dir/./a.txt', 'needle\n', 0],
      ['./dir//a.txt', 'needle\n', 0],
      ['./dir', 'needle\n', 0],
    ].flatMap(([text, line, offset]) => [
      { type: 'begin', data: { path: { text } } },
      { type: 'match', data: { lines: { text: line }, line_number: 1, absolute_offset: offset, submatches: [] } },
    ]);
    const program = tools.world.resolve('rg');
    const text = said.map((each) => JSON.stringify(each)).join('\n');
    await writeFile(program, `#!/bin/sh\ncat <<'END'\n${text}\nEND\n`);
    await chmod(program, 0o755);
    const files = new ProjectFiles({ projectDir: tools.projectDir });
    await using place = await openSearchPlace(files, '.', permitsAll);
    const question: GrepQuestion = {
      ...{
        scope: files.scope,
        requested: files.scope.parse('.'),
        place,
        after: undefined,
        linesBefore: 0,
        linesAfter: 0,
      },
      args: {
        ...{ pattern: 'needle', glob: undefined, type: undefined, literal: false, case: 'sensitive', word: false },
        ...{ multiline: false, mode: 'content', limit: 100, timeoutMs: 10_000 },
      },
      signal: new AbortController().signal,
      report: () => {},
    };
    const { sink, changed } = await grepByRipgrep(program, question);
    expect(sink.sorted()).toEqual([]);
    expect(changed).toBe(said.length / 2 - 2); // those with ".." were none at all
  });
});
