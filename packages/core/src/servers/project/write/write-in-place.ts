// Writes a file in place if it cannot be replaced: it keeps its inode and all hard links, but a crash may leave a mixture
// of both versions. After a failure the old content is restored.

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
 * Writes into the existing file, and returns its stats. Space is allocated first, while the old content is intact; if a
 * later step fails, the old content is restored, up to 64 MiB.
 *
 * @throws {ToolError} FILE_CHANGED when it is no longer the file of `target`; or a system error
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
    return false; // the caller reports it with the first error
  }
}

function notPutBack(error: unknown, { path }: WriteTarget): ToolError {
  const { code, message, details } = fileFailure(error, 'write', path.shown);
  return new ToolError(code, `${message} Its old content could not be restored; check the file.`, {
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

/** @throws {ToolError} FILE_CHANGED unless `now` is the version of `target` */
export function assertUnchanged(target: WriteTarget, now: BigIntStats | undefined): void {
  const { stats } = target;
  const same =
    stats && now
      ? now.dev === stats.dev && now.ino === stats.ino && now.size === stats.size && now.mtimeNs === stats.mtimeNs
      : stats === now;
  if (same) return;
  throw new ToolError(
    'FILE_CHANGED',
    `${quote(target.path.shown)} was changed by another process during the write; nothing was written. Read it again.`,
  );
}
