// Commands that run another command given in their arguments. Their options are read exactly, or the command is not
// understood.

import { byName, partOf, type OptionTable } from '../option-grammar.js';
import type { ShellWord } from '../script-tokens.js';

/** What is inside a wrapper. */
export type Unwrapped =
  /** Another command. `unknown` says why it is not all that runs. */
  | {
      readonly kind: 'command';
      readonly words: readonly ShellWord[];
      readonly assignments: readonly Assignment[];
      /** Files that the wrapper writes. */
      readonly outputs: readonly ShellWord[];
      readonly unknown?: string;
    }
  /** A script. */
  | { readonly kind: 'script'; readonly text: string; readonly unknown?: string }
  | { readonly kind: 'unknown'; readonly reason: string };

interface Assignment {
  readonly name: string;
  readonly value: ShellWord;
}

interface WrapperSpec {
  /** Letters are not joined. A value is the next word, or joined, after `=` where the option is a long one. */
  options?: OptionTable;
  /** Words between the options and the command. */
  operands?: number;
  /** The first of them is a file that it creates. */
  writesOperand?: true;
  /** `NAME=value` may precede the command. */
  assigns?: true;
  /** Why the inner command is not all that runs. */
  unknown?: string;
}

const AS_OTHER_USER = 'it runs as another user';

const WRAPPERS: ReadonlyMap<string, WrapperSpec> = byName<WrapperSpec>({
  env: {
    assigns: true,
    options: {
      '-i --ignore-environment': 'flag',
      '-u --unset': 'text',
    },
  },
  timeout: {
    operands: 1,
    options: {
      '-k --kill-after': 'text',
      '-s --signal': 'text',
      '-v --verbose': 'flag',
      '--foreground': 'flag',
      '--preserve-status': 'flag',
    },
  },
  nice: {
    options: {
      '-n --adjustment': 'text',
    },
  },
  ionice: {
    options: {
      '-c': 'text',
      '-n': 'text',
      '-t': 'flag',
    },
  },
  'nohup chronic command builtin': {},
  time: {
    options: {
      '-p': 'flag',
    },
  },
  stdbuf: {
    options: {
      '-e --error': 'text',
      '-i --input': 'text',
      '-o --output': 'text',
    },
  },
  setsid: {
    options: {
      '-c --ctty': 'flag',
      '-f --fork': 'flag',
      '-w --wait': 'flag',
    },
  },
  flock: {
    operands: 1,
    writesOperand: true,
    options: {
      '-e -x --exclusive': 'flag',
      '-E': 'text',
      '-n --nonblock': 'flag',
      '-s --shared': 'flag',
      '-w --timeout': 'text',
    },
  },
  xargs: {
    unknown: 'it takes arguments from its input, which is not known here',
    options: {
      '-0 --null': 'flag',
      '-d --delimiter': 'text',
      '-I': 'text',
      '-L': 'text',
      '-n --max-args': 'text',
      '-P --max-procs': 'text',
      '-r --no-run-if-empty': 'flag',
      '-s': 'text',
      '-t --verbose': 'flag',
      '-x': 'flag',
      '--replace': 'text',
    },
  },
  sudo: {
    assigns: true,
    unknown: AS_OTHER_USER,
    options: {
      '-E': 'flag',
      '-g': 'text',
      '-H': 'flag',
      '-k': 'flag',
      '-n': 'flag',
      '-S': 'flag',
      '-u': 'text',
    },
  },
  doas: {
    unknown: AS_OTHER_USER,
    options: {
      '-n': 'flag',
      '-u': 'text',
    },
  },
  watch: {
    unknown: 'it gives its arguments to a shell, again and again',
    options: {
      '-b': 'flag',
      '-c': 'flag',
      '-d': 'flag',
      '-e': 'flag',
      '-n --interval': 'text',
      '-t': 'flag',
      '-x': 'flag',
    },
  },
});

const SHELLS: ReadonlySet<string> = new Set(['bash', 'sh', 'dash']);
const OTHER_SHELLS: ReadonlySet<string> = new Set('zsh ksh mksh fish csh tcsh ash busybox rbash'.split(' '));

/** What a command wraps; undefined when it is not a wrapper. */
export function unwrap(name: string, words: readonly ShellWord[]): Unwrapped | undefined {
  if (OTHER_SHELLS.has(name))
    return { kind: 'unknown', reason: `${name} is another shell, whose language is not read here` };
  if (SHELLS.has(name)) return unwrapShell(name, words);
  const wrapper = WRAPPERS.get(name);
  if (!wrapper) return undefined;
  const options = [...byName(wrapper.options ?? {})];
  let at = 1;
  for (; at < words.length; at++) {
    const { text } = words[at] as ShellWord;
    if (text === '--') {
      at++;
      break;
    }
    if (!text.startsWith('-') || text === '-') break;
    const option = options.find(([listed, kind]) => text === listed || (kind === 'text' && isJoined(text, listed)));
    if (!option) return { kind: 'unknown', reason: `the option ${text.slice(0, 40)} of ${name} is not known` };
    const [listed, kind] = option;
    if (kind === 'text' && text === listed) at++;
  }
  const assignments: Assignment[] = [];
  while (wrapper.assigns && /^[^=]+=/.test(words[at]?.text ?? ''))
    assignments.push(assignmentOf(words[at++] as ShellWord));
  const operands = words.slice(at, at + (wrapper.operands ?? 0));
  at += wrapper.operands ?? 0;
  const inner = words.slice(at);
  // GNU programs would read a long option after the operands as the wrapper's.
  if (inner[0]?.text.startsWith('-')) return { kind: 'unknown', reason: `what ${name} runs begins with "-"` };
  return {
    kind: 'command',
    words: inner,
    assignments,
    outputs: wrapper.writesOperand ? operands : [],
    ...(wrapper.unknown !== undefined && { unknown: wrapper.unknown }),
  };
}

/** True for an option with its value in one word: `-n5`, `--signal=KILL`. */
function isJoined(text: string, option: string): boolean {
  return text.startsWith(option.startsWith('--') ? `${option}=` : option);
}

function assignmentOf(word: ShellWord): Assignment {
  const equals = word.text.indexOf('=');
  return { name: word.text.slice(0, equals), value: partOf(word, equals + 1) };
}

function unwrapShell(name: string, words: readonly ShellWord[]): Unwrapped | undefined {
  const [, first, script, ...more] = words;
  if (first === undefined) return { kind: 'unknown', reason: `${name} runs the script on its input` };
  if (/^(?:--version|--help)$/.test(first.text)) return undefined;
  if (first.text === '-n')
    return words.length === 3 && !script?.text.startsWith('-')
      ? undefined
      : { kind: 'unknown', reason: `the options of ${name} are not known` };
  if (!/^[-+]/.test(first.text)) return undefined; // a script, by its name
  if (first.text !== '-c' || script === undefined || /^[-+]/.test(script.text))
    return { kind: 'unknown', reason: `the option ${first.text.slice(0, 40)} of ${name} is not known` };
  return {
    kind: 'script',
    text: script.text,
    ...(more.length > 0 && { unknown: 'it gives arguments to the script' }),
  };
}
