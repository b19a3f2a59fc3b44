// Replaces text in a file's bytes. Bytes outside the replaced spans never change, however the text was found.

import { setImmediate as nextTurn } from 'node:timers/promises';
import { ToolError } from '../../../contract/errors.js';
import { MAX_OCCURRENCES } from './folded-match.js';
import { shiftIndent } from './indent-shift.js';
import { findByLadder, MAX_LOOSE_BYTES, occurrences, type LadderMatch, type MatchStrategy } from './match-ladder.js';
import { type MatchedSpan } from './matched-span.js';
import { describeNearest, nearestRegions } from './nearest-regions.js';
import { assertNoPlaceholder } from './elision-comments.js';
import { MAX_WHOLE_FILE_BYTES } from '../../project/open/file-content.js';
import { quote } from '../../project/scope/project-scope.js';
import { encodeText, type TextEncoding } from '../../project/open/text-encoding.js';

/** One replacement, as passed to the tool. */
export interface TextEdit {
  old_string: string;
  new_string: string;
  /** Replace every occurrence. */
  replace_all?: boolean | undefined;
  /** Replace exactly this many occurrences, or nothing if there are more or fewer. */
  expected_count?: number | undefined;
}

/** The result of one edit. */
export interface AppliedEdit {
  /** The line of the first replacement, before this edit. */
  line: number;
  count: number;
  strategy: MatchStrategy;
}

/** The text of a file being edited. */
export interface EditableText {
  /** For messages. */
  path: string;
  bytes: Buffer;
  encoding: TextEncoding;
  bom: boolean;
}

const MAX_LINES_NAMED = 10;

/** A file after its edits. */
export interface EditOutcome {
  bytes: Buffer;
  applied: AppliedEdit[];
}

/**
 * Applies edits one after the other, each to the result of the previous one. Throws unless all apply. Yields to the event
 * loop between edits.
 *
 * @throws {ToolError} NO_MATCH with the nearest regions, MULTIPLE_MATCHES with the lines, NO_CHANGE, INVALID_ARGUMENT;
 *   TOO_LARGE above 64 MiB or a million places
 * @throws AbortError when `signal` is aborted
 */
export async function applyEdits(
  text: EditableText,
  edits: readonly TextEdit[],
  signal?: AbortSignal,
): Promise<EditOutcome> {
  const applied: AppliedEdit[] = [];
  let { bytes } = text;
  for (const [index, edit] of edits.entries()) {
    const label = edits.length > 1 ? `edits[${index}]: ` : '';
    if (index > 0) await nextTurn(undefined, { signal });
    const outcome = await applyEdit({ ...text, bytes }, edit, label, signal);
    bytes = outcome.bytes;
    applied.push(outcome.applied);
  }
  if (bytes.equals(text.bytes)) throw noChange('', 'the edits undo each other');
  return { bytes, applied };
}

/**
 * Inserts text after a line, as separate lines; line 0 inserts at the beginning. The file ends with a newline exactly if
 * it did before.
 *
 * @throws {ToolError} INVALID_ARGUMENT for a line that the file does not have
 */
export function insertAfterLine(text: EditableText, line: number, newText: string): EditOutcome {
  if (newText === '') throw noChange('', 'new_string is empty');
  assertNoPlaceholder(newText, '', '');
  const { bytes, encoding, bom } = text;
  const start = bom ? (encoding === 'utf-8' ? 3 : 2) : 0;
  let [ended, last, at] = [0, start, line === 0 ? start : bytes.length];
  for (const end of lineEndings(bytes, encoding)) {
    last = end;
    if (++ended === line) at = end;
  }
  const lines = ended + (last < bytes.length ? 1 : 0);
  if (line > lines) {
    throw new ToolError(
      'INVALID_ARGUMENT',
      `insert_line ${line} is past the end: ${quote(text.path)} has ${lines} ${lines === 1 ? 'line' : 'lines'}.`,
      {
        details: { total_lines: lines },
      },
    );
  }
  const end = majorityLineEnd(bytes, encoding);
  const body = withLineEnd(newText, end);
  const atUnendedLine = line === lines && lines > ended;
  const wanted = atUnendedLine
    ? `${end}${body.endsWith(end) ? body.slice(0, -end.length) : body}`
    : body.endsWith(end)
      ? body
      : body + end;
  const inserted = encode(wanted, encoding, 'new_string');
  return {
    bytes: joined(text, [bytes.subarray(0, at), inserted, bytes.subarray(at)], ''),
    applied: [{ line: line + 1, count: 1, strategy: 'exact' }],
  };
}

