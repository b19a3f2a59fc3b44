// Detects an operation in progress: a merge with conflicts, a stopped rebase.

import { access } from 'node:fs/promises';
import { join } from 'node:path';
import type { Repository } from './repository.js';

/** The operations that {@link operationOf} distinguishes. */
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

/** The operation in progress in this working tree. */
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
