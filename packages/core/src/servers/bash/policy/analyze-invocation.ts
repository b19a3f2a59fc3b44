// One simple command: which program it is, what it wraps, what its options do, and where its paths lead.

import { basename } from 'node:path';
import type { ArgumentPaths, Directories } from './argument-paths.js';
import { EXPRESSION_COMMANDS } from './commands/expression-commands.js';
import { analyzeFind } from './commands/find-command.js';
import { analyzeGit } from './commands/git-command.js';
import { changesOperands, readsOptionsFromFile, runningOptions } from './commands/programs.js';
import { READING_COMMANDS } from './commands/reading-commands.js';
import { isHarmlessVariable, refusalOf } from './commands/refused-commands.js';
import { unwrap, type Unwrapped } from './commands/wrappers.js';
import { Invocation, type AnalyzerContext } from './invocation.js';
import { byName, readOptions, type CommandSpec } from './option-grammar.js';
import { hasBraces, hasTilde, hasWildcard, type ShellWord } from './script-tokens.js';

/** The directory that a command without a path works in. */
const CURRENT_DIRECTORY: ShellWord = { text: '.', shape: '.', variable: false };

/** Commands whose arguments are a language of their own. */
const ANALYZERS = byName<(invocation: Invocation) => Promise<void>>({
  'find gfind': analyzeFind,
  git: analyzeGit,
});
const EXPRESSIONS = byName(EXPRESSION_COMMANDS);

