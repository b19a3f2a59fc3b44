// Compares the analyzer with bash: generated lines whose claims are all understood run in a sandbox on a scratch project,
// where each program only records how it was called.

import { mkdir, mkdtemp, readFile, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join, relative, resolve } from 'node:path';
import { finished } from 'node:stream/promises';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { spawnChild } from '../../../../src/process/index.js';
import { analyzeCommand } from '../../../../src/servers/bash/policy/analyze-command.js';
import { isHarmlessVariable } from '../../../../src/servers/bash/policy/commands/refused-commands.js';
import { ProjectFiles } from '../../../../src/servers/project/project-files.js';
import { quoteWord } from '../../../../src/contract/shell-words.js';
import { soaking } from '../../../soak.js';

const LINES = soaking ? 100_000 : 1_000;
const BATCH = 1_000;
const PROGRAMS =
  'ls cat head wc grep rg find sort uniq sed awk cut diff tree file stat tee git npm node python3 make cargo rm mv cp touch mkdir tar gcc curl tool xxd';
/** Programs of the project; some are named like others. */
const OWN_PROGRAMS = ['run.sh', 'src/tool', 'src/deep/ls', 'git'];
/** Programs that run another one; these are the real ones. */
const WRAPPERS = 'env timeout nice nohup setsid stdbuf bash sh dash';

interface Happened {
  argv: string[][];
  /** Variables that a program got and that were not there before. */
  variables: [name: string, value: string][];
  directories: string[];
  /** Absolute paths that were created, deleted or changed. */
  changed: string[];
}

async function run(command: string, args: string[], cwd = '/'): Promise<{ code: number | null; stderr: string }> {
  await using child = spawnChild({ command, args, cwd, stdin: 'ignore' });
  const ended = finished(child.stdout.resume()).catch(() => undefined);
  const { code } = await child.exited;
  await ended;
  return { code, stderr: child.stderrTail() };
}

const SYSTEM = ['/usr', '/bin', '/lib', '/lib64'];
const bubblewrap = (world: string, script: string): string[] => [
  ...['--unshare-all', '--die-with-parent', '--new-session', '--cap-drop', 'ALL', '--clearenv'],
  ...SYSTEM.flatMap((path) => ['--ro-bind-try', path, path]),
  ...['--proc', '/proc', '--dev', '/dev', '--tmpfs', '/tmp', '--bind', world, world],
  ...['--setenv', 'PATH', '/usr/bin:/bin', '--chdir', '/', '/bin/bash', script],
];

/** Records a call in one write: argv, then the variables and the directory. */
const STUB = (log: string): string => `#!/bin/sh
{ printf '%s\\0' "$0" "$@"; printf '<argv>\\0'; export -p; printf '\\0%s\\0<end>\\0' "$PWD"; } >> ${log}/$(readlink ${log}/current).$$
`;

/** Runs each line as the tool does, waits until everything that it started has ended, and records what changed. */
const DRIVER = (world: string): string => `
cd ${world}
look() { find project outside /tmp -path ${world} -prune -o -type d -printf '%p d\\0' -o -printf '%p %y %s %i %T@\\0' | sort -z; }
reset() {
  rm -rf project outside; cp -a template/project template/outside .
  find /tmp -mindepth 1 -maxdepth 1 ! -path ${world} -exec rm -rf {} +
  look > log/before
}
reset
index=0
while IFS= read -r -d '' line; do
  ln -sfn $index log/current
  ( cd project && exec env -i PATH=${world}/stubs:${world}/real HOME=/tmp LANG=C.UTF-8 ${'/usr/bin/timeout'} -s KILL 20 \\
    /bin/bash --noprofile --norc -c "$line" 9>&1 </dev/null >/dev/null 2>&1 ) | cat >/dev/null
  look > log/after
  if ! cmp -s log/before log/after; then
    { comm -z -3 log/before log/after | sed -z 's/^\\t//'; } > log/$index.changed
    reset
  fi
  index=$((index + 1))
done < log/lines
`;

