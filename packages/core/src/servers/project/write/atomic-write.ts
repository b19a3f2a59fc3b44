// Putting bytes into a file so that it has either its old content or its new one, whatever happens in between: all that
// takes time or may fail is done to a file beside it, which then takes its name.

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

/** How {@link writeAtomically} writes. */
export interface AtomicWriteOptions {
  /** Wait until the disk has it. */
  fsync: boolean;
  /** Until the file is put in its place an abort leaves the old one; after that it is too late. */
  signal?: AbortSignal | undefined;
  /** The permissions of a new file. Default: what the umask says. */
  mode?: bigint | undefined;
}

/** A file's new content, ready beside it. {@link commit} or {@link discard} it. */
export interface StagedWrite {
  /** True when there is nothing beside it, as the file cannot be replaced: it is written when it is committed. */
  readonly inPlace: boolean;
  /** Puts it in its place and gives its stats; when that fails the old content stays, and nothing is beside it any more. */
  commit(): Promise<BigIntStats>;
  /** Removes what is beside the file. */
  discard(): Promise<void>;
}

/**
 * Writes a file by a temporary one beside it. What was there keeps its owner and mode; the new one gets what the umask
 * says. Gives the stats of what was written.
 *
 * A file with several names, or one that cannot be replaced (its directory is not writable, it is a mount of its own,
 * its owner cannot be kept), is written in place instead, so that nothing of it is lost but atomicity.
 *
 * @throws {ToolError} FILE_CHANGED when what is there is no longer what `target` saw, CANCELLED; or what the system says
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
 * The first half of {@link writeAtomically}: everything that can be done while the old content stays.
 *
 * @throws {ToolError} CANCELLED; or what the system says. Nothing is left beside the file then.
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
  // Gone already, or left to whoever writes here when this process has ended.
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

/** Thrown inside only: the file's owner cannot be given to a new file. */
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
    await link(temporary, place); // unlike rename it never replaces a file that came into being meanwhile
  } catch (error) {
    // Whatever is there now, it is not what was seen: nothing.
    assertUnchanged(target, await lstat(place, { bigint: true }).catch(() => undefined));
    if (errnoOf(error) === 'ENOENT') throw error;
    await rename(temporary, place); // a file system without hard links
    return;
  }
  await unlink(temporary).catch(() => {}); // the file is there; its second name goes when this process has ended
}

function mustWriteInPlace(error: unknown): boolean {
  // EBUSY and EXDEV: the file is a mount of its own, as containers make them.
  return error instanceof OwnerIsLost || ['EACCES', 'EPERM', 'EBUSY', 'EXDEV'].includes(errnoOf(error) ?? '');
}

/** Waits until the disk has the names in a directory. */
export async function syncDirectory(directory: OpenedPath): Promise<void> {
  try {
    await using handle = await open(directory.address, O_RDONLY | O_DIRECTORY);
    await handle.sync();
  } catch {
    // Some systems cannot sync a directory, and there the rename is as durable as it gets.
  }
}
