// Finds a text in a file: exactly, or by one of four looser strategies, each tried only when the stricter ones find
// nothing. The differences that each ignores are fixed; nothing is matched by similarity.

import { setImmediate as nextTurn } from 'node:timers/promises';
import { findFolded, longest, longestUnfolded, MAX_OCCURRENCES } from './folded-match.js';
import { findShifted } from './indent-shift.js';
import { decodeText, encodeText, type TextEncoding } from '../../project/open/text-encoding.js';
import type { MatchedSpan } from './matched-span.js';

/**
 * The ways to find a text, strictest first. Each accepts all that the ones before it accept, except that `unicode`
 * requires the exact indentation.
 *
 * - `exact`: byte for byte.
 * - `eol`: CRLF and LF are equal.
 * - `trim_end`: trailing spaces and tabs are ignored.
 * - `indent`: whole lines, all shifted by the same indentation, or all indented with tabs for spaces; blank lines may
 *   have any.
 * - `unicode`: typographic quotes, dashes, spaces and the ellipsis equal their ASCII forms.
 */
export const MATCH_STRATEGIES = ['exact', 'eol', 'trim_end', 'indent', 'unicode'] as const;

/** One of {@link MATCH_STRATEGIES}. */
export type MatchStrategy = (typeof MATCH_STRATEGIES)[number];

/** All matches of the first successful strategy, as byte offsets. */
export interface LadderMatch {
  strategy: MatchStrategy;
  /** At most {@link MAX_OCCURRENCES} + 1. */
  spans: MatchedSpan[];
}

/** A larger file is only searched with `exact`: the others take a fraction of a second each. */
export const MAX_LOOSE_BYTES = 16 * 1024 * 1024;

/**
 * Finds a text by the strictest strategy that matches; undefined if none does.
 *
 * Overlapping occurrences count, as a single replacement must be unambiguous: in `aaa` it is not clear which `aa` is
 * meant. With `many` they do not overlap, and only `exact` and `eol` are tried, as the caller does not check each one.
 * Yields to the event loop between strategies.
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
    // Half a CRLF is never replaced: the next strategy matches all of it.
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

/** The strategies after `exact` that may match: one search for a literal part rules out most texts. */
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
  // All but `unicode` require each trimmed line literally.
  const line = longest(wanted.split('\n').map((each) => each.trim()));
  const byLine = has(line) ? (['eol', 'trim_end', 'indent'] as const) : [];
  return has(longestUnfolded(wanted)) ? [...byLine, 'unicode'] : byLine.slice();
}

/**
 * The positions of the needle, at whole characters only; with `separate`, without overlaps. Stops after
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

/** As {@link findAll}, lazily and without a maximum. */
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

/** Maps positions in the decoded text to byte offsets; fast for ascending positions. */
function byteOffsets(text: string, encoding: TextEncoding): (index: number) => number {
  if (encoding !== 'utf-8') return (index) => index * unitOf(encoding);
  let place = { index: 0, offset: 0 };
  return (index) => {
    const from = index < place.index ? { index: 0, offset: 0 } : place;
    place = { index, offset: from.offset + Buffer.byteLength(text.slice(from.index, index)) };
    return place.offset;
  };
}
