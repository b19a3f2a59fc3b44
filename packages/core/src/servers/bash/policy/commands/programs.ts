// Options by which programs run something else than their name says, and which therefore get a separate claim. Without them a
// rule for the program's name is enough. https://nodejs.org/api/cli.html, https://docs.python.org/3/using/cmdline.html, GNU make.

import { byName, type OptionTable } from '../option-grammar.js';
import type { ShellWord } from '../script-tokens.js';
import { familyOf, isInterpreter } from './program-families.js';

/** Options of an interpreter that may precede its script. Any other is claimed by itself. */
const INTERPRETER_OPTIONS: Readonly<Record<string, OptionTable>> = {
  node: {
    '-h --help': 'flag',
    '-v --version': 'flag',
    '--check': 'flag',
    '--enable-source-maps': 'flag',
    '--experimental-strip-types': 'flag',
    '--expose-gc': 'flag',
    '--inspect': 'flag',
    '--inspect-brk': 'flag',
    '--no-warnings': 'flag',
    '--test': 'flag',
    '--test-only': 'flag',
    '--trace-uncaught': 'flag',
    '--trace-warnings': 'flag',
    '--watch': 'flag',
  },
  tsx: {
    '-h --help': 'flag',
    '-v --version': 'flag',
  },
  bun: {
    '-h --help': 'flag',
    '-v --version': 'flag',
  },
  deno: {
    '-h --help': 'flag',
    '-V --version': 'flag',
  },
  python: {
    '-B': 'flag',
    '-h --help': 'flag',
    '-I': 'flag',
    '-m': 'flag',
    '-O': 'flag',
    '-q': 'flag',
    '-s': 'flag',
    '-u': 'flag',
    '-V --version': 'flag',
  },
  perl: {
    '-c': 'flag',
    '-v --version': 'flag',
    '-w': 'flag',
  },
  ruby: {
    '-c': 'flag',
    '-v --version': 'flag',
    '-w': 'flag',
  },
  php: {
    '-l': 'flag',
    '-v --version': 'flag',
  },
  'bash sh dash': {
    '-n': 'flag',
    '--help': 'flag',
    '--version': 'flag',
  },
};
const OPTIONS_BY_INTERPRETER = byName(INTERPRETER_OPTIONS);
const OTHER_INTERPRETER: OptionTable = {
  '--help': 'flag',
  '--version': 'flag',
};

/** Modules of Python's standard library that run the code, or the file, which follows in the command. */
const RUNNING_MODULES: ReadonlySet<string> = new Set([
  ...['asyncio', 'bdb', 'code', 'codeop', 'cProfile', 'doctest', 'idlelib', 'pdb', 'profile', 'pydoc', 'runpy'],
  ...['sqlite3', 'timeit', 'trace', 'zipapp', 'zipimport'],
]);

const RUNS_OTHERS: OptionTable[string] = { effect: 'can make it run other things than its name says' };

/** Options by which a tool runs something else. The beginning of a long one counts as well. Before `--` only. */
const RUNNING_OPTIONS: Readonly<Record<string, OptionTable>> = {
  'npm npx pnpm yarn': {
    '-c --call': RUNS_OTHERS,
    '--config.script-shell': RUNS_OTHERS,
    '--git': RUNS_OTHERS,
    '--globalconfig': RUNS_OTHERS,
    '--init-module': RUNS_OTHERS,
    '--init.module': RUNS_OTHERS,
    '--node-arg': RUNS_OTHERS,
    '--node-options': RUNS_OTHERS,
    '--script-shell': RUNS_OTHERS,
    '--shell': RUNS_OTHERS,
    '--shell-mode': RUNS_OTHERS,
    '--userconfig': RUNS_OTHERS,
  },
  cargo: {
    '--config': RUNS_OTHERS,
  },
  go: {
    '-exec --exec': RUNS_OTHERS,
    '-modfile': RUNS_OTHERS,
    '-overlay': RUNS_OTHERS,
    '-toolexec --toolexec': RUNS_OTHERS,
    '-vettool --vettool': RUNS_OTHERS,
    '-w': RUNS_OTHERS,
  },
  'docker podman': {
    '-v --volume': RUNS_OTHERS,
    '--config': RUNS_OTHERS,
    '--mount': RUNS_OTHERS,
    '--privileged': RUNS_OTHERS,
  },
};
const RUNNING_OPTIONS_BY_TOOL = byName(RUNNING_OPTIONS);

const NODE_PACKAGE_MANAGERS: ReadonlySet<string> = new Set(['npm', 'npx', 'pnpm', 'yarn']);
/** `npm config set`, `npm set`. */
const SETTINGS: ReadonlySet<string> = new Set(['set', 'config', 'c']);

const HARMLESS_MAKE_OPTIONS: readonly RegExp[] = [
  /^-[jkKsSnBiwq]+\d*$/,
  /^-C$/,
  /^-f$/,
  /^--always-make$/,
  /^--dry-run$/,
  /^--jobs(?:=\d+)?$/,
  /^--keep-going$/,
  /^--no-print-directory$/,
  /^--silent$/,
  /^--version$/,
];

