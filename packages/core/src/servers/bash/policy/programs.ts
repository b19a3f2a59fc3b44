// Programs that run a project's own code, as a rule for their name allows, and those of their options by which they
// run something else. https://nodejs.org/api/cli.html, https://docs.python.org/3/using/cmdline.html, GNU make.

import { familyOf, isInterpreter } from './program-families.js';
import type { ShellWord } from './script-tokens.js';

/** Options of an interpreter's family that may stand before its script. Any other is claimed by itself. */
const INTERPRETERS: ReadonlyMap<string, readonly string[]> = new Map<string, readonly string[]>([
  ['node', '--version -v --help -h --check --test --watch --enable-source-maps --no-warnings --trace-warnings --trace-uncaught --inspect --inspect-brk --experimental-strip-types --expose-gc --test-only'.split(' ')], // prettier-ignore
  ['tsx', '--version -v --help -h watch'.split(' ')],
  ['bun', '--version -v --help -h'.split(' ')],
  ['deno', '--version -V --help -h'.split(' ')],
  ['python', '--version -V --help -h -u -B -O -q -I -s -m'.split(' ')],
  ['perl', '--version -v -c -w'.split(' ')],
  ['ruby', '--version -v -c -w'.split(' ')],
  ['php', '--version -v -l'.split(' ')],
  ...['bash', 'sh', 'dash'].map((name) => [name, ['--version', '--help', '-n']] as [string, string[]]),
]);
/** Modules of Python's own library that run the code, or the file, which follows in the command. */
const RUNNING_MODULES: ReadonlySet<string> = new Set(
  'timeit pdb bdb cProfile profile trace runpy code codeop doctest asyncio idlelib pydoc zipapp zipimport sqlite3'.split(
    ' ',
  ),
);
const ANSWERS = /^(?:--version|-v|-V|--help|-h)$/;

/** Options, or beginnings of them, by which a tool runs what it is told to. Before `--` only. */
const RUNNING_OPTIONS: ReadonlyMap<string, readonly string[]> = new Map<string, readonly string[]>([
  ...['npm', 'npx', 'pnpm', 'yarn'].map(
    (name) => [name, ['--call', '-c', '--script-shell', '--node-options', '--config.script-shell', '--shell', '--shell-mode', '--node-arg', '--userconfig', '--globalconfig', '--git', '--init-module', '--init.module']] as [string, readonly string[]], // prettier-ignore
  ),
  ['cargo', ['--config']],
  ['go', ['-toolexec', '--toolexec', '-exec', '--exec', '-vettool', '--vettool', '-overlay', '-modfile', '-w']],
  ...['docker', 'podman'].map(
    (name) => [name, ['--config', '--privileged', '--mount', '-v', '--volume']] as [string, string[]],
  ),
]);

/** `npm config set`, `npm set`. */
const NODE_PACKAGES: ReadonlySet<string> = new Set(['npm', 'npx', 'pnpm', 'yarn']);
const SETTINGS: ReadonlySet<string> = new Set(['set', 'config', 'c']);

const MAKE_FLAGS = /^(?:-[jkKsSnBiwq]+\d*|-j|-C|-f|--jobs(?:=\d+)?|--keep-going|--silent|--dry-run|--always-make|--no-print-directory|--version|\d+)$/; // prettier-ignore

/** Options that need a claim of their own, each with what it does. */
export function runningOptions(name: string, words: readonly ShellWord[]): readonly (readonly [string, string])[] {
  const rest = words.slice(1).map(({ text }) => text);
  const family = familyOf(name);
  if (isInterpreter(name)) return interpreterOptions(family, rest, INTERPRETERS.get(family) ?? ['--version', '--help']);
  if (name === 'make' || name === 'gmake') {
    return rest
      .filter((text) => (text.startsWith('-') ? !MAKE_FLAGS.test(text) : text.includes('=')))
      .map((text) => [text, 'can make it run other things than the makefile says'] as const);
  }
  const listed = RUNNING_OPTIONS.get(name);
  if (!listed) return [];
  const linker = name === 'go' ? rest.find((text) => /-ext(?:ld|ar)/.test(text)) : undefined;
  if (linker !== undefined) return [[linker, 'names a program that it runs']];
  const end = rest.indexOf('--');
  if (NODE_PACKAGES.has(name) && rest.some((text) => text === 'set') && rest.some((text) => SETTINGS.has(text)))
    return [['set', 'can make later commands run other things than their names say']];
  return rest
    .slice(0, end < 0 ? undefined : end)
    .map((text) => text.replace(/=[^]*$/, ''))
    .filter((text) => listed.some((option) => isOrBegins(normalised(name, text), option)))
    .map((text) => [text, 'can make it run other things than its name says'] as const);
}

function interpreterOptions(
  family: string,
  rest: readonly string[],
  listed: readonly string[],
): (readonly [string, string])[] {
  if (family === 'deno' && rest[0] === 'eval') return [['eval', CODE]];
  const found: (readonly [string, string])[] = [];
  let readsInput = true;
  for (const text of rest) {
    if (text === '-') break;
    if (ANSWERS.test(text) || /^(?:-m|--test|-n)$/.test(text)) readsInput = false;
    if (text === '-m' && RUNNING_MODULES.has((rest[rest.indexOf('-m') + 1] ?? '').replace(/\..*$/, '')))
      found.push([`-m ${rest[rest.indexOf('-m') + 1]}`, CODE]);
    if (text === '-m' || !text.startsWith('-')) return found;
    if (!listed.includes(text)) found.push([text, CODE]);
  }
  if (readsInput && found.length === 0) found.push(['-', 'runs the code that comes on its input']);
  return found;
}

const CODE = 'can run code that is written in the command';

/** npm and its kin take any number of dashes for two, and one-letter options joined. */
function normalised(name: string, text: string): string {
  if (/^(?:docker|podman)$/.test(name) && /^-[a-z]*v/i.test(text)) return '-v';
  if (!/^(?:npm|npx|pnpm|yarn)$/.test(name)) return text;
  if (/^-[a-z]*c[a-z]*$/i.test(text)) return '-c';
  return text.replace(/^-+(?=[^-].)/, '--');
}

/** Many tools take the beginning of a long option for all of it. */
function isOrBegins(text: string, option: string): boolean {
  return text === option || (text.length > 3 && text.startsWith('--') && option.startsWith(text));
}
