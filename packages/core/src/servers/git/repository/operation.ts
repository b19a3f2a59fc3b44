// What was begun in the repository and is not finished: a merge with conflicts, a rebase that has stopped.

import { access } from 'node:fs/promises';
import { join } from 'node:path';
import type { Repository } from './repository.js';

/** Every operation that {@link operationOf} tells apart. */
export const OPERATIONS = ['none', 'merge', 'rebase', 'am', 'cherry_pick', 'revert', 'bisect'] as const;

/** One of {@link OPERATIONS}. */
export type Operation = (typeof OPERATIONS)[number];

/** In the order in which git itself looks. https://git-scm.com/docs/gitrepository-layout */
const TRACES: readonly (readonly [file: string, operation: Operation])[] = [
  ['rebase-merge', 'rebase'],
  ['rebase-apply/applying', 'am'],
  ['rebase-apply', 'rebase'],
  ['MERGE_HEAD', 'merge'],
  ['CHERRY_PICK_HEAD', 'cherry_pick'],
  ['REVERT_HEAD', 'revert'],
  ['sequencer/todo', 'cherry_pick'],
  ['BISECT_LOG', 'bisect'],
];

/** What is under way in this working tree. */
export async function operationOf({ gitDir }: Repository): Promise<Operation> {
  for (const [file, operation] of TRACES) {
    const there = await access(join(gitDir, file)).then(
      () => true,
      () => false,
    );
    if (there) return operation;
  }
  return 'none';
}
