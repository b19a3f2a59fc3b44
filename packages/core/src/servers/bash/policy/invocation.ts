// One simple command: what it is, what it wraps, what its options do, where its paths lead.

import { basename } from 'node:path';
import { unknownInAwkProgram } from './awk-program.js';
import type { ArgumentPaths, Directories } from './argument-paths.js';
import { readFindExpression } from './find-expression.js';
import { readGitCall } from './git-options.js';
import type { Analysis } from './analysis.js';
import { readOptions, type OptionList } from './option-grammar.js';
import { doubtOfOperands } from './operand-checks.js';
import { runningOptions } from './programs.js';
import { familyOf } from './program-families.js';
import { READERS } from './readers.js';
import { isHarmlessVariable, refusalOf } from './refused-commands.js';
import { hasBraces, hasTilde, hasWildcard, type ShellWord } from './script-tokens.js';
import { unknownInSedScript } from './sed-script.js';
import { assignmentOf, unwrap, type Unwrapped } from './wrappers.js';

/** What judging one command needs. */
export interface AnalyzerContext {
  readonly analysis: Analysis;
  readonly paths: ArgumentPaths;
  /** Judges a script in an argument: `bash -c '...'`. */
  readonly script: (text: string, directories: Directories) => Promise<void>;
}

/** Where a command without a path works. */
const HERE: ShellWord = { text: '.', shape: '.', variable: false };

/** Same program, other names. */
const SAME: Readonly<Record<string, string>> = { gawk: 'awk', mawk: 'awk', nawk: 'awk', gsed: 'sed', gfind: 'find', ggrep: 'grep' }; // prettier-ignore

const SED: OptionList = { flags: 'nErsuz --quiet --silent --regexp-extended --posix --null-data --unbuffered --separate --sandbox', texts: 'e --expression', textOperands: 1, insteadOfOperand: 'e --expression', effects: { '-i': 'writes the files in place', '--in-place': 'writes the files in place', '-f': 'runs a script from a file', '--file': 'runs a script from a file' } }; // prettier-ignore
/** It reads no option behind its program. https://pubs.opengroup.org/onlinepubs/9799919799/utilities/awk.html */
const AWK: OptionList = { texts: 'Fv --field-separator --assign', textOperands: 1, leading: true };

/** Compilers and binutils, which read options from `@FILE`. */
const RESPONSE_FILES =
  /^(?:(?:.*-)?(?:gcc|g\+\+|cpp|ld|ar|as|nm|ranlib|strip|objdump|objcopy|readelf|size|addr2line)|cc|c\+\+|clang(?:\+\+)?|lld|gold|java|javac|javadoc|jar|rustc|swiftc|kotlinc|dmd|ldc|nvcc)$/;

