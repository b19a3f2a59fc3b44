// Applies the hunks of a patch to one file. Context lines stay unchanged, byte for byte.

import { setImmediate as nextTurn } from 'node:timers/promises';
import { ToolError } from '../../../contract/errors.js';
import { foldLine } from './folded-match.js';
import { parseLine, shiftIndent, shiftOf } from './indent-shift.js';
import { type IndentShift } from './matched-span.js';
import { looseReadings, MATCH_STRATEGIES, MAX_LOOSE_BYTES, type MatchStrategy } from './match-ladder.js';
import { describeNearest, nearestRegions } from './nearest-regions.js';
import { assertNoPlaceholder } from './elision-comments.js';
import type { PatchHunk } from './patch-format.js';
import { decodeText, encodeText } from '../../project/open/text-encoding.js';
import { lineEndings, majorityLineEnd, prevailingLineEnd, type EditableText } from './text-edit.js';
import { quote } from '../../project/scope/project-scope.js';

/** A file is split into lines, which take some hundred bytes of memory each. */
const MAX_LINES = 1_000_000;

interface Place {
  first: number;
  shift?: IndentShift | undefined;
}

/** A part of the result: a range of the file's lines, or a new line. */
type ResultPart = { from: number; to: number } | { added: string; lineEnd: string };

/**
 * The file's bytes after the hunks, which must be in the order of the file. Each must match in exactly one place, by the
 * strategies of {@link MATCH_STRATEGIES}, line by line. The file ends with a newline exactly if it did before.
 *
 * @throws {ToolError} NO_MATCH with the nearest regions, MULTIPLE_MATCHES with the lines, INVALID_ARGUMENT; TOO_LARGE
 *   above 16 MiB or a million lines
 * @throws AbortError when `signal` is aborted
 */
export async function applyHunks(
  file: EditableText,
  hunks: readonly PatchHunk[],
  signal?: AbortSignal,
): Promise<Buffer> {
  const { bytes, encoding } = file;
  const ends: number[] = [];
  for (const end of bytes.length > MAX_LOOSE_BYTES ? [] : lineEndings(bytes, encoding)) {
    ends.push(end);
    if (ends.length > MAX_LINES) break;
  }
  if (bytes.length > MAX_LOOSE_BYTES || ends.length > MAX_LINES)
    throw new ToolError(
      'TOO_LARGE',
      `${quote(file.path)} is larger than 16 MiB or has more than ${MAX_LINES} lines; nothing was changed. Use edit_file.`,
    );
  const mark = file.bom ? (encoding === 'utf-8' ? 3 : 2) : 0;
  const unended = (ends.at(-1) ?? mark) < bytes.length;
  const starts = [mark, ...ends];
  const count = ends.length + (unended ? 1 : 0);
  const rawLine = (index: number): Buffer => bytes.subarray(starts[index], starts[index + 1]);
  const lines = linesOf(decodeText(bytes.subarray(mark), encoding), unended);
  const majority = majorityLineEnd(bytes, encoding);
  const result: ResultPart[] = [];
  const keep = (from: number, to: number): void => {
    const last = result.at(-1);
    if (last && 'to' in last && last.to === from) last.to = to;
    else if (from < to) result.push({ from, to });
  };
  let at = 0;
  // A hunk that only adds lines, without a position, is appended after all others.
  const numbered = [...hunks.entries()];
  const ordered = [...numbered.filter(([, hunk]) => !appends(hunk)), ...numbered.filter(([, hunk]) => appends(hunk))];
  for (const [number, hunk] of ordered) {
    const label = `hunk ${number + 1} (line ${hunk.at} of the patch)`;
    const old = hunk.lines.filter(({ kind }) => kind !== '+').map(({ text }) => text);
    const added = hunk.lines.filter(({ kind }) => kind === '+').map(({ text }) => text);
    assertNoPlaceholder(added.join('\n'), old.join('\n'), `${quote(file.path)}, ${label}: `, 'the patch');
    await nextTurn(undefined, { signal });
    const { first, shift } = await placeOf({ file, lines, hunk, from: at, label, signal }, old);
    const span = bytes.subarray(starts[first], starts[first + old.length]);
    const lineEnd = prevailingLineEnd(span, encoding) ?? majority;
    keep(at, first);
    at = first;
    for (const { kind, text } of hunk.lines) {
      if (kind === ' ') keep(at, ++at);
      else if (kind === '-') at++;
      else {
        const shifted = shift ? shiftIndent(text, shift) : text;
        if (shifted === undefined)
          throw new ToolError(
            'NO_MATCH',
            `${quote(file.path)}, ${label}: the file has less indentation than the hunk, and an added line cannot be outdented that far. Use the file's indentation in the hunk.`,
          );
        result.push({ added: shifted, lineEnd });
      }
    }
  }
  keep(at, count);
  const pieces = result.map((part, index) => {
    const isLast = unended && index === result.length - 1;
    if ('added' in part) return encode(file, isLast ? part.added : part.added + part.lineEnd);
    const raw = bytes.subarray(starts[part.from], starts[part.to]);
    if (!isLast) return unended && part.to === count ? Buffer.concat([raw, encode(file, majority)]) : raw;
    const last = rawLine(part.to - 1);
    const ended = last.length - encode(file, lines[part.to - 1] ?? '', last).length;
    return raw.subarray(0, raw.length - ended);
  });
  return Buffer.concat([bytes.subarray(0, mark), ...pieces]);
}

