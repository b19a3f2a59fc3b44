// What of the project a sandboxed command may see and not write: the protected paths of the project scope. What exists is
// mounted over itself, read-only; in the place of what is missing stands an empty directory, for as long as it takes.

import type { Dirent, Stats } from 'node:fs';
import { lstat, readdir } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { ToolError } from '../../../contract/errors.js';
import { commonDirOf, configuredPaths, gitDirOf } from '../../project/scope/configured-paths.js';
import type { GitProgram } from '../../project/git/git-program.js';
import { isInside, quote, type ProjectScope, type ScopePath } from '../../project/scope/project-scope.js';
import { foldName, PROTECTED_NAMES } from '../../project/scope/protected-paths.js';
import { recordEntry, type MaskedEntry } from './mount-watch.js';
import type { HeldRepositories } from './nested-repositories.js';
import { gitlinksOf } from './repository-listing.js';
import { isOwnPlaceholder, createPlaceholder, type Placeholder } from './placeholders.js';

/** Below the project's own directory, protected paths are looked for so deep, and in so many directories. */
const MAX_DEPTH = 3;
const MAX_DIRECTORIES = 400;
const MAX_MODULES = 200;

/**
 * Of a repository, what makes git run programs; the rest has to be written for a commit.
 * https://git-scm.com/docs/gitrepository-layout
 */
const REPOSITORY_FILES = ['config', 'config.worktree', 'commondir', 'info/attributes', 'objects/info/alternates'];
const REPOSITORY_DIRECTORIES = ['hooks'];
/** The same of a linked working tree, which shares the rest. */
const WORKTREE_FILES = ['commondir', 'gitdir', 'config.worktree'];
const MAX_WORKTREES = 200;

/** The mounts of one command, in the order in which they have to be made. */
export interface MountMasks {
  mounts: string[];
  repositories: HeldRepositories;
  /** What is mounted: what must not be written, and, as they must stay where they are, the directories above it. */
  entries: { masked: readonly MaskedEntry[]; pinned: readonly MaskedEntry[] };
  /** Takes the stand-ins away again. Never rejects. */
  release(): Promise<void>;
}

/**
 * Holds the protected paths of every directory of the scope that can be written.
 *
 * @param git finds submodules that are too deep to be seen otherwise. Without it they are not held
 * @throws {ToolError} PROTECTED_PATH for one that is a link, which nothing can be mounted on
 */
export async function maskProtectedPaths(scope: ProjectScope, git: GitProgram | undefined): Promise<MountMasks> {
  const holding = new MountMasking(scope, git);
  try {
    for (const root of scope.roots) if (root.mode === 'rw') await holding.maskRoot(root.path);
    return {
      mounts: holding.mounts(),
      repositories: { all: holding.repositories, listed: holding.listed },
      entries: holding.entries(),
      release: () => holding.release(),
    };
  } catch (error) {
    await holding.release();
    throw error;
  }
}

class MountMasking {
  readonly repositories = new Set<string>();
  readonly listed = new Set<string>();
  readonly #scope: ProjectScope;
  readonly #git: GitProgram | undefined;
  /** Mounted over themselves: read-only, or writable only so that they cannot be renamed. */
  readonly #masks = new Map<string, '--ro-bind' | '--bind'>();
  /** Those of them that git reads for itself. */
  readonly #ofGit = new Set<string>();
  readonly #placeholders: { made: Placeholder; depth: number }[] = [];

  constructor(scope: ProjectScope, git: GitProgram | undefined) {
    this.#scope = scope;
    this.#git = git;
  }

