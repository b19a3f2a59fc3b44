// The files that a merge of any kind left to be solved by hand.

import { nulFields } from './nul-records.js';
import type { Repository } from './repository.js';

/** Files with more than one version in the index, as answers show them. */
export async function conflictsOf(repository: Repository): Promise<string[]> {
  const { stdout } = await repository.read(['ls-files', '--unmerged', '-z']);
  // Up to three versions a file: mode, object and stage, then a tab and the name.
  return [...new Set(nulFields(stdout).map((field) => repository.shown(field.subarray(field.indexOf(0x09) + 1))))];
}
