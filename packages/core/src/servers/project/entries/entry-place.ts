// A name in an open directory: the source or destination of a move, copy or deletion. Unlike the target of a write it is
// the entry itself: a link in the last place is never followed.

import type { BigIntStats } from 'node:fs';
import { link, lstat, open, rename, unlink } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { ToolError } from '../../../contract/errors.js';
import { entryPath } from '../open/directory-entries.js';
import { errnoOf } from '../open/file-failure.js';
import { lockKeyOf } from '../write/file-lock.js';
import { MadeDirectories } from '../write/made-directories.js';
import type { OpenedPath } from '../open/opened-path.js';
import { lstatIfThere, notFound, openFailure, openOrMake, spellingIn } from '../open/path-lookup.js';
import { quote, type ProjectScope, type ScopePath } from '../scope/project-scope.js';

/** Requirements for a place. */
export interface EntryPlaceOptions {
  /** Refuse paths that may not be written. */
  write: boolean;
  /** Throw NOT_FOUND, with similar names, if it does not exist. Default: false. */
  mustExist?: boolean;
  /** Create missing parent directories. Default: false. */
  createDirs?: boolean;
}

/** A name in an open directory, and the entry that it had when it was opened. Hold it with `await using`. */
export class EntryPlace implements AsyncDisposable {
  readonly directory: OpenedPath;
  readonly name: string;
  readonly path: ScopePath;
  /** The stats of the entry itself; undefined if it does not exist. */
  readonly stats: BigIntStats | undefined;
  readonly #made: MadeDirectories;

  constructor(
    directory: OpenedPath,
    name: string,
    path: ScopePath,
    stats: BigIntStats | undefined,
    made: MadeDirectories,
  ) {
    this.directory = directory;
    this.name = name;
    this.path = path;
    this.stats = stats;
    this.#made = made;
  }

  /** A path for `node:fs` functions that do not follow a link in the last place. */
  get address(): string {
    return this.directory.entry(this.name);
  }

  /** The locks that a change of it takes. */
  get lockKeys(): string[] {
    return [this.path.absolute, lockKeyOf(this.path.absolute, this.stats)];
  }

  /** Whether the entry is still the one that was opened. */
  async isUnchanged(): Promise<boolean> {
    const now = await lstatIfThere(this.address);
    return now?.dev === this.stats?.dev && now?.ino === this.stats?.ino;
  }

  /** Removes the directories that were created for it, if they are empty. */
  undoDirectories(): Promise<void> {
    return this.#made.undo();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.directory.close();
    await this.#made.close();
  }
}

/**
 * Opens the place of an entry: links on the way are followed, one in the last place is not.
 *
 * @throws {ToolError} OUTSIDE_PROJECT, PROTECTED_PATH, PERMISSION_DENIED, NOT_FOUND; INVALID_ARGUMENT for a root
 */
export async function openEntryPlace(
  scope: ProjectScope,
  requested: ScopePath,
  { write, mustExist = false, createDirs = false }: EntryPlaceOptions,
): Promise<EntryPlace> {
  if (write) scope.assertWritable(requested);
  assertNoRoot(requested);
  const made = new MadeDirectories();
  let directory: OpenedPath | undefined;
  try {
    directory = await openOrMake(scope, requested, dirname(requested.absolute), createDirs ? made : undefined);
    // The name on disk if the entry exists, else the name as given.
    const name = mustExist ? await spellingIn(directory, basename(requested.absolute)) : basename(requested.absolute);
    const path = entryPath(scope, directory, name);
    assertNoRoot(path);
    if (write) scope.assertWritable(path);
    const stats = await lstatIfThere(directory.entry(name));
    if (mustExist && !stats) throw await notFound(requested, { opened: directory, missing: [name] });
    return new EntryPlace(directory, name, path, stats, made);
  } catch (error) {
    await made.undo();
    await directory?.close();
    await made.close();
    throw openFailure(error, requested);
  }
}

/**
 * Renames `from` to `to` without ever replacing an entry: EEXIST if `to` exists, even with concurrent changes. Not for
 * directories. On a file system without hard links, an empty file reserves the name first.
 *
 * @param stats the stats of the expected entry at `from`
 * @throws ESTALE when `from` is another entry, or another system error
 */
export async function renameToNew(from: string, stats: BigIntStats, to: string): Promise<void> {
  try {
    // On other systems link follows a link in the last place.
    if (stats.isSymbolicLink() && process.platform !== 'linux') throw Object.assign(new Error(), { code: 'EPERM' });
    await link(from, to);
  } catch (error) {
    if (['EEXIST', 'EXDEV', 'ENOENT', 'ENOSPC', 'EROFS'].includes(errnoOf(error) ?? '')) throw error;
    await (await open(to, 'wx', 0o600)).close();
    try {
      await rename(from, to);
    } catch (cause) {
      await unlink(to);
      throw cause;
    }
    return;
  }
  const linked = await lstat(to, { bigint: true });
  try {
    if (linked.dev !== stats.dev || linked.ino !== stats.ino) throw Object.assign(new Error(), { code: 'ESTALE' });
    await unlink(from);
  } catch (error) {
    await unlink(to);
    throw error;
  }
}

/** The error for a destination that exists. */
export function placeTaken(shown: string, isDirectory: boolean): ToolError {
  const next = isDirectory
    ? 'Give a new path inside it, or delete it first.'
    : 'Use another name, or pass overwrite=true to replace it.';
  return new ToolError('INVALID_ARGUMENT', `${quote(shown)} already exists. ${next}`);
}

function assertNoRoot({ root, absolute, shown }: ScopePath): void {
  if (absolute !== root.path) return;
  const what = root.isProject ? 'the project itself' : 'a root';
  throw new ToolError(
    'INVALID_ARGUMENT',
    `${quote(shown)} is ${what} and cannot be changed as a whole. Give a path inside it.`,
  );
}