async function applyEdit(
  text: EditableText,
  edit: TextEdit,
  label: string,
  signal: AbortSignal | undefined,
): Promise<{ bytes: Buffer; applied: AppliedEdit }> {
  const { bytes, encoding } = text;
  const { old_string: oldText, new_string: newText, replace_all: replaceAll = false, expected_count: expected } = edit;
  if (oldText === '')
    throw new ToolError(
      'INVALID_ARGUMENT',
      `${label}old_string is empty. Set the text to replace, or use insert_line.`,
    );
  if (oldText === newText) throw noChange(label, 'old_string and new_string are equal');
  assertNoPlaceholder(newText, oldText, label);
  const many = replaceAll || (expected ?? 1) > 1;
  const match = await findByLadder(bytes, encoding, oldText, many, signal);
  if (!match) throw await noMatch(text, oldText, label, many, signal);
  const { strategy, spans } = match;
  if (many && spans.length > MAX_OCCURRENCES)
    throw new ToolError(
      'TOO_LARGE',
      `${label}old_string occurs more than ${MAX_OCCURRENCES} times in ${quote(text.path)}; nothing was changed. Use a program to replace that many.`,
    );
  if (expected !== undefined ? spans.length !== expected : spans.length > 1 && !many) {
    throw wrongCount(text, match, expected, label);
  }
  const replacement = replacements(text, newText, label);
  const pieces: Buffer[] = [];
  let copied = 0;
  for (const span of spans) {
    pieces.push(bytes.subarray(copied, span.start), replacement(span));
    copied = span.end;
  }
  pieces.push(bytes.subarray(copied));
  const result = joined(text, pieces, label);
  if (result.equals(bytes)) throw noChange(label, 'in the spelling of the file, old_string and new_string are equal');
  return {
    bytes: result,
    applied: { line: lineOf(bytes, spans[0]?.start ?? 0, encoding), count: spans.length, strategy },
  };
}

/** The bytes that replace a span, with the line endings of the span, else with the most frequent ones of the file. */
function replacements(
  { path, bytes, encoding }: EditableText,
  newText: string,
  label: string,
): (span: MatchedSpan) => Buffer {
  const made = new Map<string, Buffer>();
  const as = (wanted: string): Buffer => {
    let encoded = made.get(wanted);
    if (!encoded) made.set(wanted, (encoded = encode(wanted, encoding, `${label}new_string`)));
    return encoded;
  };
  let ofFile: string | undefined;
  return ({ start, end, shift }) => {
    const shifted = shift ? shiftIndent(newText, shift) : newText;
    if (shifted === undefined) throw cannotShift(path, lineOf(bytes, start, encoding), label);
    if (!shifted.includes('\n')) return as(shifted);
    ofFile ??= majorityLineEnd(bytes, encoding);
    return as(withLineEnd(shifted, prevailingLineEnd(bytes.subarray(start, end), encoding) ?? ofFile));
  };
}

/** The new content. @throws {ToolError} TOO_LARGE: a short edit of many places can exceed the memory */
function joined({ path }: EditableText, pieces: readonly Buffer[], label: string): Buffer {
  const size = pieces.reduce((sum, { length }) => sum + length, 0);
  if (size <= MAX_WHOLE_FILE_BYTES) return Buffer.concat(pieces, size);
  throw new ToolError(
    'TOO_LARGE',
    `${label}${quote(path)} would have ${size} bytes; the maximum is 64 MiB. Nothing was changed. Use a program.`,
    { details: { size } },
  );
}

/** The offset after each newline. */
export function* lineEndings(bytes: Buffer, encoding: TextEncoding): Generator<number, undefined> {
  const newline = encodeText('\n', encoding) ?? Buffer.from('\n');
  for (const at of occurrences(bytes, newline, encoding, true)) yield at + newline.length;
}

function lineOf(bytes: Buffer, offset: number, encoding: TextEncoding): number {
  return countOf(bytes.subarray(0, offset), '\n', encoding) + 1;
}

