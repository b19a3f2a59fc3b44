// Replacing text in a file's bytes: every byte outside the replaced spans stays what it is, however the text was found.

import { ToolError } from '../../errors.js';
import { shiftIndent } from './indent-shift.js';
import { findAll, findByLadder, type LadderMatch, type MatchedSpan, type MatchStrategy } from './match-ladder.js';
import { describeNearest, nearestRegions } from './nearest-regions.js';
import { assertNoPlaceholder } from './placeholders.js';
import { decodeText, encodeText, type TextEncoding } from '../text-encoding.js';
import { quote } from '../project-scope.js';

/** One replacement, as the tool takes it. */
export interface TextEdit {
  old_string: string;
  new_string: string;
  /** Replace every occurrence. */
  replace_all?: boolean | undefined;
  /** Replace exactly so many occurrences, and nothing when there are more or fewer. */
  expected_count?: number | undefined;
}

/** What one edit did. */
export interface AppliedEdit {
  /** Of the first replacement, in the file as this edit found it. */
  line: number;
  count: number;
  strategy: MatchStrategy;
}

/** The text of a file while it is edited. */
export interface EditableText {
  /** For messages. */
  path: string;
  bytes: Buffer;
  encoding: TextEncoding;
  bom: boolean;
}

const MAX_LINES_NAMED = 10;

/**
 * Applies edits one after the other, each to what the former left. Either all apply or it throws.
 *
 * @throws {ToolError} NO_MATCH with the nearest regions, MULTIPLE_MATCHES with the lines, NO_CHANGE, INVALID_ARGUMENT
 */
export function applyEdits(text: EditableText, edits: readonly TextEdit[]): { bytes: Buffer; applied: AppliedEdit[] } {
  const applied: AppliedEdit[] = [];
  let { bytes } = text;
  for (const [index, edit] of edits.entries()) {
    const label = edits.length > 1 ? `edits[${index}]: ` : '';
    const outcome = applyEdit({ ...text, bytes }, edit, label);
    bytes = outcome.bytes;
    applied.push(outcome.applied);
  }
  if (bytes.equals(text.bytes)) throw noChange('', 'the edits undo each other');
  return { bytes, applied };
}

/**
 * Puts text after a line, as lines of its own; line 0 is the beginning. The file ends with a newline after it exactly
 * when it did before.
 *
 * @throws {ToolError} INVALID_ARGUMENT for a line that the file does not have
 */
export function insertAfterLine(
  text: EditableText,
  line: number,
  newText: string,
): { bytes: Buffer; applied: AppliedEdit[] } {
  if (newText === '') throw noChange('', 'new_string is empty');
  assertNoPlaceholder(newText, '', '');
  const { bytes, encoding, bom } = text;
  const ends = lineEndings(bytes, encoding);
  const start = bom ? (encoding === 'utf-8' ? 3 : 2) : 0;
  const last = ends.at(-1) ?? start;
  const lines = ends.length + (last < bytes.length ? 1 : 0);
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
  const atUnendedLine = line === lines && lines > ends.length;
  const at = line === 0 ? start : (ends[line - 1] ?? bytes.length);
  const wanted = atUnendedLine
    ? `${end}${body.endsWith(end) ? body.slice(0, -end.length) : body}`
    : body.endsWith(end)
      ? body
      : body + end;
  const inserted = encode(wanted, encoding, 'new_string');
  return {
    bytes: Buffer.concat([bytes.subarray(0, at), inserted, bytes.subarray(at)]),
    applied: [{ line: line + 1, count: 1, strategy: 'exact' }],
  };
}

function applyEdit(text: EditableText, edit: TextEdit, label: string): { bytes: Buffer; applied: AppliedEdit } {
  const { bytes, encoding } = text;
  const { old_string: oldText, new_string: newText, replace_all: replaceAll = false, expected_count: expected } = edit;
  if (oldText === '')
    throw new ToolError(
      'INVALID_ARGUMENT',
      `${label}old_string is empty. Give the text to replace, or use insert_line.`,
    );
  if (oldText === newText) throw noChange(label, 'old_string and new_string are the same');
  assertNoPlaceholder(newText, oldText, label);
  const many = replaceAll || (expected ?? 1) > 1;
  const match = findByLadder(bytes, encoding, oldText, many);
  if (!match) throw noMatch(text, oldText, label, many);
  const { strategy, spans } = match;
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
  const result = Buffer.concat(pieces);
  if (result.equals(bytes)) throw noChange(label, 'as the file spells it, old_string and new_string are the same');
  return {
    bytes: result,
    applied: { line: lineOf(bytes, spans[0]?.start ?? 0, encoding), count: spans.length, strategy },
  };
}

