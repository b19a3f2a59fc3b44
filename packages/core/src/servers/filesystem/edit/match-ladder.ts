// Where a text is in a file: exactly, or else by one of four looser readings, each tried only when the stricter ones
// find nothing. What counts as the same is fixed and small; nothing is guessed by likeness.

import { setImmediate as nextTurn } from 'node:timers/promises';
import { findFolded, longest, longestUnfolded, MAX_OCCURRENCES } from './folded-match.js';
import { findShifted } from './indent-shift.js';
import { decodeText, encodeText, type TextEncoding } from '../../project/open/text-encoding.js';
import type { MatchedSpan } from './matched-span.js';

/**
 * How a text may be found, strictest first. Each allows what those before it allow, and more; only `unicode` wants the
 * indentation as it is.
 *
 * - `exact`: byte for byte.
 * - `eol`: CRLF and LF are the same.
 * - `trim_end`: spaces and tabs at the end of a line do not count.
 * - `indent`: whole lines, all shifted by one and the same indentation, or all indented with tabs for spaces;
 *   blank lines may have any.
 * - `unicode`: typographic quotes, dashes, spaces and the ellipsis are the same as their ASCII forms.
 */
export const MATCH_STRATEGIES = ['exact', 'eol', 'trim_end', 'indent', 'unicode'] as const;

/** One of {@link MATCH_STRATEGIES}. */
export type MatchStrategy = (typeof MATCH_STRATEGIES)[number];

/** Every place that the first successful reading finds, as offsets in the file's bytes. */
export interface LadderMatch {
  strategy: MatchStrategy;
  /** At most {@link MAX_OCCURRENCES} and one. */
  spans: MatchedSpan[];
}

/** Only `exact` is tried on a larger file: the others go through the whole of it, a fraction of a second each. */
export const MAX_LOOSE_BYTES = 16 * 1024 * 1024;

/**
 * Finds a text by the strictest reading that finds it at all; undefined when none does.
 *
 * To replace one occurrence it must be the only one, overlapping ones counted: in `aaa` it is not clear which `aa` was
 * meant. With `many` they are separate, and only `exact` and `eol` are tried: whoever replaces many places does not
 * look at each. Between two readings others get their turn.
 *
 * @throws AbortError when `signal` is aborted
 */
export async function findByLadder(
  bytes: Buffer,
  encoding: TextEncoding,
  wanted: string,
  many: boolean,
  signal?: AbortSignal,
): Promise<LadderMatch | undefined> {
  const needle = encodeText(wanted, encoding);
  if (needle) {
    const spans = findAll(bytes, needle, encoding, many).map((start) => ({ start, end: start + needle.length }));
    // Half a CRLF is never replaced: such a match is left to the next reading, which takes the whole of it.
    const halves = /^\n|\r$/.test(wanted) && spans.some((span) => splitsLineEnd(bytes, encoding, span));
    if (spans.length > 0 && !halves) return { strategy: 'exact', spans };
  }
  const readings = looseReadings(bytes, encoding, wanted).filter((strategy) => !many || strategy === 'eol');
  if (readings.length === 0) return undefined;
  await nextTurn(undefined, { signal });
  const text = decodeText(bytes, encoding);
  const toOffset = byteOffsets(text, encoding);
  for (const strategy of readings) {
    await nextTurn(undefined, { signal });
    const found = strategy === 'indent' ? findShifted(text, wanted) : findFolded(text, wanted, strategy, many);
    if (found.length === 0) continue;
    const spans = found.map((span) => ({ ...span, start: toOffset(span.start), end: toOffset(span.end) }));
    return { strategy, spans };
  }
  return undefined;
}

/** The readings but `exact` that may find a text: most texts that are not there are ruled out by one look for a part. */
export function looseReadings(
  bytes: Buffer,
  encoding: TextEncoding,
  wanted: string,
): Exclude<MatchStrategy, 'exact'>[] {
  if (bytes.length > MAX_LOOSE_BYTES) return [];
  const has = (part: string): boolean => {
    const encoded = encodeText(part, encoding);
    return encoded !== undefined && bytes.includes(encoded);
  };
  // All but `unicode` want what stands between the white space around each line as it is.
  const line = longest(wanted.split('\n').map((each) => each.trim()));
  const byLine = has(line) ? (['eol', 'trim_end', 'indent'] as const) : [];
  return has(longestUnfolded(wanted)) ? [...byLine, 'unicode'] : byLine.slice();
}

/**
 * Where the needle is, whole characters only; with `separate`, each behind the end of the one before. It stops behind
 * {@link MAX_OCCURRENCES}.
 */
export function findAll(bytes: Buffer, needle: Buffer, encoding: TextEncoding, separate: boolean): number[] {
  const offsets: number[] = [];
  for (const at of occurrences(bytes, needle, encoding, separate)) {
    offsets.push(at);
    if (offsets.length > MAX_OCCURRENCES) break;
  }
  return offsets;
}

/** As {@link findAll}, one after the other and without end. */
export function* occurrences(
  bytes: Buffer,
  needle: Buffer,
  encoding: TextEncoding,
  separate: boolean,
): Generator<number, undefined> {
  const unit = unitOf(encoding);
  for (let at = bytes.indexOf(needle); at >= 0;) {
    const aligned = at % unit === 0;
    if (aligned) yield at;
    at = bytes.indexOf(needle, aligned ? at + (separate ? needle.length : unit) : at + 1);
  }
}

function splitsLineEnd(bytes: Buffer, encoding: TextEncoding, { start, end }: MatchedSpan): boolean {
  const unit = unitOf(encoding);
  return [start, end].some((at) => at > 0 && decodeText(bytes.subarray(at - unit, at + unit), encoding) === '\r\n');
}

function unitOf(encoding: TextEncoding): number {
  return encoding === 'utf-16le' || encoding === 'utf-16be' ? 2 : 1;
}

/** From places in the decoded text to offsets in the bytes; quick when they are asked for in rising order. */
function byteOffsets(text: string, encoding: TextEncoding): (index: number) => number {
  if (encoding !== 'utf-8') return (index) => index * unitOf(encoding);
  let place = { index: 0, offset: 0 };
  return (index) => {
    const from = index < place.index ? { index: 0, offset: 0 } : place;
    place = { index, offset: from.offset + Buffer.byteLength(text.slice(from.index, index)) };
    return place.offset;
  };
}
