// Reads the content of a file, and computes the etag that identifies it.

import { createHash } from 'node:crypto';
import { constants, type BigIntStats } from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';
import { ToolError } from '../../../contract/errors.js';
import type { WriteTarget } from './path-lookup.js';
import { quote } from '../scope/project-scope.js';

const {
  O_RDONLY,
  O_NOFOLLOW = 0,
  O_NONBLOCK = 0,
  O_NOCTTY = 0,
} = constants as Partial<typeof constants> & { O_RDONLY: number };

/**
 * Files up to this size are read whole: they are counted, hashed and edited. Larger ones are paged, and their etag
 * is computed from size, time and inode instead of the content.
 */
export const MAX_WHOLE_FILE_BYTES = 64 * 1024 * 1024;

/** A version of a file. */
export interface FileContent {
  /** The content. */
  bytes: Buffer;
  /** Identifies this version: the first 16 hex digits of the content's SHA-256. */
  etag: string;
}

/** The existing file of a change. */
export interface CurrentFile {
  /** Undefined above {@link MAX_WHOLE_FILE_BYTES}. */
  bytes: Buffer | undefined;
  /** Identifies the content. */
  etag: string;
  /** The size in bytes. */
  size: number;
}

/** Reads the file that a write will replace. @throws {ToolError} FILE_CHANGED when it was replaced since */
export async function readCurrent(target: WriteTarget, stats: BigIntStats): Promise<CurrentFile> {
  await using handle = await open(target.directory.entry(target.name), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
  const opened = await handle.stat({ bigint: true });
  if (opened.dev !== stats.dev || opened.ino !== stats.ino) {
    throw new ToolError(
      'FILE_CHANGED',
      `${quote(target.path.shown)} was replaced while it was being opened; nothing was written. Read it again.`,
    );
  }
  const bytes = await readWhole(handle, opened);
  return { bytes, etag: bytes ? etagOfBytes(bytes) : etagOfStats(opened), size: Number(opened.size) };
}

/** The whole content; undefined above {@link MAX_WHOLE_FILE_BYTES}, also when it grows while it is read. */
export async function readWhole(handle: FileHandle, stats: BigIntStats): Promise<Buffer | undefined> {
  if (stats.size > MAX_WHOLE_FILE_BYTES) return undefined;
  // One byte more than the size, to detect the end of the file with one read.
  let buffer = Buffer.allocUnsafe(Number(stats.size) + 1);
  let length = 0;
  for (;;) {
    const { bytesRead } = await handle.read(buffer, length, buffer.length - length, length);
    if (bytesRead === 0) return buffer.subarray(0, length);
    length += bytesRead;
    if (length > MAX_WHOLE_FILE_BYTES) return undefined;
    if (length === buffer.length) buffer = Buffer.concat([buffer], 2 * buffer.length + 4096);
  }
}

/** The etag of a content: the first 16 hex digits of its SHA-256. */
export function etagOfBytes(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex').slice(0, 16);
}

/** The etag of a file that is too large to be hashed. */
export function etagOfStats({ dev, ino, size, mtimeNs }: BigIntStats): string {
  return etagOfBytes(Buffer.from(`${dev}:${ino}:${size}:${mtimeNs}`));
}
/** Fills the buffer from a position in the file. The result shares its memory, and is shorter only at the end of the file. */

export async function readAt(handle: FileHandle, buffer: Buffer, position: number): Promise<Buffer> {
  let length = 0;
  while (length < buffer.length) {
    const { bytesRead } = await handle.read(buffer, length, buffer.length - length, position + length);
    if (bytesRead === 0) break;
    length += bytesRead;
  }
  return buffer.subarray(0, length);
}