/** @param real programs that are the real ones, in place of those that only record their call */
async function makeWorld(real: readonly string[] = []): Promise<string> {
  const world = await realpath(await mkdtemp(join(tmpdir(), `toolwright-${process.pid}-differential-`)));
  for (const name of [
    'stubs',
    'real',
    'log',
    'template/project/src/deep',
    'template/project/build',
    'template/outside',
  ])
    await mkdir(join(world, name), { recursive: true });
  for (const name of ['a', 'b', 'README.md', 'src/x', 'src/y.ts', 'src/deep/z', 'a b', '-n'])
    await writeFile(join(world, 'template/project', name), 'text\n');
  await symlink('../outside', join(world, 'template/project/out'));
  for (const name of ['.git/hooks/x', '.vscode/settings.json']) {
    await mkdir(join(world, 'template/project', name, '..'), { recursive: true });
    await writeFile(join(world, 'template/project', name), 'text\n');
  }
  const stubs = PROGRAMS.split(' ').filter((each) => !real.includes(each));
  for (const path of [
    ...stubs.map((name) => join('stubs', name)),
    ...OWN_PROGRAMS.map((name) => join('template/project', name)),
  ])
    await writeFile(join(world, path), STUB(join(world, 'log')), { mode: 0o755 });
  for (const name of [...WRAPPERS.split(' '), ...real]) await symlink(`/usr/bin/${name}`, join(world, 'real', name));
  await symlink('/usr/bin/readlink', join(world, 'real', 'readlink'));
  await writeFile(join(world, 'driver.sh'), DRIVER(world));
  await run('/bin/cp', ['-a', join(world, 'template/project'), join(world, 'template/outside'), world]);
  return world;
}

async function runLines(world: string, lines: readonly string[]): Promise<Happened[]> {
  await rm(join(world, 'log'), { recursive: true, force: true });
  await mkdir(join(world, 'log'));
  await writeFile(join(world, 'log/lines'), lines.map((line) => `${line}\0`).join(''));
  const { code, stderr } = await run('bwrap', bubblewrap(world, join(world, 'driver.sh')));
  if (code !== 0) throw new Error(`The driver ended with ${code}: ${stderr}`);
  const { readdir } = await import('node:fs/promises');
  const logs = new Map<string, string[]>();
  for (const name of await readdir(join(world, 'log'))) {
    const index = name.split('.')[0] ?? '';
    logs.set(index, [...(logs.get(index) ?? []), name]);
  }
  const all: Happened[] = [];
  for (const index of lines.keys()) {
    const happened: Happened = { argv: [], variables: [], directories: [], changed: [] };
    for (const name of logs.get(String(index)) ?? []) {
      const text = await readFile(join(world, 'log', name), 'utf8');
      if (name.endsWith('.changed'))
        for (const row of text.split('\0').filter((each) => each !== '')) {
          // A directory's time changes with its entries, so only its creation and deletion count.
          const [, path = ''] = /^(.*) (?:d|\S \d+ \d+ [\d.]+)$/s.exec(row) ?? [];
          happened.changed.push(resolve(world, path));
        }
      else
        for (const record of text.split('<end>\0').filter((each) => each !== '')) {
          const [argv = '', state = ''] = record.split('<argv>\0');
          const [variables = '', directory = ''] = state.split('\0');
          const [program = '', ...rest] = argv.split('\0').slice(0, -1);
          happened.argv.push([programIn(world, directory, program), ...rest]);
          happened.directories.push(directory);
          for (const [, variable = '', value = ''] of variables.matchAll(/^export (\w+)='(.*)'$/gm))
            if (!/^(?:PATH|HOME|LANG|PWD|OLDPWD|SHLVL|_|_STDBUF_\w)$/.test(variable))
              happened.variables.push([variable, value]);
        }
    }
    all.push(happened);
  }
  return all;
}

/** The name of a program for its claim: that of one in the project is its path. */
function programIn(world: string, directory: string, program: string): string {
  const path = resolve(directory, program);
  return path.startsWith(join(world, 'stubs/')) ? basename(path) : `./${relative(join(world, 'project'), path)}`;
}

// Lines.

