// The answer for a page of a file: its text within the limits, the properties of the file, and where to continue.

import { ToolError } from '../../../contract/errors.js';
import type { ToolContext } from '../../../tool/define-tool.js';
import { fileFailure } from '../../project/open/file-failure.js';
import { cutText, LineBudget, type OutputLimits } from '../../project/output-budget.js';
import type { ProjectFiles } from '../../project/project-files.js';
import { escapeControls, quote, type ScopePath } from '../../project/scope/project-scope.js';
import { readAt } from '../../project/open/file-content.js';
import { readPage, type FilePage, type PageLine } from './file-pages.js';
import type { LinePlaces } from './line-places.js';
import { binaryFileOf } from './media-type.js';
import { READ_ENCODINGS, type ReadEncoding } from './text-stream.js';
import { objectSchema } from '../../../tool/object-schema.js';

const MAX_LINE_UNITS = 2_000;
/** Progress is reported each time this much was read. */
const PROGRESS_BYTES = 32 * 1024 * 1024;

/** The `structuredContent` of a page, in JSON Schema. */
export const PAGE_PROPERTIES = {
  path: { type: 'string' },
  start_line: {
    type: 'integer',
    description: 'Absent, like end_line, for the tail of a file larger than 64 MiB, whose lines are not counted.',
  },
  end_line: { type: 'integer', description: 'start_line - 1 for an empty file.' },
  total_lines: { type: 'integer', description: 'Absent for a file that was not read to its end (larger than 64 MiB).' },
  size: { type: 'integer', description: 'In bytes.' },
  etag: {
    type: 'string',
    description: 'Identifies this version, for if_match: from the content up to 64 MiB, else from size and time.',
  },
  encoding: { type: 'string', enum: READ_ENCODINGS.slice(1) },
  bom: { type: 'boolean' },
  eol: { type: 'string', enum: ['lf', 'crlf', 'mixed', 'none'] },
  truncated: { type: 'boolean', description: 'More lines follow, a long line was cut, or tail exceeds the limits.' },
  next_offset: { type: 'integer', description: 'The offset of the next page.' },
  next_column: { type: 'integer', description: 'The column of the next page, within the long line at next_offset.' },
  cut_lines: {
    type: 'array',
    description: 'The long lines that were cut. Continue each with offset=line and column.',
    items: objectSchema({ line: { type: 'integer' }, column: { type: 'integer' } }),
  },
} as const;

/** The requested page of a file. */
export interface PageQuestion {
  /** The first line, from 1. Default: 1. */
  offset?: number | undefined;
  /** The first column of the first line, from 1 in UTF-16 units. When it is given, no line is cut at 2,000 units. */
  column?: number | undefined;
  /** The number of last lines; excludes the others. */
  tail?: number | undefined;
  /** How many lines at most. */
  limit: number;
  encoding?: ReadEncoding | 'auto' | undefined;
  places?: LinePlaces | undefined;
}

/** A page that was read, and where. */
export interface ReadPage {
  path: string;
  page: FilePage;
  size: number;
  requested: PageQuestion;
}

/**
 * Reads a page of a file, and notes that the session has seen this version.
 *
 * @throws {ToolError} NOT_FOUND, OUTSIDE_PROJECT, BINARY_FILE; INVALID_ARGUMENT past the end, or if it is not a regular file
 */
export async function readPageOf(
  files: ProjectFiles,
  path: ScopePath,
  requested: PageQuestion,
  limits: OutputLimits,
  ctx: ToolContext,
): Promise<ReadPage> {
  const { offset = 1, column, tail, limit, encoding = 'auto', places } = requested;
  const { handle, stats, path: real } = await files.openFile(path);
  try {
    const size = Number(stats.size);
    let reportedAt = 0;
    const page = await readPage(handle, stats, {
      from: tail === undefined ? { offset, column: column ?? 1 } : { tail: Math.min(tail, limit, limits.maxLines) },
      limit: Math.min(limit, limits.maxLines),
      maxLineUnits: column === undefined ? MAX_LINE_UNITS : Infinity,
      maxBytes: limits.maxBytes,
      encoding,
      places,
      onChunk: (bytes) => {
        ctx.signal.throwIfAborted();
        if (bytes - reportedAt < PROGRESS_BYTES) return;
        reportedAt = bytes;
        ctx.progress({ progress: bytes, total: size, message: `Reading ${escapeControls(path.shown)}` });
      },
    });
    if (!page) throw binaryFileOf(path.shown, size, await readAt(handle, Buffer.alloc(1024), 0));
    if (tail === undefined) assertReached(path.shown, page, offset, column ?? 1);
    files.tracker.note(ctx.sessionId, { path: real.absolute, dev: stats.dev, ino: stats.ino }, page.etag, page.content);
    return { path: path.shown, page, size, requested };
  } catch (error) {
    throw fileFailure(error, 'read', path.shown);
  } finally {
    await handle.close();
  }
}

