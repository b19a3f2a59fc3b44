// Where a text is in a file: exactly, or else by one of four looser readings, each tried only when the stricter ones
// find nothing. What counts as the same is fixed and small; nothing is guessed by likeness.

import { findFolded } from './folded-match.js';
import { findShifted, type IndentShift } from './indent-shift.js';
import { decodeText, encodeText, type TextEncoding } from '../text-encoding.js';

/**
 * How a text may be found, strictest first. Each allows what those before it allow, and more; only `unicode` wants the
 * indentation as it is.
 *
 * - `exact`: byte for byte.
 * - `eol`: CRLF and LF are the same.
 * - `trim_end`: spaces and tabs at the end of a line do not count.
 * - `indent`: whole lines, all shifted by one and the same indentation; blank lines may have any.
 * - `unicode`: typographic quotes, dashes, spaces and the ellipsis are the same as their ASCII forms.
 */
export const MATCH_STRATEGIES = ['exact', 'eol', 'trim_end', 'indent', 'unicode'] as const;

/** One of {@link MATCH_STRATEGIES}. */
export type MatchStrategy = (typeof MATCH_STRATEGIES)[number];

/** One place in a file. */
export interface MatchedSpan {
  start: number;
  /** Behind its last byte; in a decoded text, its last UTF-16 unit. */
  end: number;
  /** With `indent`: how the file's lines differ from those that were looked for. */
  shift?: IndentShift;
}

/** Every place that the first successful reading finds, as offsets in the file's bytes. */
export interface LadderMatch {
  strategy: MatchStrategy;
  spans: MatchedSpan[];
}

/**
 * Finds a text by the strictest reading that finds it at all; undefined when none does.
 *
 * To replace one occurrence it must be the only one, overlapping ones counted: in `aaa` it is not clear which `aa` was
 * meant. With `many` they are separate, and only `exact` and `eol` are tried: whoever replaces many places does not
 * look at each.
 */
export function findByLadder(
  bytes: Buffer,
  encoding: TextEncoding,
  wanted: string,
  many: boolean,
): LadderMatch | undefined {
  const needle = encodeText(wanted, encoding);
  if (needle) {
    const spans = findAll(bytes, needle, encoding, many).map((start) => ({ start, end: start + needle.length }));
    // Half a CRLF is never replaced: such a match is left to the next reading, which takes the whole of it.
    const halves = /^\n|\r$/.test(wanted) && spans.some((span) => splitsLineEnd(bytes, encoding, span));
    if (spans.length > 0 && !halves) return { strategy: 'exact', spans };
  }
  const text = decodeText(bytes, encoding);
  const toOffset = byteOffsets(text, encoding);
  for (const strategy of ['eol', 'trim_end', 'indent', 'unicode'] as const) {
    if (many && strategy !== 'eol') break;
    const found = strategy === 'indent' ? findShifted(text, wanted) : findFolded(text, wanted, strategy, many);
    if (found.length === 0) continue;
    const spans = found.map((span) => ({ ...span, start: toOffset(span.start), end: toOffset(span.end) }));
    return { strategy, spans };
  }
  return undefined;
}

/** Where the needle is, whole characters only; with `separate`, each behind the end of the one before. */
export function findAll(bytes: Buffer, needle: Buffer, encoding: TextEncoding, separate: boolean): number[] {
  const unit = unitOf(encoding);
  const offsets: number[] = [];
  for (let at = bytes.indexOf(needle); at >= 0;) {
    const aligned = at % unit === 0;
    if (aligned) offsets.push(at);
    at = bytes.indexOf(needle, aligned ? at + (separate ? needle.length : unit) : at + 1);
  }
  return offsets;
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
