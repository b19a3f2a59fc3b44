// One page of a text file, streamed: memory does not depend on the size of the file or of its lines.

import { isUtf8 } from 'node:buffer';
import { createHash } from 'node:crypto';
import type { BigIntStats } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { etagOfStats, MAX_WHOLE_FILE_BYTES } from '../project-files.js';
import { MAX_KEPT_FILE_BYTES } from '../read-tracker.js';
import {
  detectEncoding,
  lineEndsOf,
  SAMPLE_BYTES,
  wholeCharacters,
  type LineEnds,
  type TextEncoding,
} from '../text-encoding.js';

const CHUNK_BYTES = 256 * 1024;
const NEWLINE = 0x0a;
const RETURN = 0x0d;

/** Which lines are wanted, and how much of them. */
export interface PageRequest {
  /** The first line, from 1. */
  offset: number;
  /** How many lines at most. */
  limit: number;
  /** Longer lines are cut there, in UTF-16 units. */
  maxLineChars: number;
  /** Told now and then how much was read; may throw to stop. */
  onProgress: (bytesRead: number) => void;
}

/** One line of a page, without its end. */
export interface PageLine {
  text: string;
  /** How many bytes of it are not shown. */
  cutBytes: number;
}

/** What a page is made from. */
export interface FilePage {
  lines: PageLine[];
  /** The number of lines that were passed before the reading stopped; all of them when {@link complete}. */
  linesSeen: number;
  /** True when the file was read to its end. */
  complete: boolean;
  encoding: TextEncoding;
  bom: boolean;
  eol: LineEnds;
  etag: string;
  /** All of a small file's bytes, for what is compared with them later. */
  content: Buffer | undefined;
}

/**
 * Reads the lines of a page. A file up to {@link MAX_WHOLE_FILE_BYTES} is read to its end, so that its lines are
 * counted, its encoding is certain and its etag is that of its content; a larger one only as far as the page needs.
 * Undefined for what is not text.
 */
export async function readPage(
  handle: FileHandle,
  stats: BigIntStats,
  request: PageRequest,
): Promise<FilePage | undefined> {
  const whole = stats.size <= MAX_WHOLE_FILE_BYTES;
  // One byte more than the file has, so that its end is seen with its last chunk.
  const buffer = Buffer.allocUnsafe(Math.min(CHUNK_BYTES, Math.max(SAMPLE_BYTES, Number(stats.size) + 1)));
  let chunk = await readAt(handle, buffer, 0);
  const detected = detectEncoding(chunk.subarray(0, SAMPLE_BYTES));
  if (!detected) return undefined;
  const { bom } = detected;
  const hash = whole ? createHash('sha256') : undefined;
  const validity = detected.encoding === 'utf-8' ? new Utf8Check() : undefined;
  const scan = new LineScan(request);
  const decode = streamDecoder(detected.encoding);
  let kept: Buffer[] | undefined = stats.size <= MAX_KEPT_FILE_BYTES ? [] : undefined;
  let complete = false;
  for (let position = 0; ;) {
    hash?.update(chunk);
    validity?.push(chunk);
    scan.push(decode(position === 0 && bom ? chunk.subarray(detected.encoding === 'utf-8' ? 3 : 2) : chunk));
    position += chunk.length;
    if (position > MAX_KEPT_FILE_BYTES) kept = undefined;
    kept?.push(Buffer.from(chunk)); // the buffer is used again
    complete = chunk.length < buffer.length;
    if (complete || (!whole && scan.isFull)) break;
    request.onProgress(position);
    chunk = await readAt(handle, buffer, position);
  }
  scan.end(complete);
  const encoding = validity?.isValid(complete) === false ? 'latin1' : detected.encoding;
  return {
    lines: scan.lines(encoding === 'latin1' ? 'latin1' : 'utf8', bom && encoding === 'latin1'),
    linesSeen: scan.linesSeen,
    complete,
    encoding,
    bom: bom && encoding !== 'latin1',
    eol: lineEndsOf(scan.lf, scan.crlf),
    etag: hash ? hash.digest('hex').slice(0, 16) : etagOfStats(stats),
    content: kept && Buffer.concat(kept),
  };
}

/** Fills the buffer; less only at the end of the file. */
async function readAt(handle: FileHandle, buffer: Buffer, position: number): Promise<Buffer> {
  let length = 0;
  while (length < buffer.length) {
    const { bytesRead } = await handle.read(buffer, length, buffer.length - length, position + length);
    if (bytesRead === 0) break;
    length += bytesRead;
  }
  return buffer.subarray(0, length);
}

/** UTF-16 is turned into UTF-8 on the way, so that one scan finds the lines of all encodings. */
function streamDecoder(encoding: TextEncoding): (chunk: Buffer) => Buffer {
  if (encoding !== 'utf-16le' && encoding !== 'utf-16be') return (chunk) => chunk;
  const decoder = new TextDecoder(encoding, { ignoreBOM: true });
  return (chunk) => Buffer.from(decoder.decode(chunk, { stream: true }));
}

