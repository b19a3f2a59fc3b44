// Parses ripgrep's JSON lines into rows. Memory is bounded: of a long line only the shown part is kept.

import { isUtf8 } from 'node:buffer';
import { showName } from '../../project/open/directory-entries.js';
import type { ContextLine, GrepRow, GrepSink } from './grep-sink.js';
import { cutAround } from './line-part.js';
import { orderKey } from './path-order.js';
import { pieceOf, type Piece } from './row-proof.js';

const MAX_JSON_BYTES = 1024 * 1024;
const KEPT_HEAD_BYTES = 16 * 1024;
const KEPT_TAIL_BYTES = 1024;
const NEWLINE = 0x0a;
/** In a JSON text these bytes cannot be part of a string: quotes in strings are escaped. */
const LINE_NUMBER_KEY = Buffer.from(',"line_number":');

/** A text of ripgrep's: UTF-8, or any bytes as base64. https://docs.rs/grep-printer/latest/grep_printer/struct.JSON.html */
type Text = ({ text: string } | { bytes: string }) & { isCut?: boolean };
/** Lines, and where they begin in the file's text. */
interface Line {
  lines: Text;
  line_number: number;
  absolute_offset: number;
}
type Message =
  | { type: 'begin'; data: { path: Text } }
  | { type: 'match'; data: Line & { submatches: { start: number; end?: number }[] } }
  | { type: 'context'; data: Line }
  | { type: 'end' | 'summary' };

/** Returns the path to show for a file, or undefined to omit the file. */
export type AcceptPath = (path: string) => Promise<string | undefined>;

/** Receives ripgrep's output in chunks and passes rows to a sink, each with the lines around it. */
export class GrepRows {
  readonly #sink: Pick<GrepSink, 'add' | 'addContext'>;
  readonly #after: number;
  readonly #accept: AcceptPath;
  #pieces: Buffer[] = [];
  #bytes = 0;
  #overlong: OverlongLine | undefined;
  /** The current file; undefined while its rows are skipped. */
  #file: { path: string; key: string } | undefined;
  #last: GrepRow | undefined;
  /** The number of its last line. */
  #lastLine = 0;
  #before: ContextLine[] = [];
  /** The pieces of the context lines before the next row, and of the last row. */
  #beforePieces: Piece[] = [];
  #lastPieces: Piece[] = [];

  /** @param after the number of context lines after a match */
  constructor(sink: Pick<GrepSink, 'add' | 'addContext'>, after: number, accept: AcceptPath) {
    this.#sink = sink;
    this.#after = after;
    this.#accept = accept;
  }

