// ripgrep and the own walk give the same rows, contexts and counts: over a tree of everything odd, and over random ones.

import { mkdir, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { InProcessToolProvider } from '../../../../src/provider/in-process-provider.js';
import type { JsonObject } from '../../../../src/contract/json.js';
import { createFilesystemServer } from '../../../../src/servers/filesystem/index.js';
import { soaking, tries } from '../../../soak.js';
import { createTestProject, type TestFile, type TestProject } from '../../../../src/testing/project.js';

const ODD: Record<string, TestFile> = {
  '.gitignore':
    '*.log\n!keep.log\n/build/\ndocs/*.tmp\n# comment\n\\#file\n\\!bang\n**/deep/x.txt\na/**/z.txt\ntrail.txt   \n[ab].skip\n?q\n',
  '.ignore': '!sub/ignored-by-sub.txt\n',
  'a.txt': 'needle one\nno\nNeedle two\n',
  'keep.log': 'needle\n',
  'drop.log': 'needle\n',
  'build/out.txt': 'needle\n',
  'sub/build/out.txt': 'needle\n',
  'docs/x.tmp': 'needle\n',
  'docs/deeper/x.tmp': 'needle\n',
  '#file': 'needle\n',
  '!bang': 'needle\n',
  'one/deep/x.txt': 'needle\n',
  'a/b/c/z.txt': 'needle\n',
  'a/z.txt': 'needle\n',
  'trail.txt': 'needle\n',
  'a.skip': 'needle\n',
  'c.skip': 'needle\n',
  '1q': 'needle\n',
  'sub/.gitignore': 'ignored-by-sub.txt\n*.md\n!keep.md\ninner/\n',
  'sub/ignored-by-sub.txt': 'needle\n',
  'sub/x.md': 'needle\n',
  'sub/keep.md': 'needle\n',
  'sub/inner/keep.md': 'needle\n',
  'sub/.rgignore': '!x.md\n',
  'repo/.git/info/exclude': 'excluded.txt\n',
  'repo/excluded.txt': 'needle\n',
  'repo/kept.txt': 'needle\n',
  '.hidden/.file': 'needle\n',
  'crlf.txt': 'one\r\nneedle\r\nneedle \r\nlast needle',
  'empty.txt': '',
  'newline.txt': '\n',
  'blank.txt': '\n\nneedle\n\n',
  'long.txt': `${'x'.repeat(3_000)}needle${'y'.repeat(3_000)}\n${'é'.repeat(700)}needle\n`,
  'binary.bin': Buffer.from('needle\nneedle\0more\nneedle\n'),
  'late.bin': Buffer.concat([
    Buffer.from(`needle\n${'x\n'.repeat(50_000)}needle\n`),
    Buffer.from([0]),
    Buffer.from('\nneedle\n'),
  ]),
  'utf16le.txt': Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from('a needle ü\nb\n', 'utf16le')]),
  'utf16be.txt': Buffer.concat([Buffer.from([0xfe, 0xff]), Buffer.from('a needle ü\nb\n', 'utf16le').swap16()]),
  'bom.txt': Buffer.from('\ufeffneedle\nneedle\n'),
  'latin1.txt': Buffer.from('caf\xe9 needle\nok needle\n\xff\xfeneedle\n', 'latin1'),
  'cut.txt': Buffer.concat([Buffer.from('needle é'), Buffer.from([0xe2, 0x82])]),
  'unicode.txt': 'straße needle\nΣίσυφος ΝΕΕΔΛΕ\nK needle K\nſ s S\nx\u2028needle\n日本needle語\n٣ needle_1 éneedle\n',
  'words.txt': 'needles\nneedle.\n(needle)\nun-needle-d\nfoo(needle)bar\n',
  'multi.txt': 'begin\n  needle\nend\nbegin\nneedle\nneedle\nend\n',
  'odd\nname.txt': 'needle\n',
  'odd [x]{y}*?!.txt': 'needle\n',
  '\\back.txt': 'needle\n',
  'b-c.ts': 'needle\n',
  'b/c.ts': 'needle\n',
  'b.ts': 'needle\n',
  'link.txt': { link: 'a.txt' },
  linkdir: { link: 'sub' },
  Makefile: 'needle:\n',
};

