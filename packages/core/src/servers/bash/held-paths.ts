// What of the project a sandboxed command may see and not write: the protected paths of the project scope. What exists is
// mounted over itself, read-only; in the place of what is missing stands an empty directory, for as long as it takes.

import { readdirSync, lstatSync, type Dirent, type Stats } from 'node:fs';
import { dirname, join } from 'node:path';
import { ToolError } from '../../errors.js';
import { quote, type ProjectScope, type ScopePath } from '../project-scope.js';
import { foldName, PROTECTED_NAMES } from '../protected-paths.js';
import { isStandIn, standIn, type StandIn } from './stand-ins.js';

/** Below the project's own directory, protected paths are looked for so deep, and in so many directories. */
const MAX_DEPTH = 3;
const MAX_DIRECTORIES = 400;
const MAX_MODULES = 200;

/**
 * Of a repository, what makes git run programs; the rest has to be written for a commit.
 * https://git-scm.com/docs/gitrepository-layout
 */
const REPOSITORY_FILES = ['config', 'config.worktree', 'info/attributes'];
const REPOSITORY_DIRECTORIES = ['hooks'];

/** The mounts of one command, in the order in which they have to be made. */
export interface HeldPaths {
  mounts: string[];
  /** Takes the stand-ins away again. */
  release(): void;
}

/**
 * Holds the protected paths of every directory of the scope that can be written.
 *
 * @throws {ToolError} PROTECTED_PATH for one that is a link, which nothing can be mounted on
 */
export function holdPaths(scope: ProjectScope): HeldPaths {
  const holding = new Holding(scope);
  try {
    for (const root of scope.roots) if (root.mode === 'rw') holding.holdRoot(root.path);
    return { mounts: holding.mounts(), release: () => holding.release() };
  } catch (error) {
    holding.release();
    throw error;
  }
}

class Holding {
  readonly #scope: ProjectScope;
  /** Mounted over themselves: read-only, or writable only so that they cannot be renamed. */
  readonly #held = new Map<string, '--ro-bind' | '--bind'>();
  readonly #standIns: StandIn[] = [];

  constructor(scope: ProjectScope) {
    this.#scope = scope;
  }

  holdRoot(root: string): void {
    for (const name of PROTECTED_NAMES) {
      const path = this.#protected(join(root, name));
      if (path && isMissing(path.absolute)) this.#holdMissing(path.absolute, 'directory');
    }
    let directories = [root];
    let left = MAX_DIRECTORIES;
    for (let depth = 0; depth <= MAX_DEPTH && left > 0; depth++) {
      const looked = directories.slice(0, left);
      left -= looked.length;
      directories = looked.flatMap((directory) => this.#holdIn(directory));
    }
  }

  mounts(): string[] {
    // What is mounted on a directory comes after the directory.
    const paths = [...this.#held].sort(([a], [b]) => a.length - b.length);
    return paths.flatMap(([path, how]) => [how, path, path]);
  }

  release(): void {
    for (const made of this.#standIns.splice(0).reverse()) made.remove();
  }

  /** Holds what is protected in a directory, and gives the directories in it to look into. */
  #holdIn(directory: string): string[] {
    const further: string[] = [];
    for (const entry of entriesOf(directory)) {
      const path = join(directory, entry.name);
      if (this.#held.has(path)) continue;
      if (this.#protected(path)) this.#holdExisting(path);
      else if (entry.isDirectory() && entry.name !== 'node_modules' && this.#isWritable(path)) further.push(path);
    }
    return further;
  }

  #holdExisting(path: string): void {
    const stats = lookAt(path);
    if (!stats) return; // it went meanwhile
    if (stats.isSymbolicLink()) throw heldLink(this.#scope, path);
    if (stats.isDirectory() && foldName(path.slice(path.lastIndexOf('/') + 1)) === '.git') this.#holdRepository(path);
    else this.#hold(path);
  }

  #holdRepository(directory: string): void {
    this.#pin(directory);
    for (const name of REPOSITORY_FILES) this.#holdWithin(join(directory, name), 'file');
    for (const name of REPOSITORY_DIRECTORIES) this.#holdWithin(join(directory, name), 'directory');
    let left = MAX_MODULES;
    for (const queue = [join(directory, 'modules')]; queue.length > 0 && left > 0; left--) {
      const module = queue.shift() ?? '';
      const entries = entriesOf(module);
      if (!entries.some(({ name }) => name === 'HEAD')) {
        queue.push(...entries.filter((entry) => entry.isDirectory()).map(({ name }) => join(module, name)));
        continue;
      }
      for (const name of REPOSITORY_FILES) this.#holdWithin(join(module, name), 'file');
      for (const name of REPOSITORY_DIRECTORIES) this.#holdWithin(join(module, name), 'directory');
      queue.push(join(module, 'modules'));
    }
  }

  /** A part of a repository, and whatever is above it there. */
  #holdWithin(path: string, kind: 'file' | 'directory'): void {
    if (!this.#protected(path)) return; // the operator opened it
    const above = dirname(path);
    const aboveStats = lookAt(above);
    if (aboveStats?.isSymbolicLink()) throw heldLink(this.#scope, above);
    if (isMissing(above)) this.#holdMissing(above, 'directory', { writable: true });
    const stats = lookAt(path);
    if (stats?.isSymbolicLink()) throw heldLink(this.#scope, path);
    if (isMissing(path)) this.#holdMissing(path, kind);
    else this.#hold(path);
  }

  #holdMissing(path: string, kind: 'file' | 'directory', { writable = false } = {}): void {
    const made = standIn(path, kind);
    if (made === undefined) return; // we may not write there, so nor may the command
    this.#standIns.push(made);
    if (writable) this.#pin(path);
    else this.#hold(path);
  }

  #hold(path: string): void {
    this.#held.set(path, '--ro-bind');
    this.#pin(dirname(path));
  }

  /** Mounts a directory, and those above it in its root, on themselves: the place of a mount cannot be renamed. */
  #pin(directory: string): void {
    const root = this.#scope.find(directory)?.root.path;
    for (let path = directory; root !== undefined && path !== root && !this.#held.has(path); path = dirname(path)) {
      this.#held.set(path, '--bind');
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

function heldLink(scope: ProjectScope, path: string): ToolError {
  const shown = scope.find(path)?.shown ?? path;
  return new ToolError(
    'PROTECTED_PATH',
    `No command is run: ${quote(shown)} is protected, and as a link it cannot be held read-only in the sandbox. ` +
      'Ask the operator to put what it leads to in its place, to list it in allowProtected, or to turn the sandbox off.',
    { details: { protected: shown } },
  );
}

function entriesOf(directory: string): Dirent[] {
  try {
    return readdirSync(directory, { withFileTypes: true });
  } catch {
    return []; // gone, no directory, or not ours to read: then nor the command's
  }
}

/** Nothing is there, or what stands in for it: that too has to be kept as long as this command needs it. */
function isMissing(path: string): boolean {
  return lookAt(path) === undefined || isStandIn(path);
}

function lookAt(path: string): Stats | undefined {
  return lstatSync(path, { throwIfNoEntry: false });
}
