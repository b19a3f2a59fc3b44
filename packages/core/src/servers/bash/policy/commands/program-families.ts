// Programs that come under many names: a version behind the name, another name of the same program. What is known of one
// holds for its family.

import { basename } from 'node:path';

const VERSION = /(?:[-.]?\d[\d.]*[a-z]{0,3})?(?:-dbg)?$/;

const ALIASES: Readonly<Record<string, string>> = {
  nodejs: 'node',
  pypy: 'python',
  ipython: 'python',
  jython: 'python',
  graalpy: 'python',
  micropython: 'python',
  jruby: 'ruby',
  truffleruby: 'ruby',
};

/** Interpreters of whose options little is known: any option before the script is claimed by itself. */
const OTHER_INTERPRETERS =
  'Rscript R julia elixir iex erl escript guile racket sbcl clisp ecl ghci ghc runghc runhaskell ocaml scala scala-cli groovy jshell kotlin kotlinc swift wish octave gnuplot pwsh powershell qjs quickjs d8 jsc ts-node esno bpftrace swipl gforth nu fish elvish xonsh raku perl6 texlua luatex busybox'.split(
    ' ',
  );

const INTERPRETERS: ReadonlySet<string> = new Set([
  ...['node', 'tsx', 'bun', 'deno', 'python', 'perl', 'ruby', 'php', 'bash', 'sh', 'dash', 'lua', 'luajit', 'tclsh'],
  ...OTHER_INTERPRETERS,
]);

/** The family of a program by its name or path: `python` of `python3.12` and `pypy3`. */
export function familyOf(name: string): string {
  const whole = basename(name);
  const plain = INTERPRETERS.has(whole) ? whole : whole.replace(VERSION, '') || whole;
  return ALIASES[plain] ?? plain;
}

/** True for a program that runs a script, or what it is given in the command. */
export function isInterpreter(name: string): boolean {
  return INTERPRETERS.has(familyOf(name));
}
