// Finds the lines of a page in a stream of UTF-8, and keeps only the part that can be shown. Lines before and after the
// page are only counted.

import { isAscii } from 'node:buffer';

const NEWLINE = 0x0a;
const RETURN = 0x0d;
/** The most bytes per UTF-16 unit: a character of four bytes has two units, one of three has one. */
const MAX_BYTES_A_UNIT = 3;

/** The lines to keep, and how much of each. */
export interface LineWindow {
  /** The first line, from 1. Undefined: the window is opened by {@link LineScan.openTail}. */
  first: number | undefined;
  /** Maximum number of lines. */
  limit: number;
  /** The first column to keep of the first line, from 1 in UTF-16 units. */
  column: number;
  /** The maximum length of a line, in UTF-16 units; longer lines are cut. */
  maxLineUnits: number;
  /** Maximum total bytes of kept lines. */
  maxBytes: number;
}

/** A line of the window, without its end. */
export interface ScannedLine {
  /** Its text from column {@link from} on: at least the part that is shown. */
  bytes: Buffer;
  /** The first kept column. */
  from: number;
  /** UTF-16 units of the whole line; of the part read so far when it is {@link open}. */
  units: number;
  /** True when reading stopped before the end of the line. */
  open: boolean;
}

/** The state of a scan between two characters, from which another scan can continue. */
export interface ScanState {
  linesSeen: number;
  lf: number;
  crlf: number;
  /** UTF-16 units of the line that has begun; undefined where they were not counted. */
  units: number | undefined;
  /** Whether the current line has bytes. */
  begun: boolean;
  afterReturn: boolean;
}

/** One pass over a file, or over the end of it. */
export class LineScan {
  readonly #window: LineWindow;
  #first: number;
  #last: number;
  #isTail = false;
  /** Bytes that may still be kept. A kept line is shown with at least `min(its bytes, maxLineUnits)`. */
  #room: number;
  #lines: ScannedLine[] = [];
  #pieces: Buffer[] = [];
  #keptBytes = 0;
  /** The current line: its bytes from the column on, its UTF-16 units, and the units before the column. */
  #bytes = 0;
  #units: number | undefined = 0;
  #passedUnits = 0;
  /** The units to skip before the column. */
  #skip: number;
  #begun = false;
  #afterReturn = false;
  #linesSeen = 0;
  lf = 0;
  crlf = 0;