function appends({ lines, headers, endOfFile, isNumbered }: PatchHunk): boolean {
  return lines.every(({ kind }) => kind === '+') && headers.length === 0 && (endOfFile || !isNumbered);
}

function linesOf(text: string, unended: boolean): string[] {
  const lines = text.split('\n');
  const last = lines.pop() ?? '';
  const ended = lines.map((line) => (line.endsWith('\r') ? line.slice(0, -1) : line));
  if (unended) ended.push(last);
  return ended;
}

/** @param raw the bytes of the line that begins with the text */
function encode({ path, encoding }: EditableText, text: string, raw?: Buffer): Buffer {
  const bytes = encodeText(text, encoding);
  if (raw) return raw.subarray(0, bytes?.length);
  if (bytes) return bytes;
  throw new ToolError(
    'INVALID_ARGUMENT',
    `The patch of ${quote(path)} has a character that the file's encoding (${encoding}) cannot represent. Use other characters, or write the file with write_file.`,
  );
}

/** The search for the position of a hunk. */
interface Search {
  file: EditableText;
  lines: readonly string[];
  hunk: PatchHunk;
  /** Where the previous hunk ends. */
  from: number;
  /** For messages. */
  label: string;
  signal: AbortSignal | undefined;
}

async function placeOf(search: Search, old: readonly string[]): Promise<Place> {
  const { file, lines, hunk, from, label, signal } = search;
  const regions = await regionsOf(search);
  if (old.length === 0) return insertionPlace(search, regions);
  let loose: readonly MatchStrategy[] | undefined;
  for (const strategy of MATCH_STRATEGIES) {
    if (strategy === 'eol') continue; // lines are compared without their endings
    if (strategy !== 'exact') {
      loose ??= looseReadings(file.bytes, file.encoding, old.join('\n'));
      if (!loose.includes(strategy)) continue;
      await nextTurn(undefined, { signal });
    }
    const all = placesBy(strategy, lines, old, from).filter(
      ({ first }) => !hunk.endOfFile || first + old.length === lines.length,
    );
    const within = all.filter(({ first }) => regions.some(({ start, end }) => first >= start && first < end));
    const beginning = regions[0]?.start ?? from;
    const places = within.length > 0 ? within : all.filter(({ first }) => first >= beginning);
    if (places.length > 1) throw ambiguous(file, places, strategy, label);
    if (places[0]) return places[0];
  }
  const why = from > 0 ? ` after line ${from}, where the previous hunk ends` : '';
  throw await noMatch(search, old.join('\n'), `its lines were not found in the file${why}.`);
}