/** The most frequent line ending; LF if there is none. */
export function majorityLineEnd(bytes: Buffer, encoding: TextEncoding): string {
  return prevailingLineEnd(bytes, encoding) ?? '\n';
}

/** The most frequent of `\r\n` and `\n`; undefined without a newline. */
export function prevailingLineEnd(bytes: Buffer, encoding: TextEncoding): string | undefined {
  const all = countOf(bytes, '\n', encoding);
  if (all === 0) return undefined;
  return 2 * countOf(bytes, '\r\n', encoding) > all ? '\r\n' : '\n';
}

function countOf(bytes: Buffer, text: string, encoding: TextEncoding): number {
  let count = 0;
  for (const _at of occurrences(bytes, encodeText(text, encoding) ?? Buffer.from(text), encoding, true)) count++;
  return count;
}

function withLineEnd(text: string, lineEnd: string): string {
  return text.replace(/\r?\n/g, lineEnd);
}

function encode(text: string, encoding: TextEncoding, what: string): Buffer {
  const bytes = encodeText(text, encoding);
  if (bytes) return bytes;
  throw new ToolError(
    'INVALID_ARGUMENT',
    `${what} has a character that the file's encoding (${encoding}) cannot represent. Use other characters, or write the file with write_file.`,
  );
}

function noChange(label: string, why: string): ToolError {
  return new ToolError('NO_CHANGE', `${label}The edit would change nothing: ${why}. Use a different new_string.`);
}

function cannotShift(path: string, line: number, label: string): ToolError {
  return new ToolError(
    'NO_MATCH',
    `${label}old_string is at line ${line} of ${quote(path)} with less indentation, and new_string has lines that cannot be moved ` +
      'as far to the left; nothing was changed. Give both with the indentation of the file.',
    { details: { nearest: [{ line, end_line: line }] } },
  );
}

async function noMatch(
  { path, bytes, encoding }: EditableText,
  oldText: string,
  label: string,
  many: boolean,
  signal: AbortSignal | undefined,
): Promise<ToolError> {
  const how = many
    ? ' To replace several occurrences, give it exactly; only line endings may differ.'
    : bytes.length > MAX_LOOSE_BYTES
      ? ` ${LOOSE_NOT_TRIED}`
      : '';
  const nearest = await nearestRegions(bytes, encoding, oldText, signal);
  return new ToolError(
    'NO_MATCH',
    `${label}old_string is not in ${quote(path)}; nothing was changed.${how} ${describeNearest(nearest)}`,
    { details: { nearest: nearest.regions.map(({ line, endLine }) => ({ line, end_line: endLine })) } },
  );
}

/** Added to a NO_MATCH of a large file. */
const LOOSE_NOT_TRIED =
  'The file is larger than 16 MiB, so only an exact match was searched for: give old_string with its line endings and white space.';

const READINGS: Readonly<Record<MatchStrategy, string>> = {
  exact: '',
  eol: ' ignoring line endings (eol)',
  trim_end: ' ignoring trailing spaces (trim_end)',
  indent: ' with a different indentation (indent)',
  unicode: ' with typographic characters as their ASCII forms (unicode)',
};

function wrongCount(
  { path, bytes, encoding }: EditableText,
  { spans, strategy }: LadderMatch,
  expected: number | undefined,
  label: string,
): ToolError {
  const lines = spans.slice(0, MAX_LINES_NAMED).map(({ start }) => lineOf(bytes, start, encoding));
  const named = `${lines.join(', ')}${spans.length > lines.length ? ', ...' : ''}`;
  const details = { count: spans.length, lines, strategy };
  const more = spans.length > MAX_OCCURRENCES ? 'at least ' : '';
  const times = `${more}${spans.length} ${spans.length === 1 ? 'time' : 'times'}`;
  const found = `old_string occurs ${times} in ${quote(path)}${READINGS[strategy]} (lines ${named})`;
  const all =
    strategy === 'exact' || strategy === 'eol' ? 'set replace_all' : 'make it match exactly and set replace_all';
  const next =
    expected !== undefined
      ? `, but expected_count is ${expected}; nothing was changed. Check which occurrences to replace.`
      : `; nothing was changed. Add surrounding lines until it is unique, or ${all}.`;
  return new ToolError('MULTIPLE_MATCHES', `${label}${found}${next}`, { details });
}
