// Moves an entry by one rename between two open directories. An existing entry is never replaced without `overwrite`.

import type { BigIntStats } from 'node:fs';
import { mkdir, opendir, readlink, rename, rmdir, unlink } from 'node:fs/promises';
import { ToolError } from '../../../contract/errors.js';
import { Copying, intoItself } from './copy-entry.js';
import { entryPath, openSubdirectory, walkTree } from '../open/directory-entries.js';
import { openEntryPlace, placeTaken, renameToNew, type EntryPlace } from './entry-place.js';
import { errnoOf, fileFailure, replacedMeanwhile, wasReplaced } from '../open/file-failure.js';
import { withFileLocks } from '../write/file-lock.js';
import { leadsOutside } from '../open/link-target.js';
import { lstatIfThere } from '../open/path-lookup.js';
import type { ProjectFiles } from '../project-files.js';
import { isInside, quote, type ScopePath } from '../scope/project-scope.js';

/** Options of {@link moveEntry}. */
export interface MoveEntryOptions {
  /** Replace a file or a link at the destination. Default: false. */
  overwrite?: boolean | undefined;
  /** An abort before the rename changes nothing. */
  signal?: AbortSignal | undefined;
  /** Called with each old and new path of a tree before it is moved; throws to refuse. */
  assertPermitted?: ((shown: string) => void) | undefined;
}

/**
 * Moves or renames a file, link or directory; returns whether an entry was replaced. A link is moved itself. A file that a
 * session has read counts as read under its new path.
 *
 * Without `overwrite` nothing is replaced, even if it is created concurrently: a file is linked to its new name and then
 * unlinked from the old one; a directory replaces an empty one that was created for it. Between two file systems a file is
 * copied, then deleted; a directory is refused.
 *
 * @throws {ToolError} NOT_FOUND, OUTSIDE_PROJECT, PROTECTED_PATH (also for a directory that holds such a path),
 * PERMISSION_DENIED, FILE_CHANGED, NO_CHANGE, CANCELLED; INVALID_ARGUMENT for a root, a destination that exists, a
 * directory into itself, or one that would go to another file system
 */
export async function moveEntry(
  files: ProjectFiles,
  source: string,
  destination: string,
  options: MoveEntryOptions = {},
): Promise<{ overwritten: boolean }> {
  const { scope } = files;
  const from = scope.parse(source);
  const to = scope.parse(destination);
  if (isInside(from.absolute, to.absolute)) throw intoItself(from, to, 'moved');
  await using origin = await openEntryPlace(scope, from, { write: true, mustExist: true });
  await using target = await openEntryPlace(scope, to, { write: true, createDirs: true });
  try {
    if (isInside(origin.path.absolute, target.path.absolute)) throw intoItself(from, to, 'moved');
    await assertMayMove(files, from, origin, target, options);
    const respelled = await isOtherSpelling(origin, target);
    const isDirectory = origin.stats?.isDirectory() === true;
    if (target.stats && !respelled && (!options.overwrite || isDirectory || target.stats.isDirectory()))
      throw placeTaken(to.shown, isDirectory || target.stats.isDirectory());
    const overwritten = target.stats !== undefined && !respelled;
    await withFileLocks([...origin.lockKeys, ...target.lockKeys], async () => {
      options.signal?.throwIfAborted();
      await origin.directory.assertStillInside();
      await target.directory.assertStillInside();
      if (!(await origin.isUnchanged())) throw replacedMeanwhile(from.shown, 'moved');
      if (respelled) await rename(origin.address, target.address);
      const stats = respelled ? origin.stats : await put(files, from, origin, target, options);
      if (stats?.isFile())
        files.tracker.moved(origin.path.absolute, { path: target.path.absolute, dev: stats.dev, ino: stats.ino });
    });
    announce(files, origin, target);
    return { overwritten };
  } catch (error) {
    await target.undoDirectories();
    if (errnoOf(error) === 'ESTALE' || wasReplaced(error)) throw replacedMeanwhile(from.shown, 'moved');
    if (['EEXIST', 'ENOTEMPTY'].includes(errnoOf(error) ?? '')) throw placeTaken(to.shown, false);
    throw fileFailure(error, 'move', from.shown);
  }
}