async function noMatch({ file, label, signal }: Search, wanted: string, what: string): Promise<ToolError> {
  const { path, bytes, encoding } = file;
  const nearest = await nearestRegions(bytes, encoding, wanted, signal);
  return new ToolError('NO_MATCH', `${quote(path)}, ${label}: ${what} ${describeNearest(nearest)}`, {
    details: { path, nearest: nearest.regions.map(({ line, endLine }) => ({ line, end_line: endLine })) },
  });
}

function insertionPlace({ file, lines, hunk, label }: Search, regions: readonly Region[]): Place {
  if (appends(hunk) || hunk.endOfFile || lines.length === 0) return { first: lines.length };
  const [region] = regions;
  if (hunk.headers.length > 0 && region && regions.length === 1) return { first: region.start + 1 };
  throw new ToolError(
    'INVALID_ARGUMENT',
    `${quote(file.path)}, ${label}: the hunk contains no line of the file, and line numbers are ignored. Add a context line, or omit the numbers to append.`,
  );
}

function placesBy(strategy: MatchStrategy, lines: readonly string[], old: readonly string[], from: number): Place[] {
  const places: Place[] = [];
  const fold = (line: string): string =>
    strategy === 'exact' ? line : strategy === 'indent' ? parseLine(line).body : foldLine(line, strategy);
  const wanted = old.map(fold);
  // The longest line is likely the rarest.
  const anchor = wanted.reduce((best, line, index) => (line.length > (wanted[best] ?? '').length ? index : best), 0);
  const shifted = old.map(parseLine);
  for (let first = from; first + old.length <= lines.length; first++) {
    if (fold(lines[first + anchor] ?? '') !== wanted[anchor]) continue;
    if (strategy === 'indent') {
      const shift = shiftOf(shifted, (offset) => parseLine(lines[first + offset] ?? ''));
      if (shift) places.push({ first, shift });
    } else if (wanted.every((line, offset) => fold(lines[first + offset] ?? '') === line)) places.push({ first });
  }
  return places;
}

/** Lines, from `start` to before `end`. */
interface Region {
  start: number;
  end: number;
}

/** The range that the headers select: the line of the last one, and the more indented lines after it. */
async function regionsOf(search: Search): Promise<Region[]> {
  const { lines, hunk, from, signal } = search;
  let regions: Region[] = [{ start: from, end: lines.length }];
  for (const header of hunk.headers) {
    await nextTurn(undefined, { signal });
    const inside = (index: number): boolean => regions.some(({ start, end }) => index >= start && index < end);
    const wanted = foldLine(header, 'unicode').trim();
    const folded = lines.map((line, index) => (inside(index) ? foldLine(line, 'unicode').trim() : ''));
    const equal = folded.flatMap((line, index) => (line === wanted ? [index] : []));
    const found = equal.length > 0 ? equal : folded.flatMap((line, index) => (line.startsWith(wanted) ? [index] : []));
    if (found.length === 0) throw await noMatch(search, header, `the line "${header}" was not found.`);
    regions = found.map((start) => ({ start, end: sectionEnd(lines, start) }));
  }
  return regions;
}

/** The end of a block: before the next line that is not more indented and begins with a word, so closing brackets belong to it. */
function sectionEnd(lines: readonly string[], start: number): number {
  const depth = parseLine(lines[start] ?? '').indent.length;
  for (let index = start + 1; index < lines.length; index++) {
    const { indent, body } = parseLine(lines[index] ?? '');
    if (indent.length <= depth && /^[\p{L}\p{N}_@#$]/u.test(body)) return index;
  }
  return lines.length;
}

function ambiguous(file: EditableText, places: readonly Place[], strategy: MatchStrategy, label: string): ToolError {
  const named = places.slice(0, 10).map(({ first }) => first + 1);
  return new ToolError(
    'MULTIPLE_MATCHES',
    `${quote(file.path)}, ${label}: its lines occur in ${places.length} places (${strategy}; lines ${named.join(', ')}${places.length > 10 ? ', ...' : ''}). ` +
      'Add context lines, or an @@ line with a line above.',
    { details: { path: file.path, count: places.length, lines: named, strategy } },
  );
}
