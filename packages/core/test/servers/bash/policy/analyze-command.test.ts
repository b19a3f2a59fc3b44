// The claims of a command line, and that no input makes the analyzer throw.

import { mkdir, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { analyzeCommand } from '../../../../src/servers/bash/policy/analyze-command.js';
import { ProjectFiles } from '../../../../src/servers/project/project-files.js';
import { createTestProject } from '../../../../src/testing/project.js';
import { allowing, createAnalyzerHub, createAnalyzedProject, type AnalyzerHub } from './analyzed-project.js';
import { EVERYDAY } from './everyday-commands.js';

let project: Awaited<ReturnType<typeof createAnalyzedProject>>;
let hub: AnalyzerHub;
beforeAll(async () => {
  project = await createAnalyzedProject();
  hub = createAnalyzerHub(
    project.projectDir,
    allowing('ls', 'cat', 'git status', 'git log', 'env', 'timeout', 'bash -c', 'cd'),
  );
});
afterAll(() => project[Symbol.asyncDispose]());

/** Each claim in one line: `?` precedes what is not understood. */
const claimsOf = async (command: string, cwd = '.'): Promise<string[]> =>
  (await hub.claims(command, cwd)).map(({ pattern, understood }) => (understood ? pattern : `? ${pattern}`));

describe('analyzeCommand()', () => {
  it.each<[string, string[]]>([
    ['git status -s', ['git status -s']],
    ['ls && cat a | head', ['ls', 'cat a', 'head']],
    [`git commit -m "fix  'it'"`, ["git commit -m 'fix  '\\''it'\\'''"]],
    ["'git status'", ["? 'git status'"]],
    ["ls ''", ["ls ''"]],
    ['ls \\$X', ["ls '$X'"]],
    ['echo $X', ['echo $X']],
    ['cat $X', ['? cat $X']],
    ['git --no-pager -C src log', ['git log']],
    ['NODE_ENV=test npm test', ['npm test']],
    ['timeout 5 npm test', ['npm test', 'timeout 5 npm test']],
    ['bash -c "ls; cat a"', ['ls', 'cat a', "bash -c 'ls; cat a'"]],
    ['echo x > build/log', ['> build/log', 'echo x']],
    ['cd src && echo x > log', ['cd src', '> src/log', 'echo x']],
    ['cd src; echo x > log', ['cd src', '> src/log', '> log', 'echo x']],
    ['sort -o b a', ['> b', 'sort -o b a']],
    ['ls | tee b', ['ls', '> b', 'tee b']],
    ['find . -delete', ['? protected .', 'option find -delete', 'find . -delete']],
    ['find -delete', ['? protected .', 'option find -delete', 'find -delete']],
    ['find .vscode -delete', ['? protected .vscode', 'option find -delete', 'find .vscode -delete']],
    ['find src -name a -delete', ['option find -delete', 'find src -name a -delete']],
    ['find -delete -fprintf a new', ['? protected .', '> a', 'option find -delete', 'option find -fprintf', 'find -delete -fprintf a new']], // prettier-ignore
    ['find -H src -name a', ['find -H src -name a']],
    ['find -name a src', ['? find -name a src']],
    ['find constructor -delete', ['option find -delete', 'find constructor -delete']],
    ['xxd a -p', ['> -p', 'xxd a -p']],
    ['git branch -D x', ['option git branch -D', 'option git branch x', 'git branch -D x']],
    ['rm -rf .', ['? protected .', 'rm -rf .']],
    ['sed -i s/a/b/ a', ['option sed -i', 'sed -i s/a/b/ a']],
    ['cat /etc/passwd', ['outside /etc/passwd', 'cat /etc/passwd']],
    ['cat ~/x', ['? outside ~/x', 'cat ~/x']],
    ['rm .git/config', ['? protected .git/config', 'rm .git/config']],
    ['cat .git/config', ['cat .git/config']],
    ['cd src && ./run.sh', ['cd src', './src/run.sh']],
    ['/usr/bin/cat a', ['/usr/bin/cat a']],
    ['> build/x', ['> build/x']],
    ['ls $(rm a)', ["? ls '$(rm a)'", '? rm a', '? ls $(rm a)']],
    ['for f in a; do rm "$f"; done', ['? rm $f']],
    ["grep -c 'edited by us' ./README.md", ["grep -c 'edited by us' ./README.md"]],
    ["ls 'a b'/*.t[sx]", ["ls 'a b/'*.t[sx]"]],
    ["ls '*'", ["ls '*'"]],
    ["echo x > 'a b.txt'", ["> 'a b.txt'", 'echo x']],
    ['echo a\u200bb', ["? echo $'a\\u200bb'"]],
  ])('claims %s as %j', async (command, expected) => {
    expect(await claimsOf(command)).toEqual(expected);
  });

  it('claims the target of a link that leads outside', async () => {
    expect(await claimsOf('cat outfile')).toContain(`outside ${project.outside}/x`);
    expect(await claimsOf('diff src src/deep')).toContain(`outside ${project.outside}`);
    expect(await claimsOf('cat src/l*/x')).toContain(`outside ${project.outside}`);
  });

  it('claims names of process files as outside, also behind a link and whatever they mean in this process', async () => {
    const before = process.cwd();
    await symlink('/proc/self/cwd', join(project.projectDir, 'src/here'));
    try {
      for (const directory of ['.', 'src/deep'])
        for (const path of [
          '/proc/self/cwd/a',
          '/proc/self/cwd/../x',
          '/dev/fd/3/../x',
          'src/here/../x',
          'src/here/a',
        ]) {
          process.chdir(join(project.projectDir, directory));
          const [first] = await hub.claims(`cat ${path}`);
          expect(first, `${path} from ${directory}`).toMatchObject({ understood: false });
          expect(first!.pattern).toMatch(/^outside /);
        }
    } finally {
      process.chdir(before);
    }
  });

  it('claims links that a wildcard matches: in an extra root, by its other name, and above a link', async () => {
    await using extra = await createTestProject({
      'data/deep/a': 'a',
      'data/leak': { link: '/etc' },
      other: { link: 'data' },
    });
    await symlink(extra.resolve('data/deep'), join(project.projectDir, 'extra'));
    const files = new ProjectFiles({
      projectDir: project.projectDir,
      extraRoots: [{ path: extra.resolve('other'), mode: 'rw' }],
    });
    for (const path of [`${extra.resolve('data')}/l*`, `${extra.resolve('other')}/l*`, 'extra/../l*']) {
      const claims = await analyzeCommand(`cat ${path}`, { files, cwd: '.' });
      expect(
        claims.map(({ pattern }) => pattern),
        path,
      ).toContain('outside /etc');
    }
  });

  it('understands a wildcard at the beginning of a word only when no option of the command does harm', async () => {
    const rules = createAnalyzerHub(project.projectDir, allowing('ls', 'sort', 'find', 'rm'));
    await project.write('bin/-ocanary', '');
    expect(await rules.action('ls *', 'bin')).toBe('allow');
    expect(await rules.action('sort ./*', 'bin')).toBe('allow');
    for (const command of ['sort *', 'sort -u *', 'find *', 'rm *', 'sort ?ocanary', 'sort [-]*']) {
      expect(await rules.action(command, 'bin'), command).toBe('ask');
    }
  });

  it('understands no command of a line when its two parsers differ', async () => {
    // The grammar takes "b" for a second target of the redirection, bash for an argument.
    const claims = await hub.claims('cat a > build/x b');
    expect(claims[0]).toMatchObject({ understood: false, reason: expect.stringContaining('two parsers') as string });
  });

  it('does not understand an expansion that contains a line break', async () => {
    // Rules that allow all that a wrong reading would claim.
    const wide = createAnalyzerHub(project.projectDir, allowing('cat *', 'cat', 'echo *'));
    for (const command of [
      'cat $\\\nHOME/x',
      'cat "$\\\nHOME/x"',
      'cat "$\\\n(touch canary)"',
      'cat $\\\n(touch canary)',
      "cat $\\\n'\\x2fetc/passwd'",
      'cat $\\\n{HOME}/x',
      'echo "$HO\\\nME"',
    ])
      expect(await wide.action(command), command).toBe('ask');
    for (const command of ['echo "a$"', 'echo "a \\\nb"', 'echo \\\n  a'])
      expect(await wide.action(command), command).toBe('allow');
  });

  it('does not understand a number, an assignment or a bracket with empty quotes', async () => {
    const wide = createAnalyzerHub(project.projectDir, allowing('cat *', 'cat', 'ls', 'time *', '> *'));
    for (const command of [
      "cat a 2>b 2''>b\nls a",
      "cat 2''>b",
      'cat ""2>b',
      "CI''=1 ls",
      "CI=1 ''CI=1 ls",
      "!'' ls",
      "{ ls; }''",
    ])
      expect(await wide.action(command), command).toBe('ask');
    for (const command of ["CI='' ls", 'cat x=""', 'cat a"" 2>b', "cat '2' >b"])
      expect(await wide.action(command), command).toBe('allow');
  });

  it('does not understand an option when another program of the same name reads it in another way', async () => {
    const names = ['tree', 'curl', 'jq', 'sed', 'head', 'grep', 'ls', 'go', 'docker', 'tar', 'ln', 'cd', 'diff'];
    const wide = createAnalyzerHub(
      project.projectDir,
      allowing(...names, 'option sed -i', ...names.map((name) => `${name} *`)),
    );
    for (const command of [
      // Letters with a value that take the next word, whatever is joined to them: this one writes README.md.
      'tree -Io x README.md',
      'tree -Lo 2 README.md',
      'tree -Pa x README.md',
      // A number, or the value of another option elsewhere.
      ...[
        'head -n x a',
        'ls -T out',
        'ls -w out',
        'ls -I out',
        'grep -C one out',
        'diff -U out a',
        "sed -l '1w canary' p",
      ],
      // An empty word is the value of -i elsewhere.
      "sed -i '' 'w canary' a",
      "curl 'fil[e-e]:///x/[.-.][.-.]/y'",
      `jq '"x" | modulemeta' a`,
      'go build -ldflags=-extld=./evil.sh',
      "go build -ldflags '-s -extld ./evil.sh'",
      'go env -w CC=./evil.sh',
      'docker run -itv src:src x',
      'docker run -vsrc:src x',
      'tar tf- a',
      // What it makes gets its name from no word of the command.
      `cd .vscode && ln -s ${project.projectDir}/src/settings.json`,
      `cd .vscode/deep && ln ${project.projectDir}/src/settings.json`,
    ])
      expect(await wide.action(command), command).toBe('ask');
    for (const command of [
      ...[
        'tree -aL 2',
        'tree -L2 src',
        'tree -I node_modules src',
        'head -n -5 a',
        'head -c 1K a',
        'grep -A 2 one a',
        'ls -w 80',
      ],
      ...[
        'curl http://[::1]:3000/x',
        'go build -ldflags "-s -w"',
        'docker run -it x',
        'sed -n 1p a',
        'tar tvf a.tar',
        'cd .vscode && ls',
      ],
    ])
      expect(await wide.action(command), command).toBe('allow');
  });

  it('returns a reason when a command is not understood', async () => {
    const [claim] = await hub.claims('sort --outp=x a');
    expect(claim).toMatchObject({ understood: false, reason: expect.stringContaining('--outp') as string });
    for (const command of ['eval x', 'ls *', 'a() { b; }', 'x=1', 'git z', 'ls "']) {
      for (const { understood, reason } of await hub.claims(command))
        if (!understood) expect(reason, command).toMatch(/\w+ \w+/);
    }
  });

  it.each<[command: string, wider: string | undefined]>([
    ['git status -s', 'git status *'],
    ['npm test', 'npm test *'],
    ['npm run build -- --x', 'npm run build *'],
    ['cargo build --release', 'cargo build *'],
    ['docker compose up -d', 'docker compose up *'],
    ['python3 -m pytest -q', 'python3 -m pytest *'],
    ['python3.12 -m pytest', 'python3.12 -m pytest *'],
    ['pypy3 -m pytest -q', 'pypy3 -m pytest *'],
    ['node x.js --flag', 'node x.js *'],
    ['ls -la src', 'ls *'],
    ['./run.sh a b', './run.sh *'],
    ['rm -rf build', undefined],
    ['mv a b', undefined],
    ['cp a b', undefined],
    ['curl https://example.com', undefined],
    ['npm run', undefined],
    ['npm --prefix src test', undefined],
  ])('offers for %s exactly that command, and the wider pattern %j', async (command, wider) => {
    const [claim, ...more] = await hub.claims(command);
    expect(more).toEqual([]);
    expect(claim).toMatchObject({ pattern: command, suggestedPattern: command });
    expect(claim?.widerPattern).toBe(wider);
  });

  it.each([
    ...['git', 'ls && pwd', 'ls > build/x', 'cat /etc/passwd', 'find . -delete', 'ls $(x)'],
    ...['ls src/*', 'ls src/?.ts', 'ls src/[ab].ts', 'echo $X', 'ls ~', 'ls {a,x.js}'],
  ])('offers nothing for %s', async (command) => {
    for (const claim of await hub.claims(command)) expect(claim.suggestedPattern, claim.pattern).toBeNull();
  });

  it('offers a pattern that allows the same command and no other', async () => {
    for (const command of ["grep -c 'a  b' a", "echo '*'", 'rm -rf build', "git commit -m 'it''s'"]) {
      const [claim] = await hub.claims(command);
      const again = createAnalyzerHub(project.projectDir, [
        { tool: 'bash.execute', pattern: claim?.suggestedPattern ?? '', action: 'allow' },
      ]);
      expect(await again.action(command), command).toBe('allow');
      expect(await again.action(`${command} src`), command).toBe('ask');
    }
  });

  it('treats a program under another name, or with unknown options, like the one that it knows', async () => {
    await mkdir(join(project.projectDir, 'a:'), { recursive: true });
    const wide = createAnalyzerHub(
      project.projectDir,
      allowing(
        ...[
          'cat',
          ':',
          'git status',
          'git log',
          'wait',
          'jobs',
          'xxd',
          'tar',
          'npm test',
          'bash',
          'make',
          'curl',
          'strings',
          'gcc',
          'ls',
          'node',
        ],
        ...[
          'python3',
          'python3.12',
          'pypy3',
          'node20',
          'nodejs',
          'ruby3.1',
          'perl5.36',
          'lua5.4',
          'php8.2',
          'Rscript',
          'deno',
          'guile',
          'julia',
          'd8',
        ],
      ),
    );
    for (const command of [
      'cat a://../../SECRET',
      ': {HOME}>/dev/null; git status',
      'git log {PATH}>/dev/null',
      "wait -p 'a[$(rm a)]'",
      "wait -np 'a[$(rm a)]'",
      'jobs -x rm a',
      'jobs -lx rm a',
      'xxd -r -ps pay.hex .git/hooks/pre-commit',
      'xxd -seek 1 a b',
      'tar tfI a.tar ./evil.sh',
      'tar tIf ./evil.sh a.tar',
      'npm test -script-shell=./evil.sh',
      'npm test ---script-shell=./evil.sh',
      'npm test -sc id',
      'bash /dev/stdin',
      'bash /dev/./stdin',
      'node /dev/fd/0',
      'node /proc/self/fd/0',
      'make -f /dev/stdin',
      'make -f/dev//stdin',
      `curl file://${project.projectDir}/%2e%2e/x`,
      `curl 'file://${project.projectDir}/[.-.][.-.]/x'`,
      `curl --url 'file://${project.projectDir}/[.-.][.-.]/x'`,
      'd8 -e 1',
      'strings @file',
      'gcc @file',
      'python3 -m timeit "open()"',
      'python3 -m cProfile x.py',
      'python3.12 -c 1',
      'pypy3 -c 1',
      'node20 -e 1',
      'nodejs -e 1',
      'ruby3.1 -e 1',
      'perl5.36 -e 1',
      'lua5.4 -e 1',
      'php8.2 -r 1',
      'Rscript -e 1',
      'guile -c 1',
      'julia --eval 1',
      'deno eval 1',
      'guile',
    ])
      expect(await wide.action(command), command).toBe('ask');
    for (const command of [
      'cat https://example.com/x',
      'wait',
      'wait -n',
      'jobs -l',
      'curl https://example.com/a/b.json',
      'xxd -l 16 a',
      'xxd -l16 a',
      'tar tf a.tar',
      'tar tvfC a.tar src',
      'python3 -m pytest -q',
      'python3.12 x.py',
      'node20 x.js',
      'npm test -- --watch',
      'gcc -o build/a a.c',
      'ls {a}',
    ])
      expect(await wide.action(command), command).toBe('allow');
  });

  it('does not understand a redirection that bash reads in another way: a word after a dash, a target that it expands twice', async () => {
    const writing = createAnalyzerHub(project.projectDir, allowing('cat', '> *'));
    const dashes = ['>&-a', '>& -a', '2>&-a', '2>& -/etc/passwd', '2<&\t-a', '>&\\\n-a', '>& \\\n -a', '2>&-\\\na'];
    for (const redirect of [...dashes, ">&-''a", '2147483648>a', '99999999999999999999>a']) {
      expect(await writing.action(`cat ${redirect}`), redirect).toBe('ask');
      expect(await writing.action(`cat b ${redirect} c`), redirect).toBe('ask');
    }
    for (const target of ["'$(rm a)'", "'a $b'", '\\*', "'~'", "'`id`'", '\\$X', "'a b'", "'a\\\\b'"])
      expect(await writing.action(`cat >&${target}`), target).toBe('ask');
    for (const redirect of ['>&new/a-b.log', "&>'a $b'", ">'$(rm a)'"])
      expect(await writing.action(`cat ${redirect}`), redirect).toBe('allow');
    for (const redirect of ['>&-', '2>&-', '2>& -', '2>&-;cat src', '2>&-|cat a', '2>&1', '3>&1-', '2147483647>a'])
      expect(await writing.action(`cat ${redirect}`), redirect).toBe('allow');
  });

  it('understands find -exec only when a reader takes each name as its last operand', async () => {
    const wide = createAnalyzerHub(
      project.projectDir,
      allowing('find', 'option find *', 'sh', 'echo', 'awk', 'sed', 'cp', 'sort', 'cat', 'grep', 'tee', '> *'),
    );
    for (const command of [
      "find . -exec sh -c 'echo {}' \\;",
      "find B* -exec awk '{}' \\;",
      'find q -exec sed -n s/{}/x/ f \\;',
      'find .git/hooks -exec cp a {} \\;',
      'find . -exec sort -o {} a \\;',
      'find . -exec tee {} \\;',
      'find . -exec {} \\;',
      'find . -exec cat {}x \\;',
      'echo $HOME/*',
    ])
      expect(await wide.action(command), command).toBe('ask');
    for (const command of ['find src -exec cat {} \\;', 'find src -exec grep -l x {} +', 'echo $HOME'])
      expect(await wide.action(command), command).toBe('allow');
  });

  it('reads no option after the program of awk', async () => {
    for (const option of ['-F', '-v'])
      expect(await claimsOf(`awk 1 ${option} 'src/(x)/../../../secret'`)).toContainEqual(
        expect.stringContaining('outside'),
      );
    expect(await claimsOf('awk -F : 1 a')).toEqual(['awk -F : 1 a']);
  });

  it('claims redirections so that a rule allows paths below a directory and no others', async () => {
    const writing = createAnalyzerHub(project.projectDir, allowing('echo', 'cd', '> build/*'));
    expect(await writing.action('echo x > build/a/b')).toBe('allow');
    expect(await writing.action('cd build && echo x > a')).toBe('allow');
    for (const command of [
      'echo x > a',
      'echo x > build/../a',
      'echo x > /tmp/build/a',
      'echo x > build/.git/config',
      'echo x > buildx',
    ]) {
      expect(await writing.action(command), command).toBe('ask');
    }
  });

  it('applies deny rules to every command that it finds', async () => {
    const denying = createAnalyzerHub(project.projectDir, [
      { tool: '*', action: 'allow' },
      { tool: 'bash.execute', pattern: 'rm', action: 'deny' },
    ]);
    for (const command of [
      'rm a',
      'ls; rm a',
      'ls $(rm a)',
      'timeout 5 rm a',
      'bash -c "rm a"',
      'for f in a; do rm $f; done',
      'find . -exec rm {} +',
      '"rm" a',
      'r\\m a',
      'f() { rm a; }',
    ]) {
      expect(await denying.action(command), command).toBe('deny');
    }
    expect(await denying.action('ls rm')).toBe('allow');
  });

  it('asks about variables that the call sets, but for a few', async () => {
    const { files } = hub;
    const understood = async (env: Record<string, string>): Promise<boolean> =>
      (await analyzeCommand('ls', { files, cwd: '.', env })).every((claim) => claim.understood);
    expect(await understood({ NODE_ENV: 'test', CI: '1' })).toBe(true);
    for (const env of [
      { PATH: '.' },
      { NODE_OPTIONS: '-r x' },
      { RIPGREP_CONFIG_PATH: 'x' },
      { LANG: '../x' },
      { __proto__x: 'y' },
    ])
      expect(await understood(env as Record<string, string>), JSON.stringify(env)).toBe(false);
  });

  it('understands nothing when it is aborted, or the directory of the call is no directory', async () => {
    const claims = await analyzeCommand('ls', { files: hub.files, cwd: '.', signal: AbortSignal.abort() });
    expect(claims.some(({ understood }) => !understood)).toBe(true);
    expect((await hub.claims('ls', 'nothing')).some(({ understood }) => !understood)).toBe(true);
    expect((await analyzeCommand(5 as never, { files: hub.files, cwd: '.' }))[0]?.understood).toBe(false);
  });
});

/** Ways to put a forbidden command into a line that begins with an allowed one. */
const COMPOSITIONS: readonly ((allowed: string, forbidden: string) => string)[] = [
  (a, f) => `${a} && ${f}`,
  (a, f) => `${a} || ${f}`,
  (a, f) => `${a}; ${f}`,
  (a, f) => `${a} & ${f}`,
  (a, f) => `${a} | ${f}`,
  (a, f) => `${a} |& ${f}`,
  (a, f) => `${a}\n${f}`,
  (a, f) => `${a} # x\n${f}`,
  (a, f) => `(${a}; ${f})`,
  (a, f) => `{ ${a}; ${f}; }`,
  (a, f) => `${a} $(${f})`,
  (a, f) => `${a} "$(${f})"`,
  (a, f) => `${a} \`${f}\``,
  (a, f) => `${a} <(${f})`,
  (a, f) => `${a} > >(${f})`,
  (a, f) => `${a} <<E\n$(${f})\nE`,
  (a, f) => `if ${a}; then ${f}; fi`,
  (a, f) => `for x in 1; do ${a}; ${f}; done`,
  (a, f) => `f() { ${f}; }; ${a}; f`,
  (a, f) => `! ${a} || ${f}`,
  (a, f) => `env ${f}; ${a}`,
  (a, f) => `timeout 5 ${f} && ${a}`,
  (a, f) => `bash -c '${f}' && ${a}`,
  (a, f) => `bash -c '${a}; ${f}'`,
  (a, f) => `env timeout 5 ${f} | ${a}`,
  (a, f) => `${a} | xargs ${f}`,
  (a, f) => `eval '${f}'; ${a}`,
  (a, f) => `X=1 ${f}; ${a}`,
  (a, f) => `cd src && ${a} && ${f}`,
  (a, f) => `time ${f}; ${a}`,
  (a, f) => `coproc ${f}; ${a}`,
  (a, f) => `${a} ${'\\'}\n; ${f}`,
];
const QUOTINGS: readonly ((word: string) => string)[] = [
  (word) => word,
  (word) => `"${word}"`,
  (word) => `${word[0]}""${word.slice(1)}`,
  (word) => `\\${word}`,
  (word) => `${word.slice(0, -1)}\\${word.slice(-1)}`,
];

describe('analyzeCommand() with arbitrary input', () => {
  it('never lets a forbidden command pass among allowed ones', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(
          fc.tuple(
            fc.constantFrom(...COMPOSITIONS),
            fc.constantFrom('ls', 'cat a', 'git status', 'git log -1', "ls 'a b'"),
          ),
          { minLength: 1, maxLength: 3 },
        ),
        fc.constantFrom(...QUOTINGS),
        fc.constantFrom(
          'touch x',
          'rm -rf a',
          'git push',
          './evil.sh',
          'lsx',
          'git statusx',
          'cat ../../../x',
          'git -c a=b status',
          'ls > x',
        ),
        async (compositions, quoting, forbidden) => {
          const [name = '', ...rest] = forbidden.split(' ');
          const inner = [quoting(name), ...rest].join(' ');
          const command = compositions.reduce((line, [compose, allowed]) => compose(allowed, line), inner);
          expect(await hub.action(command), command).toBe('ask');
        },
      ),
      { numRuns: 600 },
    );
  });

  it('finds the allowed commands allowed in the same compositions, where they are understood', async () => {
    let allowed = 0;
    for (const compose of COMPOSITIONS) if ((await hub.action(compose('ls', 'git status'))) === 'allow') allowed++;
    expect(allowed).toBeGreaterThan(12); // else the property above proves nothing
  });

  it('never throws, returns at least one claim and respects its limit of steps for random text', async () => {
    const piece = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 12 }),
      fc.string({ maxLength: 12 }),
      fc.constantFrom(
        ...'$ ( ) { } [ ] < > & | ; \' " ` \\ # ! ~ * ? = \n \t \0 \r'.split(' '),
        '$(',
        '<<E',
        '${',
        '$((',
        '[[',
        'if ',
        'case x in',
        'find . -exec ',
        "sed 's/a",
        'awk "{',
        'git -C ',
        'cd ',
        '\ud800',
      ),
      fc.constantFrom(...EVERYDAY),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(piece, { maxLength: 30 }), async (pieces) => {
        const start = performance.now();
        const claims = await hub.claims(pieces.join(''));
        expect(claims.length).toBeGreaterThan(0);
        expect(claims.every(({ pattern }) => typeof pattern === 'string' && pattern !== '')).toBe(true);
        expect(performance.now() - start).toBeLessThan(5_000);
      }),
      { numRuns: 600 },
    );
  });

  it.each<[string, string]>([
    ['350 KB', `ls ${'a '.repeat(175_000)}`],
    ['5,000 brackets', '('.repeat(5_000)],
    ['32 KB of paths', 'cat ' + '../x '.repeat(6_000)],
    ['32 KB of quotes', `echo ${"'a'".repeat(10_000)}`],
    ['32 KB of equals signs', `x ${'a='.repeat(15_000)}`],
    ['32 KB of braces', `ls ${'{'.repeat(15_000)}${','.repeat(15_000)}`],
    ['32 KB of substitutions', '$('.repeat(15_000)],
    ['32 KB of wildcards', `ls src/${'*a'.repeat(15_000)}`],
    ['32 KB of sed', `sed '${'s/a/b/;'.repeat(4_000)}' a`],
    ['32 KB of awk', `awk '${'"/ '.repeat(9_000)}' a`],
    ['32 KB of backslashes', `ls ${'\\\\'.repeat(16_000)}`],
    ['32 KB of a printf format', `printf '${'%-'.repeat(15_000)}'`],
    ['32 KB of brackets in sed', `sed 's/${'['.repeat(30_000)}/x/' a`],
  ])('stops in time for %s', async (_what, command) => {
    const start = performance.now();
    expect((await hub.claims(command)).length).toBeGreaterThan(0);
    expect(performance.now() - start).toBeLessThan(5_000);
  });
});