  /** @param from the state of an earlier scan; it must not be past the column of the first line */
  constructor(window: LineWindow, from?: ScanState) {
    this.#window = window;
    this.#first = window.first ?? Infinity;
    this.#last = this.#first + window.limit - 1;
    this.#room = window.maxBytes;
    this.#skip = window.column - 1;
    if (!from) return;
    if (from.linesSeen === this.#first - 1) this.#passedUnits = from.units ?? 0;
    this.#skip -= this.#passedUnits;
    this.#linesSeen = from.linesSeen;
    this.lf = from.lf;
    this.crlf = from.crlf;
    this.#units = from.units;
    this.#begun = from.begun;
    this.#afterReturn = from.afterReturn;
  }

  /** The number of lines scanned so far, including the last one when the file has ended. */
  get linesSeen(): number {
    return this.#linesSeen;
  }

  /** The lines of the window, and the number of the first of them. */
  get lines(): readonly ScannedLine[] {
    return this.#lines;
  }

  get firstLine(): number {
    return this.#first;
  }

  /** True when the page has all its lines and something comes after them. */
  get isFull(): boolean {
    return this.#linesSeen > this.#last || (this.#linesSeen === this.#last && this.#begun);
  }

  /** The bytes of the current line, within the window, to skip without keeping. */
  get passedBytes(): number {
    return this.#isInWindow && this.#keptBytes === this.#maxKept ? this.#bytes - this.#keptBytes : 0;
  }

  get state(): ScanState {
    const { lf, crlf } = this;
    const units = !this.#begun ? 0 : this.#isInWindow ? this.#units : undefined;
    return { linesSeen: this.#linesSeen, lf, crlf, units, begun: this.#begun, afterReturn: this.#afterReturn };
  }

  /** Keeps the last lines from here on, as many as fit in the window; earlier ones are dropped. */
  openTail(): void {
    this.#isTail = true;
    this.#first = this.#linesSeen + (this.#begun ? 2 : 1);
    this.#last = Infinity;
  }

  /** @param chunk valid UTF-8, of whole characters */
  push(chunk: Buffer): void {
    let start = 0;
    for (;;) {
      const end = chunk.indexOf(NEWLINE, start);
      if (end < 0) break;
      const isCrlf = end > start ? chunk[end - 1] === RETURN : this.#afterReturn;
      if (isCrlf) this.crlf++;
      else this.lf++;
      if (this.#isInWindow) {
        this.#add(chunk.subarray(start, end));
        this.#endLine(isCrlf ? 1 : 0);
      } else {
        // Most lines of a long file are only passed.
        this.#linesSeen++;
        this.#begun = this.#afterReturn = false;
        this.#units = 0;
      }
      start = end + 1;
    }
    if (start === chunk.length) return;
    this.#begun = true;
    this.#afterReturn = chunk[chunk.length - 1] === RETURN;
    if (this.#isInWindow) this.#add(chunk.subarray(start));
  }

  /** @param atEnd true at the end of the file: a last line without a newline counts as a line */
  end(atEnd: boolean): void {
    if (!this.#begun) return;
    if (atEnd && !this.#isInWindow) this.#linesSeen++;
    else if (atEnd) this.#endLine(0);
    else if (this.#isInWindow) this.#keepLine(0, true);
  }

  get #isInWindow(): boolean {
    return this.#linesSeen + 1 >= this.#first && this.#linesSeen < this.#last;
  }

  /** One byte more than is shown, to detect that the line was cut. */
  get #maxKept(): number {
    const { maxLineUnits, maxBytes } = this.#window;
    return Math.min(MAX_BYTES_A_UNIT * maxLineUnits, this.#isTail ? maxBytes : Math.max(0, this.#room)) + 8;
  }

  #add(piece: Buffer): void {
    this.#units = (this.#units ?? 0) + unitsOf(piece);
    let rest = piece;
    if (this.#skip > 0 && this.#linesSeen + 1 === this.#first) {
      const { bytes, units } = beginning(piece, this.#skip);
      // Half of a character of two units cannot be dropped: the line is kept from its beginning.
      this.#skip = bytes < piece.length ? 0 : this.#skip - units;
      this.#passedUnits += units;
      rest = piece.subarray(bytes);
    }
    this.#bytes += rest.length;
    const room = this.#maxKept - this.#keptBytes;
    if (room <= 0 || rest.length === 0) return;
    const kept = Buffer.from(rest.subarray(0, room)); // the chunk's memory is used again
    this.#pieces.push(kept);
    this.#keptBytes += kept.length;
  }

  #endLine(endBytes: number): void {
    this.#keepLine(endBytes, false);
    this.#linesSeen++;
    this.#begun = this.#afterReturn = false;
    this.#bytes = this.#keptBytes = this.#units = this.#passedUnits = 0;
    this.#pieces = [];
    if (this.#isTail) this.#dropEarliest();
    else if (this.#room <= 0) this.#last = this.#linesSeen;
  }

  #keepLine(endBytes: number, open: boolean): void {
    const [only] = this.#pieces;
    const bytes = this.#pieces.length === 1 && only ? only : Buffer.concat(this.#pieces);
    const line = {
      bytes: bytes.subarray(0, Math.max(0, this.#bytes - endBytes)),
      from: this.#passedUnits + 1,
      units: (this.#units ?? 0) - endBytes,
      open,
    };
    this.#lines.push(line);
    this.#room -= this.#cost(line);
  }

  #dropEarliest(): void {
    while (this.#lines.length > this.#window.limit || (this.#room < 0 && this.#lines.length > 1)) {
      const [line] = this.#lines.splice(0, 1);
      if (line) this.#room += this.#cost(line);
      this.#first++;
    }
  }

  /** The minimum size of a line in a result. */
  #cost({ bytes }: ScannedLine): number {
    return Math.min(bytes.length, this.#window.maxLineUnits) + 1;
  }
}

/** The number of UTF-16 units of valid UTF-8. */
function unitsOf(bytes: Buffer): number {
  return isAscii(bytes) ? bytes.length : beginning(bytes, Infinity).units;
}

/** The longest prefix of valid UTF-8 with at most `maxUnits` UTF-16 units. */
function beginning(text: Buffer, maxUnits: number): { bytes: number; units: number } {
  let units = 0;
  // By index: an iterator takes ten times as long.
  for (let index = 0; index < text.length; index++) {
    const byte = text[index] ?? 0;
    if ((byte & 0xc0) === 0x80) continue;
    const more = byte >= 0xf0 ? 2 : 1;
    if (units + more > maxUnits) return { bytes: index, units };
    units += more;
  }
  return { bytes: text.length, units };
}
