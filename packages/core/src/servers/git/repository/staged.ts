// Lists staged files.

import { NO_DIFF_HELPERS } from '../hardening/git-settings.js';
import { parseChangedFiles, PATCH_OUTPUT, type ChangedFile } from './patch-pages.js';
import { nulFields } from './nul-records.js';
import type { GitPath } from '../git-paths.js';
import type { Repository } from './repository.js';

const MAX_FILES = 1_000;

/** The schema of staged files in a result. */
export const STAGED = {
  ...PATCH_OUTPUT.files,
  description: 'The staged changes to these paths; the first 1,000 files.',
} as const;

/** The staged files below these paths. */
export async function stagedFiles(repository: Repository, paths: readonly GitPath[]): Promise<ChangedFile[]> {
  const args = ['diff', '--cached', ...NO_DIFF_HELPERS, '--raw', '--numstat', '--no-abbrev', '-M', '-z'];
  const { stdout } = await repository.read(args, { paths });
  return parseChangedFiles(nulFields(stdout), (path) => repository.shown(path)).slice(0, MAX_FILES);
}
