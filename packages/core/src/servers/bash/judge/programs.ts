// Programs that run a project's own code, as a rule for their name allows, and those of their options by which they
// run something else. https://nodejs.org/api/cli.html, https://docs.python.org/3/using/cmdline.html, GNU make.

import type { ShellWord } from './script-tokens.js';

/** Options of an interpreter that may stand before its script. Any other is claimed by itself. */
const INTERPRETERS: ReadonlyMap<string, readonly string[]> = new Map<string, readonly string[]>([
  ['node', '--version -v --help -h --check --test --watch --enable-source-maps --no-warnings --trace-warnings --trace-uncaught --inspect --inspect-brk --experimental-strip-types --expose-gc --test-only'.split(' ')], // prettier-ignore
  ['tsx', '--version -v --help -h watch'.split(' ')],
  ['bun', '--version -v --help -h'.split(' ')],
  ['deno', '--version -V --help -h'.split(' ')],
  ...['python', 'python3', 'python2'].map((name) => [name, '--version -V --help -h -u -B -O -q -I -s -m'.split(' ')] as const), // prettier-ignore
  ['perl', '--version -v -c -w'.split(' ')],
  ['ruby', '--version -v -c -w'.split(' ')],
  ['php', '--version -v -l'.split(' ')],
  ...['bash', 'sh', 'dash'].map((name) => [name, ['--version', '--help', '-n']] as [string, string[]]),
]);
const ANSWERS = /^(?:--version|-v|-V|--help|-h)$/;

/** Options, or beginnings of them, by which a tool runs what it is told to. Before `--` only. */
const RUNNING_OPTIONS: ReadonlyMap<string, readonly string[]> = new Map<string, readonly string[]>([
  ...['npm', 'npx', 'pnpm', 'yarn'].map(
    (name) => [name, ['--call', '-c', '--script-shell', '--node-options', '--config.script-shell', '--shell', '--shell-mode', '--node-arg', '--userconfig', '--globalconfig']] as [string, readonly string[]], // prettier-ignore
  ),
  ['cargo', ['--config']],
  ['go', ['-toolexec', '--toolexec', '-exec', '--exec', '-vettool', '--vettool', '-overlay', '-modfile']],
  ...['docker', 'podman'].map(
    (name) => [name, ['--config', '--privileged', '--mount', '-v', '--volume']] as [string, string[]],
  ),
]);

const MAKE_FLAGS = /^(?:-[jkKsSnBiwq]+\d*|-j|-C|-f|--jobs(?:=\d+)?|--keep-going|--silent|--dry-run|--always-make|--no-print-directory|--version|\d+)$/; // prettier-ignore

/** Options that need a claim of their own, each with what it does. */
export function runningOptions(name: string, words: readonly ShellWord[]): readonly (readonly [string, string])[] {
  const rest = words.slice(1).map(({ text }) => text);
  const interpreter = INTERPRETERS.get(/^python3?\.\d+$/.test(name) ? 'python3' : name);
  if (interpreter) return interpreterOptions(rest, interpreter);
  if (name === 'make' || name === 'gmake') {
    return rest
      .filter((text) => (text.startsWith('-') ? !MAKE_FLAGS.test(text) : text.includes('=')))
      .map((text) => [text, 'can make it run other things than the makefile says'] as const);
  }
  const listed = RUNNING_OPTIONS.get(name);
  if (!listed) return [];
  const end = rest.indexOf('--');
  return rest
    .slice(0, end < 0 ? undefined : end)
    .map((text) => text.replace(/=[^]*$/, ''))
    .filter((text) => listed.some((option) => isOrBegins(text, option)))
    .map((text) => [text, 'can make it run other things than its name says'] as const);
}

function interpreterOptions(rest: readonly string[], listed: readonly string[]): (readonly [string, string])[] {
  const found: (readonly [string, string])[] = [];
  let readsInput = true;
  for (const text of rest) {
    if (text === '-') break;
    if (ANSWERS.test(text) || /^(?:-m|--test|-n)$/.test(text)) readsInput = false;
    if (text === '-m' || !text.startsWith('-')) return found;
    if (!listed.includes(text)) found.push([text, 'can run code that is written in the command']);
  }
  if (readsInput && found.length === 0) found.push(['-', 'runs the code that comes on its input']);
  return found;
}

/** Many tools take the beginning of a long option for all of it. */
function isOrBegins(text: string, option: string): boolean {
  return text === option || (text.length > 3 && text.startsWith('--') && option.startsWith(text));
}
