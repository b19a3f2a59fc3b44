// One page of a text file, streamed: memory does not depend on the size of the file or of its lines.

import { createHash } from 'node:crypto';
import type { BigIntStats } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { ToolError } from '../../../contract/errors.js';
import { readAt } from '../../project/open/file-content.js';
import { etagOfStats, MAX_WHOLE_FILE_BYTES } from '../../project/project-files.js';
import { MAX_KEPT_FILE_BYTES } from '../../project/write/read-tracker.js';
import {
  detectEncoding,
  lineEndsOf,
  SAMPLE_BYTES,
  wholeCharacters,
  type LineEnds,
} from '../../project/open/text-encoding.js';
import type { LinePlaces } from './line-places.js';
import { LineScan, type ScannedLine } from './line-scan.js';
import { markLength, Utf8Stream, type ReadEncoding } from './text-stream.js';

const CHUNK_BYTES = 256 * 1024;
const NEWLINE = 0x0a;
/** A longer line of a huge file ends the page; the lines after it are not searched for. */
const MAX_PASSED_BYTES = 8 * 1024 * 1024;
/** The part at the end of a huge file that is searched for its last lines. */
const MAX_SEARCHED_BYTES = 16 * 1024 * 1024;
/** How much is read of the last line if its beginning is not found. */
const LINE_END_BYTES = 2_000;

/** The part of a file to read. */
export interface PageRequest {
  /** The first line, from 1, or the number of last lines. */
  from: { offset: number; column: number } | { tail: number };
  /** Maximum number of lines. */
  limit: number;
  /** Longer lines are cut, in UTF-16 units. */
  maxLineUnits: number;
  /** Maximum text of the page, in UTF-8 bytes. */
  maxBytes: number;
  /** The requested encoding; `'auto'` detects it from the content. */
  encoding: ReadEncoding | 'auto';
  /** Called after each chunk with the number of bytes read; may throw to stop. */
  onChunk: (bytesRead: number) => void;
  /** Positions of lines in huge files, collected by earlier pages. */
  places?: LinePlaces | undefined;
}

/** One line of a page, without its end. */
export interface PageLine {
  text: string;
  /** The column of its first character, from 1 in UTF-16 units. */
  from: number;
  /** UTF-16 units that follow the shown text; a lower bound if `open`. */
  cutUnits: number;
  /** Reading stopped before the end of the line. */
  open: boolean;
}

/** The lines of a page and the properties of its file. */
export interface FilePage {
  lines: PageLine[];
  /** The number of the first line; undefined for last lines of a file that was not read from its beginning. */
  firstLine: number | undefined;
  /** The number of lines before the position where reading stopped; the total if {@link complete}. */
  linesSeen: number;
  /** Reading reached the end of the file, and all lines are counted. */
  complete: boolean;
  /** The first line begins before the shown text; only if the end of a file was read alone. */
  beginsEarlier: boolean;
  encoding: ReadEncoding;
  /** The detected encoding, if another one was requested. */
  elsewhere?: string;
  bom: boolean;
  eol: LineEnds;
  /** The page has bytes that are invalid in the encoding, shown as U+FFFD. */
  replaced: boolean;
  etag: string;
  /** The bytes of a small file, for later comparison. */
  content: Buffer | undefined;
}

/**
 * Reads the lines of a page. A file up to {@link MAX_WHOLE_FILE_BYTES} is read to its end: its lines are counted, its
 * encoding is certain and its etag is a digest of its content. A larger one is read only as far as the page needs, and
 * its encoding is detected from its beginning. Returns undefined if the file is not text, unless an encoding is given.
 *
 * @throws {ToolError} FILE_CHANGED when the file becomes shorter while its last lines are read
 */
export async function readPage(
  handle: FileHandle,
  stats: BigIntStats,
  request: PageRequest,
): Promise<FilePage | undefined> {
  const sample = await readAt(handle, Buffer.allocUnsafe(SAMPLE_BYTES), 0);
  const detected = detectEncoding(sample)?.encoding;
  const encoding = request.encoding === 'auto' ? detected : request.encoding;
  if (!encoding) return undefined;
  const reading = { handle, stats, sample, ...request, encoding };
  const { page, isUtf8 } = await readAs(reading, request.encoding === 'auto');
  const certain = detected === 'utf-8' && !isUtf8 && stats.size <= MAX_WHOLE_FILE_BYTES ? 'latin1' : detected;
  if (request.encoding !== 'auto')
    return certain === encoding ? page : { ...page, elsewhere: certain ?? 'not recognised as text' };
  return certain === encoding ? page : (await readAs({ ...reading, encoding: 'latin1' }, false)).page;
}

interface Reading extends PageRequest {
  handle: FileHandle;
  stats: BigIntStats;
  /** The beginning of the file. */
  sample: Buffer;
  encoding: ReadEncoding;
}

