import { link, mkdir, realpath, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compileGlob } from '../../../src/servers/filesystem/glob-pattern.js';
import { GrepRows } from '../../../src/servers/filesystem/grep-rows.js';
import { locateRipgrep } from '../../../src/servers/filesystem/ripgrep.js';
import { ProjectScope } from '../../../src/servers/project-scope.js';
import { expectNoLeaks } from '../../../src/testing/leaks.js';
import { createTestProject } from '../../../src/testing/project.js';
import { openTools } from './tools.js';

const PROJECT = {
  'src/a.ts': 'const needle = 1;\nlet x;\n// Needle and needle\n',
  'src/deep/b.ts': 'needle\n',
  'docs/c.md': 'A needle in the docs.\n',
  'ignored.log': 'needle\n',
  'node_modules/m/index.js': 'needle\n',
  '.hidden/d.ts': 'needle\n',
  '.git/config': 'needle\n',
  '.gitignore': '*.log\nnode_modules/\n',
};

const rows = (data: Record<string, unknown>): { path: string; line: number; column: number; text: string }[] =>
  data.matches as never;
const places = (data: Record<string, unknown>): string[] => rows(data).map(({ path, line }) => `${path}:${line}`);

describe('grep()', () => {
  it('grep() gives the matching lines, sorted, from hidden files but not from .git or ignored ones', async () => {
    await using tools = await openTools(PROJECT);
    const { data, text } = await tools.call('grep', { pattern: 'needle' });
    expect(places(data)).toEqual(['.hidden/d.ts:1', 'docs/c.md:1', 'src/a.ts:1', 'src/a.ts:3', 'src/deep/b.ts:1']);
    expect(rows(data)[2]).toEqual({ path: 'src/a.ts', line: 1, column: 7, text: 'const needle = 1;' });
    expect(data).toMatchObject({ match_count: 5, file_count: 4, truncated: false, timed_out: false, engine: 'rg' });
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
  ])('grep() of %j gives %j', async (args, expected) => {
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

  it('grep() gives the lines around a match when context is asked for', async () => {
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

  it('grep() gives files or counts when mode asks for them', async () => {
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

  it('grep() stops at the limit and says so', async () => {
    await using tools = await openTools({ 'a.txt': 'needle\n'.repeat(1_000) });
    const { data, text } = await tools.call('grep', { pattern: 'needle', limit: 7 });
    expect(data).toMatchObject({ match_count: 7, truncated: true });
    expect(rows(data)).toHaveLength(7);
    expect(text).toContain('raise limit');
    expect((await tools.call('grep', { pattern: 'needle', limit: 1_000 })).data.truncated).toBe(false);
  });

  it('grep() gives what it found when the time is up', async () => {
    await using tools = await openTools({ 'a.txt': 'needle\n' });
    await Promise.all(Array.from({ length: 300 }, (_, index) => tools.write(`many/${index}.txt`, 'x'.repeat(200_000))));
    const { code, data } = await tools.call('grep', { pattern: '(x+x+)+y|needle', timeout_ms: 1 });
    expect(code).toBeUndefined();
    expect(data.timed_out).toBe(true);
  });

  it('grep() answers CANCELLED when the call is cancelled', async () => {
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
  ])('grep() answers INVALID_ARGUMENT when it is given %j', async (args, said) => {
    await using tools = await openTools({ 'a.txt': 'a' });
    expect(await tools.call('grep', args)).toMatchObject({
      code: 'INVALID_ARGUMENT',
      text: expect.stringContaining(said) as string,
    });
  });

  it('grep() takes a hostile pattern, glob or type as text and runs nothing', async () => {
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

  it('P1 P3 grep() finds nothing outside the project', async () => {
    await using tools = await openTools({ link: { link: '../outside' }, file: { link: '../outside/secret.txt' } });
    expect((await tools.call('grep', { pattern: 'needle' })).data.match_count).toBe(0);
    for (const path of ['..', '../outside', '../proj-evil', 'link', 'file', 'link/secret.txt', '/']) {
      expect(await tools.call('grep', { pattern: 'needle', path })).toMatchObject({
        code: 'OUTSIDE_PROJECT',
        text: expect.not.stringContaining('secret needle') as string,
      });
    }
  });

  it('grep() answers INVALID_ARGUMENT when the path is in .git', async () => {
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
    const collected = new GrepRows(10, 0, (path) => Promise.resolve(path));
    await collected.push(
      Buffer.from(
        '{"type":"begin","data":{"path":{"text":"a"}}}\n{"type":"match","data":{"path":{"text":"a"},"lines":{"text":"',
      ),
    );
    const chunk = Buffer.alloc(64 * 1024, 'é');
    const before = process.memoryUsage().arrayBuffers;
    let most = 0;
    for (let index = 0; index < 2_048; index++) {
      await collected.push(chunk);
      if (index % 64 === 0) globalThis.gc?.();
      most = Math.max(most, process.memoryUsage().arrayBuffers - before);
    }
    await collected.push(Buffer.from('"},"line_num'));
    await collected.push(
      Buffer.from('ber":7,"absolute_offset":0,"submatches":[{"match":{"text":"x"},"start":3,"end":4}]}}\n'),
    );
    expect(collected.rows).toEqual([
      { path: 'a', line: 7, column: 3, text: expect.stringMatching(/^é{500}... .cut.$/) as string },
    ]);
    expect(most).toBeLessThan(64 * 1024 * 1024);
  });

  it('P6 grep() shows names that are not UTF-8, and content in latin1', async () => {
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

describe('glob()', () => {
  it.each([
    ['*.ts', ['.hidden/d.ts', 'src/a.ts', 'src/deep/b.ts']],
    ['src/*.ts', ['src/a.ts']],
    ['src/**/*.ts', ['src/a.ts', 'src/deep/b.ts']],
    ['**/*.{ts,md}', ['.hidden/d.ts', 'docs/c.md', 'src/a.ts', 'src/deep/b.ts']],
    ['/*', ['.gitignore', '.keep']],
    ['*.log', []],
    ['**/config', []],
    ['docs/', ['docs/c.md']],
  ])('glob() of %s gives %j', async (pattern, expected) => {
    await using tools = await openTools(PROJECT);
    expect((await tools.call('glob', { pattern, sort: 'path' })).data).toEqual({
      files: expected,
      truncated: false,
      engine: 'rg',
    });
  });

  it('glob() gives ignored files when they are asked for, and leaves out what is excluded', async () => {
    await using tools = await openTools(PROJECT);
    expect(
      (await tools.call('glob', { pattern: '*.{log,js}', include_ignored: true, sort: 'path' })).data.files,
    ).toEqual(['ignored.log', 'node_modules/m/index.js']);
    expect(
      (await tools.call('glob', { pattern: '*.ts', exclude: ['deep', '.hidden/**'], sort: 'path' })).data.files,
    ).toEqual(['src/a.ts']);
  });

  it('glob() gives the newest first, and says when there are more', async () => {
    await using tools = await openTools({ 'a.x': '', 'b.x': '', 'c.x': '' });
    const { utimes } = await import('node:fs/promises');
    await utimes(tools.path('b.x'), 3, 3);
    await utimes(tools.path('c.x'), 2, 2);
    await utimes(tools.path('a.x'), 1, 1);
    expect((await tools.call('glob', { pattern: '*.x' })).data.files).toEqual(['b.x', 'c.x', 'a.x']);
    expect((await tools.call('glob', { pattern: '*.x', limit: 2 })).data).toMatchObject({
      files: ['b.x', 'c.x'],
      truncated: true,
    });
    expect((await tools.call('glob', { pattern: '*.x', limit: 2, sort: 'path' })).data).toMatchObject({
      files: ['a.x', 'b.x'],
      truncated: true,
    });
  });

  it('P3 glob() gives nothing outside the project', async () => {
    await using tools = await openTools({ link: { link: '../outside' } });
    expect((await tools.call('glob', { pattern: '**', include_ignored: true })).data.files).toEqual(['.keep']);
    expect((await tools.call('glob', { pattern: '*', path: 'link' })).code).toBe('OUTSIDE_PROJECT');
    expect((await tools.call('glob', { pattern: '../**' })).code).toBe('INVALID_ARGUMENT');
  });
});

describe('compileGlob()', () => {
  it.each([
    ['*.ts', 'a/b.ts', true],
    ['*.ts', 'a.tsx', false],
    ['a/*', 'a/b/c', false],
    ['a/**', 'a/b/c', true],
    ['a/**/c', 'a/c', true],
    ['**/a/**', 'x/a/y', true],
    ['a?c', 'a😀c', true],
    ['a?c', 'a/c', false],
    ['[a-c]x', 'bx', true],
    ['[!a-c]x', 'bx', false],
    ['[]]x', ']x', true],
    ['\\*', '*', true],
    ['\\*', 'a', false],
    ['{a,b{c,d}}.{x,y}', 'bd.y', true],
    ['{a,b}', 'c', false],
    ['./a', 'a', true],
    ['/a', 'b/a', false],
    ['a**b', 'axyb', true],
  ])('compileGlob() of %s and %s is %s', (pattern, path, expected) => {
    expect(compileGlob(pattern)(path)).toBe(expected);
  });

  it('P10 compileGlob() refuses or matches at once when the pattern explodes', () => {
    const startedAt = performance.now();
    expect(() => compileGlob('{a,b}'.repeat(20))).toThrow(/more than 1000/);
    expect(compileGlob('**/'.repeat(300) + 'x')('a/'.repeat(1_000) + 'y')).toBe(false);
    expect(compileGlob('*a'.repeat(100) + 'b')('a'.repeat(255))).toBe(false);
    expect(performance.now() - startedAt).toBeLessThan(500);
  });

  it('compileGlob() matches or throws a ToolError when the pattern is any text', () => {
    const text = fc
      .array(fc.constantFrom('*', '**', '?', '[', ']', '{', '}', ',', '\\', '/', 'a', '!', '-', '.'), { maxLength: 14 })
      .map((parts) => parts.join(''));
    fc.assert(
      fc.property(text, text, (pattern, path) => {
        try {
          compileGlob(pattern)(path);
        } catch (error) {
          expect(error).toMatchObject({ code: 'INVALID_ARGUMENT' });
        }
      }),
    );
  });
});

describe('list_directory()', () => {
  const paths = (data: Record<string, unknown>): string[] =>
    (data.entries as { path: string }[]).map((entry) => entry.path);

  it('list_directory() gives the entries of the project, without ignored ones', async () => {
    await using tools = await openTools(PROJECT);
    const { data, text } = await tools.call('list_directory');
    expect(paths(data)).toEqual(['.git', '.gitignore', '.hidden', '.keep', 'docs', 'src']);
    expect(data.entries).toMatchObject([
      { type: 'dir' },
      { type: 'file', size: 20, mtime_ms: expect.any(Number) as number },
      {},
      {},
      {},
      {},
    ]);
    expect(text).toContain('.gitignore  20\n.hidden/\n');
  });

  it('list_directory() goes as deep as asked, never into .git', async () => {
    await using tools = await openTools({ ...PROJECT, 'sub/.git/config': 'x' });
    expect(paths((await tools.call('list_directory', { depth: 2, include_hidden: true })).data)).toEqual([
      '.git',
      '.gitignore',
      '.hidden',
      '.hidden/d.ts',
      '.keep',
      'docs',
      'docs/c.md',
      'src',
      'src/a.ts',
      'src/deep',
      'sub',
    ]);
    expect(paths((await tools.call('list_directory', { path: 'src', depth: 10 })).data)).toEqual([
      'src/a.ts',
      'src/deep',
      'src/deep/b.ts',
    ]);
  });

  it('list_directory() gives ignored entries and leaves out hidden ones when asked to', async () => {
    await using tools = await openTools(PROJECT);
    expect(paths((await tools.call('list_directory', { include_ignored: true, include_hidden: false })).data)).toEqual([
      'docs',
      'ignored.log',
      'node_modules',
      'src',
    ]);
    expect(paths((await tools.call('list_directory', { path: 'node_modules' })).data)).toEqual(['node_modules/m']);
  });

  it('P3 list_directory() shows links and follows none', async () => {
    await using tools = await openTools({
      'src/a.ts': '',
      in: { link: 'src' },
      out: { link: '../outside' },
      gone: { link: 'nowhere' },
      goneOut: { link: '/nowhere/at/all' },
      loop: { link: 'loop' },
    });
    const { data, text } = await tools.call('list_directory', { depth: 5 });
    expect(data.entries).toMatchObject([
      { path: '.keep' },
      { path: 'gone', type: 'symlink', target: 'nowhere', outside: false },
      { path: 'goneOut', target: '/nowhere/at/all', outside: true },
      { path: 'in', target: 'src', outside: false },
      { path: 'loop', target: 'loop', outside: false },
      { path: 'out', target: '../outside', outside: true },
      { path: 'src', type: 'dir' },
      { path: 'src/a.ts', type: 'file' },
    ]);
    expect(text).toContain('out -> ../outside (outside the project)');
    expect((await tools.call('list_directory', { path: 'out' })).code).toBe('OUTSIDE_PROJECT');
    expect((await tools.call('list_directory', { path: 'in' })).data.entries).toMatchObject([{ path: 'in/a.ts' }]);
    for (const path of ['..', '../proj-evil', '/', '/proc/self'])
      expect((await tools.call('list_directory', { path })).code).toBe('OUTSIDE_PROJECT');
  });

  it('list_directory() gives the first entries in order when there are more than the limit', async () => {
    await using tools = await openTools();
    await mkdir(tools.path('many'));
    await Promise.all(
      Array.from({ length: 3_000 }, (_, index) => writeFile(tools.path(`many/${String(index).padStart(4, '0')}`), '')),
    );
    const { data, text } = await tools.call('list_directory', { path: 'many', limit: 10 });
    expect(paths(data)).toEqual(Array.from({ length: 10 }, (_, index) => `many/000${index}`));
    expect(data.truncated).toBe(true);
    expect(text).toContain('There are more');
  });

  it('P6 list_directory() makes control characters of names visible in its text', async () => {
    await using tools = await openTools({ 'a\n\u001b[31mb': '' });
    const { data, text } = await tools.call('list_directory');
    expect(paths(data)).toEqual(['.keep', 'a\n\u001b[31mb']);
    expect(text).toContain('a\\u{a}\\u{1b}[31mb');
  });

  it('list_directory() answers INVALID_ARGUMENT for a file and NOT_FOUND for nothing', async () => {
    await using tools = await openTools(PROJECT);
    expect((await tools.call('list_directory', { path: 'src/a.ts' })).code).toBe('INVALID_ARGUMENT');
    expect((await tools.call('list_directory', { path: 'scr' })).code).toBe('NOT_FOUND');
  });
});

describe('locateRipgrep()', () => {
  const missing = () => Promise.reject(new Error('Could not find the platform package.'));

  it('locateRipgrep() answers UNAVAILABLE with what to install when there is none', async () => {
    await using project = await createTestProject();
    const located = locateRipgrep(new ProjectScope(project), { bundled: missing, searchPath: '' });
    await expect(located).rejects.toMatchObject({
      code: 'UNAVAILABLE',
      message: expect.stringContaining('@vscode/ripgrep') as string,
    });
  });

  it('locateRipgrep() takes one from the search path, but none of the project', async () => {
    const { rgPath } = await import('@vscode/ripgrep');
    await using project = await createTestProject({ 'elsewhere/x': '', 'proj/bin/x': '', 'linked/x': '' });
    await link(rgPath, project.resolve('elsewhere/rg')).catch(() => symlink(rgPath, project.resolve('elsewhere/rg')));
    await writeFile(project.resolve('proj/bin/rg'), '#!/bin/sh\nexit 0\n', { mode: 0o755 });
    await symlink(project.resolve('proj/bin/rg'), project.resolve('linked/rg'));
    const scope = new ProjectScope({ projectDir: project.resolve('proj') });
    const searchPath = [
      '.',
      'proj/bin',
      project.resolve('proj/bin'),
      project.resolve('linked'),
      project.resolve('elsewhere'),
    ].join(':');
    expect(await locateRipgrep(scope, { bundled: missing, searchPath })).toBe(
      await realpath(project.resolve('elsewhere/rg')),
    );
  });
});
