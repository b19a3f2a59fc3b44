import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { GrepRows } from '../../../../src/servers/filesystem/search/grep-rows.js';
import { GrepSink } from '../../../../src/servers/filesystem/search/grep-sink.js';
import type { TestFile } from '../../../../src/testing/project.js';
import { expectNoLeaks } from '../../../../src/testing/leaks.js';
import { places, PROJECT, rows } from '../search/search-project.js';
import { openTools as openAny } from '../filesystem-tools.js';

describe.each(['rg', 'js'] as const)('grep() by %s', (search) => {
  const openTools = (files: Record<string, TestFile> = {}) => openAny(files, { search });

  it('grep() returns the matching lines, sorted, from hidden files but not from .git or ignored ones', async () => {
    await using tools = await openTools(PROJECT);
    const { data, text } = await tools.call('grep', { pattern: 'needle' });
    expect(places(data)).toEqual(['.hidden/d.ts:1', 'docs/c.md:1', 'src/a.ts:1', 'src/a.ts:3', 'src/deep/b.ts:1']);
    expect(rows(data)[2]).toEqual({ path: 'src/a.ts', line: 1, column: 7, text: 'const needle = 1;' });
    expect(data).toMatchObject({ match_count: 5, file_count: 4, truncated: false, timed_out: false, engine: search });
    expect(text).toContain('src/a.ts\n  1: const needle = 1;\n  3: // Needle and needle');
  });

  it('grep() names paths from the project when it looks in a directory or in one file', async () => {
    await using tools = await openTools({ ...PROJECT, 'src/odd [name]!.ts': 'needle\n', link: { link: 'src/a.ts' } });
    expect(places((await tools.call('grep', { pattern: 'needle', path: 'src/deep' })).data)).toEqual([
      'src/deep/b.ts:1',
    ]);
    expect(places((await tools.call('grep', { pattern: 'needle', path: 'src/a.ts' })).data)).toEqual([
      'src/a.ts:1',
      'src/a.ts:3',
    ]);
    expect(places((await tools.call('grep', { pattern: 'needle', path: 'src/odd [name]!.ts' })).data)).toEqual([
      'src/odd [name]!.ts:1',
    ]);
    expect(places((await tools.call('grep', { pattern: 'needle', path: 'link' })).data)).toEqual(['link:1', 'link:3']);
    expect(places((await tools.call('grep', { pattern: 'needle', path: 'ignored.log' })).data)).toEqual([
      'ignored.log:1',
    ]);
  });

  it.each([
    [{ glob: '*.md' }, ['docs/c.md:1']],
    [{ glob: '*.log' }, []],
    [{ glob: '!*.ts' }, ['docs/c.md:1']],
    [{ glob: 'src/*' }, ['src/a.ts:1', 'src/a.ts:3']],
    [{ type: 'md' }, ['docs/c.md:1']],
    [{ case: 'insensitive', path: 'src/a.ts', word: true }, ['src/a.ts:1', 'src/a.ts:3']],
    [{ pattern: 'Needle', case: 'smart' }, ['src/a.ts:3']],
    [{ pattern: 'n.edle', literal: true }, []],
    [{ pattern: 'eedl', word: true }, []],
    [{ pattern: 'nothing like it' }, []],
  ])('grep() of %j returns %j', async (args, expected) => {
    await using tools = await openTools(PROJECT);
    expect(places((await tools.call('grep', { pattern: 'needle', ...args })).data)).toEqual(expected);
  });

  it('grep() keeps to the ignore files above when it looks in a directory below', async () => {
    await using tools = await openTools({
      '.gitignore': '/sub/skip/\n*.log\n',
      'sub/.gitignore': '!keep.log\n',
      'sub/skip/a': 'needle',
      'sub/keep.log': 'needle',
      'sub/b.log': 'needle',
      'sub/c': 'needle',
    });
    expect(places((await tools.call('grep', { pattern: 'needle', path: 'sub' })).data)).toEqual([
      'sub/c:1',
      'sub/keep.log:1',
    ]);
    expect(places((await tools.call('grep', { pattern: 'needle', path: 'sub/skip' })).data)).toEqual(['sub/skip/a:1']);
  });

  it('grep() does not read ignore files above the project', async () => {
    await using tools = await openTools({ 'a.txt': 'needle' });
    await writeFile(join(tools.projectDir, '..', '.gitignore'), '*\n');
    expect(places((await tools.call('grep', { pattern: 'needle' })).data)).toEqual(['a.txt:1']);
  });

  it('grep() returns the lines around a match when context is requested', async () => {
    await using tools = await openTools({ 'a.txt': '1\n2\nneedle\n4\n5\n6\nneedle\n8\n' });
    const { data, text } = await tools.call('grep', { pattern: 'needle', before: 1, after: 2 });
    expect(data.matches).toMatchObject([
      {
        line: 3,
        context: [
          { line: 2, text: '2' },
          { line: 4, text: '4' },
          { line: 5, text: '5' },
        ],
      },
      {
        line: 7,
        context: [
          { line: 6, text: '6' },
          { line: 8, text: '8' },
        ],
      },
    ]);
    expect(text).toBe('a.txt\n  2- 2\n  3: needle\n  4- 4\n  5- 5\n  6- 6\n  7: needle\n  8- 8');
  });

  it('grep() returns files or counts when mode requests them', async () => {
    await using tools = await openTools(PROJECT);
    expect((await tools.call('grep', { pattern: 'needle', path: 'src', mode: 'files' })).data).toMatchObject({
      matches: [{ path: 'src/a.ts' }, { path: 'src/deep/b.ts' }],
      file_count: 2,
    });
    expect((await tools.call('grep', { pattern: 'needle', path: 'src', mode: 'count' })).data).toMatchObject({
      matches: [
        { path: 'src/a.ts', count: 2 },
        { path: 'src/deep/b.ts', count: 1 },
      ],
      match_count: 3,
    });
    expect((await tools.call('grep', { pattern: 'needle', mode: 'files', limit: 1 })).data).toMatchObject({
      truncated: true,
      file_count: 1,
    });
  });

  it('grep() stops at the limit and reports it', async () => {
    await using tools = await openTools({ 'a.txt': 'needle\n'.repeat(1_000) });
    const { data, text } = await tools.call('grep', { pattern: 'needle', limit: 7 });
    expect(data).toMatchObject({ match_count: 7, truncated: true });
    expect(rows(data)).toHaveLength(7);
    expect(text).toContain('raise limit');
    expect((await tools.call('grep', { pattern: 'needle', limit: 1_000 })).data.truncated).toBe(false);
  });

  it('grep() returns what it found when the time is up', async () => {
    await using tools = await openTools({ 'a.txt': 'needle\n' });
    await Promise.all(Array.from({ length: 300 }, (_, index) => tools.write(`many/${index}.txt`, 'x'.repeat(200_000))));
    const { code, data } = await tools.call('grep', { pattern: '(x+x+)+y|needle', timeout_ms: 1 });
    expect(code).toBeUndefined();
    expect(data.timed_out).toBe(true);
  });

  it('grep() fails with CANCELLED when the call is cancelled', async () => {
    await using tools = await openTools({ 'a.txt': 'needle\n' });
    await Promise.all(Array.from({ length: 100 }, (_, index) => tools.write(`many/${index}.txt`, 'x'.repeat(200_000))));
    const controller = new AbortController();
    const answer = tools.call('grep', { pattern: '(x+x+)+y' }, { signal: controller.signal });
    setTimeout(() => controller.abort(), 5);
    expect((await answer).code).toBe('CANCELLED');
  });

  it('grep() leaves no process, timer or listener behind when it ends, is stopped, or is cancelled', async () => {
    await using tools = await openTools({ 'a.txt': 'needle\n'.repeat(100_000) });
    await tools.call('grep', { pattern: 'needle' });
    const controller = new AbortController();
    await using _ = expectNoLeaks({ targets: [controller.signal] });
    const answers = [
      tools.call('grep', { pattern: 'nothing' }, { signal: controller.signal }),
      tools.call('grep', { pattern: 'needle', limit: 1 }, { signal: controller.signal }),
      tools.call('grep', { pattern: 'needle', limit: 10_000, timeout_ms: 1 }, { signal: controller.signal }),
      tools.call('grep', { pattern: '(' }, { signal: controller.signal }),
      tools.call('glob', { pattern: '*' }, { signal: controller.signal }),
    ];
    await Promise.all(answers.slice(0, 2));
    const last = tools.call('grep', { pattern: 'needle', limit: 10_000 }, { signal: controller.signal });
    controller.abort();
    expect((await last).code).toBe('CANCELLED');
    await Promise.all(answers);
  });

  it.each([
    [{ pattern: '(' }, 'unclosed'],
    [{ pattern: 'a(?=b)' }, 'look-ahead'],
    [{ pattern: 'a\nb' }, 'not allowed'],
    [{ pattern: 'a', glob: '{a' }, 'glob'],
    [{ pattern: 'a', type: 'nonsense' }, 'file type'],
    [{ pattern: 'a\0' }, 'NUL'],
  ])('grep() fails with INVALID_ARGUMENT when it is given %j', async (args, said) => {
    await using tools = await openTools({ 'a.txt': 'a' });
    expect(await tools.call('grep', args)).toMatchObject({
      code: 'INVALID_ARGUMENT',
      text: expect.stringContaining(said) as string,
    });
  });

  it('grep() treats a hostile pattern, glob or type as text and runs nothing', async () => {
    await using tools = await openTools({ 'a.txt': '--pre=./evil.sh\n' });
    await tools.write('evil.sh', { content: `#!/bin/sh\ntouch ${tools.path('PWNED')}\ncat\n`, mode: 0o755 });
    await tools.write('.ripgreprc', `--pre=${tools.path('evil.sh')}\n`);
    process.env.RIPGREP_CONFIG_PATH = tools.path('.ripgreprc');
    try {
      expect(places((await tools.call('grep', { pattern: '--pre=./evil.sh' })).data)).toEqual(['a.txt:1']);
      await tools.call('grep', { pattern: 'x', glob: '--pre=./evil.sh' });
      expect((await tools.call('grep', { pattern: 'x', type: '--pre=./evil.sh' })).code).toBe('INVALID_ARGUMENT');
      await tools.call('grep', { pattern: '-f/etc/passwd' });
      await tools.call('glob', { pattern: '--pre=./evil.sh', exclude: ['--pre=./evil.sh'] });
    } finally {
      delete process.env.RIPGREP_CONFIG_PATH;
    }
    expect((await tools.call('list_directory')).text).not.toContain('PWNED');
  });

  it('grep() finds nothing outside the project', async () => {
    await using tools = await openTools({ link: { link: '../outside' }, file: { link: '../outside/secret.txt' } });
    expect((await tools.call('grep', { pattern: 'needle' })).data.match_count).toBe(0);
    for (const path of ['..', '../outside', '../proj-evil', 'link', 'file', 'link/secret.txt', '/']) {
      expect(await tools.call('grep', { pattern: 'needle', path })).toMatchObject({
        code: 'OUTSIDE_PROJECT',
        text: expect.not.stringContaining('secret needle') as string,
      });
    }
  });

  it('grep() fails with INVALID_ARGUMENT when the path is in .git', async () => {
    await using tools = await openTools(PROJECT);
    expect((await tools.call('grep', { pattern: 'needle', path: '.git' })).code).toBe('INVALID_ARGUMENT');
    expect((await tools.call('glob', { pattern: '*', path: '.git' })).code).toBe('INVALID_ARGUMENT');
  });

  it('grep() cuts long lines around the match and counts columns in characters', async () => {
    await using tools = await openTools({ 'a.txt': `${'é'.repeat(1_000)}needle${'x'.repeat(1_000)}\n` });
    const [row] = rows((await tools.call('grep', { pattern: 'needle' })).data);
    expect(row).toMatchObject({ line: 1, column: 1_001 });
    expect(row?.text).toBe(`[900 characters] ...${'é'.repeat(100)}needle${'x'.repeat(394)}... [606 characters]`);
  });

  it('grep() keeps its memory small when a line is huge', async () => {
    await using tools = await openTools({ 'min.js': `first\nneedle ${'"x",'.repeat(2_000_000)}\nneedle\n` });
    const { data } = await tools.call('grep', { pattern: 'needle' });
    expect(places(data)).toEqual(['min.js:2', 'min.js:3']);
    expect(rows(data)[0]).toMatchObject({ column: 1, text: expect.stringMatching(/^needle "x",/) as string });
  });

  it('GrepRows.push() holds no more than a row shows when a line of 128 MB goes through it', async () => {
    const sink = new GrepSink(10, undefined);
    const collected = new GrepRows(sink, 0, (path) => Promise.resolve(path));
    await collected.push(
      Buffer.from(
        '{"type":"begin","data":{"path":{"text":"./a"}}}\n{"type":"match","data":{"path":{"text":"./a"},"lines":{"text":"',
      ),
    );
    const chunk = Buffer.alloc(64 * 1024, 'é');
    setFlagsFromString('--expose-gc');
    const collectGarbage = runInNewContext('gc') as () => void;
    const before = process.memoryUsage().arrayBuffers;
    let most = 0;
    for (let index = 0; index < 2_048; index++) {
      await collected.push(chunk);
      if (index % 64 !== 0) continue;
      collectGarbage();
      most = Math.max(most, process.memoryUsage().arrayBuffers - before);
    }
    await collected.push(Buffer.from('"},"line_num'));
    await collected.push(
      Buffer.from('ber":7,"absolute_offset":0,"submatches":[{"match":{"text":"x"},"start":3,"end":4}]}}\n'),
    );
    expect(sink.sorted()).toEqual([
      { path: 'a', line: 7, column: 3, text: expect.stringMatching(/^é{500}... .cut.$/) as string },
    ]);
    expect(most).toBeLessThan(16 * 1024 * 1024);
  });

  it('grep() shows names that are not UTF-8, and content in latin1', async () => {
    await using tools = await openTools({ 'latin.txt': Buffer.from('caf\xe9 needle\n', 'latin1') });
    await writeFile(Buffer.concat([Buffer.from(`${tools.projectDir}/n`), Buffer.from([0xff])]), 'needle\n');
    const { data } = await tools.call('grep', { pattern: 'needle' });
    expect(places(data)).toEqual(['latin.txt:1', 'n\\xff:1']);
    expect(rows(data)[0]).toMatchObject({ text: 'café needle', column: 6 });
    expect((await tools.call('glob', { pattern: 'n*' })).data.files).toEqual(['n\\xff']);
    expect((await tools.call('list_directory')).data.entries).toMatchObject([
      {},
      {},
      { path: 'n\\xff', type: 'file', size: 7 },
    ]);
  });
});
