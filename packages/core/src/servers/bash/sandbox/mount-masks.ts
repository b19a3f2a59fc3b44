// Masks the protected paths of the project against a sandboxed command: existing ones are mounted read-only over themselves,
// missing ones get a placeholder while the command runs.

import type { Dirent, Stats } from 'node:fs';
import { lstat, readdir } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { ToolError } from '../../../contract/errors.js';
import { commonDirOf, configuredPaths, gitDirOf } from '../../project/scope/configured-paths.js';
import type { GitProgram } from '../../project/git/git-program.js';
import { isInside, quote, type ProjectScope, type ScopePath } from '../../project/scope/project-scope.js';
import { foldName, HELD_NAMES } from '../../project/scope/protected-paths.js';
import { recordEntry, type MaskedEntry } from './mount-watch.js';
import type { MaskedRepositories } from './nested-repositories.js';
import { gitlinksOf } from './repository-listing.js';
import { isPlaceholder, createPlaceholder, type Placeholder } from './placeholders.js';

/** How deep, and in how many directories, protected paths are searched below the project directory. */
const MAX_DEPTH = 3;
const MAX_DIRECTORIES = 400;
const MAX_MODULES = 200;

/**
 * The files of a repository that make git run programs. The rest must be writable for a commit.
 * https://git-scm.com/docs/gitrepository-layout
 */
const REPOSITORY_FILES = ['config', 'config.worktree', 'commondir', 'info/attributes', 'objects/info/alternates'];
const REPOSITORY_DIRECTORIES = ['hooks'];
/** The same for a linked working tree, which shares the others. */
const WORKTREE_FILES = ['commondir', 'gitdir', 'config.worktree'];
const MAX_WORKTREES = 200;

/** The mount masks of one command. */
export interface MountMasks {
  /** Arguments of bubblewrap, in the order of mounting. */
  mounts: string[];
  repositories: MaskedRepositories;
  /** Masked entries, which cannot be written, and pinned directories above them, which cannot be renamed. */
  entries: { masked: readonly MaskedEntry[]; pinned: readonly MaskedEntry[] };
  /** Removes the placeholders. Never rejects. */
  release(): Promise<void>;
}

/**
 * Masks the protected paths in every writable root of the scope.
 *
 * @param git lists submodules at any depth. Without it, deep ones are not masked
 * @throws {ToolError} PROTECTED_PATH for a protected path that is a link, which cannot be masked
 */
export async function maskProtectedPaths(scope: ProjectScope, git: GitProgram | undefined): Promise<MountMasks> {
  const masking = new MountMasking(scope, git);
  try {
    for (const root of scope.roots) if (root.mode === 'rw') await masking.maskRoot(root.path);
    return {
      mounts: masking.mounts(),
      repositories: { all: masking.repositories, listed: masking.listed },
      entries: masking.entries(),
      release: () => masking.release(),
    };
  } catch (error) {
    await masking.release();
    throw error;
  }
}

class MountMasking {
  readonly repositories = new Set<string>();
  readonly listed = new Set<string>();
  readonly #scope: ProjectScope;
  readonly #git: GitProgram | undefined;
  /** How each path is mounted over itself: read-only, or writable so that it cannot be renamed. */
  readonly #masks = new Map<string, '--ro-bind' | '--bind'>();
  /** Masked paths that git reads. */
  readonly #readByGit = new Set<string>();
  readonly #placeholders: { made: Placeholder; depth: number }[] = [];

  constructor(scope: ProjectScope, git: GitProgram | undefined) {
    this.#scope = scope;
    this.#git = git;
  }