const QUESTIONS: JsonObject[] = [
  { pattern: 'needle' },
  { pattern: 'needle', context: 1 },
  { pattern: 'needle', before: 2, after: 1 },
  { pattern: 'needle', mode: 'files' },
  { pattern: 'needle', mode: 'count' },
  { pattern: 'needle', case: 'insensitive' },
  { pattern: 'needle', case: 'smart' },
  { pattern: 'needle', word: true },
  { pattern: 'needle(?:s|)', word: true },
  { pattern: '(needle)', literal: true },
  { pattern: 'needle$' },
  { pattern: '^needle' },
  { pattern: '^$' },
  { pattern: '$' },
  { pattern: '' + 'x*' },
  { pattern: '\\Aneedle\\z' },
  { pattern: '\\bneedle\\b' },
  { pattern: '\\Bneedle' },
  { pattern: '\\b{start}needle\\b{end}|\\<end\\>' },
  { pattern: '\\w+ needle' },
  { pattern: '\\W' },
  { pattern: '\\d' },
  { pattern: '\\S\\s\\S' },
  { pattern: '.needle' },
  { pattern: '[^n]needle' },
  { pattern: '[[:upper:]]eedle|[^[:alpha:]\\s]needle' },
  { pattern: '(?i)STRASSE|straße' },
  { pattern: '[[:nonsense:]]' },
  { pattern: '\\b{start-half}needle\\b{end-half}' },
  { pattern: '(?i)k needle' },
  { pattern: '(?i)[s-t]\\s' },
  { pattern: '\\p{Greek}+' },
  { pattern: '\\p{Lu}\\p{lowercase}' },
  { pattern: '(?i)\\p{Lu}needle' },
  { pattern: '[a-z&&[^m-z]]{3}' },
  { pattern: '[a-z--[d-n]]{2}' },
  { pattern: '[^\\x00-\\x7f]+' },
  { pattern: '(?P<q>n)(?<r>e){2}dle', type: 'txt' },
  { pattern: 'needle', type: 'make' },
  { pattern: 'needle', glob: '*.txt' },
  { pattern: 'needle', glob: ['*.txt', '!a*', 'sub/**'] },
  { pattern: 'needle', glob: '!sub' },
  { pattern: 'needle', glob: '**', type: 'txt' },
  // Left out: what an .ignore above brings back, ripgrep does not show when it begins below.
  { pattern: 'needle', path: 'sub', glob: '!ignored-by-sub.txt' },
  { pattern: 'needle', path: 'latin1.txt', context: 1 },
  { pattern: 'needle', path: 'b' },
  { pattern: 'needle\\n', multiline: true },
  { pattern: 'begin\\s+needle\\s+', multiline: true, context: 1 },
  { pattern: '(?s)begin.*?end', multiline: true },
  { pattern: 'needle', multiline: true, mode: 'count' },
  { pattern: '[^x]needle', multiline: true, mode: 'files' },
  { pattern: '\\Abegin|end\\n\\z', multiline: true },
  { pattern: 'n.e', multiline: true, before: 1 },
  { pattern: '(?x) need le' },
  { pattern: 'needle', limit: 5 },
  { pattern: 'needle', limit: 7, after: 2 },
];

async function openBoth(
  project: TestProject,
): Promise<(tool: string, args: JsonObject) => Promise<[unknown, unknown]>> {
  const providers = (['rg', 'js'] as const).map(
    (search) =>
      new InProcessToolProvider({ servers: [createFilesystemServer({ projectDir: project.projectDir, search })] }),
  );
  return async (tool, args) => {
    const [rg, js] = await Promise.all(
      providers.map(async (provider) => {
        const { structuredContent, error } = await provider.callTool(`filesystem.${tool}`, args);
        return error ? error.code : { ...structuredContent, engine: 'any' };
      }),
    );
    return [rg, js];
  };
}