/** A line as it is shown: its text, and what precedes and follows it. */
interface ShownLine {
  before: string;
  text: string;
  after: string;
}

/** The number of lines and bytes of a page in full. */
export function sizeOfPage(read: ReadPage, lineNumbers: boolean): { lines: number; bytes: number } {
  const lines = shownLines(read, lineNumbers);
  return { lines: lines.length, bytes: lines.reduce((sum, line) => sum + Buffer.byteLength(wholeOf(line)) + 1, 0) };
}

/** The result of a page whose text may have this size: the text, notices (empty if there are none), facts. */
export function pageAnswer(read: ReadPage, lineNumbers: boolean, limits: OutputLimits) {
  const { path, page, size, requested } = read;
  const { text, start, count, units } = fitting(shownLines(read, lineNumbers), limits, requested.tail !== undefined);
  const lines = page.lines.slice(start, start + count);
  const firstLine = page.firstLine === undefined ? undefined : page.firstLine + start;
  const cut: CutLine[] = [];
  for (const [index, line] of lines.entries()) {
    const shown = units ?? line.text.length;
    if (firstLine !== undefined && (shown < line.text.length || line.cutUnits > 0))
      cut.push({ line: firstLine + index, column: line.from + shown });
  }
  const wanted = Math.min(requested.tail ?? 0, page.complete ? page.linesSeen : Infinity);
  const shown: ShownPart = { firstLine, count, missing: Math.max(0, wanted - count), cut };
  const next = requested.tail === undefined ? nextOf(read, shown, units !== undefined) : undefined;
  return {
    text,
    notice: noticeOf(read, shown, next),
    facts: {
      path,
      ...(firstLine !== undefined && { start_line: firstLine, end_line: firstLine + count - 1 }),
      ...(page.complete && { total_lines: page.linesSeen }),
      size,
      etag: page.etag,
      encoding: page.encoding,
      bom: page.bom,
      eol: page.eol,
      truncated:
        next !== undefined || shown.missing > 0 || page.beginsEarlier || lines.some((line) => line.cutUnits > 0),
      ...(next && { next_offset: next.line }),
      ...(next?.column !== undefined && { next_column: next.column }),
      ...(cut.length > 0 && { cut_lines: cut }),
    },
  };
}

/** A line that is cut, and the column at which to continue reading. */
interface CutLine {
  line: number;
  column: number;
}

/** Which lines of a page an answer shows. */
interface ShownPart {
  firstLine: number | undefined;
  count: number;
  /** Lines requested by `tail` that do not fit. */
  missing: number;
  cut: readonly CutLine[];
}

function shownLines({ page, requested }: ReadPage, lineNumbers: boolean): ShownLine[] {
  const { firstLine } = page;
  return page.lines.map((line, index) => {
    const number = firstLine === undefined ? undefined : firstLine + index;
    const start = lineNumbers && number !== undefined ? `${String(number).padStart(6)}\t` : '';
    return {
      before: index === 0 && page.beginsEarlier ? `${start}[this line begins earlier] ...` : start,
      text: line.text,
      // A caller that reads by columns gets only the text.
      after: requested.column === undefined && line.cutUnits > 0 ? cutMark(line, number) : '',
    };
  });
}

function cutMark({ text, from, cutUnits, open }: PageLine, number: number | undefined): string {
  const more = open ? 'more of this line' : `${cutUnits} more characters`;
  return `... [${more}${number === undefined ? '' : `: offset=${number} column=${from + text.length}`}]`;
}

function wholeOf({ before, text, after }: ShownLine): string {
  return `${before}${text}${after}`;
}

