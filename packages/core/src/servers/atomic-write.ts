// Putting bytes into a file so that it has either its old content or its new one, whatever happens in between.

import { randomBytes } from 'node:crypto';
import { constants, type BigIntStats } from 'node:fs';
import { link, lstat, open, opendir, rename, unlink, type FileHandle } from 'node:fs/promises';
import { ToolError } from '../errors.js';
import { errnoOf } from './file-failure.js';
import type { OpenedPath } from './opened-path.js';
import type { WriteTarget } from './path-lookup.js';
import { quote } from './project-scope.js';

const {
  O_RDONLY,
  O_WRONLY,
  O_CREAT,
  O_EXCL,
  O_NOFOLLOW = 0,
  O_DIRECTORY = 0,
  O_NONBLOCK = 0,
  O_NOCTTY = 0,
} = constants as Partial<typeof constants> & { O_RDONLY: number; O_WRONLY: number; O_CREAT: number; O_EXCL: number };

const PERMISSIONS = 0o7777n;
const TEMPORARY_NAME = /^\.toolwright-[0-9a-f]{16}\.tmp$/;
/** What a crash left is removed when it is this old; younger files may be another process's, at work. */
const ABANDONED_AFTER_MS = 10 * 60_000;
const MAX_SWEPT_DIRECTORIES = 10_000;

/** For ripgrep and listings: the glob of the files that exist while a write is under way. */
export const TEMPORARY_GLOB = '.toolwright-*.tmp';

/** A name for such a file. */
export function temporaryName(): string {
  return `.toolwright-${randomBytes(8).toString('hex')}.tmp`;
}

/** True for the name of such a file. */
export function isTemporaryName(name: string): boolean {
  return TEMPORARY_NAME.test(name);
}

/** How {@link writeAtomically} writes. */
export interface AtomicWriteOptions {
  /** Wait until the disk has it. */
  fsync: boolean;
  /** Until the file is put in its place an abort leaves the old one; after that it is too late. */
  signal?: AbortSignal | undefined;
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
  if (target.stats && target.stats.nlink > 1n) return writeInPlace(target, bytes, options);
  await removeAbandoned(target.directory);
  const temporary = target.directory.entry(temporaryName());
  let handle: FileHandle | undefined;
  try {
    handle = await open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_NOCTTY, target.stats ? 0o600 : 0o666);
    await handle.writeFile(bytes, options.signal ? { signal: options.signal } : {});
    if (target.stats) await takeOver(handle, target.stats);
    if (options.fsync) await handle.sync();
    options.signal?.throwIfAborted();
    await target.directory.assertStillInside();
    await putInPlace(target, temporary);
    if (options.fsync) await syncDirectory(target.directory);
    return await handle.stat({ bigint: true });
  } catch (error) {
    await unlink(temporary).catch(() => {}); // never made, or renamed already
    if (target.stats && mustWriteInPlace(error)) return await writeInPlace(target, bytes, options);
    throw error;
  } finally {
    await handle?.close();
  }
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
    assertUnchanged(target, await lstat(place, { bigint: true }).catch(() => undefined));
    await rename(temporary, place);
    return;
  }
  try {
    await link(temporary, place); // unlike rename it never replaces a file that came into being meanwhile
  } catch (error) {
    if (errnoOf(error) === 'EEXIST') throw changed(target);
    if (await lstat(place).catch(() => undefined)) throw changed(target);
    await rename(temporary, place); // a file system without hard links
    return;
  }
  await unlink(temporary);
}

async function writeInPlace(
  target: WriteTarget,
  bytes: Uint8Array,
  { fsync, signal }: AtomicWriteOptions,
): Promise<BigIntStats> {
  signal?.throwIfAborted();
  await using handle = await open(target.directory.entry(target.name), O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
  await target.directory.assertStillInside();
  assertUnchanged(target, await handle.stat({ bigint: true }));
  const oldSize = Number(target.stats?.size ?? 0n);
  if (bytes.length > oldSize) {
    // What may fail for want of space comes first, while the old content is still whole.
    try {
      await writeAll(handle, bytes.subarray(oldSize), oldSize);
    } catch (error) {
      await handle.truncate(oldSize);
      throw error;
    }
  }
  await writeAll(handle, bytes.subarray(0, oldSize), 0);
  if (bytes.length < oldSize) await handle.truncate(bytes.length);
  if (fsync) await handle.sync();
  return await handle.stat({ bigint: true });
}

async function writeAll(handle: FileHandle, bytes: Uint8Array, position: number): Promise<void> {
  for (let done = 0; done < bytes.length;) {
    const { bytesWritten } = await handle.write(bytes, done, bytes.length - done, position + done);
    done += bytesWritten;
  }
}

function assertUnchanged(target: WriteTarget, now: BigIntStats | undefined): void {
  const { stats } = target;
  const same =
    stats &&
    now &&
    now.dev === stats.dev &&
    now.ino === stats.ino &&
    now.size === stats.size &&
    now.mtimeNs === stats.mtimeNs;
  if (!same) throw changed(target);
}

function changed(target: WriteTarget): ToolError {
  return new ToolError(
    'FILE_CHANGED',
    `${quote(target.path.shown)} was changed by somebody else while it was being written; nothing was written. Read it again.`,
  );
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

const swept = new Set<string>();

/** Removes what a crashed process left in a directory; once a directory, as it costs a listing. */
async function removeAbandoned(directory: OpenedPath): Promise<void> {
  const key = directory.path.absolute;
  if (swept.has(key)) return;
  if (swept.size >= MAX_SWEPT_DIRECTORIES) swept.clear();
  swept.add(key);
  try {
    for await (const { name } of await opendir(directory.address)) {
      if (!isTemporaryName(name)) continue;
      const { mtimeMs } = await lstat(directory.entry(name));
      if (Date.now() - mtimeMs > ABANDONED_AFTER_MS) await unlink(directory.entry(name));
    }
  } catch {
    // Tidying up is a courtesy: the write itself says whether the directory can be used.
  }
}