/** @param onlyValid stop at bytes that are invalid in the encoding: the caller then discards the page */
async function readAs(reading: Reading, onlyValid: boolean): Promise<{ page: FilePage; isUtf8: boolean }> {
  const { handle, stats, sample, from, encoding, onChunk } = reading;
  let whole = stats.size <= MAX_WHOLE_FILE_BYTES;
  const places = whole ? undefined : reading.places?.of(stats, encoding);
  const tail = 'tail' in from ? await startOfLastLines(reading, from.tail, whole) : undefined;
  const place = 'tail' in from ? undefined : places?.before(from.offset, from.column);
  const scan = new LineScan(
    'tail' in from
      ? { ...reading, first: undefined, limit: from.tail, column: 1 }
      : { ...reading, first: from.offset, column: from.column },
    place?.state,
  );
  const firstByte = place?.byte ?? (whole ? 0 : (tail?.byte ?? 0));
  // One byte more than the file's size, so that the last chunk also shows its end.
  const buffer = Buffer.allocUnsafe(Math.min(CHUNK_BYTES, Math.max(SAMPLE_BYTES, Number(stats.size) + 1)));
  const mark = markLength(sample, encoding);
  const text = new Utf8Stream(encoding);
  const utf8 = encoding === 'utf-8' ? text : new Utf8Stream('utf-8');
  const hash = createHash('sha256');
  let retained: Buffer[] | undefined = stats.size <= MAX_KEPT_FILE_BYTES ? [] : undefined;
  let ended = false;
  let isTail = false;
  for (let position = firstByte; ;) {
    if (position === tail?.byte) scan.openTail();
    isTail ||= position === tail?.byte;
    // The last lines begin with a chunk.
    const most = tail && position < tail.byte ? Math.min(buffer.length, tail.byte - position) : buffer.length;
    const chunk = await readAt(handle, buffer.subarray(0, most), position);
    if (whole) hash.update(chunk);
    if (whole && utf8 !== text && utf8.isValid) utf8.push(chunk);
    scan.push(text.push(position === 0 ? chunk.subarray(mark) : chunk));
    position += chunk.length;
    if (position > MAX_KEPT_FILE_BYTES) retained = undefined;
    if (position > MAX_WHOLE_FILE_BYTES) whole = false; // it has grown
    retained?.push(Buffer.from(chunk)); // the buffer is used again
    ended = chunk.length < most;
    if (ended || (!whole && hasEnough(scan, reading)) || (onlyValid && whole && !text.isValid)) break;
    places?.note(position - text.heldBytes, scan.state);
    onChunk(position - firstByte);
  }
  if (tail && !isTail) throw becameShorter();
  if (ended) scan.push(text.end());
  if (ended && utf8 !== text) utf8.end();
  scan.end(ended);
  const lines = scan.lines.map((line) => pageLine(line, reading.maxLineUnits));
  const isNumbered = !tail || firstByte === 0;
  const page = {
    lines,
    firstLine: isNumbered ? scan.firstLine : undefined,
    linesSeen: scan.linesSeen,
    complete: ended && isNumbered,
    beginsEarlier: tail?.isLineStart === false,
    encoding,
    bom: mark > 0,
    eol: lineEndsOf(scan.lf, scan.crlf),
    replaced: !text.isValid && lines.some((line) => line.text.includes('\ufffd')),
    etag: whole ? hash.digest('hex').slice(0, 16) : etagOfStats(stats),
    content: retained && Buffer.concat(retained),
  };
  return { page, isUtf8: utf8.isValid };
}

/** Whether the page of a huge file is complete. */
function hasEnough(scan: LineScan, { maxLineUnits }: Reading): boolean {
  return scan.isFull || scan.passedBytes > (maxLineUnits === Infinity ? 0 : MAX_PASSED_BYTES);
}

function pageLine({ bytes, from, units, open }: ScannedLine, maxUnits: number): PageLine {
  const text = wholeCharacters(bytes).toString();
  const shown = text.length > maxUnits ? text.slice(0, maxUnits).replace(/[\ud800-\udbff]$/, '') : text;
  return { text: shown, from, cutUnits: units - (from - 1) - shown.length, open };
}

function becameShorter(): ToolError {
  return new ToolError('FILE_CHANGED', 'The file was truncated while it was read. Read it again.');
}

/** The position to read the end of a file from. */
interface TailStart {
  byte: number;
  /** False in the middle of a line that is longer than the searched part of the file. */
  isLineStart: boolean;
}

/** Where the last `count` lines begin, searched backwards; fewer lines if `whole` is false and 16 MiB do not hold all. */
async function startOfLastLines(
  { handle, stats, encoding, onChunk }: Reading,
  count: number,
  whole: boolean,
): Promise<TailStart> {
  const size = Number(stats.size);
  const lowest = whole ? 0 : Math.max(0, size - MAX_SEARCHED_BYTES);
  const buffer = Buffer.allocUnsafe(Math.min(CHUNK_BYTES, size + 1));
  let found = 0;
  let start = whole ? 0 : undefined;
  // Chunks begin at multiples of an even size, so that no UTF-16 newline is split between two.
  for (let end = size; end > lowest;) {
    const begin = Math.max(lowest & ~1, Math.floor((end - 1) / CHUNK_BYTES) * CHUNK_BYTES);
    const chunk = await readAt(handle, buffer.subarray(0, end - begin), begin);
    for (let at = chunk.length; ;) {
      at = at > 0 ? chunk.lastIndexOf(NEWLINE, at - 1) : -1;
      if (at < 0) break;
      const lineStart = begin + at + (encoding === 'utf-16le' ? 2 : 1);
      // No line follows the newline at the end of the file.
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

/** The number of leading bytes that belong to a character that begins before them. */
function partOfCharacter(bytes: Buffer, encoding: ReadEncoding): number {
  if (encoding === 'utf-16le' || encoding === 'utf-16be') {
    const unit = encoding === 'utf-16le' ? bytes.readUInt16LE(0) : bytes.readUInt16BE(0);
    return (unit & 0xfc00) === 0xdc00 ? 2 : 0;
  }
  if (encoding !== 'utf-8') return 0;
  const first = bytes.findIndex((byte) => (byte & 0xc0) !== 0x80);
  return first < 0 ? 0 : first;
}