  async maskRoot(root: string): Promise<void> {
    let directories = [root];
    let left = MAX_DIRECTORIES;
    for (let depth = 0; depth <= MAX_DEPTH && left > 0; depth++) {
      const searched = directories.slice(0, left);
      left -= searched.length;
      directories = (await settleAll(searched.map((directory) => this.#maskIn(directory)))).flat();
    }
    const dotGit = join(root, '.git');
    if (gitDirOf(dotGit) !== undefined) this.repositories.add(dotGit);
    await this.#maskSubmodules();
    for (const repository of this.repositories) {
      await this.#maskRepositoryData(repository);
      await this.#maskAllConfigured(root, repository);
    }
    // Last: a name that was not found is missing, or a placeholder cannot be created, which refuses the command.
    await settleAll(
      HELD_NAMES.map(async (name) => {
        const path = this.#protected(join(root, name))?.absolute;
        if (path !== undefined && !this.#masks.has(path)) await this.#maskMissing(path, 'directory');
      }),
    );
  }

  /** Submodules at any depth, as git enters them. */
  async #maskSubmodules(): Promise<void> {
    if (!this.#git) return;
    for (const repository of this.repositories) {
      for (const directory of (await gitlinksOf(this.#git, repository)).directories) {
        const dotGit = join(directory.toString('utf8'), '.git');
        if (!this.repositories.has(dotGit) && this.#protected(dotGit)) await this.#maskExisting(dotGit);
        if (this.repositories.has(dotGit)) this.listed.add(dotGit);
      }
    }
  }

  mounts(): string[] {
    // A directory is mounted before what is in it.
    const paths = [...this.#masks].sort(([a], [b]) => a.length - b.length);
    return paths.flatMap(([path, how]) => [how, path, path]);
  }

  entries(): MountMasks['entries'] {
    const entries = (how: '--ro-bind' | '--bind'): MaskedEntry[] =>
      [...this.#masks]
        .filter(([, each]) => each === how)
        .flatMap(([path]) => recordEntry(path, this.#readByGit.has(path)) ?? []);
    return { masked: entries('--ro-bind'), pinned: entries('--bind') };
  }

  async release(): Promise<void> {
    // What is in a directory is removed before the directory.
    const byDepth = this.#placeholders.splice(0).sort((a, b) => b.depth - a.depth);
    for (const depth of new Set(byDepth.map((each) => each.depth))) {
      await Promise.all(byDepth.filter((each) => each.depth === depth).map(({ made }) => made.remove()));
    }
  }

  /** Masks protected paths in a directory, and returns the subdirectories to search. */
  async #maskIn(directory: string): Promise<string[]> {
    const subdirectories: string[] = [];
    for (const entry of await entriesOf(directory)) {
      const path = join(directory, entry.name);
      if (this.#masks.has(path)) continue;
      if (this.#protected(path)) await this.#maskExisting(path);
      else if (entry.isDirectory() && entry.name !== 'node_modules' && this.#isWritable(path))
        subdirectories.push(path);
    }
    return subdirectories;
  }

  async #maskExisting(path: string): Promise<void> {
    if (await isPlaceholder(path)) return this.#maskMissing(path, 'directory'); // this command needs it too
    const stats = await statsOf(path);
    if (!stats) return; // deleted meanwhile
    if (stats.isSymbolicLink()) throw maskedLink(this.#scope, path);
    const isRepository = foldName(basename(path)) === '.git';
    if (isRepository) this.repositories.add(path);
    if (isRepository) this.#readByGit.add(path);
    if (isRepository && stats.isDirectory()) await this.#maskRepository(path);
    else this.#mask(path);
  }

  /** @param regardlessOfName mask it although its name is not a protected one */
  async #maskRepository(directory: string, regardlessOfName = false): Promise<void> {
    this.#pin(directory);
    await this.#maskRepositoryParts(directory, regardlessOfName);
    let left = MAX_MODULES;
    for (const queue = [join(directory, 'modules')]; queue.length > 0 && left > 0; left--) {
      const module = queue.shift() ?? '';
      const entries = await entriesOf(module);
      if (!entries.some(({ name }) => name === 'HEAD')) {
        for (const entry of entries) if (entry.isDirectory()) queue.push(join(module, entry.name));
        continue;
      }
      await this.#maskRepositoryParts(module, regardlessOfName);
      queue.push(join(module, 'modules'));
    }
  }

  async #maskRepositoryParts(gitDir: string, regardlessOfName: boolean): Promise<void> {
    for (const name of REPOSITORY_FILES) await this.#maskWithin(gitDir, name, 'file', regardlessOfName);
    for (const name of REPOSITORY_DIRECTORIES) await this.#maskWithin(gitDir, name, 'directory', regardlessOfName);
    const worktrees = await entriesOf(join(gitDir, 'worktrees'));
    for (const { name } of worktrees.filter((entry) => entry.isDirectory()).slice(0, MAX_WORKTREES)) {
      for (const file of WORKTREE_FILES)
        await this.#maskWithin(join(gitDir, 'worktrees', name), file, 'file', regardlessOfName);
    }
  }

  /** Data outside `.git`, as with `git init --separate-git-dir` and in linked working trees. */
  async #maskRepositoryData(dotGit: string): Promise<void> {
    const gitDir = gitDirOf(dotGit);
    if (gitDir === undefined) return;
    const common = commonDirOf(gitDir);
    for (const directory of new Set([gitDir, common])) {
      if (directory === dotGit || !this.#isWritable(directory)) continue;
      // Its name is not protected, unless it is inside another repository.
      const regardlessOfName = ![...this.repositories].some((each) => isInside(each, directory));
      if (directory === common) await this.#maskRepository(directory, regardlessOfName);
      else for (const file of WORKTREE_FILES) await this.#maskWithin(directory, file, 'file', regardlessOfName);
    }
  }

  async #maskAllConfigured(root: string, dotGit: string): Promise<void> {
    const gitDir = isInside(root, dotGit) ? gitDirOf(dotGit) : undefined;
    if (gitDir === undefined) return;
    for (const path of configuredPaths(root, { workTree: dirname(dotGit), gitDir }))
      await this.#maskConfigured(root, path, dotGit !== join(root, '.git'));
  }

  /** A path that git's configuration names, or the first missing directory on the way to it. */
  async #maskConfigured(root: string, path: string, ofSubmodule: boolean): Promise<void> {
    if (this.#masks.get(path) === '--ro-bind') return;
    if (!ofSubmodule && !this.#protected(path)) return; // opened by the operator
    let place = root;
    for (const name of path.slice(root.length + 1).split('/')) {
      place = join(place, name);
      if (this.#masks.get(place) === '--ro-bind') return;
      const stats = await statsOf(place);
      if (stats?.isSymbolicLink()) throw maskedLink(this.#scope, place);
      if (await isMissing(place)) return this.#maskMissing(place, 'directory');
    }
    this.#readByGit.add(path);
    this.#mask(path);
  }

  /** A part of a repository, with the directories above it in the repository. */
  async #maskWithin(
    gitDir: string,
    name: string,
    kind: 'file' | 'directory',
    regardlessOfName: boolean,
  ): Promise<void> {
    const path = join(gitDir, name);
    if (!regardlessOfName && !this.#protected(path)) return; // opened by the operator
    if (this.#masks.get(path) === '--ro-bind') return;
    let above = gitDir;
    for (const part of name.split('/').slice(0, -1)) {
      above = join(above, part);
      if ((await statsOf(above))?.isSymbolicLink()) throw maskedLink(this.#scope, above);
      if (await isMissing(above)) await this.#maskMissing(above, 'directory', { writable: true });
    }
    const stats = await statsOf(path);
    if (stats?.isSymbolicLink()) throw maskedLink(this.#scope, path);
    this.#readByGit.add(path);
    if (await isMissing(path)) await this.#maskMissing(path, kind);
    else this.#mask(path);
  }

  async #maskMissing(path: string, kind: 'file' | 'directory', { writable = false } = {}): Promise<void> {
    const made = await createPlaceholder(path, kind);
    if (made === undefined) return; // not writable, so the command cannot write there either
    this.#placeholders.push({ made, depth: path.split('/').length });
    if (writable) this.#pin(path);
    else this.#mask(path);
  }

  #mask(path: string): void {
    this.#masks.set(path, '--ro-bind');
    this.#pin(dirname(path));
  }

  /** Mounts a directory, and those above it in its root, over themselves: a mount point cannot be renamed. */
  #pin(directory: string): void {
    const root = this.#scope.find(directory)?.root.path;
    for (let path = directory; root !== undefined && path !== root && !this.#masks.has(path); path = dirname(path)) {
      this.#masks.set(path, '--bind');
    }
  }

  #isWritable(path: string): boolean {
    return this.#scope.find(path)?.root.mode === 'rw';
  }

  #protected(path: string): ScopePath | undefined {
    const found = this.#scope.find(path);
    return found && found.root.mode === 'rw' && this.#scope.isProtected(found) ? found : undefined;
  }
}

function maskedLink(scope: ProjectScope, path: string): ToolError {
  const shown = scope.find(path)?.shown ?? path;
  return new ToolError(
    'PROTECTED_PATH',
    `The command was not run: ${quote(shown)} is a protected path, and as a link it cannot be made read-only in the sandbox. ` +
      'Ask the operator to replace the link by its target, to list it in allowProtected, or to turn the sandbox off.',
    { details: { protected: shown } },
  );
}

/** Waits for all promises before it rejects, so that every placeholder is known and can be released. */
async function settleAll<T>(promises: readonly Promise<T>[]): Promise<T[]> {
  await Promise.allSettled(promises);
  return Promise.all(promises);
}

async function entriesOf(directory: string): Promise<Dirent[]> {
  try {
    return await readdir(directory, { withFileTypes: true });
  } catch {
    return []; // deleted meanwhile, not a directory, or not readable by the command either
  }
}

/** True for a missing path and for a placeholder, which this command has to share. */
async function isMissing(path: string): Promise<boolean> {
  if ((await isPlaceholder(path)) || (await statsOf(path)) === undefined) return true;
  return isPlaceholder(path); // created between the two checks
}

async function statsOf(path: string): Promise<Stats | undefined> {
  try {
    return await lstat(path);
  } catch {
    return undefined; // missing or not accessible
  }
}