describe('grep() and glob() engines', () => {
  it(
    'return the same rows over a tree of everything odd',
    async () => {
      await using project = await createTestProject(ODD);
      await writeFile(Buffer.concat([Buffer.from(`${project.projectDir}/n`), Buffer.from([0xff])]), 'needle\n');
      await mkdir(Buffer.concat([Buffer.from(`${project.projectDir}/sub/é`)]));
      const ask = await openBoth(project);
      for (const args of QUESTIONS) {
        const [rg, js] = await ask('grep', {
          limit: 1_000,
          // Of a NUL after 64 KiB ripgrep's rows depend on which lines it has put together.
          ...(args.multiline === true ? { glob: '!late.bin' } : {}),
          ...args,
        });
        expect(js, JSON.stringify(args)).toEqual(rg);
        expect(typeof rg, JSON.stringify([args, rg])).toBe('object');
      }
      for (const args of [
        { pattern: '**' },
        { pattern: '*.txt', exclude: ['sub', 'a*'] },
        { pattern: '**', include_ignored: true },
        { pattern: '**', path: 'sub', exclude: ['ignored-by-sub.txt'] },
        { pattern: '*', limit: 3 },
      ]) {
        const [rg, js] = await ask('glob', { sort: 'path', ...args });
        expect(js, JSON.stringify(args)).toEqual(rg);
      }
      const [rg, js] = await ask('glob', { pattern: '**', sort: 'mtime' });
      expect(js).toEqual(rg);
    },
    soaking ? 900_000 : 120_000,
  );

  it('refuse the same patterns', async () => {
    await using project = await createTestProject({ 'a.txt': 'a\n' });
    const ask = await openBoth(project);
    for (const pattern of [
      '(',
      ')',
      '[a',
      'a\\',
      '*a',
      'a{2',
      'a{,2}',
      'a{3,2}',
      '\\1',
      '\\h',
      '\\Z',
      '(?=a)',
      '(?<!a)',
      '(?P<a>',
      '(?q)a',
      '\\p{nonsense}',
      '[z-a]',
      '\\x{110000}',
      'a\nb',
      '(?<a>a)(?<a>b)',
    ])
      expect(await ask('grep', { pattern }), pattern).toEqual(['INVALID_ARGUMENT', 'INVALID_ARGUMENT']);
  });

  it(
    'return the same rows over random trees with random ignore files',
    async () => {
      const name = fc.constantFrom('a', 'b', 'ab', 'a.b', '.c', 'B', 'a-b', 'é');
      const path = fc.array(name, { minLength: 1, maxLength: 3 }).map((names) => names.join('/'));
      const rule = fc
        .tuple(
          fc.constantFrom('', '', '!'),
          fc.constantFrom('', '', '/'),
          fc.array(fc.constantFrom('a', 'b', '*', '**', '?', 'a*', '*b', '[ab]', '.c', 'a.b', '*.b', '[!a]'), {
            minLength: 1,
            maxLength: 3,
          }),
          fc.constantFrom('', '', '', '/', '/**'),
        )
        .map(([not, anchor, parts, end]) => not + anchor + parts.join('/') + end);
      const ignoreFile = fc.tuple(
        fc.oneof(
          fc.constant(''),
          path.map((directory) => `${directory}/`),
        ),
        fc.constantFrom('.gitignore', '.ignore', '.rgignore', '.git/info/exclude'),
        fc.array(rule, { minLength: 1, maxLength: 4 }).map((rules) => rules.join('\n')),
      );
      const line = fc
        .array(fc.constantFrom('a', 'b', 'A', ' ', 'é', '-', '\r'), { maxLength: 6 })
        .map((parts) => parts.join(''));
      const file = fc.tuple(
        path,
        fc.array(line, { maxLength: 6 }).map((lines) => lines.join('\n')),
      );
      const args = fc.record({
        pattern: fc.constantFrom('a', 'b', 'a|b', '^a', 'b$', '[^a]', '\\ba', 'a+b*', '(?i)A', '\\s', 'é?b'),
        before: fc.nat(2),
        after: fc.nat(2),
        word: fc.boolean(),
        multiline: fc.boolean(),
        mode: fc.constantFrom('content', 'content', 'files', 'count'),
        limit: fc.constantFrom(1, 3, 1_000),
      });
      await fc.assert(
        fc.asyncProperty(
          fc.array(file, { maxLength: 12 }),
          fc.array(ignoreFile, { maxLength: 3 }),
          args,
          async (files, ignores, question) => {
            await using project = await createTestProject();
            const all = [...files, ...ignores.map(([directory, kind, text]) => [`${directory}${kind}`, text] as const)];
            for (const [each, text] of all) {
              // A name that is a directory already, or below a file, is left out.
              await mkdir(dirname(project.resolve(each)), { recursive: true }).catch(() => {});
              await writeFile(project.resolve(each), text).catch(() => {});
            }
            const ask = await openBoth(project);
            const [rgRows, jsRows] = await ask('grep', question);
            expect(jsRows).toEqual(rgRows);
            const [rgNames, jsNames] = await ask('glob', { pattern: '**', sort: 'path' });
            expect(jsNames).toEqual(rgNames);
          },
        ),
        { numRuns: tries(150) },
      );
    },
    soaking ? 900_000 : 120_000,
  );
});
