// Locates the project's repository: its working tree must be inside the project, its data inside or bound to this tree.

import { access, readFile, realpath } from 'node:fs/promises';
import { dirname, join, resolve, sep } from 'node:path';
import { ToolError } from '../../../contract/errors.js';
import { isInside } from '../../project/scope/project-scope.js';
import type { GitOutcome } from '../../project/git/run-git.js';

/** The directories of a repository; absolute, with links resolved. */
export interface RepositoryPlace {
  /** The top level of the working tree. */
  top: string;
  /** The data of this working tree. */
  gitDir: string;
  /** The data shared by linked working trees. */
  commonDir: string;
}

const PLACES = ['rev-parse', '--path-format=absolute', '--show-toplevel', '--git-dir', '--git-common-dir'];

/**
 * Finds the repository of a project.
 *
 * @param git runs git in the project's directory, looking no higher
 * @throws {ToolError} NOT_A_REPOSITORY, OUTSIDE_PROJECT, or whatever `git` throws
 */
export async function locateRepository(
  projectDir: string,
  git: (args: readonly string[]) => Promise<GitOutcome>,
): Promise<RepositoryPlace> {
  let stdout: Buffer;
  try {
    ({ stdout } = await git(PLACES));
  } catch (error) {
    if (ToolError.isInstance(error) && error.code === 'NOT_A_REPOSITORY') throw await notARepository(projectDir);
    throw error;
  }
  const paths = stdout.toString('utf8').split('\n');
  const [top, gitDir, commonDir] = await Promise.all(
    paths.slice(0, 3).map((path) => realpath(resolve(projectDir, path))),
  );
  // A path with a line break would shift the lines of the output.
  if (paths.length !== 4 || top === undefined || gitDir === undefined || commonDir === undefined)
    throw new ToolError(
      'NOT_A_REPOSITORY',
      'The path of the repository contains a line break, which is not supported.',
    );
  const place = { top, gitDir, commonDir };
  await assertOwn(projectDir, place);
  return place;
}

/** Checks that the working tree is inside the project, and that the data is inside or bound to this tree. */
async function assertOwn(projectDir: string, place: RepositoryPlace): Promise<void> {
  const { top, gitDir, commonDir } = place;
  if (!isInside(projectDir, top))
    throw new ToolError(
      'OUTSIDE_PROJECT',
      "The repository's working tree (core.worktree) is outside the project. Open that directory as the project.",
    );
  const isInProject = isInside(projectDir, gitDir) && isInside(projectDir, commonDir);
  if (isInProject || (await isLinkedWorktree(place)) || (await isSubmodule(place))) return;
  throw new ToolError(
    'OUTSIDE_PROJECT',
    "The repository's data (.git) is outside the project and does not belong to this working tree. " +
      'Open a clone, or a working tree made by git worktree add.',
  );
}

/** https://git-scm.com/docs/gitrepository-layout: worktrees/<id>/gitdir names the .git file of its working tree. */
async function isLinkedWorktree({ top, gitDir, commonDir }: RepositoryPlace): Promise<boolean> {
  if (dirname(gitDir) !== join(commonDir, 'worktrees')) return false;
  const named = await readFile(join(gitDir, 'gitdir'), 'utf8').catch(() => '');
  const back = await realpath(resolve(gitDir, named.trim())).catch(() => undefined);
  return back === join(top, '.git');
}

/** A submodule's data is in modules/ of the outer repository, with its working tree as core.worktree. */
async function isSubmodule({ top, gitDir, commonDir }: RepositoryPlace): Promise<boolean> {
  if (gitDir !== commonDir || !gitDir.split(sep).includes('modules')) return false;
  const text = await readFile(join(gitDir, 'config'), 'utf8').catch(() => '');
  const [, named] = /^\s*worktree\s*=\s*"?(.*?)"?\s*$/m.exec(text) ?? [];
  if (named === undefined) return false;
  return (await realpath(resolve(gitDir, named)).catch(() => undefined)) === top;
}

/** A repository that contains the project is not used. */
async function notARepository(projectDir: string): Promise<ToolError> {
  for (let directory = dirname(projectDir); ; directory = dirname(directory)) {
    const found = await access(join(directory, '.git')).then(
      () => true,
      () => false,
    );
    if (found)
      return new ToolError(
        'NOT_A_REPOSITORY',
        'The project is a subdirectory of a repository. Open the top level of the repository as the project.',
      );
    if (dirname(directory) === directory) break;
  }
  return new ToolError(
    'NOT_A_REPOSITORY',
    'The project is not a git repository with a working tree. Create one with git init, or open another project.',
  );
}