/** Claims everything that a simple command does. */
export async function analyzeInvocation(
  context: AnalyzerContext,
  words: readonly ShellWord[],
  directories: Directories,
): Promise<void> {
  const { analysis, paths } = context;
  analysis.countCommand();
  const [first, ...rest] = words as [ShellWord, ...ShellWord[]];
  const doubt = (reason: string): void => analysis.claimUnknown(words, reason);
  const everyPath = async (given: readonly ShellWord[], only: 'reads' | 'may write'): Promise<void> => {
    for (const word of given) await paths.argument(word, directories, only);
  };
  if (first.variable || hasWildcard(first) || hasBraces(first) || hasTilde(first) || first.text === '')
    return doubt('which command it is depends on what the shell makes of its name');
  // Claims of other kinds begin with these; and a program with such a name is no everyday one.
  if (/^(?:option|outside|protected)$|[^\w./@%+:,[\]-]/.test(first.text)) return doubt('its name is an unusual one');
  const reader = READERS.get(basename(first.text));
  const odd = words.find((word) => hasBraces(word)) && 'it makes several words of one: { }';
  const unknown =
    words.some(({ variable }) => variable) &&
    (!reader?.prints || first.text.includes('/') || words.some((word) => word.variable && hasWildcard(word)));
  if (odd ?? unknown) {
    await everyPath(rest, 'may write');
    return doubt(odd ?? 'the value of a variable is not known here, and could be an option or a path');
  }

  const name = SAME[basename(first.text)] ?? basename(first.text);
  const refusal = refusalOf(
    name,
    rest.map(({ text }) => text),
  );
  if (refusal !== undefined) {
    await everyPath(rest, 'may write');
    return doubt(refusal);
  }
  const command = await commandWord(first, paths, directories);
  if (!command) return doubt('which program it is cannot be told from its path');
  const shown = [command, ...rest];
  const runs = (given: readonly ShellWord[] = shown): void => analysis.claimCommand(given);

  if (name === 'command' && /^-[vV]$/.test(rest[0]?.text ?? '')) return runs();
  const unwrapped = unwrap(name, words);
  if (unwrapped) return analyzeWrapped(context, shown, unwrapped, directories);

  const leading = rest.some((word) => /^[*?[]/.test(word.shape) && hasWildcard(word));
  if (leading && !reader?.anyOption)
    return doubt('a wildcard at the beginning of a word can match a file that is named like an option; write ./*');

  if (name === 'find') {
    const found = readFindExpression(rest);
    if (!found.deletes) await everyPath(found.paths, 'reads');
    else {
      const roots = found.paths.length > 0 ? found.paths : [HERE];
      await everyPath(roots, 'may write');
      for (const word of roots) await paths.wholeProject(word, directories);
    }
    for (const word of found.writes) await paths.written(word, directories);
    for (const [option, reason] of found.effects) analysis.claimOption([command], option, reason);
    for (const inner of found.runs) {
      if (inner.length > 0) await analyzeInvocation(context, inner, directories);
    }
    if (!found.runs.every(onlyReadsWhatIsFound))
      return doubt('what it does with the names that it finds depends on them');
    const moved = rest.some((word) => hasWildcard(word) && !found.paths.includes(word));
    if (found.unlisted !== undefined || moved) return doubt(unlistedReason(name, found.unlisted));
    return runs();
  }

  if (name === 'git') {
    const call = readGitCall(rest);
    let places = directories;
    if (call.directory) {
      const moved = new Set<string>();
      for (const from of directories) {
        const to = hasTilde(call.directory) ? undefined : await paths.directory(call.directory.text, from);
        if (to === undefined) return doubt('-C leads outside the project, or through a link');
        moved.add(to);
      }
      places = moved;
    }
    for (const word of [...call.options.paths, ...call.options.writes])
      await paths.argument(word, places, call.reads ? 'reads' : 'may write');
    for (const [option, reason] of call.options.effects)
      analysis.claimOption([command, ...call.words.slice(0, 1)], option, reason);
    const moved = rest.some((word) => hasWildcard(word) && !call.options.paths.includes(word));
    if (call.doubt !== undefined) return doubt(call.doubt);
    if (call.options.unlisted !== undefined || moved)
      return doubt(unlistedReason('this git command', call.options.unlisted));
    return runs([command, ...call.words]);
  }

  const list = name === 'sed' ? SED : name === 'awk' ? AWK : reader;
  if (list) {
    const dashed = name === 'tar' && rest[0] && !rest[0].text.startsWith('-') ? oldStyle(rest) : rest;
    const options = readOptions(list, dashed);
    const writesArguments = options.effects.length > 0;
    if (writesArguments) await everyPath([HERE], 'may write');
    if (reader?.operands !== 'text') await everyPath(options.paths, writesArguments ? 'may write' : 'reads');
    else
      await everyPath(
        options.paths.filter((word) => hasTilde(word) || hasWildcard(word)),
        'reads',
      );
    for (const word of options.writes) {
      if (hasWildcard(word)) return doubt('the name of a file that it writes has a wildcard');
      await paths.written(word, directories);
    }
    for (const [option, reason] of options.effects) analysis.claimOption([command], option, reason);
    if (name === 'diff') for (const word of options.paths) await paths.entries(word, directories);
    const wild = rest.filter((word) => hasWildcard(word));
    const moved =
      wild.some((word) => !options.paths.includes(word)) || (wild.length > 0 && list.maxOperands !== undefined);
    if (options.unlisted !== undefined || moved) return doubt(unlistedReason(name, options.unlisted));
    const scripts = options.given.flatMap(([option, value]) => (/^(?:-e|--expression)$/.test(option) && value ? [value.text] : [])); // prettier-ignore
    const program = options.texts[0]?.text ?? '';
    const content =
      name === 'sed'
        ? [...(scripts.length > 0 ? scripts : [program])].map(unknownInSedScript).find((each) => each !== undefined)
        : name === 'awk'
          ? unknownInAwkProgram(program)
          : doubtOfOperands(name, options);
    return content === undefined ? runs() : doubt(content);
  }

  if (/^(?:test|\[|printf)$/.test(name)) {
    await everyPath(name === 'printf' ? [] : rest, 'reads');
    const content = doubtOfOperands(name, { operands: rest, given: [] });
    return content === undefined && !rest.some(hasWildcard)
      ? runs()
      : doubt(content ?? 'a wildcard can match anything');
  }

  // In a protected directory it may write a name that none of its words has: `ln -s /x/evil`.
  await everyPath([HERE, ...rest], 'may write');
  if (rest.some((word) => paths.namesOpenFile(word)))
    return doubt('what it reads there comes from its input or another program');
  if (RESPONSE_FILES.test(familyOf(name)) && rest.some(({ text }) => text.startsWith('@')))
    return doubt('it takes options from a file: @FILE');
  if (
    /^(?:rm|mv|chmod|chown|chgrp|shred|(?:un)?(?:gzip|xz|lzma|zstd|lz4)|gunzip|b(?:un)?zip2|compress|dos2unix|unix2dos|rename)$/.test(
      name,
    )
  )
    for (const word of rest) await paths.wholeProject(word, directories);
  for (const [option, reason] of runningOptions(name, words)) analysis.claimOption([command], option, reason);
  // A link's text is read from where the link is, not from where the command runs.
  if (name === 'ln' && rest.some(({ text }) => text.split('/').includes('..')))
    return doubt('where a link with ".." leads depends on where it is');
  if (name === 'make' && rest.some(hasWildcard))
    return doubt('a wildcard can match a file that is named like an option');
  runs();
}

/** True for `cat {}`: the name of a file is an operand of a reader, and no part of a word, a program or an option. */
function onlyReadsWhatIsFound(words: readonly ShellWord[]): boolean {
  const [first, ...rest] = words.map(({ text }) => text);
  const places = rest.filter((text) => text.includes('{}'));
  if (places.length === 0) return first?.includes('{}') !== true;
  const reader = READERS.get(first ?? '');
  const at = rest.indexOf('{}');
  const isLast = places.length === 1 && at === rest.length - 1 && !/^-/.test(rest[at - 1] ?? '');
  return isLast && reader !== undefined && reader.maxOperands === undefined;
}

/** The name of the command for its claim: a program given by path is itself, wherever the path is written from. */
async function commandWord(
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

async function analyzeWrapped(
  context: AnalyzerContext,
  words: readonly ShellWord[],
  unwrapped: Unwrapped,
  directories: Directories,
): Promise<void> {
  const { analysis, paths } = context;
  const doubt = (reason: string): void => analysis.claimUnknown(words, reason);
  if (unwrapped.kind === 'doubt') {
    for (const word of words.slice(1)) await paths.argument(word, directories, 'may write');
    return doubt(unwrapped.reason);
  }
  const own = unwrapped.kind === 'command' ? words.slice(0, words.length - unwrapped.words.length) : words;
  if (own.some((word) => hasWildcard(word) || hasTilde(word)))
    return doubt('a wildcard or "~" can change what it runs');
  if (unwrapped.kind === 'script') await context.script(unwrapped.text, directories);
  else {
    for (const word of unwrapped.writes) await paths.written(word, directories);
    if (unwrapped.words.length > 0) await analyzeInvocation(context, unwrapped.words, directories);
    for (const assignment of unwrapped.assignments.map(assignmentOf)) {
      if (!isHarmlessVariable(assignment.name, assignment.value.text))
        return doubt(`the variable ${assignment.name.slice(0, 40)} can change what the command does`);
    }
  }
  if (unwrapped.doubt !== undefined) return doubt(unwrapped.doubt);
  analysis.claimCommand(words);
}

function unlistedReason(name: string, option: string | undefined): string {
  return option === undefined
    ? 'a wildcard can change which of its words are files'
    : `the option ${option.slice(0, 40)} of ${name} is not known to be harmless`;
}

/** Letters without a dash, as in `tar tf a.tar`: those that take a value take the next words, in their order. */
function oldStyle([letters, ...rest]: readonly ShellWord[]): ShellWord[] {
  const words: ShellWord[] = [];
  const left = [...rest];
  for (const letter of letters?.text ?? '') {
    const option = letter === '-' ? '-?' : `-${letter}`; // nobody's option; two dashes would end the options
    words.push({ text: option, shape: option, variable: false });
    const value = /[fC]/.test(letter) ? left.shift() : undefined;
    if (value) words.push(value);
  }
  return [...words, ...left];
}
