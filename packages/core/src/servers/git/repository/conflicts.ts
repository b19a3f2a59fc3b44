// Finds files with conflicts.

import { nulFields } from './nul-records.js';
import type { Repository } from './repository.js';

/** The files with several versions in the index, as shown in results. */
export async function conflictsOf(repository: Repository): Promise<string[]> {
  const { stdout } = await repository.read(['ls-files', '--unmerged', '-z']);
  // Up to three records per file: mode, object and stage, then a tab and the name.
  return [...new Set(nulFields(stdout).map((field) => repository.shown(field.subarray(field.indexOf(0x09) + 1))))];
}