/** Claims everything that a simple command does. */
export async function analyzeInvocation(
  context: AnalyzerContext,
  words: readonly ShellWord[],
  directories: Directories,
): Promise<void> {
  const { analysis, paths } = context;
  analysis.countCommand();
  const [first, ...args] = words as [ShellWord, ...ShellWord[]];
  const name = basename(first.text);
  const reader = READING_COMMANDS.get(name);
  const claimUnknown = (reason: string): void => analysis.claimUnknown(words, reason);
  const claimArguments = async (reason: string): Promise<void> => {
    for (const word of args) await paths.argument(word, directories, 'may write');
    claimUnknown(reason);
  };

  if (first.variable || hasWildcard(first) || hasBraces(first) || hasTilde(first) || first.text === '')
    return claimUnknown('which command it is depends on what the shell makes of its name');
  // The words begin claims of other kinds; names with other characters are not those of programs.
  if (/^(?:option|outside|protected)$|[^\w./@%+:,[\]-]/.test(first.text)) return claimUnknown('its name is unusual');
  if (words.some(hasBraces)) return claimArguments('it expands one word to several: { }');
  if (hasUnknownValue(words, reader))
    return claimArguments('the value of a variable is not known here, and could be an option or a path');
  const refusal = refusalOf(
    name,
    args.map(({ text }) => text),
  );
  if (refusal !== undefined) return claimArguments(refusal);

  const program = await programWord(first, paths, directories);
  if (!program) return claimUnknown('its path does not say which program it is');
  const inner = (command: readonly ShellWord[]): Promise<void> => analyzeInvocation(context, command, directories);
  const invocation = new Invocation(context, directories, name, words, program, inner);
  if (name === 'command' && /^-[vV]$/.test(args[0]?.text ?? '')) return invocation.claimCommand();
  const unwrapped = unwrap(name, words);
  if (unwrapped) return analyzeWrapped(context, invocation, unwrapped);
  if (!reader?.safeWithAnyOption && args.some((word) => /^[*?[]/.test(word.shape) && hasWildcard(word)))
    return claimUnknown(
      'a wildcard at the beginning of a word can match a file that is named like an option; write ./*',
    );
  const spec = reader ?? EXPRESSIONS.get(name);
  const analyze = ANALYZERS.get(name) ?? (spec ? analyzeListed : analyzeProgram);
  return analyze(invocation, spec ?? {});
}

/** True when the value of a variable could change what the command does. */
function hasUnknownValue(words: readonly ShellWord[], reader: CommandSpec | undefined): boolean {
  if (!words.some(({ variable }) => variable)) return false;
  const onlyPrints = reader?.printsArguments === true && words[0]?.text.includes('/') !== true;
  return !onlyPrints || words.some((word) => word.variable && hasWildcard(word));
}

/** A command that a table describes. */
async function analyzeListed(invocation: Invocation, spec: CommandSpec): Promise<void> {
  const { args, paths, directories } = invocation;
  const read = readOptions(spec, spec.dashlessBundle === undefined ? args : dashed(args, spec.dashlessBundle));
  const writes = read.effects.length > 0;
  if (writes) await invocation.claimPaths([CURRENT_DIRECTORY], 'may write');
  if (spec.operands === 'text') {
    const expanded = read.paths.filter((word) => hasTilde(word) || hasWildcard(word));
    await invocation.claimPaths(expanded, 'reads');
  } else await invocation.claimPaths(read.paths, writes ? 'may write' : 'reads');
  for (const word of read.outputs) {
    if (hasWildcard(word)) return invocation.claimUnknown('the name of a file that it writes has a wildcard');
    await paths.written(word, directories);
  }
  for (const [option, reason] of read.effects) invocation.claimOption(option, reason);
  if (spec.readsDirectoryEntries) for (const word of read.paths) await paths.entries(word, directories);
  const wildcards = args.filter(hasWildcard);
  const isAmbiguous =
    wildcards.some((word) => !read.paths.includes(word)) ||
    (wildcards.length > 0 && (spec.maxOperands !== undefined || spec.allOperands === true));
  if (read.unlisted !== undefined || isAmbiguous) return invocation.claimUnlisted(read.unlisted);
  const reason = spec.unknown?.(read);
  if (reason !== undefined) return invocation.claimUnknown(reason);
  invocation.claimCommand();
}

/** Adds the dash that the first argument may omit, as in `tar tf a.tar`. Its letters with a value take the next words. */
function dashed(args: readonly ShellWord[], withValue: string): readonly ShellWord[] {
  const [bundle, ...rest] = args;
  if (!bundle || bundle.text.startsWith('-')) return args;
  const words: ShellWord[] = [];
  for (const letter of bundle.text) {
    const option = letter === '-' ? '-?' : `-${letter}`; // an option of no program; two dashes would end the options
    words.push({ text: option, shape: option, variable: false });
    const value = withValue.includes(letter) ? rest.shift() : undefined;
    if (value) words.push(value);
  }
  return [...words, ...rest];
}

/** Any other program: a rule for its name allows what it does inside the project. */
async function analyzeProgram(invocation: Invocation): Promise<void> {
  const { name, args, paths, directories } = invocation;
  // In a protected directory it may create a file that no word names: `ln -s /x/evil`.
  await invocation.claimPaths([CURRENT_DIRECTORY, ...args], 'may write');
  if (args.some((word) => paths.namesOpenFile(word)))
    return invocation.claimUnknown('it reads its input, or an open file of another program, by a path');
  if (readsOptionsFromFile(name) && args.some(({ text }) => text.startsWith('@')))
    return invocation.claimUnknown('it reads options from a file: @FILE');
  if (changesOperands(name)) for (const word of args) await paths.wholeProject(word, directories);
  for (const [option, reason] of runningOptions(name, args)) invocation.claimOption(option, reason);
  // The target of a link is relative to the link, not to the directory of the command.
  if (name === 'ln' && args.some(({ text }) => text.split('/').includes('..')))
    return invocation.claimUnknown('the target of a link with ".." depends on the place of the link');
  if (name === 'make' && args.some(hasWildcard))
    return invocation.claimUnknown('a wildcard can match a file that is named like an option');
  invocation.claimCommand();
}

/** The program as its claim names it: one given by path is named from the project, wherever the command runs. */
async function programWord(
  first: ShellWord,
  paths: ArgumentPaths,
  directories: Directories,
): Promise<ShellWord | undefined> {
  if (!first.text.includes('/')) return first;
  if (directories.size !== 1 || first.text.split('/').includes('..')) return undefined;
  const [directory] = [...directories] as [string];
  const inside = await paths.program(first.text, directory);
  if (inside === undefined) return first.text.startsWith('/') ? first : undefined;
  const text = inside.startsWith('/') ? inside : `./${inside}`;
  return { text, shape: text, variable: false };
}

async function analyzeWrapped(context: AnalyzerContext, wrapper: Invocation, unwrapped: Unwrapped): Promise<void> {
  const { directories, words } = wrapper;
  const claimUnknown = (reason: string): void => context.analysis.claimUnknown(words, reason);
  if (unwrapped.kind === 'unknown') {
    await wrapper.claimPaths(wrapper.args, 'may write');
    return claimUnknown(unwrapped.reason);
  }
  const wrapping = unwrapped.kind === 'command' ? words.slice(0, words.length - unwrapped.words.length) : words;
  if (wrapping.some((word) => hasWildcard(word) || hasTilde(word)))
    return claimUnknown('a wildcard or "~" can change what it runs');
  if (unwrapped.kind === 'script') await context.script(unwrapped.text, directories);
  else {
    for (const word of unwrapped.outputs) await wrapper.paths.written(word, directories);
    if (unwrapped.words.length > 0) await wrapper.analyzeInner(unwrapped.words);
    for (const { name, value } of unwrapped.assignments) {
      if (!isHarmlessVariable(name, value.text))
        return claimUnknown(`the variable ${name.slice(0, 40)} can change what the command does`);
    }
  }
  if (unwrapped.unknown !== undefined) return claimUnknown(unwrapped.unknown);
  wrapper.claimCommand();
}