const from = (...texts: string[]): fc.Arbitrary<string> => fc.constantFrom(...texts);
const plain = from('a', 'b', 'src', 'src/x', 'src/y.ts', 'README.md', './a', 'build/out', 'new', 'nothing', 'src/../a', '.', 'a.txt', '--', '-n', '-rf', '-l', '-la', '--all', '--name=x', '-1', '0', '=', 'a=b', 'X', 'é', '%', '@x', '+x', 'a,b', 'a:b', 'https://example.com/x', 'a://../x'); // prettier-ignore
const quoted = from("'a b'", '"a b"', 'a\\ b', "a''b", '"a"b', "'*'", '"*"', '\\*', "'$X'", '\\$X', "'#'", 'a#b', '""', "''", "'-n'", '"it\'s"', "'a;b'", '"a&&b"', "'>x'", "\\>x", "'~'", '\\~', "'{a,b}'", '"\\a"', '"\\\\"', "'\\'", "a\\\\b"); // prettier-ignore
const odd = from('*', 'src/*', './*', 'src/?', 'src/[xy]', '~', '~/x', '{a,b}', '{a', 'a}', '{}', '$X', '"$X"', '${X}', '$', '$(ls)', '`ls`', "$'a\\tb'", '$"a"', '#c', '!', '!!', '^a^b', '..', '../outside/f', '/etc/passwd', '/dev/null', 'out/f', '[', ']', '[a', '\u00a0', '\u200b', 'a\u00adb', '-', '&', '>', '\\', "'", '"', '$\\\nHOME', '"$\\\nHOME"', '"$\\\n(ls)"', '"$HO\\\nME"', 'a\\\nb', '\\\n#c', '"a\\\nb"', '"\\\n"', '~\\\n/x'); // prettier-ignore
const word = fc.oneof(
  { weight: 12, arbitrary: plain },
  { weight: 5, arbitrary: quoted },
  { weight: 2, arbitrary: odd },
);
const program = fc.oneof(
  { weight: 12, arbitrary: from(...PROGRAMS.split(' '), 'echo', 'printf', 'true', ':', 'pwd', 'git log', 'git status', 'git -C src log', 'git --no-pager diff', 'npm test', 'npm run build', 'cd src', 'cd ..', 'test -f') }, // prettier-ignore
  { weight: 1, arbitrary: from("'ls'", 'l\\s', '"git"', "gi''t", './a', 'src/x', './run.sh', 'src/tool', './src/tool', './tool', '"./git"', './deep/ls', 'src/deep/ls', 'cd src && ./tool', 'cd src; ./run.sh', 'cd src/deep && ./ls', '../run.sh', './src/../run.sh', '$X', '[ -f', 'read', 'export', 'type', 'cd', 'cd -', 'pushd src') }, // prettier-ignore
);
const target = fc.oneof({ weight: 8, arbitrary: from('new', 'a', 'build/out', 'src/new', "'a b'", '"q r"', 'x\\ y', '/dev/null', '&1', '&2') }, { weight: 1, arbitrary: from('../outside/f', 'out/f', '*', '$X', '~', '&-', '&-a', '& -a', '&- a', '& - a', '&1-', '&1-a', '&3-a', '&\\\n-a', '&-\\\na', '&"-"a', '&-#a', '{a,b}', '.git/config', '/tmp/f', 'nodir/f', "''", '&new') }); // prettier-ignore
const redirect = fc
  .tuple(
    fc.oneof({ weight: 8, arbitrary: from('>', '>>', '2>', '<', '&>', '> ', '2> ', '1>', '>| ', '>&') }, { weight: 1, arbitrary: from('{fd}>', '{HOME}>', '3>', '99999999999>', '2\\\n>', '<>', '&>>', '2>>', '<<<', '3<', '>\t', '> \\\n', '<&', '2<&', '2>&', '{v}>&', '>\\\n', "2''>", '2147483648>', '010>', 'a2>') }), // prettier-ignore
    target,
  )
  .map(([operator, to]) => `${operator}${to}`);
const assignment = from('NODE_ENV=test', 'X=1', 'CI=1', 'PATH=.', 'A+=b', 'HOME=', 'LANG=C', 'a[0]=1');
const simple = fc
  .tuple(
    fc.array(assignment, { maxLength: 1, size: 'xsmall' }),
    program,
    fc.array(fc.oneof({ weight: 8, arbitrary: word }, { weight: 1, arbitrary: redirect }), { maxLength: 4 }),
    fc.array(redirect, { maxLength: 1 }),
    fc.integer({ min: 0, max: 9 }),
  )
  .map(([assignments, name, words, redirects, chance]) =>
    [...(chance === 0 ? assignments : []), name, ...words, ...(chance < 4 ? redirects : [])].join(' '),
  );
