// Operations in progress in a repository, such as a rebase. git continues them as their state files say, and some of their
// steps run programs. https://git-scm.com/docs/git-rebase#_interactive_mode

import { lstat, readFile } from 'node:fs/promises';
import { join } from 'node:path';

/** The state directories in `.git`. */
export const UNFINISHED_DIRECTORIES: readonly string[] = ['rebase-merge', 'rebase-apply', 'sequencer'];
const MAX_BYTES = 8 * 1024 * 1024;

/** Steps that apply commits unchanged. */
const PICKING_STEP = /^\s*(?:#|(?:pick|p|reword|r|edit|e|squash|s|fixup|f|drop|d|revert)\s|(?:noop|break|b)\s*$|$)/;
/** Steps that move branches or merge. */
const MOVING_STEP = /^\s*(?:label|l|reset|t|merge|m|update-ref|u)\s/;

/**
 * The remaining steps in one of {@link UNFINISHED_DIRECTORIES} that do more than apply commits unchanged.
 *
 * @param branches `any`: steps that move branches and merge are omitted as well, as they run no programs
 */
export async function unusualSteps(directory: string, branches: 'own' | 'any' = 'own'): Promise<string[]> {
  const lines = async (name: string): Promise<string[]> => (await unfinishedText(join(directory, name))).split('\n');
  const steps = [...(await lines('git-rebase-todo')), ...(await lines('todo'))].filter(
    (step) => !PICKING_STEP.test(step) && !(branches === 'any' && MOVING_STEP.test(step)),
  );
  // A strategy is a program `git-merge-…`, and the configuration names the program that signs.
  const strategies = (await lines('strategy')).filter((line) => !/^\s*(?:ort|recursive)?\s*$/.test(line));
  const options = [...(await lines('strategy_opts')), ...(await lines('opts'))].filter((line) =>
    /\bstrategy\s*=(?!\s*(?:ort|recursive)\s*$)|gpg/i.test(line),
  );
  return [...steps, ...strategies, ...options].map((line) => line.trim());
}

/** A small state file, empty if missing. Anything but a small file counts as a step that runs a program. */
export async function unfinishedText(path: string): Promise<string> {
  const stats = await lstat(path).catch(() => undefined); // no such operation in progress
  if (!stats) return '';
  return stats.isFile() && stats.size <= MAX_BYTES ? readFile(path, 'utf8') : 'exec what is no small file';
}
