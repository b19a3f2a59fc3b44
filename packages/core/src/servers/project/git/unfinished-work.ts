// What was begun in a repository and is not finished, as git keeps it in files: its next step does what they say, and some
// of what they can say runs programs. https://git-scm.com/docs/git-rebase#_interactive_mode

import { lstat, readFile } from 'node:fs/promises';
import { join } from 'node:path';

/** The directories of git in which it is. */
export const UNFINISHED_DIRECTORIES: readonly string[] = ['rebase-merge', 'rebase-apply', 'sequencer'];
const MAX_BYTES = 8 * 1024 * 1024;

/** Takes commits as they are. */
const PICKING_STEP = /^\s*(?:#|(?:pick|p|reword|r|edit|e|squash|s|fixup|f|drop|d|revert)\s|(?:noop|break|b)\s*$|$)/;
/** Moves branches, and merges. */
const MOVING_STEP = /^\s*(?:label|l|reset|t|merge|m|update-ref|u)\s/;

/**
 * What is left to do in one of {@link UNFINISHED_DIRECTORIES} beyond taking commits as they are: the lines that say so.
 *
 * @param branches `any`: steps that move branches and merge are left out as well, as they run nothing
 */
export async function unusualSteps(directory: string, branches: 'own' | 'any' = 'own'): Promise<string[]> {
  const lines = async (name: string): Promise<string[]> => (await unfinishedText(join(directory, name))).split('\n');
  const steps = [...(await lines('git-rebase-todo')), ...(await lines('todo'))].filter(
    (step) => !PICKING_STEP.test(step) && !(branches === 'any' && MOVING_STEP.test(step)),
  );
  // A strategy is a program `git-merge-…`, and the program that signs is named by the configuration.
  const strategies = (await lines('strategy')).filter((line) => !/^\s*(?:ort|recursive)?\s*$/.test(line));
  const options = [...(await lines('strategy_opts')), ...(await lines('opts'))].filter((line) =>
    /\bstrategy\s*=(?!\s*(?:ort|recursive)\s*$)|gpg/i.test(line),
  );
  return [...steps, ...strategies, ...options].map((line) => line.trim());
}

/** A small file of git's, empty when it is not there. One that is no small file counts as a step that runs a program. */
export async function unfinishedText(path: string): Promise<string> {
  const stats = await lstat(path).catch(() => undefined); // not begun in this way
  if (!stats) return '';
  return stats.isFile() && stats.size <= MAX_BYTES ? readFile(path, 'utf8') : 'exec what is no small file';
}
