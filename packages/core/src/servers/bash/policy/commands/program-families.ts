// Programs with several names: a version after the name, or another implementation of the same program. What is known
// of one applies to its family.

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

/** Interpreters without a table of options: any option before the script is claimed by itself. */
const OTHER_INTERPRETERS = [
  'Rscript R julia octave gnuplot',
  'elixir iex erl escript ghci ghc runghc runhaskell ocaml guile racket sbcl clisp ecl swipl gforth',
  'scala scala-cli groovy jshell kotlin kotlinc swift',
  'qjs quickjs d8 jsc ts-node esno',
  'pwsh powershell nu fish elvish xonsh busybox bpftrace',
  'lua luajit texlua luatex tclsh wish raku perl6',
].flatMap((line) => line.split(' '));

const INTERPRETERS: ReadonlySet<string> = new Set([
  ...['node', 'tsx', 'bun', 'deno', 'python', 'perl', 'ruby', 'php', 'bash', 'sh', 'dash'],
  ...OTHER_INTERPRETERS,
]);

/** The family of a program by its name or path: `python` of `python3.12` and `pypy3`. */
export function familyOf(name: string): string {
  const full = basename(name);
  const plain = INTERPRETERS.has(full) ? full : full.replace(VERSION, '') || full;
  return ALIASES[plain] ?? plain;
}

/** True for a program that runs a script, or code in its arguments. */
export function isInterpreter(name: string): boolean {
  return INTERPRETERS.has(familyOf(name));
}
