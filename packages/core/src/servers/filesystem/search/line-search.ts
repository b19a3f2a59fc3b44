// The program of the search worker: opens files and finds matching lines as ripgrep does. One self-contained function:
// its source text is the program of the worker, so that it works from TypeScript, from the built package and from a bundle.
// It must not need helpers of a compiler: no `using`, no decorators, no `#private`.

import type * as NodeBuffer from 'node:buffer';
import type * as Fs from 'node:fs';
import type * as Threads from 'node:worker_threads';

/** The parameters of a search. */
export interface LineSearch {
  /** The pattern for text that is all ASCII, and for any. */
  ascii: string;
  unicode: string;
  flags: string;
  /** A match may span lines. */
  spansLines: boolean;
  mode: 'content' | 'files' | 'count';
  /** Count the rows of a binary file before its NUL, as ripgrep's rows are counted with `multiline`. */
  countsBinary: boolean;
  before: number;
  after: number;
  /** The maximum number of rows of one file. */
  maxRows: number;
  /** The maximum length of a row's text, in UTF-16 units. */
  maxText: number;
  lead: number;
  maxFileBytes: number;
  /** Reject a file whose real path differs, on systems where its directory cannot be held open. */
  checkRealPath: boolean;
}

/** A file to search. */
export interface SearchedFile {
  index: number;
  address: string | Uint8Array;
  /** Rows up to this line were returned by an earlier page. */
  afterLine: number;
}

/** A part of a line: the text, where it begins in the line, and how long the line is. */
export type LinePart = [text: string, start: number, length: number];

/** A row of a file: in mode `files` the index alone, in mode `count` with a count, else a line. */
export interface FoundRow {
  index: number;
  count?: number;
  line?: number;
  /** From 1, in UTF-16 units; in bytes for a line that is not UTF-8. */
  column?: number;
  text?: LinePart;
  context?: { line: number; text: LinePart }[];
}

/** A message of the worker: rows, and whether the batch is complete. */
export interface SearchReport {
  rows: FoundRow[];
  done: boolean;
}

/** The used part of `require`. */
interface BuiltinRequire {
  (name: 'node:fs'): typeof Fs;
  (name: 'node:buffer'): typeof NodeBuffer;
  (name: 'node:worker_threads'): typeof Threads;
}

