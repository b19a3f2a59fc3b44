// Where the last lines of a file begin, found from its end. The beginning of the file is not read.

import type { BigIntStats } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { readAt } from './byte-range.js';
import type { ReadEncoding } from './text-stream.js';

const CHUNK_BYTES = 256 * 1024;
const NEWLINE = 0x0a;
/** Of a file that is not read whole, the last lines are looked for in so much of its end. */
const MAX_SEARCHED_BYTES = 16 * 1024 * 1024;
/** What is read of a line whose beginning is not found. */
const LINE_END_BYTES = 2_000;

/** What is searched. */
export interface TailSearch {
  handle: FileHandle;
  stats: BigIntStats;
  encoding: ReadEncoding;
  /** Told after each chunk; may throw to stop. */
  onChunk: (bytesRead: number) => void;
}

/** Where the end of a file is read from. */
export interface TailStart {
  byte: number;
  /** False in the middle of a line that is longer than what was searched. */
  isLineStart: boolean;
}

/**
 * The place where the last `count` lines begin, or fewer when they are not all in the last 16 MiB and `whole` is false.
 */
export async function startOfLastLines(search: TailSearch, count: number, whole: boolean): Promise<TailStart> {
  const { handle, stats, encoding, onChunk } = search;
  const size = Number(stats.size);
  const lowest = whole ? 0 : Math.max(0, size - MAX_SEARCHED_BYTES);
  const buffer = Buffer.allocUnsafe(Math.min(CHUNK_BYTES, size + 1));
  let found = 0;
  let start = whole ? 0 : undefined;
  // Chunks begin at multiples of their even size, so that no newline of UTF-16 lies across two.
  for (let end = size; end > lowest;) {
    const begin = Math.max(lowest & ~1, Math.floor((end - 1) / CHUNK_BYTES) * CHUNK_BYTES);
    const chunk = await readAt(handle, buffer.subarray(0, end - begin), begin);
    for (let at = chunk.length; ;) {
      at = at > 0 ? chunk.lastIndexOf(NEWLINE, at - 1) : -1;
      if (at < 0) break;
      const lineStart = begin + at + (encoding === 'utf-16le' ? 2 : 1);
      // The newline at the end of the file begins no line.
      if (lineStart >= size || !isNewline(chunk, at, encoding)) continue;
      start = lineStart;
      if (++found === count) return { byte: start, isLineStart: true };
    }
    onChunk(size - begin);
    end = begin;
  }
  if (whole) return { byte: 0, isLineStart: true };
  if (start !== undefined) return { byte: start, isLineStart: true };
  const byte = (size & ~1) - LINE_END_BYTES;
  return { byte: byte + partOfCharacter(await readAt(handle, Buffer.alloc(4), byte), encoding), isLineStart: false };
}

function isNewline(chunk: Buffer, at: number, encoding: ReadEncoding): boolean {
  if (encoding === 'utf-16le') return at % 2 === 0 && chunk[at + 1] === 0;
  if (encoding === 'utf-16be') return at % 2 === 1 && chunk[at - 1] === 0;
  return true;
}

/** How many bytes at the beginning end a character that began before. */
function partOfCharacter(bytes: Buffer, encoding: ReadEncoding): number {
  if (encoding === 'utf-16le' || encoding === 'utf-16be') {
    const unit = encoding === 'utf-16le' ? bytes.readUInt16LE(0) : bytes.readUInt16BE(0);
    return (unit & 0xfc00) === 0xdc00 ? 2 : 0;
  }
  if (encoding !== 'utf-8') return 0;
  const first = bytes.findIndex((byte) => (byte & 0xc0) !== 0x80);
  return first < 0 ? 0 : first;
}
