// Writes a file so that it has either its old or its new content, even after a crash: everything slow or fallible is done
// to a temporary file in the same directory, which is then renamed.

import { constants, type BigIntStats } from 'node:fs';
import { link, lstat, open, rename, unlink, type FileHandle } from 'node:fs/promises';
import { errnoOf } from '../open/file-failure.js';
import type { OpenedPath } from '../open/opened-path.js';
import { lstatIfThere, type WriteTarget } from '../open/path-lookup.js';
import { temporaryName } from './temporary-files.js';
import { assertUnchanged, writeInPlace } from './write-in-place.js';

export { isTemporaryName, TEMPORARY_GLOB, temporaryName } from './temporary-files.js';

const {
  O_RDONLY,
  O_WRONLY,
  O_CREAT,
  O_EXCL,
  O_NOFOLLOW = 0,
  O_DIRECTORY = 0,
  O_NOCTTY = 0,
} = constants as Partial<typeof constants> & { O_RDONLY: number; O_WRONLY: number; O_CREAT: number; O_EXCL: number };

const PERMISSIONS = 0o7777n;

/** Options of {@link writeAtomically}. */
export interface AtomicWriteOptions {
  /** Wait for the disk. */
  fsync: boolean;
  /** An abort before the rename leaves the old file; a later one has no effect. */
  signal?: AbortSignal | undefined;
  /** The permissions of a new file. Default: from the umask. */
  mode?: bigint | undefined;
}

/** The new content in a temporary file. {@link commit} or {@link discard} it. */
export interface StagedWrite {
  /** No temporary file exists, as the file cannot be replaced: it is written in place by {@link commit}. */
  readonly inPlace: boolean;
  /** Renames the temporary file and returns its stats; on failure the old content stays and the temporary file is removed. */
  commit(): Promise<BigIntStats>;
  /** Removes the temporary file. */
  discard(): Promise<void>;
}

/**
 * Writes a file through a temporary one in the same directory. An existing file keeps its owner and mode; a new one gets
 * its mode from the umask. Returns the stats of the written file.
 *
 * A file with several hard links, or one that cannot be replaced (its directory is not writable, it is a mount point, its
 * owner cannot be preserved), is written in place instead; only atomicity is lost.
 *
 * @throws {ToolError} FILE_CHANGED when the file is no longer the one of `target`, CANCELLED; or a system error
 */
export async function writeAtomically(
  target: WriteTarget,
  bytes: Uint8Array,
  options: AtomicWriteOptions,
): Promise<BigIntStats> {
  const staged = await stageWrite(target, bytes, options);
  const stats = await staged.commit();
  if (options.fsync && !staged.inPlace) await syncDirectory(target.directory);
  return stats;
}

/**
 * The first half of {@link writeAtomically}: everything up to the rename.
 *
 * @throws {ToolError} CANCELLED; or a system error. The temporary file is then removed.
 */
export async function stageWrite(
  target: WriteTarget,
  bytes: Uint8Array,
  { fsync, signal, mode }: AtomicWriteOptions,
): Promise<StagedWrite> {
  const inPlace: StagedWrite = {
    inPlace: true,
    commit: () => writeInPlace(target, bytes, fsync),
    discard: async () => {},
  };
  signal?.throwIfAborted();
  if (target.stats && target.stats.nlink > 1n) return inPlace;
  const temporary = target.directory.entry(temporaryName());
  // Already removed, or left for the next writer to remove after this process has ended.
  const discard = (): Promise<void> => unlink(temporary).catch(() => {});
  let handle: FileHandle | undefined;
  let stats: BigIntStats;
  try {
    handle = await open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_NOCTTY, target.stats ? 0o600 : 0o666);
    await handle.writeFile(bytes, signal ? { signal } : {});
    if (target.stats) await takeOver(handle, target.stats);
    else if (mode !== undefined) await handle.chmod(Number(mode & PERMISSIONS));
    if (fsync) await handle.sync();
    stats = await handle.stat({ bigint: true });
    signal?.throwIfAborted();
  } catch (error) {
    await discard();
    if (target.stats && mustWriteInPlace(error)) return inPlace;
    throw error;
  } finally {
    await handle?.close();
  }
  const commit = async (): Promise<BigIntStats> => {
    try {
      await target.directory.assertStillInside();
      await putInPlace(target, temporary);
      return stats;
    } catch (error) {
      await discard();
      if (target.stats && mustWriteInPlace(error)) return await inPlace.commit();
      throw error;
    }
  };
  return { inPlace: false, commit, discard };
}

/** Internal: the owner of the file cannot be set on a new file. */
class OwnerIsLost extends Error {}

async function takeOver(handle: FileHandle, original: BigIntStats): Promise<void> {
  const own = await handle.stat({ bigint: true });
  if (own.uid !== original.uid || own.gid !== original.gid) {
    try {
      await handle.chown(Number(original.uid), Number(original.gid));
    } catch {
      throw new OwnerIsLost();
    }
  }
  // After the owner: a change of owner clears the set-user-id bits.
  await handle.chmod(Number(original.mode & PERMISSIONS));
}

async function putInPlace(target: WriteTarget, temporary: string): Promise<void> {
  const place = target.directory.entry(target.name);
  if (target.stats) {
    assertUnchanged(target, await lstatIfThere(place));
    await rename(temporary, place);
    return;
  }
  try {
    await link(temporary, place); // unlike rename it never replaces a file created in the meantime
  } catch (error) {
    // A file was created in the meantime, though none existed before.
    assertUnchanged(target, await lstat(place, { bigint: true }).catch(() => undefined));
    if (errnoOf(error) === 'ENOENT') throw error;
    await rename(temporary, place); // a file system without hard links
    return;
  }
  await unlink(temporary).catch(() => {}); // the file is complete; its second name is removed after this process has ended
}

function mustWriteInPlace(error: unknown): boolean {
  // EBUSY and EXDEV: the file is a mount point, as in containers.
  return error instanceof OwnerIsLost || ['EACCES', 'EPERM', 'EBUSY', 'EXDEV'].includes(errnoOf(error) ?? '');
}

/** Syncs the names in a directory to the disk. */
export async function syncDirectory(directory: OpenedPath): Promise<void> {
  try {
    await using handle = await open(directory.address, O_RDONLY | O_DIRECTORY);
    await handle.sync();
  } catch {
    // Some systems cannot sync a directory; the rename is then as durable as possible.
  }
}