  /** Returns false as soon as there is one row more than the limit; that one is dropped. */
  async push(chunk: Buffer): Promise<boolean> {
    let start = 0;
    for (;;) {
      const end = chunk.indexOf(NEWLINE, start);
      if (end < 0) break;
      this.#hold(chunk.subarray(start, end));
      start = end + 1;
      const message = this.#takeMessage();
      if (message && !(await this.#use(message))) return false;
    }
    if (start < chunk.length) this.#hold(chunk.subarray(start));
    return true;
  }

  #hold(bytes: Buffer): void {
    if (this.#overlong) return this.#overlong.push(bytes);
    this.#pieces.push(Buffer.from(bytes));
    this.#bytes += bytes.length;
    if (this.#bytes <= MAX_JSON_BYTES) return;
    this.#overlong = new OverlongLine(Buffer.concat(this.#pieces));
    this.#pieces = [];
  }

  #takeMessage(): Message | undefined {
    const message = this.#overlong
      ? this.#overlong.message()
      : (JSON.parse(Buffer.concat(this.#pieces).toString()) as Message);
    this.#overlong = undefined;
    this.#pieces = [];
    this.#bytes = 0;
    return message;
  }

  async #use(message: Message): Promise<boolean> {
    if (message.type === 'begin') {
      const name = bytesOf(message.data.path).subarray(2); // after "./"
      const path = await this.#accept(showName(name));
      this.#file = path === undefined ? undefined : { path, key: orderKey(name) };
      this.#last = undefined;
      this.#before = [];
      this.#beforePieces = [];
    } else if (message.type === 'context') this.#useContext(message.data);
    else if (message.type === 'match') return this.#useMatch(message.data);
    return true;
  }

  #useContext({ lines, line_number: line, absolute_offset: offset }: Line): void {
    if (!this.#file) return;
    const bytes = bytesOf(lines);
    const context = { line, text: cutAround(textOfLines(bytes), 0, lines.isCut) };
    const isAfter = this.#last && line - this.#lastLine <= this.#after;
    if (this.#last && isAfter) this.#sink.addContext(this.#last, context);
    else this.#before.push(context);
    (isAfter ? this.#lastPieces : this.#beforePieces).push(pieceOf(bytes, offset));
  }

  #useMatch({
    lines,
    line_number: line,
    absolute_offset: offset,
    submatches,
  }: Extract<Message, { type: 'match' }>['data']): boolean {
    if (!this.#file) return true;
    const bytes = bytesOf(lines);
    for (const { start, end, match } of rowsOf(bytes, submatches)) {
      const shown = bytes.subarray(start, end);
      const encoding = isUtf8(shown) || lines.isCut ? 'utf8' : 'latin1';
      const column = match <= shown.length ? shown.toString(encoding, 0, match).length : undefined;
      const number = line + countLines(bytes, 0, start);
      const row: GrepRow = {
        path: this.#file.path,
        line: number,
        ...(column !== undefined && { column: column + 1 }),
        text: cutAround(textOfLines(shown), column ?? 0, lines.isCut),
      };
      if (this.#before.length > 0) row.context = this.#before;
      this.#before = [];
      this.#lastPieces = [...this.#beforePieces, pieceOf(shown, offset + start)];
      this.#beforePieces = [];
      this.#last = row;
      this.#lastLine = number + Math.max(0, countLines(shown, 0, shown.length - 1));
      if (!this.#sink.add(this.#file.key, row, this.#lastPieces)) return false;
    }
    return true;
  }
}

/**
 * What one message has, as rows: ripgrep puts lines that follow each other together when matches may span lines. A
 * match that begins in the row before is a part of it.
 */
function rowsOf(
  bytes: Buffer,
  submatches: readonly { start: number; end?: number }[],
): { start: number; end: number; match: number }[] {
  const rows: { start: number; end: number; match: number }[] = [];
  for (const { start: from, end: to = from } of submatches) {
    const last = rows.at(-1);
    if (last && from < last.end) {
      last.end = Math.max(last.end, endOfLine(bytes, last.start, to));
      continue;
    }
    const start = from === 0 ? 0 : bytes.lastIndexOf(NEWLINE, from - 1) + 1;
    rows.push({ start, end: endOfLine(bytes, start, to), match: from - start });
  }
  if (rows.length > 0) return rows;
  // ripgrep does not report an empty match at the very end of a file.
  return [{ start: 0, end: bytes.length, match: bytes.at(-1) === NEWLINE ? 0 : bytes.length }];
}

function endOfLine(bytes: Buffer, start: number, to: number): number {
  if (to > start && bytes[to - 1] === NEWLINE) return to;
  const end = bytes.indexOf(NEWLINE, to);
  return end < 0 ? bytes.length : end + 1;
}

function countLines(bytes: Buffer, from: number, until: number): number {
  let count = 0;
  for (let at = bytes.indexOf(NEWLINE, from); at >= 0 && at < until; at = bytes.indexOf(NEWLINE, at + 1)) count++;
  return count;
}

/** A JSON line that is too long to be kept whole: its beginning, and the part after the text. */
class OverlongLine {
  readonly #head: Buffer;
  #tail: Buffer | undefined;
  #overlap: Buffer = Buffer.alloc(0);

  constructor(bytes: Buffer) {
    this.#head = Buffer.from(bytes.subarray(0, KEPT_HEAD_BYTES));
    this.push(bytes);
  }

  push(bytes: Buffer): void {
    if (this.#tail) {
      if (this.#tail.length < KEPT_TAIL_BYTES)
        this.#tail = Buffer.concat([this.#tail, bytes.subarray(0, KEPT_TAIL_BYTES)]);
      return;
    }
    const joined = Buffer.concat([this.#overlap, bytes]);
    const at = joined.indexOf(LINE_NUMBER_KEY);
    if (at >= 0) this.#tail = Buffer.from(joined.subarray(at, at + KEPT_TAIL_BYTES));
    else this.#overlap = Buffer.from(joined.subarray(Math.max(0, joined.length - LINE_NUMBER_KEY.length)));
  }

  message(): Message | undefined {
    const head = this.#head.toString();
    const tail = this.#tail?.toString() ?? '';
    const type = /^\{"type":"(match|context)"/.exec(head)?.[1];
    const line = /"line_number":(\d+)/.exec(tail)?.[1];
    const offset = /"absolute_offset":(\d+)/.exec(tail)?.[1];
    const text = /"lines":\{"text":"((?:[^"\\]|\\.)*)/s.exec(head)?.[1];
    const bytes = /"lines":\{"bytes":"([A-Za-z0-9+/]*)/.exec(head)?.[1];
    if (type === undefined || line === undefined || offset === undefined) return undefined;
    const lines = {
      ...(text !== undefined
        ? { text: unescapePrefix(text) }
        : { bytes: (bytes ?? '').slice(0, (bytes?.length ?? 0) & ~3) }),
      isCut: true,
    };
    const start = Number(/"start":(\d+)/.exec(tail)?.[1] ?? 0);
    const data = { lines, line_number: Number(line), absolute_offset: Number(offset) };
    return type === 'match' ? { type, data: { ...data, submatches: [{ start }] } } : { type: 'context', data };
  }
}

/** The beginning of a JSON string that may be cut in the middle of a `\u` escape or of a character. */
function unescapePrefix(text: string): string {
  const whole = text.replace(/\\(?:u[0-9a-fA-F]{0,3})?$/, '').replace(/\ufffd+$/, '');
  return JSON.parse(`"${whole}"`) as string;
}

function bytesOf(text: Text): Buffer {
  return 'bytes' in text ? Buffer.from(text.bytes, 'base64') : Buffer.from(text.text);
}

/** Without the last line's end. What is not UTF-8 is a byte, a character, as read_file shows it. */
function textOfLines(bytes: Buffer): string {
  return bytes.toString(isUtf8(bytes) ? 'utf8' : 'latin1').replace(/\r?\n$/, '');
}
