// Commands that run another command given in their arguments. They are taken off exactly, option by option, or they
// are not understood.

import { partOf } from './option-grammar.js';
import type { ShellWord } from './script-tokens.js';

/** What is inside a wrapper. */
export type Unwrapped =
  /** Another command, as words. `doubt` says why it is not all that runs. */
  | { readonly kind: 'command'; readonly words: readonly ShellWord[]; readonly assignments: readonly ShellWord[]; readonly writes: readonly ShellWord[]; readonly doubt?: string } // prettier-ignore
  /** A script, as text. */
  | { readonly kind: 'script'; readonly text: string; readonly doubt?: string }
  | { readonly kind: 'doubt'; readonly reason: string };

interface Wrapper {
  /** Options that stand alone. */
  flags?: readonly string[];
  /** Options with a value: the next word, or joined with `=` or directly. */
  values?: readonly string[];
  /** Words between the options and the command. */
  operands?: number;
  /** The first such word is a file that it makes. */
  writes?: true;
  /** `NAME=value` may stand before the command. */
  assigns?: true;
  /** Why the inner command is not all of it. */
  doubt?: string;
}

const FROM_INPUT = 'it takes arguments from its input, which is not known here';
const AS_OTHER = 'it runs as another user';

const WRAPPERS: ReadonlyMap<string, Wrapper> = new Map(
  Object.entries<Wrapper>({
    env: { flags: ['-i', '--ignore-environment'], values: ['-u', '--unset'], assigns: true },
    timeout: { flags: ['--preserve-status', '--foreground', '-v', '--verbose'], values: ['-k', '--kill-after', '-s', '--signal'], operands: 1 }, // prettier-ignore
    nice: { values: ['-n', '--adjustment'] },
    ionice: { flags: ['-t'], values: ['-c', '-n'] },
    nohup: {},
    time: { flags: ['-p'] },
    stdbuf: { values: ['-i', '-o', '-e', '--input', '--output', '--error'] },
    setsid: { flags: ['-w', '--wait', '-f', '--fork', '-c', '--ctty'] },
    chronic: {},
    command: {},
    builtin: {},
    flock: { flags: ['-n', '-x', '-s', '-e', '--nonblock', '--exclusive', '--shared'], values: ['-w', '--timeout', '-E'], operands: 1, writes: true }, // prettier-ignore
    xargs: { flags: ['-0', '-r', '-t', '-x', '--null', '--no-run-if-empty', '--verbose'], values: ['-n', '-P', '-L', '-I', '-d', '-s', '--max-args', '--max-procs', '--delimiter', '--replace'], doubt: FROM_INPUT }, // prettier-ignore
    sudo: { flags: ['-n', '-E', '-H', '-S', '-k'], values: ['-u', '-g'], assigns: true, doubt: AS_OTHER },
    doas: { flags: ['-n'], values: ['-u'], doubt: AS_OTHER },
    watch: { flags: ['-d', '-t', '-e', '-b', '-c', '-x'], values: ['-n', '--interval'], doubt: 'it gives its arguments to a shell, again and again' }, // prettier-ignore
  }),
);

const SHELLS: ReadonlySet<string> = new Set(['bash', 'sh', 'dash']);
const OTHER_SHELLS: ReadonlySet<string> = new Set([
  'zsh',
  'ksh',
  'mksh',
  'fish',
  'csh',
  'tcsh',
  'ash',
  'busybox',
  'rbash',
]);

/** What a command wraps; undefined when it is no wrapper. */
export function unwrap(name: string, words: readonly ShellWord[]): Unwrapped | undefined {
  if (OTHER_SHELLS.has(name))
    return { kind: 'doubt', reason: `${name} is another shell, whose language is not read here` };
  if (SHELLS.has(name)) return unwrapShell(name, words);
  const wrapper = WRAPPERS.get(name);
  if (!wrapper) return undefined;
  let at = 1;
  for (; at < words.length; at++) {
    const { text } = words[at] as ShellWord;
    if (text === '--') {
      at++;
      break;
    }
    if (!text.startsWith('-') || text === '-') break;
    if (wrapper.flags?.includes(text)) continue;
    const value = wrapper.values?.find(
      (each) => text === each || text.startsWith(each.startsWith('--') ? `${each}=` : each),
    );
    if (value === undefined)
      return { kind: 'doubt', reason: `the option ${text.slice(0, 40)} of ${name} is not known` };
    if (value === text) at++;
  }
  const assignments: ShellWord[] = [];
  while (wrapper.assigns && /^[^=]+=/.test(words[at]?.text ?? '')) assignments.push(words[at++] as ShellWord);
  const operands = words.slice(at, at + (wrapper.operands ?? 0));
  at += wrapper.operands ?? 0;
  const inner = words.slice(at);
  // A long option after the operands would be read by GNU programs as the wrapper's own.
  if (inner[0]?.text.startsWith('-')) return { kind: 'doubt', reason: `what ${name} runs begins with "-"` };
  return {
    kind: 'command',
    words: inner,
    assignments,
    writes: wrapper.writes ? operands : [],
    ...(wrapper.doubt !== undefined && { doubt: wrapper.doubt }),
  };
}

function unwrapShell(name: string, words: readonly ShellWord[]): Unwrapped | undefined {
  const [, first, script, ...more] = words;
  if (first === undefined) return { kind: 'doubt', reason: `${name} runs what comes on its input` };
  if (/^(?:--version|--help)$/.test(first.text)) return undefined;
  if (first.text === '-n') return words.length === 3 && !script?.text.startsWith('-') ? undefined : { kind: 'doubt', reason: `the options of ${name} are not known` }; // prettier-ignore
  if (!/^[-+]/.test(first.text)) return undefined; // a script, by its name
  if (first.text !== '-c' || script === undefined || /^[-+]/.test(script.text))
    return { kind: 'doubt', reason: `the option ${first.text.slice(0, 40)} of ${name} is not known` };
  return {
    kind: 'script',
    text: script.text,
    ...(more.length > 0 && { doubt: 'it gives arguments to the script' }),
  };
}

/** `NAME=value` in the arguments of a wrapper, taken apart. */
export function assignmentOf(word: ShellWord): { name: string; value: ShellWord } {
  const equals = word.text.indexOf('=');
  return { name: word.text.slice(0, equals), value: partOf(word, equals + 1) };
}