/** The bytes that a span is replaced by: its own line ends are kept to, else those that most lines of the file have. */
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

/** The offsets behind each newline. */
export function lineEndings(bytes: Buffer, encoding: TextEncoding): number[] {
  const newline = encodeText('\n', encoding) ?? Buffer.from('\n');
  return findAll(bytes, newline, encoding, true).map((at) => at + newline.length);
}

function lineOf(bytes: Buffer, offset: number, encoding: TextEncoding): number {
  return lineEndings(bytes.subarray(0, offset), encoding).length + 1;
}

/** The line end that most lines have; LF when there is none. */
export function majorityLineEnd(bytes: Buffer, encoding: TextEncoding): string {
  return prevailingLineEnd(bytes, encoding) ?? '\n';
}

/** `\r\n` or `\n`, whichever more lines have; undefined when there is no newline. */
export function prevailingLineEnd(bytes: Buffer, encoding: TextEncoding): string | undefined {
  const all = countOf(bytes, '\n', encoding);
  if (all === 0) return undefined;
  return 2 * countOf(bytes, '\r\n', encoding) > all ? '\r\n' : '\n';
}

function countOf(bytes: Buffer, text: string, encoding: TextEncoding): number {
  return findAll(bytes, encodeText(text, encoding) ?? Buffer.from(text), encoding, true).length;
}

function withLineEnd(text: string, lineEnd: string): string {
  return text.replace(/\r?\n/g, lineEnd);
}

function encode(text: string, encoding: TextEncoding, what: string): Buffer {
  const bytes = encodeText(text, encoding);
  if (bytes) return bytes;
  throw new ToolError(
    'INVALID_ARGUMENT',
    `${what} has a character that the file's encoding (${encoding}) does not have. Use others, or write the whole file anew.`,
  );
}

function noChange(label: string, why: string): ToolError {
  return new ToolError('NO_CHANGE', `${label}The edit would change nothing: ${why}. Give another new_string.`);
}

function cannotShift(path: string, line: number, label: string): ToolError {
  return new ToolError(
    'NO_MATCH',
    `${label}old_string is in ${quote(path)} at line ${line} with less indentation, and new_string has lines that cannot be moved ` +
      'as far to the left; nothing was changed. Give both with the indentation that the file has.',
    { details: { nearest: [{ line, end_line: line }] } },
  );
}

function noMatch({ path, bytes, encoding }: EditableText, oldText: string, label: string, many: boolean): ToolError {
  const how = many ? ' To replace many, give it exactly; only line ends may differ.' : '';
  const nearest = nearestRegions(decodeText(bytes, encoding), oldText);
  return new ToolError(
    'NO_MATCH',
    `${label}old_string is not in ${quote(path)}; nothing was changed.${how} ${describeNearest(nearest)}`,
    { details: { nearest: nearest.map(({ line, endLine }) => ({ line, end_line: endLine })) } },
  );
}

const READINGS: Readonly<Record<MatchStrategy, string>> = {
  exact: '',
  eol: ' when line ends do not count (eol)',
  trim_end: ' when spaces at the end of lines do not count (trim_end)',
  indent: ' with another indentation (indent)',
  unicode: ' when typographic characters count as their ASCII forms (unicode)',
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
  const times = `${spans.length} ${spans.length === 1 ? 'time' : 'times'}`;
  const found = `old_string is ${times} in ${quote(path)}${READINGS[strategy]} (lines ${named})`;
  const all = strategy === 'exact' || strategy === 'eol' ? 'set replace_all' : 'give it exactly with replace_all';
  const next =
    expected !== undefined
      ? `, not ${expected} as expected_count says; nothing was changed. Check what you mean to replace.`
      : `; nothing was changed. Add lines around it until it is unique, or ${all}.`;
  return new ToolError('MULTIPLE_MATCHES', `${label}${found}${next}`, { details });
}
