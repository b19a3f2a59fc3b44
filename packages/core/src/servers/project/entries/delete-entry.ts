// Deletes an entry: a file, a link but not its target, a directory with its entries. Every name is removed through its
// open parent directory, so that replacing a directory by a link has no effect.

import { rmdir, unlink } from 'node:fs/promises';
import { ToolError } from '../../../contract/errors.js';
import {
  assertDepth,
  entriesOf,
  entryPath,
  openSubdirectory,
  walkTree,
  type DirectoryEntry,
} from '../open/directory-entries.js';
import { openEntryPlace, type EntryPlace } from './entry-place.js';
import { errnoOf, fileFailure, replacedMeanwhile, wasReplaced } from '../open/file-failure.js';
import { withFileLocks } from '../write/file-lock.js';
import type { OpenedPath } from '../open/opened-path.js';
import type { ProjectFiles } from '../project-files.js';
import { quote, type ScopePath } from '../scope/project-scope.js';

/** Options of {@link deleteEntry}. */
export interface DeleteEntryOptions {
  /** Delete a directory that is not empty. Default: false. */
  recursive?: boolean | undefined;
  /** An abort leaves the entries that were not deleted yet. */
  signal?: AbortSignal | undefined;
  /** Called with each path of a tree before any is changed; throws to refuse the whole tree. */
  assertPermitted?: ((shown: string) => void) | undefined;
  /** Called from time to time with the number of deleted entries. */
  onProgress?: ((removed: number) => void) | undefined;
}

/** A directory is listed again after this many entries, as deleting while reading may skip entries. */
const BATCH = 1_000;

/**
 * Deletes a file, link or directory, and returns the number of deleted entries. Nothing is deleted from a directory that
 * contains a protected path or a root.
 *
 * @throws {ToolError} NOT_FOUND, OUTSIDE_PROJECT, PROTECTED_PATH, PERMISSION_DENIED, CANCELLED; INVALID_ARGUMENT for a
 * root, and for a directory that is not empty without `recursive`; LOCKED when other processes keep adding entries
 */
export async function deleteEntry(
  files: ProjectFiles,
  path: string,
  options: DeleteEntryOptions = {},
): Promise<number> {
  const requested = files.scope.parse(path);
  await using place = await openEntryPlace(files.scope, requested, { write: true, mustExist: true });
  return await withFileLocks(place.lockKeys, async () => {
    options.signal?.throwIfAborted();
    try {
      await place.directory.assertStillInside();
      if (place.stats?.isDirectory()) return await deleteDirectory(files, requested, place, options);
      await unlink(place.address);
      announce(files, place, 'deleted');
      return 1;
    } catch (error) {
      if (wasReplaced(error)) throw replacedMeanwhile(requested.shown, 'deleted');
      throw fileFailure(error, 'delete', requested.shown);
    }
  });
}

async function deleteDirectory(
  files: ProjectFiles,
  requested: ScopePath,
  place: EntryPlace,
  { recursive = false, signal, onProgress, assertPermitted }: DeleteEntryOptions,
): Promise<number> {
  const { scope } = files;
  if (scope.holdsRoot(place.path)) {
    throw new ToolError(
      'INVALID_ARGUMENT',
      `${quote(requested.shown)} contains a root of the tools and cannot be deleted. Delete its other entries.`,
    );
  }
  if (!recursive) {
    await rmdir(place.address).catch((error: unknown) => {
      throw isNotEmpty(error)
        ? new ToolError(
            'INVALID_ARGUMENT',
            `${quote(requested.shown)} is not empty. Set recursive to delete it with its content.`,
          )
        : error;
    });
    announce(files, place, 'deleted');
    return 1;
  }
  const deletion = new TreeDeletion(files, requested, signal, onProgress);
  try {
    await using directory = await openSubdirectory(scope, requested, place.directory, place);
    // All paths are checked before any is deleted.
    await walkTree(scope, requested, directory, (_entry, path) => {
      signal?.throwIfAborted();
      scope.assertWritable(path);
      assertPermitted?.(path.shown);
    });
    await deletion.empty(directory, 1);
    await place.directory.assertStillInside();
    await rmdir(place.address);
    deletion.removed++;
  } catch (error) {
    if (deletion.removed > 0) announce(files, place, 'changed');
    throw isNotEmpty(error) ? filledAgain(requested) : error;
  }
  announce(files, place, 'deleted');
  return deletion.removed;
}

class TreeDeletion {
  removed = 0;
  readonly #files: ProjectFiles;
  readonly #requested: ScopePath;
  readonly #signal: AbortSignal | undefined;
  readonly #onProgress: ((removed: number) => void) | undefined;

  constructor(
    files: ProjectFiles,
    requested: ScopePath,
    signal: AbortSignal | undefined,
    onProgress: ((removed: number) => void) | undefined,
  ) {
    this.#files = files;
    this.#requested = requested;
    this.#signal = signal;
    this.#onProgress = onProgress;
  }

  async empty(directory: OpenedPath, level: number): Promise<void> {
    assertDepth(this.#requested, level);
    for (;;) {
      const batch: DirectoryEntry[] = [];
      for await (const entry of entriesOf(directory)) {
        batch.push(entry);
        if (batch.length === BATCH) break;
      }
      await directory.assertStillInside();
      for (const entry of batch) await this.#remove(directory, entry, level);
      if (batch.length < BATCH) return;
    }
  }

  async #remove(directory: OpenedPath, entry: DirectoryEntry, level: number): Promise<void> {
    this.#signal?.throwIfAborted();
    // Checked again: it may have been created, or its directory moved, since the tree was walked.
    this.#files.scope.assertWritable(entryPath(this.#files.scope, directory, entry.name));
    try {
      if (entry.type === 'dir') {
        await using subdirectory = await openSubdirectory(this.#files.scope, this.#requested, directory, entry);
        await this.empty(subdirectory, level + 1);
        await rmdir(entry.address);
      } else await unlink(entry.address);
    } catch (error) {
      if (errnoOf(error) === 'ENOENT') return; // another process deleted it
      throw error;
    }
    this.removed++;
    if (this.removed % BATCH === 0) this.#onProgress?.(this.removed);
  }
}

function announce(files: ProjectFiles, { path, stats }: EntryPlace, kind: 'deleted' | 'changed'): void {
  const { shown, absolute } = path;
  files.announce({ path: shown, absolute, kind, ...(stats?.isDirectory() && { directory: true as const }) });
}

function isNotEmpty(error: unknown): boolean {
  return ['ENOTEMPTY', 'EEXIST'].includes(errnoOf(error) ?? '');
}

function filledAgain(requested: ScopePath): ToolError {
  return new ToolError(
    'LOCKED',
    `Entries were added to ${quote(requested.shown)} while it was being deleted; they were kept. Check them, then try again.`,
  );
}
