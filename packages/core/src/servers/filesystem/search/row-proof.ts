// Compares the rows of a search with the file inside the project. Of each line an offset, a length and a digest are
// kept instead of its bytes, as lines may be long and rows many.

import { createHash } from 'node:crypto';
import type { FileHandle } from 'node:fs/promises';
import { markLength, Utf8Stream } from '../read/text-stream.js';

/** Some bytes at a place of a file's text: of its bytes without a byte order mark, those of UTF-16 as UTF-8. */
export interface Piece {
  offset: number;
  length: number;
  digest: string;
}

/** The size of one read: enough for most files. */
const WINDOW_BYTES = 16 * 1024;
const WIDE_CHUNK_BYTES = 1024 * 1024;

export function pieceOf(bytes: Buffer, offset: number): Piece {
  return { offset, length: bytes.length, digest: digestOf(bytes) };
}

/** For each row, whether the file contains all of its pieces. System errors are thrown unchanged. */
export async function provenRows(handle: FileHandle, rows: readonly (readonly Piece[])[]): Promise<boolean[]> {
  const text = await textOf(handle);
  const proven = rows.map(() => true);
  // In order of their places: a text that is decoded is read once, from its beginning.
  const pieces = rows.flatMap((row, index) => row.map((piece) => ({ piece, index })));
  for (const { piece, index } of pieces.sort((a, b) => a.piece.offset - b.piece.offset)) {
    if (!proven[index]) continue;
    const bytes = isPlace(piece.offset) ? await text.at(piece.offset, piece.length) : undefined;
    proven[index] = bytes?.length === piece.length && digestOf(bytes) === piece.digest;
  }
  return proven;
}

/** Node treats a negative position as the end of the last read. */
function isPlace(offset: number): boolean {
  return Number.isSafeInteger(offset) && offset >= 0;
}

function digestOf(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('base64');
}

/** A text that is read at ascending offsets; the part after its end is missing. */
interface FileText {
  at(offset: number, length: number): Promise<Buffer>;
}

async function textOf(handle: FileHandle): Promise<FileText> {
  const head = await readAt(handle, 0, WINDOW_BYTES);
  for (const encoding of ['utf-16le', 'utf-16be'] as const) {
    const mark = markLength(head, encoding);
    if (mark > 0) return new WideText(handle, new Utf8Stream(encoding), mark);
  }
  return new PlainText(handle, head, markLength(head, 'utf-8'));
}

class PlainText implements FileText {
  readonly #handle: FileHandle;
  readonly #mark: number;
  #window: Buffer;
  #start = 0;

  constructor(handle: FileHandle, head: Buffer, mark: number) {
    this.#handle = handle;
    this.#window = head;
    this.#mark = mark;
  }

  async at(offset: number, length: number): Promise<Buffer> {
    const from = offset + this.#mark;
    if (from < this.#start || from + length > this.#start + this.#window.length) {
      this.#window = await readAt(this.#handle, from, Math.max(length, WINDOW_BYTES));
      this.#start = from;
    }
    return this.#window.subarray(from - this.#start, from - this.#start + length);
  }
}

class WideText implements FileText {
  readonly #handle: FileHandle;
  readonly #stream: Utf8Stream;
  /** The position of the next read. */
  #position: number;
  /** The decoded text from `#start` on. */
  #held: Buffer = Buffer.alloc(0);
  #start = 0;
  #ended = false;

  constructor(handle: FileHandle, stream: Utf8Stream, position: number) {
    this.#handle = handle;
    this.#stream = stream;
    this.#position = position;
  }

  async at(offset: number, length: number): Promise<Buffer> {
    for (;;) {
      const passed = Math.max(0, Math.min(offset - this.#start, this.#held.length));
      this.#held = this.#held.subarray(passed);
      this.#start += passed;
      if (this.#ended || this.#start + this.#held.length >= offset + length) break;
      const bytes = await readAt(this.#handle, this.#position, WIDE_CHUNK_BYTES);
      this.#position += bytes.length;
      this.#ended = bytes.length === 0;
      this.#held = Buffer.concat([this.#held, this.#ended ? this.#stream.end() : this.#stream.push(bytes)]);
    }
    return offset < this.#start
      ? Buffer.alloc(0)
      : this.#held.subarray(offset - this.#start, offset - this.#start + length);
  }
}

async function readAt(handle: FileHandle, position: number, length: number): Promise<Buffer> {
  const { buffer, bytesRead } = await handle.read(Buffer.allocUnsafe(length), 0, length, position);
  return buffer.subarray(0, bytesRead);
}
