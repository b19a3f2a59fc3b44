// One page of a text file, streamed: memory does not depend on the size of the file or of its lines.

import { createHash } from 'node:crypto';
import type { BigIntStats } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { ToolError } from '../../../contract/errors.js';
import { etagOfStats, MAX_WHOLE_FILE_BYTES } from '../../project/project-files.js';
import { MAX_KEPT_FILE_BYTES } from '../../project/write/read-tracker.js';
import {
  detectEncoding,
  lineEndsOf,
  SAMPLE_BYTES,
  wholeCharacters,
  type LineEnds,
} from '../../project/open/text-encoding.js';
import { readAt } from './byte-range.js';
import { startOfLastLines } from './last-lines.js';
import type { LinePlaces } from './line-places.js';
import { LineScan, type ScannedLine } from './line-scan.js';
import { markLength, Utf8Stream, type ReadEncoding } from './text-stream.js';

const CHUNK_BYTES = 256 * 1024;
/** A line that goes on for so long in a huge file ends the page: what comes after it is not looked for. */
const MAX_PASSED_BYTES = 8 * 1024 * 1024;

/** Which part of a file is wanted. */
export interface PageRequest {
  /** The first line, from 1; or how many of the last lines. */
  from: { offset: number; column: number } | { tail: number };
  /** How many lines at most. */
  limit: number;
  /** Longer lines are cut there, in UTF-16 units. */
  maxLineUnits: number;
  /** A page needs no more text than this, in UTF-8 bytes. */
  maxBytes: number;
  /** As named by the caller. `'auto'`: as the content says. */
  encoding: ReadEncoding | 'auto';
  /** Told after each chunk how much was read; may throw to stop. */
  onChunk: (bytesRead: number) => void;
  /** Where lines of a huge file are, as far as earlier pages found out. */
  places?: LinePlaces | undefined;
}

/** One line of a page, without its end. */
export interface PageLine {
  text: string;
  /** The column of its first character, from 1 in UTF-16 units. */
  from: number;
  /** UTF-16 units that follow what is shown; at least so many when the reading stopped before its end. */
  cutUnits: number;
  /** The reading stopped before its end. */
  open: boolean;
}

/** What a page is made from. */
export interface FilePage {
  lines: PageLine[];
  /** The number of the first line; undefined for the last lines of a file that was not read from its beginning. */
  firstLine: number | undefined;
  /** The number of lines that were passed before the reading stopped; all of them when {@link complete}. */
  linesSeen: number;
  /** True when the reading came to the end, and has counted all lines. */
  complete: boolean;
  /** The first line has a beginning that is not shown; only of a file whose end was read alone. */
  beginsEarlier: boolean;
  encoding: ReadEncoding;
  /** What the content is taken for without a named encoding, where that is another. */
  elsewhere?: string;
  bom: boolean;
  eol: LineEnds;
  /** Some bytes on the page are not of the encoding: U+FFFD stands for them. */
  replaced: boolean;
  etag: string;
  /** All of a small file's bytes, for what is compared with them later. */
  content: Buffer | undefined;
}

/**
 * Reads the lines of a page. A file up to {@link MAX_WHOLE_FILE_BYTES} is read to its end, so that its lines are
 * counted, its encoding is certain and its etag is that of its content; a larger one only as far as the page needs,
 * and its beginning says what its encoding is. Undefined for what is not text, unless an encoding was named.
 *
 * @throws {ToolError} FILE_CHANGED when it becomes shorter while its last lines are read
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
    return certain === encoding ? page : { ...page, elsewhere: certain ?? 'not taken for text' };
  return certain === encoding ? page : (await readAs({ ...reading, encoding: 'latin1' }, false)).page;
}

interface Reading extends PageRequest {
  handle: FileHandle;
  stats: BigIntStats;
  /** The beginning of the file. */
  sample: Buffer;
  encoding: ReadEncoding;
}

/** @param onlyValid stop at bytes that are not of the encoding: the page is not used then */
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
  // One byte more than the file has, so that its end is seen with its last chunk.
  const buffer = Buffer.allocUnsafe(Math.min(CHUNK_BYTES, Math.max(SAMPLE_BYTES, Number(stats.size) + 1)));
  const mark = markLength(sample, encoding);
  const text = new Utf8Stream(encoding);
  const utf8 = encoding === 'utf-8' ? text : new Utf8Stream('utf-8');
  const hash = createHash('sha256');
  let kept: Buffer[] | undefined = stats.size <= MAX_KEPT_FILE_BYTES ? [] : undefined;
  let ended = false;
  let isTail = false;
  for (let position = firstByte; ;) {
    if (position === tail?.byte) scan.openTail();
    isTail ||= position === tail?.byte;
    // So that the last lines begin with a chunk.
    const most = tail && position < tail.byte ? Math.min(buffer.length, tail.byte - position) : buffer.length;
    const chunk = await readAt(handle, buffer.subarray(0, most), position);
    if (whole) hash.update(chunk);
    if (whole && utf8 !== text && utf8.isValid) utf8.push(chunk);
    scan.push(text.push(position === 0 ? chunk.subarray(mark) : chunk));
    position += chunk.length;
    if (position > MAX_KEPT_FILE_BYTES) kept = undefined;
    if (position > MAX_WHOLE_FILE_BYTES) whole = false; // it has grown
    kept?.push(Buffer.from(chunk)); // the buffer is used again
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
    content: kept && Buffer.concat(kept),
  };
  return { page, isUtf8: utf8.isValid };
}

/** Of a huge file no more is read than the page needs. */
function hasEnough(scan: LineScan, { maxLineUnits }: Reading): boolean {
  return scan.isFull || scan.passedBytes > (maxLineUnits === Infinity ? 0 : MAX_PASSED_BYTES);
}

function pageLine({ bytes, from, units, open }: ScannedLine, maxUnits: number): PageLine {
  const text = wholeCharacters(bytes).toString();
  const shown = text.length > maxUnits ? text.slice(0, maxUnits).replace(/[\ud800-\udbff]$/, '') : text;
  return { text: shown, from, cutUnits: units - (from - 1) - shown.length, open };
}

function becameShorter(): ToolError {
  return new ToolError('FILE_CHANGED', 'The file became shorter while it was read. Read it again.');
}