async function assertMayMove(
  files: ProjectFiles,
  requested: ScopePath,
  origin: EntryPlace,
  target: EntryPlace,
  { signal, assertPermitted }: MoveEntryOptions,
): Promise<void> {
  const { scope } = files;
  if (origin.stats?.isSymbolicLink()) {
    const text = await readlink(origin.address);
    const wasInside = !(await leadsOutside(scope, requested, origin.directory, text));
    if (wasInside && (await leadsOutside(scope, requested, target.directory, text)))
      throw scope.outside(requested.shown, 'is a link that would resolve outside the project from its new location');
  }
  if (!origin.stats?.isDirectory()) return;
  if (scope.holdsRoot(origin.path)) {
    throw new ToolError(
      'INVALID_ARGUMENT',
      `${quote(requested.shown)} contains a root of the tools and cannot be moved. Move its other entries.`,
    );
  }
  await using directory = await openSubdirectory(scope, requested, origin.directory, origin);
  await walkTree(scope, requested, directory, (_entry, path, below) => {
    signal?.throwIfAborted();
    scope.assertWritable(path);
    const place = entryPath(scope, target.directory, `${target.name}/${below}`);
    scope.assertWritable(place);
    assertPermitted?.(path.shown);
    assertPermitted?.(place.shown);
  });
}

/** Whether both names are one entry, on a file system that ignores case; two hard links are two entries. */
async function isOtherSpelling(origin: EntryPlace, target: EntryPlace): Promise<boolean> {
  const one = origin.directory.stats;
  const other = target.directory.stats;
  if (one.dev !== other.dev || one.ino !== other.ino) return false;
  if (!target.stats || target.stats.dev !== origin.stats?.dev || target.stats.ino !== origin.stats.ino) return false;
  for await (const { name } of await opendir(target.directory.address)) if (name === target.name) return false;
  return true;
}

/** Returns the stats of the moved entry. */
async function put(
  files: ProjectFiles,
  requested: ScopePath,
  origin: EntryPlace,
  target: EntryPlace,
  options: MoveEntryOptions,
): Promise<BigIntStats | undefined> {
  try {
    if (origin.stats?.isDirectory()) await renameDirectory(origin.address, target.address);
    else if (options.overwrite) await renameOver(origin, target);
    else if (origin.stats) await renameToNew(origin.address, origin.stats, target.address);
  } catch (error) {
    if (errnoOf(error) !== 'EXDEV') throw error;
    return await putElsewhere(files, requested, origin, target, options);
  }
  return origin.stats;
}

async function renameDirectory(from: string, to: string): Promise<void> {
  if (process.platform === 'win32') return rename(from, to); // there it never replaces a directory
  // An empty directory reserves the name: mkdir fails if it exists, and the rename replaces only the empty directory.
  await mkdir(to, 0o700);
  try {
    await rename(from, to);
  } catch (error) {
    await rmdir(to).catch(() => {}); // another process added entries
    throw error;
  }
}

async function renameOver(origin: EntryPlace, target: EntryPlace): Promise<void> {
  await rename(origin.address, target.address);
  // Between two names of one file rename does nothing, https://man7.org/linux/man-pages/man2/rename.2.html
  const left = target.stats && (await lstatIfThere(origin.address));
  if (left && left.dev === target.stats?.dev && left.ino === target.stats.ino) await unlink(origin.address);
}

async function putElsewhere(
  files: ProjectFiles,
  requested: ScopePath,
  origin: EntryPlace,
  target: EntryPlace,
  options: MoveEntryOptions,
): Promise<BigIntStats | undefined> {
  if (!origin.stats || origin.stats.isDirectory()) {
    throw new ToolError(
      'INVALID_ARGUMENT',
      `${quote(requested.shown)} cannot be moved: the destination is on another file system. Use copy with recursive=true, then delete.`,
    );
  }
  const copying = new Copying(files, requested, { signal: options.signal });
  const stats = await copying.one(origin.directory, origin, target.directory, target.name, options.overwrite);
  if (!(await origin.isUnchanged())) throw replacedMeanwhile(requested.shown, 'moved');
  await unlink(origin.address);
  return stats;
}

function announce(files: ProjectFiles, origin: EntryPlace, target: EntryPlace): void {
  files.announce({
    path: target.path.shown,
    absolute: target.path.absolute,
    kind: 'moved',
    ...(origin.stats?.isDirectory() && { directory: true as const }),
    from: { path: origin.path.shown, absolute: origin.path.absolute },
  });
}