const inQuotes = (script: string): string => (script.includes("'") ? JSON.stringify(script) : `'${script}'`);
const command: fc.Arbitrary<string> = fc.tuple(simple, fc.integer({ min: 0, max: 40 })).map(([text, form]) => {
  const wrappers = ['env', 'env A=b', 'env NODE_ENV=x', 'env -u X', 'timeout 5', 'timeout -k 1 5', 'nice', 'nice -n 1', 'nohup', 'command', 'time', 'setsid -w', 'stdbuf -oL', 'exec', 'builtin', '!', 'eval', 'env --', 'nice -1']; // prettier-ignore
  const wrapper = wrappers[form];
  if (wrapper !== undefined) return `${wrapper} ${text}`;
  if (form === 20) return `bash -c ${inQuotes(text)}`;
  if (form === 22) return `sh -c ${inQuotes(text)} x`;
  if (form === 23) return `(${text})`;
  if (form === 24) return `{ ${text}; }`;
  if (form === 25) return `(${text}) > new`;
  return text;
});
const line = fc
  .tuple(
    fc.array(command, { minLength: 1, maxLength: 3 }),
    fc.array(from('; ', ' && ', ' || ', ' | ', '\n', ';', '&&', ' |& ', ' & ', ' \\\n&& ', ' #c\n'), { minLength: 2, maxLength: 2 }), // prettier-ignore
    from('', '', '', '', '', ' # comment', ';', '\n', ' \\\n', ' '),
    // Now and then a character anywhere: what no grammar has thought of.
    fc.option(fc.tuple(fc.nat(200), from(...' \t\n\'"\\$`{}()[]<>|&;*?~!#=-\u00a0\r')), { freq: 5 }), // prettier-ignore
  )
  .map(([commands, separators, end, inserted]) => {
    let text = commands[0] ?? '';
    for (const [index, next] of commands.slice(1).entries()) text += `${separators[index]}${next}`;
    text += end;
    if (!inserted) return text;
    const at = inserted[0] % (text.length + 1);
    return `${text.slice(0, at)}${inserted[1]}${text.slice(at)}`;
  });

// Comparison.

const CONTROL: Readonly<Record<string, string>> = { n: '\n', t: '\t', r: '\r', b: '\b', f: '\f', v: '\v' };

