// Writing into a file that cannot be replaced by another: it keeps its inode and all its names, and a crash in the
// middle leaves a part of each version. A failure does not: the old content is put back.

import { constants, type BigIntStats } from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';
import { ToolError } from '../../../contract/errors.js';
import { fileFailure } from '../open/file-failure.js';
import { MAX_WHOLE_FILE_BYTES, readWhole } from '../open/file-content.js';
import type { WriteTarget } from '../open/path-lookup.js';
import { quote } from '../scope/project-scope.js';

const {
  O_RDWR,
  O_NOFOLLOW = 0,
  O_NONBLOCK = 0,
  O_NOCTTY = 0,
} = constants as Partial<typeof constants> & { O_RDWR: number };

/**
 * Writes into the file that is there, and gives its stats. What may fail for want of space comes first, while the old
 * content is still whole; when a later step fails the old content is written back, up to 64 MiB.
 *
 * @throws {ToolError} FILE_CHANGED when it is no longer what `target` saw; or what the system says
 */
export async function writeInPlace(target: WriteTarget, bytes: Uint8Array, fsync: boolean): Promise<BigIntStats> {
  await using handle = await open(target.directory.entry(target.name), O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
  await target.directory.assertStillInside();
  const stats = await handle.stat({ bigint: true });
  assertUnchanged(target, stats);
  const oldSize = Number(stats.size);
  const old = oldSize <= MAX_WHOLE_FILE_BYTES ? await readWhole(handle, stats) : undefined;
  try {
    await writeAll(handle, bytes.subarray(oldSize), oldSize);
  } catch (error) {
    await handle.truncate(oldSize);
    throw error;
  }
  try {
    await writeAll(handle, bytes.subarray(0, oldSize), 0);
    if (bytes.length < oldSize) await handle.truncate(bytes.length);
    if (fsync) await handle.sync();
    return await handle.stat({ bigint: true });
  } catch (error) {
    if (!old || !(await isWritten(handle, old))) throw notPutBack(error, target);
    throw error;
  }
}

async function isWritten(handle: FileHandle, old: Buffer): Promise<boolean> {
  try {
    await writeAll(handle, old, 0);
    await handle.truncate(old.length);
    return true;
  } catch {
    return false; // the caller says so, with the error that came first
  }
}

function notPutBack(error: unknown, { path }: WriteTarget): ToolError {
  const { code, message, details } = fileFailure(error, 'write', path.shown);
  return new ToolError(code, `${message} Its old content could not be put back; look at it.`, {
    details: { ...details, not_restored: [path.shown] },
    cause: error,
  });
}

async function writeAll(handle: FileHandle, bytes: Uint8Array, position: number): Promise<void> {
  for (let done = 0; done < bytes.length;) {
    const { bytesWritten } = await handle.write(bytes, done, bytes.length - done, position + done);
    done += bytesWritten;
  }
}

/** @throws {ToolError} FILE_CHANGED unless `now` is what `target` saw */
export function assertUnchanged(target: WriteTarget, now: BigIntStats | undefined): void {
  const { stats } = target;
  const same =
    stats && now
      ? now.dev === stats.dev && now.ino === stats.ino && now.size === stats.size && now.mtimeNs === stats.mtimeNs
      : stats === now;
  if (same) return;
  throw new ToolError(
    'FILE_CHANGED',
    `${quote(target.path.shown)} was changed by somebody else while it was being written; nothing was written. Read it again.`,
  );
}