/** The first lines, or the last, that fit. One line always fits, cut where necessary: `units` has the place. */
function fitting(
  lines: readonly ShownLine[],
  limits: OutputLimits,
  fromEnd: boolean,
): { text: string; start: number; count: number; units?: number } {
  const budget = new LineBudget(limits);
  const [first] = fromEnd ? lines.slice(-1) : lines;
  if (first && Buffer.byteLength(wholeOf(first)) >= limits.maxBytes) {
    const text = cutText(first.text, Math.max(0, limits.maxBytes - Buffer.byteLength(first.before)));
    return { text: `${first.before}${text}`, start: fromEnd ? lines.length - 1 : 0, count: 1, units: text.length };
  }
  for (const line of fromEnd ? lines.toReversed() : lines) if (!budget.add(wholeOf(line))) break;
  const start = fromEnd ? lines.length - budget.count : 0;
  const shown = lines.slice(start, start + budget.count);
  return { text: shown.map(wholeOf).join('\n'), start, count: budget.count };
}

/** Where to continue reading; undefined at the end of the file. */
function nextOf(
  { page, requested }: ReadPage,
  { firstLine = 1, count, cut }: ShownPart,
  isBudgetCut: boolean,
): { line: number; column?: number } | undefined {
  const endLine = firstLine + count - 1;
  const isEnd = page.complete && endLine >= page.linesSeen;
  const last = cut.at(-1);
  // In the middle of a line, and it is not known whether anything follows it.
  if (last?.line === endLine && (isEnd || isBudgetCut || page.lines[count - 1]?.open)) return last;
  if (isEnd) return undefined;
  return { line: endLine + 1, ...(requested.column !== undefined && { column: 1 }) };
}

function noticeOf(read: ReadPage, shown: ShownPart, next: { line: number; column?: number } | undefined): string {
  const { page, requested } = read;
  const notices: string[] = [];
  if (page.complete && page.linesSeen === 0) notices.push('The file is empty.');
  const { firstLine, count, missing, cut } = shown;
  const range = firstLine === undefined ? '' : `Lines ${firstLine} to ${firstLine + count - 1}`;
  const of = page.complete ? ` of ${page.linesSeen}` : '';
  if (next) {
    const column = next.column === undefined ? '' : `, column=${next.column}`;
    notices.push(`${range}${of}. Continue with offset=${next.line}${column}.`);
  } else if (requested.tail !== undefined && firstLine === undefined) {
    notices.push(`The last ${count} lines. With tail, lines of a file above 64 MiB have no numbers.`);
  } else if (requested.tail !== undefined && (firstLine ?? 1) > 1) {
    notices.push(`${range}${of}.${missing > 0 ? ` ${missing} more did not fit: use offset.` : ''}`);
  }
  if (requested.column === undefined && cut.length > 0) {
    const lines = cut.slice(0, 10).map(({ line }) => line);
    notices.push(
      `Cut at ${MAX_LINE_UNITS} characters or less: ${cut.length === 1 ? 'line' : 'lines'} ${lines.join(', ')}${cut.length > 10 ? ', ...' : ''}. ` +
        'Use offset and column to read the rest of one.',
    );
  }
  if (page.elsewhere !== undefined)
    notices.push(
      `Shown as ${page.encoding}, as requested; by default, and by edit_file, it is read as ${page.elsewhere}.`,
    );
  else if (page.encoding === 'latin1')
    notices.push('Not UTF-8: each byte is shown, and edited, as one latin1 character.');
  if (page.replaced) notices.push(`Invalid ${page.encoding} is shown as U+FFFD. Use encoding=latin1 to see each byte.`);
  return notices.length > 0 ? `[${notices.join(' ')}]` : '';
}

function assertReached(path: string, { lines: [first], linesSeen }: FilePage, offset: number, column: number): void {
  const isEmptyFile = linesSeen === 0 && offset === 1 && column === 1;
  if (!first && !isEmptyFile)
    throw new ToolError(
      'INVALID_ARGUMENT',
      `offset ${offset} is past the end: ${quote(path)} has ${linesSeen} ${linesSeen === 1 ? 'line' : 'lines'}.`,
      { details: { total_lines: linesSeen } },
    );
  const units = first ? first.from - 1 + first.text.length + first.cutUnits : 0;
  if (first && !first.open && column > units + 1)
    throw new ToolError(
      'INVALID_ARGUMENT',
      `column ${column} is past the end: line ${offset} of ${quote(path)} has ${units} ${units === 1 ? 'character' : 'characters'}.`,
      { details: { line_columns: units } },
    );
}