/** Whether a stream of bytes is UTF-8, characters that lie across two chunks included. */
class Utf8Check {
  #rest: Buffer = Buffer.alloc(0);
  #valid = true;

  push(chunk: Buffer): void {
    if (!this.#valid) return;
    const bytes = this.#rest.length > 0 ? Buffer.concat([this.#rest, chunk]) : chunk;
    const whole = wholeCharacters(bytes);
    this.#valid = isUtf8(whole);
    this.#rest = Buffer.from(bytes.subarray(whole.length));
  }

  isValid(atEnd: boolean): boolean {
    return this.#valid && !(atEnd && this.#rest.length > 0);
  }
}

interface RawLine {
  /** The beginning, at least as much as is shown. */
  bytes: Buffer;
  /** Of the whole line, without its end. */
  length: number;
}

/** The most bytes that a UTF-16 unit stands for: one character of four bytes is two units, one of three is one. */
const MAX_BYTES_A_CHAR = 3;

/** Finds the lines of a page in chunks, keeping of each no more than is shown. */
class LineScan {
  readonly #first: number;
  readonly #last: number;
  readonly #maxLineChars: number;
  readonly #lines: RawLine[] = [];
  #pieces: Buffer[] = [];
  #kept = 0;
  #length = 0;
  #lastByte = 0;
  linesSeen = 0;
  lf = 0;
  crlf = 0;

  constructor({ offset, limit, maxLineChars }: PageRequest) {
    this.#first = offset;
    this.#last = offset + limit - 1;
    this.#maxLineChars = maxLineChars;
  }

  /** True when the page has all its lines and something comes after them. */
  get isFull(): boolean {
    return this.linesSeen > this.#last || (this.linesSeen === this.#last && this.#length > 0);
  }

  push(chunk: Buffer): void {
    let start = 0;
    for (;;) {
      const end = chunk.indexOf(NEWLINE, start);
      if (end < 0) break;
      if (this.linesSeen + 1 >= this.#first && this.linesSeen < this.#last) {
        this.#add(chunk, start, end);
        const isCrlf = this.#length > 0 && this.#lastByte === RETURN;
        this.#count(isCrlf);
        this.#endLine(isCrlf ? 1 : 0);
      } else {
        // Most lines of a long file are only passed.
        this.#count(end > start ? chunk[end - 1] === RETURN : this.#length > 0 && this.#lastByte === RETURN);
        this.linesSeen++;
        this.#length = 0;
      }
      start = end + 1;
    }
    if (start < chunk.length) this.#add(chunk, start, chunk.length);
  }

  #count(isCrlf: boolean): void {
    if (isCrlf) this.crlf++;
    else this.lf++;
  }

  /** @param atEnd the end of the file: what was not ended by a newline is a line */
  end(atEnd: boolean): void {
    if (atEnd && this.#length > 0) this.#endLine(0);
  }

  lines(encoding: 'utf8' | 'latin1', bomIsText: boolean): PageLine[] {
    return this.#lines.map(({ bytes, length }, index) => {
      const mark = bomIsText && this.#first === 1 && index === 0 ? '\xef\xbb\xbf' : '';
      const text =
        mark + (bytes.length < length && encoding === 'utf8' ? wholeCharacters(bytes) : bytes).toString(encoding);
      if (text.length <= this.#maxLineChars && bytes.length === length) return { text, cutBytes: 0 };
      const shown = text.slice(0, this.#maxLineChars).replace(/[\ud800-\udbff]$/, '');
      return { text: shown, cutBytes: mark.length + length - Buffer.byteLength(shown, encoding) };
    });
  }

  #add(chunk: Buffer, start: number, end: number): void {
    const line = this.linesSeen + 1;
    if (line >= this.#first && line <= this.#last) {
      const room = MAX_BYTES_A_CHAR * this.#maxLineChars + 1 - this.#kept;
      if (room > 0 && end > start) {
        const piece = Buffer.from(chunk.subarray(start, Math.min(end, start + room))); // the chunk's memory is used again
        this.#pieces.push(piece);
        this.#kept += piece.length;
      }
    }
    this.#length += end - start;
    if (end > start) this.#lastByte = chunk[end - 1] ?? 0;
  }

  #endLine(endBytes: number): void {
    this.linesSeen++;
    const length = this.#length - endBytes;
    if (this.linesSeen >= this.#first && this.linesSeen <= this.#last) {
      const [only] = this.#pieces;
      const bytes = this.#pieces.length === 1 && only ? only : Buffer.concat(this.#pieces);
      this.#lines.push({ bytes: bytes.subarray(0, length), length });
    }
    this.#pieces = [];
    this.#kept = 0;
    this.#length = 0;
  }
}
