// Finds a repository's hooks, which run, or are skipped if the repository is not trusted.

import { constants } from 'node:fs';
import { access } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { Repository } from './repository.js';

/** The hooks of a commit. */
export const COMMIT_HOOKS = ['pre-commit', 'prepare-commit-msg', 'commit-msg', 'post-commit'] as const;

/** Those of `names` that exist and are executable, as git requires. */
export async function hooksOf(repository: Repository, names: readonly string[]): Promise<string[]> {
  const directory = await hooksDirectory(repository);
  const present = await Promise.all(
    names.map((name) =>
      access(join(directory, name), constants.X_OK).then(
        () => true,
        () => false,
      ),
    ),
  );
  return names.filter((_, index) => present[index]);
}

async function hooksDirectory(repository: Repository): Promise<string> {
  if (repository.trusted) {
    const { stdout } = await repository.read(['rev-parse', '--git-path', 'hooks']);
    return resolve(repository.top, stdout.toString('utf8').replace(/\n$/, ''));
  }
  // core.hooksPath is overridden here, so git would return that.
  const named = repository.config.findLast(({ key }) => key === 'core.hookspath')?.value;
  return named === undefined ? join(repository.commonDir, 'hooks') : resolve(repository.top, named);
}
