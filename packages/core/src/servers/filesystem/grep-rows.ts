// ripgrep's JSON lines to rows. Memory stays bounded: of a line that is too long only what a row shows is kept.

import { showName } from '../directory-entries.js';
import { escapeControls } from '../project-scope.js';

/** One matching line. */
export interface GrepRow {
  path: string;
  line: number;
  /** Of the first match, from 1, in UTF-16 units. Absent where it is megabytes into its line. */
  column?: number;
  text: string;
  /** The lines around it, by line number. */
  context?: { line: number; text: string }[];
}

const MAX_TEXT_CHARS = 500;
/** How much of a long line is shown before the match. */
const LEAD_CHARS = 100;
const MAX_JSON_BYTES = 1024 * 1024;
const KEPT_HEAD_BYTES = 16 * 1024;
const KEPT_TAIL_BYTES = 1024;
const NEWLINE = 0x0a;
/** In a JSON text these bytes cannot be part of a string: quotes in strings are escaped. */
const LINE_NUMBER_KEY = Buffer.from(',"line_number":');

/** A text of ripgrep's: UTF-8, or any bytes as base64. https://docs.rs/grep-printer/latest/grep_printer/struct.JSON.html */
type Text = ({ text: string } | { bytes: string }) & { isCut?: boolean };
type Message =
  | { type: 'begin'; data: { path: Text } }
  | { type: 'match'; data: { lines: Text; line_number: number; submatches: { start: number }[] } }
  | { type: 'context'; data: { lines: Text; line_number: number } }
  | { type: 'end' | 'summary' };

/** Takes ripgrep's output in chunks and gives rows, each with the lines around it. */
export class GrepRows {
  readonly rows: GrepRow[] = [];
  readonly #after: number;
  readonly #accept: (path: string) => Promise<string | undefined>;
  readonly #limit: number;
  #pieces: Buffer[] = [];
  #bytes = 0;
  #overlong: OverlongLine | undefined;
  /** The file at hand; undefined when its rows are not wanted. */
  #path: string | undefined;
  #last: GrepRow | undefined;
  #before: { line: number; text: string }[] = [];

  /**
   * @param limit how many rows are wanted
   * @param after how many lines after a match belong to it
   * @param accept gives the path to show for a file, or undefined to leave the file out
   */
  constructor(limit: number, after: number, accept: (path: string) => Promise<string | undefined>) {
    this.#limit = limit;
    this.#after = after;
    this.#accept = accept;
  }

  /** Gives false as soon as there is one row more than wanted; that one is not kept. */
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
      this.#path = await this.#accept(pathOf(message.data.path));
      this.#last = undefined;
      this.#before = [];
    } else if (message.type === 'context') this.#useContext(message.data);
    else if (message.type === 'match') return this.#useMatch(message.data);
    return true;
  }

  #useContext({ lines, line_number: line }: { lines: Text; line_number: number }): void {
    if (this.#path === undefined) return;
    const context = { line, text: cutAround(lineOf(lines).text, 0, lines.isCut) };
    if (this.#last && line - this.#last.line <= this.#after) (this.#last.context ??= []).push(context);
    else this.#before.push(context);
  }

  #useMatch({ lines, line_number: line, submatches }: Extract<Message, { type: 'match' }>['data']): boolean {
    if (this.#path === undefined) return true;
    if (this.rows.length === this.#limit) return false;
    const { text, columnOf } = lineOf(lines);
    const column = columnOf(submatches[0]?.start ?? 0);
    const row: GrepRow = {
      path: this.#path,
      line,
      ...(column !== undefined && { column: column + 1 }),
      text: cutAround(text, column ?? 0, lines.isCut),
    };
    if (this.#before.length > 0) row.context = this.#before;
    this.#before = [];
    this.#last = row;
    this.rows.push(row);
    return true;
  }
}

/** A JSON line that is not kept: its beginning, and what follows the text. */
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
    const text = /"lines":\{"text":"((?:[^"\\]|\\.)*)/s.exec(head)?.[1];
    const bytes = /"lines":\{"bytes":"([A-Za-z0-9+/]*)/.exec(head)?.[1];
    if (type === undefined || line === undefined) return undefined;
    const lines = {
      ...(text !== undefined
        ? { text: unescapePrefix(text) }
        : { bytes: (bytes ?? '').slice(0, (bytes?.length ?? 0) & ~3) }),
      isCut: true,
    };
    const start = Number(/"start":(\d+)/.exec(tail)?.[1] ?? 0);
    return type === 'match'
      ? { type, data: { lines, line_number: Number(line), submatches: [{ start }] } }
      : { type: 'context', data: { lines, line_number: Number(line) } };
  }
}

/** The beginning of a JSON string that may be cut in the middle of a `\u` escape or of a character. */
function unescapePrefix(text: string): string {
  const whole = text.replace(/\\(?:u[0-9a-fA-F]{0,3})?$/, '').replace(/\ufffd+$/, '');
  return JSON.parse(`"${whole}"`) as string;
}

/** A path as results show it. What is not UTF-8 in it is shown as `\xNN`, which names no file but can be read. */
export function pathOf(path: Text): string {
  return 'text' in path
    ? path.text.replace(/^\.\//, '')
    : showName(Buffer.from(path.bytes, 'base64')).replace(/^\.\//, '');
}

function lineOf(lines: Text): { text: string; columnOf: (byteOffset: number) => number | undefined } {
  // What is not UTF-8 is a byte, a character, as read_file shows it.
  const encoding = 'bytes' in lines ? 'latin1' : 'utf8';
  const bytes = 'bytes' in lines ? Buffer.from(lines.bytes, 'base64') : Buffer.from(lines.text);
  return {
    text: bytes.toString(encoding).replace(/\r?\n$/, ''),
    columnOf: (offset) => (offset <= bytes.length ? bytes.toString(encoding, 0, offset).length : undefined),
  };
}

/** A long text as the part around a place, with what was left out counted. */
function cutAround(text: string, column: number, isCut = false): string {
  if (text.length <= MAX_TEXT_CHARS) return isCut ? `${text}... [cut]` : text;
  const start = column + LEAD_CHARS < MAX_TEXT_CHARS ? 0 : Math.max(0, Math.min(column, text.length) - LEAD_CHARS);
  const shown = text.slice(start, start + MAX_TEXT_CHARS).replace(/^[\udc00-\udfff]|[\ud800-\udbff]$/g, '');
  const before = start > 0 ? `[${start} characters] ...` : '';
  const rest = text.length - start - MAX_TEXT_CHARS;
  return `${before}${shown}${isCut ? '... [cut]' : rest > 0 ? `... [${rest} characters]` : ''}`;
}

/** The rows as text: a heading a file, `12:` before a match, `12-` before a line around it. */
export function grepLines(rows: readonly GrepRow[]): string[] {
  const lines: string[] = [];
  let path: string | undefined;
  let lastLine = 0;
  for (const row of rows) {
    if (row.path !== path) {
      path = row.path;
      lastLine = 0;
      lines.push(escapeControls(path));
    }
    const around = [
      ...(row.context ?? []).map((each) => ({ ...each, mark: '-' })),
      { line: row.line, text: row.text, mark: ':' },
    ];
    for (const { line, text, mark } of around.sort((a, b) => a.line - b.line)) {
      if (line <= lastLine) continue;
      if (row.context && lastLine > 0 && line > lastLine + 1) lines.push('  --');
      lines.push(`  ${line}${mark} ${text}`);
      lastLine = line;
    }
  }
  return lines;
}
