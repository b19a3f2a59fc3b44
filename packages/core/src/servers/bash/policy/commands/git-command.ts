// git: its global options, and its commands by their tables. A command that is in no table may be an alias, and an alias
// may be any program.

import type { Invocation } from '../invocation.js';
import { readOptions, type ReadOptions } from '../option-grammar.js';
import { hasTilde, hasWildcard, type ShellWord } from '../script-tokens.js';
import { GIT_CHANGING_COMMANDS } from './git-changing.js';
import type { GitCommandSpec } from './git-options.js';
import { GIT_READING_COMMANDS } from './git-reading.js';

const READING = new Map(Object.entries(GIT_READING_COMMANDS));
const CHANGING = new Map(Object.entries(GIT_CHANGING_COMMANDS));

/** Options before the command that change nothing of what it does. */
const HARMLESS_GLOBALS: ReadonlySet<string> = new Set(['--no-pager', '--no-optional-locks', '--literal-pathspecs']);

/** Claims what `git` does. The claim leaves out `-C` and the harmless global options, so that a rule need not name them. */
export async function analyzeGit(git: Invocation): Promise<void> {
  const { words, directory } = readGlobals(git.args);
  const [command] = words;
  const name = command?.text ?? '';
  const spec = READING.get(name) ?? CHANGING.get(name);
  const options = readOptions(spec ?? {}, spec ? words.slice(1) : []);
  const answers = words.length === 1 && /^(?:--version|version|help|--help)$/.test(name);
  let { directories } = git;
  if (directory) {
    const changed = new Set<string>();
    for (const from of directories) {
      const to = hasTilde(directory) ? undefined : await git.paths.directory(directory.text, from);
      if (to === undefined) return git.claimUnknown('the directory of -C is outside the project or behind a link');
      changed.add(to);
    }
    directories = changed;
  }
  const access = answers || READING.has(name) ? 'reads' : 'may write';
  for (const word of [...options.paths, ...options.outputs]) await git.paths.argument(word, directories, access);
  for (const [option, reason] of options.effects) git.claimOption(option, reason, command);
  if (spec?.operandEffect !== undefined && changesByOperands(spec, options))
    git.claimOption(options.operands[0]?.text ?? '', spec.operandEffect, command);
  const wildcard = git.args.some((word) => hasWildcard(word) && !options.paths.includes(word));
  const reason = answers ? undefined : unknownCommand(name, spec, options.operands);
  if (reason !== undefined) return git.claimUnknown(reason);
  if (options.unlisted !== undefined || wildcard) return git.claimUnlisted(options.unlisted, 'this git command');
  git.claimCommand(words);
}

/** The command and what follows it, and the directory of `-C`. */
function readGlobals(args: readonly ShellWord[]): { words: readonly ShellWord[]; directory: ShellWord | undefined } {
  let start = 0;
  let directory: ShellWord | undefined;
  for (; start < args.length; start++) {
    const { text } = args[start] as ShellWord;
    if (text === '-C' && !directory && args[start + 1]) directory = args[++start];
    else if (!HARMLESS_GLOBALS.has(text)) break;
  }
  return { words: args.slice(start), directory };
}

function changesByOperands({ listingOptions = [] }: GitCommandSpec, { operands, given }: ReadOptions): boolean {
  return operands.length > 0 && !given.some(([option]) => listingOptions.includes(option));
}

function unknownCommand(
  name: string,
  spec: GitCommandSpec | undefined,
  operands: readonly ShellWord[],
): string | undefined {
  if (!spec)
    return name.startsWith('-')
      ? `the option ${name} of git can run programs`
      : `"git ${name}" is not known: it may be an alias of any command`;
  if (spec.firstOperands && operands[0] && !spec.firstOperands.includes(operands[0].text))
    return `"git ${name} ${operands[0].text}" is not known`;
  // ext::sh -c ...: an address that is a command.
  if (/^(?:fetch|pull|push|remote)$/.test(name) && operands.some(({ text }) => text.includes('::')))
    return 'the address of a remote can be a command';
  return undefined;
}
