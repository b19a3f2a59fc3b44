// Finds a text ignoring some differences: both sides are folded to one spelling, and matches are mapped back to positions
// in the file. The folded text is only compared, never written.

import type { MatchedSpan } from './matched-span.js';

/** Maximum number of occurrences that are counted, or replaced in one call. */
export const MAX_OCCURRENCES = 1_000_000;

/**
 * The characters that models and word processors substitute for one another, and no others. All map to one character
 * except the ellipsis, which maps to three dots: a match never begins or ends within it.
 */
const ASCII_FORMS: readonly (readonly [characters: string, ascii: string])[] = [
  ['\u2018\u2019\u201a\u201b', "'"],
  ['\u201c\u201d\u201e\u201f', '"'],
  ['\u2010\u2011\u2012\u2013\u2014\u2015\u2212', '-'],
  ['\u00a0\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000', ' '],
  ['\u2026', '...'],
];
const ASCII_OF = new Map(ASCII_FORMS.flatMap(([characters, ascii]) => [...characters].map((each) => [each, ascii])));
const SPACES = [...ASCII_OF].flatMap(([character, ascii]) => (ascii === ' ' ? [character] : [])).join('');

/** All characters that a fold may change, on either side. */
const FOLDED = new RegExp(
  `[\\s${[...ASCII_OF].flatMap(([character, ascii]) => [character, `\\${ascii[0] ?? ''}`]).join('')}]+`,
);

/** The longest part of a text that no fold changes: each file with a match contains it literally. */
export function longestUnfolded(text: string): string {
  return longest(text.split(FOLDED));
}

/** The first of the longest texts; empty if there is none. */
export function longest(texts: readonly string[]): string {
  return texts.reduce((best, each) => (each.length > best.length ? each : best), '');
}

interface Fold {
  pattern: RegExp;
  /** Whether trailing white space is ignored. */
  trims: boolean;
}

// The lookbehind avoids a quadratic search in a long run of spaces.
const FOLDS: Readonly<Record<'eol' | 'trim_end' | 'unicode', Fold>> = {
  eol: { pattern: /\r\n/g, trims: false },
  trim_end: { pattern: /(?<![ \t])[ \t]+(?:\r?\n|$)|\r\n/g, trims: true },
  unicode: {
    pattern: new RegExp(
      `(?<![ \\t${SPACES}])[ \\t${SPACES}]+(?:\\r?\\n|$)|\\r\\n|[${[...ASCII_OF.keys()].join('')}]`,
      'g',
    ),
    trims: true,
  },
};

/** Finds a text ignoring the differences of `how`; returns positions in the decoded text. */
export function findFolded(
  text: string,
  wanted: string,
  how: 'eol' | 'trim_end' | 'unicode',
  separate: boolean,
): MatchedSpan[] {
  const { pattern, trims } = FOLDS[how];
  const file = new FoldedText(text, pattern, trims);
  // White space at the end of the text is either at the end of a line, where it is ignored, or in the middle of one.
  const needle = new FoldedText(`${wanted}\0`, pattern, trims).text.slice(0, -1);
  const trimmed = trims ? needle.replace(/[ \t]+$/, '') : needle;
  const spans = file.find(needle, separate).map((span) => file.trace(span));
  if (trimmed !== needle && trimmed !== '') {
    const ended = file.find(trimmed, separate).filter(({ end }) => file.text[end] === '\n' || end === file.text.length);
    for (const span of ended) spans.push(withSpacesBehind(file.trace(span), text));
  }
  return spans
    .filter((span) => span !== undefined)
    .map((span) => (isSpace(wanted[0]) ? span : withoutSpacesBefore(span, text)))
    .sort((a, b) => a.start - b.start);
}

const isSpace = (character: string | undefined): boolean =>
  character !== undefined && (character === ' ' || character === '\t' || SPACES.includes(character));

/** A text that begins with a newline does not include the white space before it. */
function withoutSpacesBefore({ start, end }: MatchedSpan, text: string): MatchedSpan {
  while (start < end && isSpace(text[start])) start++;
  return { start, end };
}

function withSpacesBehind(span: MatchedSpan | undefined, text: string): MatchedSpan | undefined {
  if (!span) return undefined;
  let { end } = span;
  while (isSpace(text[end])) end++;
  return { start: span.start, end };
}

/** One line without its newline, folded for comparison. */
export function foldLine(line: string, how: 'eol' | 'trim_end' | 'unicode'): string {
  const { pattern, trims } = FOLDS[how];
  return new FoldedText(line, pattern, trims).text;
}

/** A folded text, and the mapping of its positions to the original. */
class FoldedText {
  readonly text: string;
  /** Four numbers per replaced piece: old position, new position, old length, new length. */
  readonly #pieces: number[] = [];

  constructor(text: string, pattern: RegExp, trims: boolean) {
    let shortened = 0;
    this.text = text.replace(pattern, (found: string, at: number) => {
      const isEnd = trims && at + found.length === text.length;
      const now = found.endsWith('\n') ? '\n' : isEnd && isSpace(found[0]) ? '' : (ASCII_OF.get(found) ?? found);
      this.#pieces.push(at, at - shortened, found.length, now.length);
      shortened += found.length - now.length;
      return now;
    });
  }

  find(needle: string, separate: boolean): MatchedSpan[] {
    const spans: MatchedSpan[] = [];
    for (let at = this.text.indexOf(needle); at >= 0;) {
      spans.push({ start: at, end: at + needle.length });
      if (spans.length > MAX_OCCURRENCES) break;
      at = this.text.indexOf(needle, at + (separate ? needle.length : 1));
    }
    return spans;
  }

  /** The span in the original; undefined if it begins or ends within a replaced piece. */
  trace({ start, end }: MatchedSpan): MatchedSpan | undefined {
    const from = this.#origin(start);
    const to = this.#origin(end);
    return from === undefined || to === undefined ? undefined : { start: from, end: to };
  }

  #origin(index: number): number | undefined {
    // The last piece that begins before the index.
    let [low, high] = [0, this.#pieces.length / 4];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#pieces[4 * middle + 1] ?? 0) < index) low = middle + 1;
      else high = middle;
    }
    if (low === 0) return index;
    const [was = 0, is = 0, oldLength = 0, length = 0] = this.#pieces.slice(4 * low - 4, 4 * low);
    return index < is + length ? undefined : was + oldLength + (index - is - length);
  }
}