/** The words of a claim: their texts, and what a word with a wildcard matches. */
function wordsOf(claim: string): { text: string; wildcard: RegExp | undefined }[] {
  const written = claim.match(/(?:\\[^]|\$'(?:\\[^]|[^'\\])*'|'[^']*'|[^\s'\\])+/g) ?? [];
  return written.map((word) => {
    let text = '';
    let pattern = '';
    let isWild = false;
    for (const [piece] of word.matchAll(/\\[^]|\$'(?:\\[^]|[^'\\])*'|'[^']*'|\*|\?|\[[!^]?\]?[^\]']*\]|[^]/g)) {
      if (/^(?:\*|\?|\[[^]+)$/.test(piece)) {
        isWild = true;
        text += piece;
        pattern +=
          piece === '*' ? '[^/]*' : piece === '?' ? '[^/]' : piece.replace(/^\[!/, '[^').replace(/\\/g, '\\\\');
        continue;
      }
      const literal = piece.startsWith("$'")
        ? piece
            .slice(2, -1)
            .replace(/\\(?:x([\da-f]{2})|[uU]([\da-f]{4,8})|([^]))/g, (_, byte?: string, point?: string, char = '') =>
              (byte ?? point)
                ? String.fromCodePoint(parseInt(byte ?? point ?? '', 16))
                : (CONTROL[char as string] ?? String(char)),
            )
        : piece.startsWith("'")
          ? piece.slice(1, -1)
          : piece.replace(/^\\(?=[^])/, '');
      text += literal;
      pattern += literal.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&');
    }
    // The home directory, of the tests.
    if (/^~(?:\/|$)/.test(word)) text = `/tmp${text.slice(1)}`;
    return { text, wildcard: isWild ? new RegExp(`^${pattern}$`, 's') : undefined };
  });
}

/** Whether a claim says that this very program was run with these words: a wildcard is one or more names, or itself. */
function covers(claim: string, argv: readonly string[]): boolean {
  const words = wordsOf(claim);
  const from = (index: number, at: number): boolean => {
    const word = words[index];
    if (!word) return at === argv.length;
    if (argv[at] === word.text && from(index + 1, at + 1)) return true;
    for (let end = at; word.wildcard?.test(argv[end] ?? '\0'); end++) if (from(index + 1, end + 1)) return true;
    return false;
  };
  return from(0, 0);
}

/** What git claims is without the options that lead it elsewhere in the project. */
function asClaimed(argv: readonly string[]): readonly string[] {
  if (argv[0] !== 'git') return argv;
  const rest = argv.slice(1);
  while (rest[0] === '-C' || rest[0] === '--no-pager') rest.splice(0, rest[0] === '-C' ? 2 : 1);
  return ['git', ...rest];
}

function faultsOf(world: string, claims: readonly string[], happened: Happened): string[] {
  const project = join(world, 'project');
  const faults: string[] = [];
  for (const argv of happened.argv)
    if (!claims.some((claim) => covers(claim, argv) || covers(claim, asClaimed(argv))))
      faults.push(`ran ${JSON.stringify(argv)}`);
  for (const path of happened.changed) {
    const shown = path.startsWith(`${project}/`)
      ? `> ${quoteWord(relative(project, path))}`
      : `outside > ${quoteWord(path)}`;
    if (!claims.includes(shown)) faults.push(`changed ${path}`);
  }
  for (const directory of happened.directories)
    if (directory !== project && !directory.startsWith(`${project}/`)) faults.push(`ran a program in ${directory}`);
  for (const [name, value] of happened.variables)
    if (!isHarmlessVariable(name, value) && !(name === 'LD_PRELOAD' && value.endsWith('/libstdbuf.so')))
      faults.push(`set ${name}=${value}`);
  return faults;
}

/** Why it cannot be tried here; undefined where it can. */
function whyNot(world: string): Promise<string | undefined> {
  return runLines(world, ['ls a']).then(
    ([happened]) => (happened?.argv.length === 1 ? undefined : 'a program did not run in the sandbox'),
    (error: unknown) => String(error),
  );
}

it(
  'analyzeCommand() claims everything that bash does',
  async ({ skip }) => {
    const world = await makeWorld();
    // The default run says the same each time; the long one looks where no run has looked.
    const seed = Number(process.env.FC_SEED ?? (soaking ? Date.now() % 2 ** 31 : 1));
    const files = new ProjectFiles({ projectDir: join(world, 'project') });
    const faults: string[] = [];
    let generated = 0;
    let programs = 0;
    let changes = 0;
    let ran = 0;
    try {
      const reason = await whyNot(world);
      if (reason !== undefined) {
        console.warn(`The differential test of the analyzer is skipped: ${reason}`);
        return skip(reason);
      }
      for (let round = 0; ran < LINES; round++) {
        const understood: { line: string; claims: string[] }[] = [];
        while (understood.length < Math.min(BATCH, LINES - ran)) {
          for (const text of fc.sample(line, { numRuns: 500, seed: seed + generated })) {
            generated++;
            if (text.includes('\0') || understood.length >= BATCH) continue;
            const claims = await analyzeCommand(text, { files, cwd: '.' });
            if (claims.every((claim) => claim.understood))
              understood.push({ line: text, claims: claims.map(({ pattern }) => pattern) });
          }
        }
        const happened = await runLines(
          world,
          understood.map((each) => each.line),
        );
        for (const [index, each] of understood.entries()) {
          const outcome = happened[index] as Happened;
          programs += outcome.argv.length;
          changes += outcome.changed.length;
          for (const fault of faultsOf(world, each.claims, outcome))
            faults.push(`${JSON.stringify(each.line)} ${fault}; claimed ${JSON.stringify(each.claims)}`);
        }
        ran += understood.length;
        if (soaking) console.log(`${ran} lines ran; seed ${seed}`);
        expect(faults.slice(0, 20), `seed ${seed}, round ${round}`).toEqual([]);
      }
    } finally {
      await rm(world, { recursive: true, force: true });
    }
    console.log(
      `${ran} lines of ${generated} were understood and ran: ${programs} programs, ${changes} changed files; seed ${seed}`,
    );
    // A test that sees nothing proves nothing.
    expect(programs).toBeGreaterThan(ran / 4);
    expect(changes).toBeGreaterThan(ran / 100);
  },
  soaking ? 3 * 3_600_000 : 300_000,
);

/** Programs that write files, or have options that do, each with options. */
const WRITERS: Readonly<Record<string, readonly string[]>> = {
  cp: [
    '-r',
    '-a',
    '-f',
    '-t',
    '-T',
    '-l',
    '-s',
    '--backup',
    '-b',
    '-S.x',
    '--target-directory=src',
    '-rt',
    '--parents',
    '-v',
  ],
  mv: ['-f', '-t', '-T', '-b', '--backup=numbered', '-S', '-nv', '--target-directory', '-u'],
  rm: ['-r', '-f', '-rf', '-d', '-v', '--', '--one-file-system'],
  touch: ['-c', '-r', '-d', '-a', '-m', '--reference=a', '-t', '202001010000', '-d1'],
  mkdir: ['-p', '-m', '700', '-pv', '--mode=755', '--parents'],
  ln: ['-s', '-f', '-sf', '-t', '-r', '-T', '-b'],
  tee: ['-a', '--append', '-i', '-p', '--output-error=warn', '--'],
  truncate: ['-s', '0', '-s0', '-c', '--size=1', '-r', '--no-create'],
  sort: [
    '-o',
    '-onew',
    '-uo',
    '--output=new',
    '--output',
    '--outp=new',
    '-r',
    '-k1',
    '-T',
    '-S1M',
    '-u',
    '-m',
    '-t,',
    '-ro',
  ],
  uniq: ['-c', '-d', '-f', '1', '-f1', '--count', '--skip-fields=1', '-s1', '-w', '--'],
  sed: [
    '-n',
    '-i',
    '-ni',
    '-i.bak',
    '--in-place',
    '--in-pl',
    '-e',
    '-f',
    '-s',
    '-E',
    's/a/b/',
    's/t/x/w new',
    'w src/new',
    'p',
    '1w build/out',
    '-z',
    '-u',
    '/t/w a',
    '{w new',
    '}',
  ],
  awk: ['{print}', '{print > "new"}', '-f', '-v', 'x=1', 'BEGIN { }', '-F,', '{ printf "x" >> "src/new" }', '--'],
  find: [
    '-name',
    'a',
    '-type',
    'f',
    '-print',
    '-fprint',
    'new',
    '-fls',
    '-delete',
    '-fprintf',
    '-maxdepth',
    '1',
    '-print0',
    '-fprint0',
    '-newer',
  ],
  tar: [
    'cf',
    '-cf',
    'x.tar',
    '-tf',
    'xf',
    '-xf',
    '-C',
    'src',
    '-czf',
    '--file=new',
    '--file',
    '-cvf',
    '-O',
    '--create',
    '-f',
    '-c',
    '-x',
    'tf',
    '--extract',
    '--directory=src',
  ],
  gzip: ['-k', '-d', '-c', '-f', '-S', '.x', '-r', '--keep', '-dk'],
  diff: ['-u', '-r', '-q', '--brief', '-U1', '--output=new', '-N'],
  xargs: ['touch', 'rm', '-n1', '-0', '-I{}', 'cp', '{}', 'new'],
  xxd: ['-r', '-p', '-l', '4', '-r -p', '-c8', '-s', '0', '-o'],
  tree: ['-o', 'new', '-onew', '-L', '1', '-a', '--output=new'],
  split: ['-l1', '-b1'],
  dd: ['if=a', 'of=new', 'of=src/new', 'bs=1'],
  install: ['-d', '-m', '-D', '-t'],
};
/** A claim for the whole command says that it changes what its words name; one for `option tar` whatever it holds. */
const NAMES_WHAT_IT_CHANGES = /^(?:cp|mv|rm|touch|mkdir|ln|truncate|gzip|option (?:sed|find)) ?/;

/** Whether a claim names a file, a directory that holds it, or one beside it of which it is made: `a~`, `a.gz`. */
function areNamed(project: string, claims: readonly string[], path: string): boolean {
  if (claims.some((claim) => /^option tar -(?:x|-extract|c|-create)$/.test(claim))) return true;
  if (!claims.some((claim) => NAMES_WHAT_IT_CHANGES.test(claim))) return false;
  // A link without a name of its own gets that of its target.
  if (
    claims.some(
      (claim) =>
        claim.startsWith('ln ') && wordsOf(claim).some(({ text }) => basename(text) === relative(project, path)),
    )
  )
    return true;
  return claims.flatMap(wordsOf).some(({ text }) => {
    const parts = [text, ...Array.from({ length: text.length }, (_, at) => text.slice(at + 1))];
    return parts.some((part, at) => {
      if (at > 0 && !/^-\w*|=$/.test(text.slice(0, at))) return false;
      const named = resolve(project, part.replace(/[^/]*[*?[][^]*$/, ''));
      const rest = path.slice(named.length);
      return path.startsWith(named) ? /^(?:$|[/.~])/.test(rest) : named.startsWith(`${path}.`);
    });
  });
}

const place = from('a', 'b', 'new', 'src', 'src/x', 'src/new', 'build', 'build/out', '.', './a', 'src/..', "'a b'", 'README.md', '-n', './-n', 'nothing/x', 'src/deep', '.git/hooks/x', '.vscode', '.vscode/settings.json', '../outside/f', 'out/f', 'out', '*', 'src/*', '/tmp/f', '-', '--'); // prettier-ignore
const writer: fc.Arbitrary<string> = fc.constantFrom(...Object.keys(WRITERS)).chain((name) =>
  fc
    .array(
      fc.oneof(
        { weight: 3, arbitrary: place },
        {
          weight: 3,
          arbitrary: from(
            ...(WRITERS[name] ?? []).map((each) =>
              /[ {}$*]/.test(each) && !/^-r -p$/.test(each) ? quoteWord(each) : each,
            ),
          ),
        },
      ),
      { minLength: 1, maxLength: 5 },
    ) // prettier-ignore
    .map((words) => (name === 'tee' || name === 'xargs' ? `echo a | ${name} ` : `${name} `) + words.join(' ')),
);

it(
  'analyzeCommand() claims every file that a real program writes',
  async ({ skip }) => {
    const names = Object.keys(WRITERS);
    const world = await makeWorld(names);
    const project = join(world, 'project');
    const seed = Number(process.env.FC_SEED ?? (soaking ? Date.now() % 2 ** 31 : 1));
    const files = new ProjectFiles({ projectDir: project });
    const faults: string[] = [];
    let ran = 0;
    let changes = 0;
    try {
      const reason = await whyNot(world);
      if (reason !== undefined) return skip(reason);
      for (let round = 0; ran < LINES; round++) {
        const understood: { line: string; claims: string[] }[] = [];
        for (let more = 0; understood.length < Math.min(BATCH, LINES - ran); more++) {
          for (const text of fc.sample(writer, { numRuns: 500, seed: seed + 1_000 * round + more })) {
            if (understood.length >= BATCH) break;
            const claims = await analyzeCommand(text, { files, cwd: '.' });
            if (claims.every((claim) => claim.understood))
              understood.push({ line: text, claims: claims.map(({ pattern }) => pattern) });
          }
        }
        const happened = await runLines(
          world,
          understood.map((each) => each.line),
        );
        for (const [index, { line: text, claims }] of understood.entries()) {
          for (const path of happened[index]?.changed ?? []) {
            changes++;
            const shown = relative(project, path);
            const isProtected = /^\.(?:git|vscode)(?:\/|$)/.test(shown);
            const isOutside = shown.startsWith('..');
            const isNamed = areNamed(project, claims, path);
            const isClaimed = isOutside
              ? claims.some((claim) => claim.startsWith('outside '))
              : !isProtected && (isNamed || claims.includes(`> ${quoteWord(shown)}`));
            if (!isClaimed) faults.push(`${JSON.stringify(text)} changed ${shown}; claimed ${JSON.stringify(claims)}`);
          }
        }
        ran += understood.length;
        expect(faults.slice(0, 20), `seed ${seed}, round ${round}`).toEqual([]);
      }
    } finally {
      await rm(world, { recursive: true, force: true });
    }
    console.log(`${ran} lines ran real programs: ${changes} changed files; seed ${seed}`);
    expect(changes).toBeGreaterThan(ran / 20);
  },
  soaking ? 3 * 3_600_000 : 300_000,
);

/** Readers that show what they read, as it is. */
const SHOWING =
  'cat tac nl head tail grep egrep fgrep sort uniq cut paste column fold expand rev join comm diff sed awk jq strings tr shuf tee date';
/** Links to a file outside, named like values of options. */
const LINKS = ['1', 'x', 'p', '2p', 'f.json'];
const SECRET = 'SECRET';

const letters = from(...'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789');
const readerOption = fc.oneof(
  { weight: 6, arbitrary: fc.array(letters, { minLength: 1, maxLength: 3 }).map((each) => `-${each.join('')}`) },
  { weight: 2, arbitrary: from('--file', '--lines', '--regexp', '--key', '--context', '--include', '--label', '--date', '--indent', '--expression', '--delimiter', '--width', '--separator', '--from-file', '--output').chain((name) => from('', '=1', '=x', '=a').map((value) => name + value)) }, // prettier-ignore
  { weight: 1, arbitrary: from('--', '-', '+1', '-n1', '-1,2p', '-k1', "'1,$p'", "'{print}'", '.') },
);
const readerLine = fc
  .tuple(
    from(...SHOWING.split(' ')),
    fc.array(
      fc.oneof({ weight: 3, arbitrary: readerOption }, { weight: 3, arbitrary: from(...LINKS, 'a', 'src', '5', 'b') }),
      { minLength: 1, maxLength: 4 },
    ),
  )
  .map(([name, words]) => [name, ...words].join(' '))
  .filter((text) => !/^tail .*-\w*[fF]/.test(text)); // it does not end

it(
  'analyzeCommand() claims every file outside that a real reader shows',
  async ({ skip }) => {
    const world = await makeWorld(SHOWING.split(' '));
    const project = join(world, 'project');
    const seed = Number(process.env.FC_SEED ?? (soaking ? Date.now() % 2 ** 31 : 1));
    const shown: string[] = [];
    let ran = 0;
    let leaks = 0;
    try {
      const reason = await whyNot(world);
      if (reason !== undefined) return skip(reason);
      await writeFile(join(world, 'template/outside/f'), `${SECRET}\n`);
      await writeFile(join(world, 'outside/f'), `${SECRET}\n`);
      for (const name of LINKS)
        for (const base of ['template/project', 'project']) await symlink('../outside/f', join(world, base, name));
      const files = new ProjectFiles({ projectDir: project });
      for (let round = 0; ran < LINES; round++) {
        const understood: { line: string; isClaimed: boolean }[] = [];
        for (let more = 0; understood.length < Math.min(BATCH, LINES - ran); more++) {
          for (const text of fc.sample(readerLine, { numRuns: 500, seed: seed + 1_000 * round + more })) {
            if (understood.length >= BATCH) break;
            const claims = await analyzeCommand(text, { files, cwd: '.' });
            if (claims.every((claim) => claim.understood))
              understood.push({ line: text, isClaimed: claims.some(({ pattern }) => pattern.startsWith('outside ')) });
          }
        }
        const happened = await runLines(
          world,
          understood.map((each) => `{ ${each.line}\n} 2>&1 | grep -q ${SECRET} && : > leaked`),
        );
        for (const [index, each] of understood.entries()) {
          if (!happened[index]?.changed.includes(join(project, 'leaked'))) continue;
          leaks++;
          if (!each.isClaimed) shown.push(each.line);
        }
        ran += understood.length;
        expect(shown.slice(0, 20), `seed ${seed}, round ${round}`).toEqual([]);
      }
    } finally {
      await rm(world, { recursive: true, force: true });
    }
    console.log(`${ran} lines ran real readers: ${leaks} showed a file outside; seed ${seed}`);
    expect(leaks).toBeGreaterThan(ran / 20);
  },
  soaking ? 3 * 3_600_000 : 300_000,
);