  async maskRoot(root: string): Promise<void> {
    let directories = [root];
    let left = MAX_DIRECTORIES;
    for (let depth = 0; depth <= MAX_DEPTH && left > 0; depth++) {
      const looked = directories.slice(0, left);
      left -= looked.length;
      directories = (await settleAll(looked.map((directory) => this.#maskIn(directory)))).flat();
    }
    const dotGit = join(root, '.git');
    if (gitDirOf(dotGit) !== undefined) this.repositories.add(dotGit);
    await this.#maskSubmodules();
    for (const repository of this.repositories) {
      await this.#maskRepositoryData(repository);
      await this.#maskAllConfigured(root, repository);
    }
    // Last: what was not seen is not there, or its place cannot be taken, which refuses the command.
    await settleAll(
      PROTECTED_NAMES.map(async (name) => {
        const path = this.#protected(join(root, name))?.absolute;
        if (path !== undefined && !this.#masks.has(path)) await this.#maskMissing(path, 'directory');
      }),
    );
  }

  /** Submodules are held at any depth: git enters them. */
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
    // What is mounted on a directory comes after the directory.
    const paths = [...this.#masks].sort(([a], [b]) => a.length - b.length);
    return paths.flatMap(([path, how]) => [how, path, path]);
  }

  entries(): MountMasks['entries'] {
    const entries = (how: '--ro-bind' | '--bind'): MaskedEntry[] =>
      [...this.#masks]
        .filter(([, each]) => each === how)
        .flatMap(([path]) => recordEntry(path, this.#ofGit.has(path)) ?? []);
    return { masked: entries('--ro-bind'), pinned: entries('--bind') };
  }

  async release(): Promise<void> {
    // What is in a directory goes before the directory.
    const byDepth = this.#placeholders.splice(0).sort((a, b) => b.depth - a.depth);
    for (const depth of new Set(byDepth.map((each) => each.depth))) {
      await Promise.all(byDepth.filter((each) => each.depth === depth).map(({ made }) => made.remove()));
    }
  }

  /** Holds what is protected in a directory, and gives the directories in it to look into. */
  async #maskIn(directory: string): Promise<string[]> {
    const further: string[] = [];
    for (const entry of await entriesOf(directory)) {
      const path = join(directory, entry.name);
      if (this.#masks.has(path)) continue;
      if (this.#protected(path)) await this.#maskExisting(path);
      else if (entry.isDirectory() && entry.name !== 'node_modules' && this.#isWritable(path)) further.push(path);
    }
    return further;
  }

  async #maskExisting(path: string): Promise<void> {
    if (await isOwnPlaceholder(path)) return this.#maskMissing(path, 'directory'); // kept for this command too
    const stats = await lookAt(path);
    if (!stats) return; // it went meanwhile
    if (stats.isSymbolicLink()) throw maskedLink(this.#scope, path);
    const isRepository = foldName(basename(path)) === '.git';
    if (isRepository) this.repositories.add(path);
    if (isRepository) this.#ofGit.add(path);
    if (isRepository && stats.isDirectory()) await this.#maskRepository(path);
    else this.#mask(path);
  }

  /** @param whole hold it although its name is not a protected one */
  async #maskRepository(directory: string, whole = false): Promise<void> {
    this.#pin(directory);
    await this.#maskRepositoryParts(directory, whole);
    let left = MAX_MODULES;
    for (const queue = [join(directory, 'modules')]; queue.length > 0 && left > 0; left--) {
      const module = queue.shift() ?? '';
      const entries = await entriesOf(module);
      if (!entries.some(({ name }) => name === 'HEAD')) {
        for (const entry of entries) if (entry.isDirectory()) queue.push(join(module, entry.name));
        continue;
      }
      await this.#maskRepositoryParts(module, whole);
      queue.push(join(module, 'modules'));
    }
  }

  async #maskRepositoryParts(gitDir: string, whole: boolean): Promise<void> {
    for (const name of REPOSITORY_FILES) await this.#maskWithin(gitDir, name, 'file', whole);
    for (const name of REPOSITORY_DIRECTORIES) await this.#maskWithin(gitDir, name, 'directory', whole);
    const worktrees = await entriesOf(join(gitDir, 'worktrees'));
    for (const { name } of worktrees.filter((entry) => entry.isDirectory()).slice(0, MAX_WORKTREES)) {
      for (const file of WORKTREE_FILES) await this.#maskWithin(join(gitDir, 'worktrees', name), file, 'file', whole);
    }
  }

  /** What is not in `.git` itself: `git init --separate-git-dir` and linked working trees have it elsewhere. */
  async #maskRepositoryData(dotGit: string): Promise<void> {
    const gitDir = gitDirOf(dotGit);
    if (gitDir === undefined) return;
    const common = commonDirOf(gitDir);
    for (const directory of new Set([gitDir, common])) {
      if (directory === dotGit || !this.#isWritable(directory)) continue;
      // Its name says nothing, unless it is in another repository.
      const whole = ![...this.repositories].some((each) => isInside(each, directory));
      if (directory === common) await this.#maskRepository(directory, whole);
      else for (const file of WORKTREE_FILES) await this.#maskWithin(directory, file, 'file', whole);
    }
  }

  async #maskAllConfigured(root: string, dotGit: string): Promise<void> {
    const gitDir = isInside(root, dotGit) ? gitDirOf(dotGit) : undefined;
    if (gitDir === undefined) return;
    for (const path of configuredPaths(root, { workTree: dirname(dotGit), gitDir }))
      await this.#maskConfigured(root, path, dotGit !== join(root, '.git'));
  }

  /** A place to which git's configuration leads, or the first directory on the way to it that is missing. */
  async #maskConfigured(root: string, path: string, ofSubmodule: boolean): Promise<void> {
    if (this.#masks.get(path) === '--ro-bind') return;
    if (!ofSubmodule && !this.#protected(path)) return; // the operator opened it
    let place = root;
    for (const name of path.slice(root.length + 1).split('/')) {
      place = join(place, name);
      if (this.#masks.get(place) === '--ro-bind') return;
      const stats = await lookAt(place);
      if (stats?.isSymbolicLink()) throw maskedLink(this.#scope, place);
      if (await isMissing(place)) return this.#maskMissing(place, 'directory');
    }
    this.#ofGit.add(path);
    this.#mask(path);
  }

  /** A part of a repository, and whatever is above it there. */
  async #maskWithin(gitDir: string, name: string, kind: 'file' | 'directory', whole: boolean): Promise<void> {
    const path = join(gitDir, name);
    if (!whole && !this.#protected(path)) return; // the operator opened it
    if (this.#masks.get(path) === '--ro-bind') return;
    let above = gitDir;
    for (const part of name.split('/').slice(0, -1)) {
      above = join(above, part);
      if ((await lookAt(above))?.isSymbolicLink()) throw maskedLink(this.#scope, above);
      if (await isMissing(above)) await this.#maskMissing(above, 'directory', { writable: true });
    }
    const stats = await lookAt(path);
    if (stats?.isSymbolicLink()) throw maskedLink(this.#scope, path);
    this.#ofGit.add(path);
    if (await isMissing(path)) await this.#maskMissing(path, kind);
    else this.#mask(path);
  }

  async #maskMissing(path: string, kind: 'file' | 'directory', { writable = false } = {}): Promise<void> {
    const made = await createPlaceholder(path, kind);
    if (made === undefined) return; // we may not write there, so nor may the command
    this.#placeholders.push({ made, depth: path.split('/').length });
    if (writable) this.#pin(path);
    else this.#mask(path);
  }

  #mask(path: string): void {
    this.#masks.set(path, '--ro-bind');
    this.#pin(dirname(path));
  }

  /** Mounts a directory, and those above it in its root, on themselves: the place of a mount cannot be renamed. */
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
    `No command is run: ${quote(shown)} is protected, and as a link it cannot be held read-only in the sandbox. ` +
      'Ask the operator to put what it leads to in its place, to list it in allowProtected, or to turn the sandbox off.',
    { details: { protected: shown } },
  );
}

/** All of it comes to its end before a failure of a part is told: what is still being made could not be released. */
async function settleAll<T>(promises: readonly Promise<T>[]): Promise<T[]> {
  await Promise.allSettled(promises);
  return Promise.all(promises);
}

async function entriesOf(directory: string): Promise<Dirent[]> {
  try {
    return await readdir(directory, { withFileTypes: true });
  } catch {
    return []; // gone, no directory, or not ours to read: then nor the command's
  }
}

/** Nothing is there, or what stands in for it: that too has to be kept as long as this command needs it. */
async function isMissing(path: string): Promise<boolean> {
  if ((await isOwnPlaceholder(path)) || (await lookAt(path)) === undefined) return true;
  return isOwnPlaceholder(path); // put there between the two looks
}

async function lookAt(path: string): Promise<Stats | undefined> {
  try {
    return await lstat(path);
  } catch {
    return undefined; // nothing there, or not ours to look at
  }
}