/** The worker's program. */
export function runLineSearch(builtin: BuiltinRequire): void {
  const fs = builtin('node:fs');
  const { isAscii, isUtf8 } = builtin('node:buffer');
  const threads = builtin('node:worker_threads');
  const { parentPort } = threads;
  const search = threads.workerData as LineSearch;
  const asciiRegex = new RegExp(search.ascii, search.flags);
  const unicodeRegex = new RegExp(search.unicode, search.flags);
  const {
    O_RDONLY,
    O_NOFOLLOW = 0,
    O_NONBLOCK = 0,
  } = fs.constants as Partial<typeof fs.constants> & { O_RDONLY: number };
  /** The size of ripgrep's buffer, which decides how much of a binary file is searched. */
  const BUFFER_BYTES = 65536;
  /** Lines are searched this much at a time, so that a big file is not held whole. */
  const CHUNK_BYTES = 4 * 1024 * 1024;
  const REPORT_AFTER_MS = 20;
  const REPORT_AFTER_ROWS = 200;
  const chunk = Buffer.allocUnsafe(CHUNK_BYTES);
  let rows: FoundRow[] = [];
  let reportedAt = performance.now();

  const report = (done: boolean): void => {
    parentPort?.postMessage({ rows, done });
    rows = [];
    reportedAt = performance.now();
  };
  const add = (row: FoundRow): void => {
    rows.push(row);
    if (rows.length >= REPORT_AFTER_ROWS) report(false);
  };

  parentPort?.on('message', (files: SearchedFile[]) => {
    for (const file of files) {
      searchFile(file);
      if (rows.length > 0) report(false);
    }
    report(true);
  });

  function searchFile(file: SearchedFile): void {
    const address = typeof file.address === 'string' ? file.address : Buffer.from(file.address);
    let fd: number;
    try {
      fd = fs.openSync(address, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    } catch {
      return; // deleted, a link, or unreadable: ripgrep reports nothing either
    }
    try {
      if (search.checkRealPath && fs.realpathSync.native(address) !== address.toString()) return;
      const stats = fs.fstatSync(fd);
      if (!stats.isFile() || stats.size > search.maxFileBytes) return;
      searchOpen(file, fd, stats.size);
    } catch (error) {
      if ((error as { code?: unknown }).code === undefined) throw error; // of the program, not of the file
    } finally {
      fs.closeSync(fd);
    }
  }

  /** Fills a buffer up to the end of the file. */
  function read(fd: number, into: Buffer, from: number): number {
    let end = from;
    while (end < into.length) {
      const got = fs.readSync(fd, into, end, into.length - end, null);
      if (got === 0) break;
      end += got;
    }
    return end;
  }

  function searchOpen(file: SearchedFile, fd: number, size: number): void {
    let end = read(fd, chunk, 0);
    if (end === 0) return;
    const state = { line: 1, found: 0, given: 0 };
    const isWide = end >= 2 && ((chunk[0] === 0xff && chunk[1] === 0xfe) || (chunk[0] === 0xfe && chunk[1] === 0xff));
    const isWhole = end < CHUNK_BYTES;
    const needsWhole = isWide || search.spansLines || search.before > 0 || search.after > 0;
    const finish = (isBinary: boolean): void => {
      // ripgrep counts no lines of a binary file, whatever rows it has shown.
      if (search.mode === 'count' && state.found > 0 && (!isBinary || search.countsBinary))
        add({ index: file.index, count: state.found });
    };
    if (isWhole || needsWhole) {
      let bytes = chunk.subarray(0, end);
      if (!isWhole) {
        const all = Buffer.allocUnsafe(Math.min(size, search.maxFileBytes));
        chunk.copy(all, 0, 0, end);
        bytes = all.subarray(0, read(fd, all, end));
      }
      if (isWide) bytes = Buffer.from(new TextDecoder(bytes[0] === 0xff ? 'utf-16le' : 'utf-16be').decode(bytes));
      else if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) bytes = bytes.subarray(3);
      const nul = bytes.indexOf(0);
      searchText(
        file,
        state,
        nul < 0
          ? bytes
          : search.spansLines
            ? nul < BUFFER_BYTES
              ? bytes.subarray(0, 0)
              : bytes
            : untilBinary(bytes, nul),
      );
      finish(nul >= 0);
      return;
    }
    let start = chunk[0] === 0xef && chunk[1] === 0xbb && chunk[2] === 0xbf ? 3 : 0;
    let held: Buffer = chunk;
    for (;;) {
      const isLast = end < held.length;
      const bytes = held.subarray(start, end);
      const nul = bytes.indexOf(0);
      const lastBreak = bytes.lastIndexOf(0x0a);
      if (nul >= 0) {
        searchText(file, state, untilBinary(bytes, nul));
        return finish(true);
      }
      if (isLast || lastBreak >= 0) {
        const until = isLast ? bytes.length : lastBreak + 1;
        if (!searchText(file, state, bytes.subarray(0, until)) || isLast) return finish(false);
        held.copyWithin(0, start + until, end);
        end -= start + until;
        start = 0;
      } else if (start > 0) {
        held.copyWithin(0, start, end);
        end -= start;
        start = 0;
      } else {
        // One line that is longer than the chunk.
        const longer = Buffer.allocUnsafe(held.length * 2);
        held.copy(longer, 0, 0, end);
        held = longer;
      }
      end = read(fd, held, end);
    }
  }

  /** What ripgrep has searched before it meets the NUL: full buffers, each but for the line that is cut at its end. */
  function untilBinary(bytes: Buffer, nul: number): Buffer {
    let start = 0;
    for (let end = BUFFER_BYTES; end <= nul;) {
      const lastBreak = bytes.lastIndexOf(0x0a, end - 1);
      if (lastBreak < start) {
        end += end - start; // its buffer grows until a line fits
        continue;
      }
      start = lastBreak + 1;
      end = start + BUFFER_BYTES;
    }
    return bytes.subarray(0, start);
  }

  /** Searches whole lines; false when enough was found. */
  function searchText(
    file: SearchedFile,
    state: { line: number; found: number; given: number },
    bytes: Buffer,
  ): boolean {
    if (bytes.length === 0) return true;
    const isPlain = isAscii(bytes);
    const regex = isPlain ? asciiRegex : unicodeRegex;
    const text = isPlain ? bytes.toString('latin1') : isUtf8(bytes) ? bytes.toString() : escapeBytes(bytes);
    let counted = 0; // up to where `state.line` has been counted
    let shown = 0; // up to where lines belong to the row before
    let lastEnd = 0;
    let lastEndLine = 0;
    /** A row is reported when the lines after it, up to the next row, are known. */
    let pending: FoundRow | undefined;
    const settle = (until: number): void => {
      if (!pending) return;
      if (search.after > 0) addAfter(text, pending, lastEnd, lastEndLine, until);
      add(pending);
      pending = undefined;
    };
    regex.lastIndex = 0;
    for (;;) {
      // The next match may take very long: the first row of a file is reported immediately, others soon.
      if (rows.length > 0 && (state.given <= 1 || performance.now() - reportedAt > REPORT_AFTER_MS)) report(false);
      const match = regex.exec(text);
      if (!match) break;
      let from = match.index;
      if (from === text.length && text.charCodeAt(from - 1) === 0x0a) break; // no line begins there
      const start = lineStart(text, from);
      let end = from + match[0].length;
      end = end > start && text.charCodeAt(end - 1) === 0x0a ? end : text.indexOf('\n', end) + 1 || text.length;
      from -= start;
      if (match[0] === '') regex.lastIndex++;
      // A match that begins in the row before is a part of it.
      if (search.spansLines) {
        for (;;) {
          if (regex.lastIndex > text.length) break;
          const more = regex.exec(text);
          if (!more) {
            regex.lastIndex = text.length + 1;
            break;
          }
          if (more.index >= end) {
            regex.lastIndex = more.index;
            break;
          }
          const moreEnd = more.index + more[0].length;
          if (moreEnd > end)
            end = text.charCodeAt(moreEnd - 1) === 0x0a ? moreEnd : text.indexOf('\n', moreEnd) + 1 || text.length;
          if (more[0] === '') regex.lastIndex++;
        }
      } else regex.lastIndex = end;
      state.found++;
      if (search.mode === 'files') {
        add({ index: file.index });
        return false;
      }
      if (search.mode === 'count') {
        if (regex.lastIndex >= text.length) break;
        continue;
      }
      for (let at = text.indexOf('\n', counted); at >= 0 && at < start; at = text.indexOf('\n', at + 1)) state.line++;
      counted = start;
      const line = state.line;
      settle(start);
      const context: { line: number; text: LinePart }[] = [];
      const afterEnd = Math.max(shown, shown > 0 ? skipLines(text, lastEnd, search.after) : 0);
      for (let at = start, number = line - 1; at > afterEnd && context.length < search.before; number--) {
        const before = lineStart(text, at - 1);
        context.unshift({ line: number, text: partOf(text.slice(before, at), 0) });
        at = before;
      }
      const lines = text.slice(start, end);
      const row: FoundRow = { index: file.index, line, ...columnAndText(lines, from) };
      if (context.length > 0) row.context = context;
      lastEnd = shown = end;
      lastEndLine = line;
      if (search.spansLines)
        for (let at = lines.indexOf('\n'); at >= 0 && at < lines.length - 1; at = lines.indexOf('\n', at + 1))
          lastEndLine++;
      if (line > file.afterLine) {
        pending = row;
        if (search.after === 0) settle(start);
        if (++state.given >= search.maxRows) {
          settle(start);
          return false;
        }
      }
      if (regex.lastIndex >= text.length) break;
    }
    settle(text.length);
    if (search.mode === 'content')
      for (let at = text.indexOf('\n', counted); at >= 0; at = text.indexOf('\n', at + 1)) state.line++;
    return true;
  }

  function lineStart(text: string, at: number): number {
    return at <= 0 ? 0 : text.lastIndexOf('\n', at - 1) + 1;
  }

  /** The lines after a row, up to a place. */
  function addAfter(text: string, row: FoundRow, from: number, lastLine: number, until: number): void {
    let at = from;
    for (let count = 1; count <= search.after && at < until; count++) {
      const end = text.indexOf('\n', at) + 1 || text.length;
      (row.context ??= []).push({ line: lastLine + count, text: partOf(text.slice(at, end), 0) });
      at = end;
    }
  }

  function skipLines(text: string, from: number, count: number): number {
    let at = from;
    for (let index = 0; index < count && at < text.length; index++) at = text.indexOf('\n', at) + 1 || text.length;
    return at;
  }

  function columnAndText(lines: string, from: number): { column: number; text: LinePart } {
    const shown = asShown(lines);
    const column = shown === lines ? from : asBytes(lines.slice(0, from)).length;
    return { column: column + 1, text: partOf(lines, column) };
  }

  /** The part of a line around a place, without its end. */
  function partOf(line: string, column: number): LinePart {
    const text = asShown(line).replace(/\r?\n$/, '');
    const start =
      text.length <= search.maxText || column + search.lead < search.maxText
        ? 0
        : Math.max(0, Math.min(column, text.length) - search.lead);
    return [text.slice(start, start + search.maxText), start, text.length];
  }

  /** Shows a line that is not UTF-8 as one character per byte. */
  function asShown(line: string): string {
    return /(?<![\ud800-\udbff])[\udc80-\udcff]/.test(line) ? asBytes(line).toString('latin1') : line;
  }

  function asBytes(text: string): Buffer {
    const pieces: Buffer[] = [];
    for (const piece of text.split(/((?<![\ud800-\udbff])[\udc80-\udcff])/)) {
      const code = piece.length === 1 ? piece.charCodeAt(0) : 0;
      pieces.push(code >= 0xdc80 && code <= 0xdcff ? Buffer.from([code - 0xdc00]) : Buffer.from(piece));
    }
    return Buffer.concat(pieces);
  }

  /** Decodes UTF-8; each invalid byte becomes half a surrogate pair. */
  function escapeBytes(bytes: Buffer): string {
    const pieces: string[] = [];
    let from = 0;
    for (let at = 0; at < bytes.length;) {
      const length = lengthAt(bytes, at);
      if (length === 0) {
        pieces.push(bytes.toString('utf8', from, at), String.fromCharCode(0xdc00 + (bytes[at] ?? 0)));
        from = ++at;
      } else at += length;
    }
    pieces.push(bytes.toString('utf8', from));
    return pieces.join('');
  }

  /** The length of the character at a position; 0 for an invalid byte. https://www.unicode.org/versions/Unicode15.0.0/ch03.pdf table 3-7 */
  function lengthAt(bytes: Buffer, at: number): number {
    const lead = bytes[at] ?? 0;
    if (lead < 0x80) return 1;
    const length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
    if (lead < 0xc2 || lead > 0xf4 || at + length > bytes.length) return 0;
    const second = bytes[at + 1] ?? 0;
    const least = lead === 0xe0 ? 0xa0 : lead === 0xf0 ? 0x90 : 0x80;
    const most = lead === 0xed ? 0x9f : lead === 0xf4 ? 0x8f : 0xbf;
    if (second < least || second > most) return 0;
    for (let index = 2; index < length; index++) if (((bytes[at + index] ?? 0) & 0xc0) !== 0x80) return 0;
    return length;
  }
}