/** Options that need a claim of their own, each with what it does. */
export function runningOptions(name: string, args: readonly ShellWord[]): readonly (readonly [string, string])[] {
  const texts = args.map(({ text }) => text);
  if (isInterpreter(name)) return interpreterOptions(familyOf(name), texts);
  if (name === 'make' || name === 'gmake') {
    return texts
      .filter((text) =>
        text.startsWith('-') ? !HARMLESS_MAKE_OPTIONS.some((form) => form.test(text)) : text.includes('='),
      )
      .map((text) => [text, 'can make it run other things than the makefile says'] as const);
  }
  const listed = RUNNING_OPTIONS_BY_TOOL.get(name);
  if (!listed) return [];
  const linker = name === 'go' ? texts.find((text) => /-ext(?:ld|ar)/.test(text)) : undefined;
  if (linker !== undefined) return [[linker, 'names a program that it runs']];
  if (NODE_PACKAGE_MANAGERS.has(name) && texts.includes('set') && texts.some((text) => SETTINGS.has(text)))
    return [['set', 'can make later commands run other things than their names say']];
  const end = texts.indexOf('--');
  const options = [...byName(listed)];
  return texts
    .slice(0, end < 0 ? undefined : end)
    .map((text) => text.replace(/=[^]*$/, ''))
    .flatMap((text) => {
      const found = options.find(([option]) => isOrBegins(normalized(name, text), option));
      return found && typeof found[1] === 'object' ? [[text, found[1].effect] as const] : [];
    });
}

const RUNS_ARGUMENT = 'can run code that is written in the command';

function interpreterOptions(family: string, args: readonly string[]): (readonly [string, string])[] {
  if (family === 'deno' && args[0] === 'eval') return [['eval', RUNS_ARGUMENT]];
  const listed = byName(OPTIONS_BY_INTERPRETER.get(family) ?? OTHER_INTERPRETER);
  const found: (readonly [string, string])[] = [];
  let readsInput = true;
  for (const text of args) {
    if (text === '-') break;
    if (/^(?:--version|-v|-V|--help|-h|-m|--test|-n)$/.test(text)) readsInput = false;
    if (text === '-m') {
      const module = args[args.indexOf('-m') + 1] ?? '';
      if (RUNNING_MODULES.has(module.replace(/\..*$/, ''))) found.push([`-m ${module}`, RUNS_ARGUMENT]);
      return found;
    }
    if (!text.startsWith('-')) return found;
    if (!listed.has(text)) found.push([text, RUNS_ARGUMENT]);
  }
  if (readsInput && found.length === 0) found.push(['-', 'runs the code on its input']);
  return found;
}

/** npm and similar tools take any number of dashes for two, and joined one-letter options. */
function normalized(name: string, text: string): string {
  if (/^(?:docker|podman)$/.test(name) && /^-[a-z]*v/i.test(text)) return '-v';
  if (!NODE_PACKAGE_MANAGERS.has(name)) return text;
  if (/^-[a-z]*c[a-z]*$/i.test(text)) return '-c';
  return text.replace(/^-+(?=[^-].)/, '--');
}

/** Many tools take the beginning of a long option for all of it. */
function isOrBegins(text: string, option: string): boolean {
  return text === option || (text.length > 3 && text.startsWith('--') && option.startsWith(text));
}

/** Programs that change or remove their operands, directories with everything in them. */
const CHANGES_OPERANDS: ReadonlySet<string> = new Set([
  ...['chgrp', 'chmod', 'chown', 'mv', 'rename', 'rm', 'shred'],
  ...[
    'bunzip2',
    'bzip2',
    'compress',
    'gunzip',
    'gzip',
    'lz4',
    'lzma',
    'unlz4',
    'unlzma',
    'unxz',
    'unzstd',
    'xz',
    'zstd',
  ],
  ...['dos2unix', 'unix2dos'],
]);

/** True for a program that changes or removes its operands, directories with everything in them. */
export function changesOperands(name: string): boolean {
  return CHANGES_OPERANDS.has(name);
}

/** Binutils and GCC, under their names and those of cross compilers: `arm-none-eabi-gcc`. */
const CROSS_TOOLS: ReadonlySet<string> = new Set([
  ...[
    'addr2line',
    'ar',
    'as',
    'cpp',
    'g++',
    'gcc',
    'ld',
    'nm',
    'objcopy',
    'objdump',
    'ranlib',
    'readelf',
    'size',
    'strip',
  ],
]);
const COMPILERS: ReadonlySet<string> = new Set([
  ...['c++', 'cc', 'clang', 'clang++', 'dmd', 'gold', 'jar', 'java', 'javac', 'javadoc', 'kotlinc', 'ldc', 'lld'],
  ...['nvcc', 'rustc', 'swiftc'],
]);

/** True for a compiler or linker that reads options from a file when an argument is `@FILE`. */
export function readsOptionsFromFile(name: string): boolean {
  const family = familyOf(name);
  return COMPILERS.has(family) || CROSS_TOOLS.has(family.replace(/^.*-/, ''));
}
