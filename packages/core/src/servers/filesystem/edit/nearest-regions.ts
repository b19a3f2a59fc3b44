// Finds the regions of a file that are most similar to a text that is not in it, for the error of a failed edit.

import { setImmediate as nextTurn } from 'node:timers/promises';
import { decodeText, wholeCharacters, type TextEncoding } from '../../project/open/text-encoding.js';

/** A similar region. Lines count from 1; the last is included. */
export interface NearRegion {
  line: number;
  endLine: number;
  text: string;
  /** A summary of the difference, if it is simple. */
  difference: string | undefined;
}

/** The most similar regions, best first; fewer than `limit` if nothing else is similar. */
export interface NearPlaces {
  regions: NearRegion[];
  /** The number of compared lines, if not all were. */
  comparedLines: number | undefined;
}

/** The search is fast, not complete: the file and the text are compared up to these limits. */
const MAX_LINES = 40_000;
const MAX_BYTES = 4 * 1024 * 1024;
const MAX_LINE_CHARS = 200;
const MAX_WINDOW_LINES = 20;
const MAX_CANDIDATES = 24;
const MAX_SHOWN_LINES = 6;
/** Compared before yielding to the event loop. */
const CHARS_A_TURN = 256 * 1024;

/** The `limit` regions that are most similar to a text. @throws AbortError when `signal` is aborted */
export async function nearestRegions(
  bytes: Buffer,
  encoding: TextEncoding,
  wanted: string,
  signal?: AbortSignal,
  limit = 3,
): Promise<NearPlaces> {
  const beginning = bytes.length <= MAX_BYTES ? bytes : bytes.subarray(0, MAX_BYTES);
  const text = decodeText(encoding === 'utf-8' ? wholeCharacters(beginning) : beginning, encoding);
  const lines = text.split('\n', MAX_LINES);
  const isWhole =
    beginning === bytes && (lines.length < MAX_LINES || text.split('\n', MAX_LINES + 1).length <= MAX_LINES);
  const target = wanted.replace(/\n$/, '').split('\n').slice(0, MAX_WINDOW_LINES);
  // The longest line is the most specific.
  const anchor = target.reduce(
    (best, line, index) => (line.trim().length > (target[best] ?? '').trim().length ? index : best),
    0,
  );
  const likeAnchor = similarityTo(target[anchor] ?? '');
  const scored: { index: number; score: number }[] = [];
  let chars = 0;
  for (const [index, line] of lines.entries()) {
    scored.push({ index, score: likeAnchor(line) });
    chars += line.length + 1;
    if (chars < CHARS_A_TURN) continue;
    chars = 0;
    await nextTurn(undefined, { signal });
  }
  const candidates = best(scored, MAX_CANDIDATES);
  const likeEach = target.map(similarityTo);
  const windows = candidates.map(({ index }) => {
    const start = Math.max(0, index - anchor);
    const score = likeEach.reduce((sum, like, offset) => sum + like(lines[start + offset] ?? ''), 0);
    return { index: start, score };
  });
  const chosen: number[] = [];
  for (const { index } of best(windows, windows.length)) {
    if (chosen.length === limit) break;
    if (chosen.every((other) => Math.abs(other - index) >= target.length)) chosen.push(index);
  }
  const regions = chosen.map((start) => {
    const found = lines.slice(start, start + target.length);
    return {
      line: start + 1,
      endLine: start + found.length,
      text: found.join('\n'),
      difference: differenceOf(found, target),
    };
  });
  return { regions, comparedLines: isWhole ? undefined : lines.length };
}

/** The regions as text, with lines numbered as in read_file. */
export function describeNearest({ regions, comparedLines }: NearPlaces): string {
  const part = comparedLines === undefined ? '' : ` (only its first ${comparedLines} lines were compared)`;
  if (regions.length === 0) return `No similar text was found${part}; read the file again.`;
  const shown = regions.map(({ line, endLine, text, difference }) => {
    const lines = text
      .split('\n')
      .slice(0, MAX_SHOWN_LINES)
      .map((each, index) => {
        const cut = each.replace(/\r$/, '');
        return `${String(line + index).padStart(6)}\t${cut.length > MAX_LINE_CHARS ? `${cut.slice(0, MAX_LINE_CHARS)}...` : cut}`;
      });
    const where = line === endLine ? `Line ${line}` : `Lines ${line} to ${endLine}`;
    return `${where}${difference ? ` (${difference})` : ''}:\n${lines.join('\n')}`;
  });
  return `The most similar regions${part} are:\n${shown.join('\n')}`;
}

function best<T extends { index: number; score: number }>(scored: readonly T[], limit: number): T[] {
  return scored
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score || a.index - b.index)
    .slice(0, limit);
}

/** Dice's coefficient over pairs of adjacent characters, without white space at the ends. */
function similarityTo(wanted: string): (line: string) => number {
  const target = wanted.trim().slice(0, MAX_LINE_CHARS);
  const pairs = new Set<number>();
  for (let index = 1; index < target.length; index++) pairs.add(pairAt(target, index));
  return (line) => {
    const text = line.length > 4 * MAX_LINE_CHARS ? line.slice(0, 4 * MAX_LINE_CHARS).trim() : line.trim();
    if (text === target) return 1;
    if (pairs.size === 0 || text.length < 2) return 0;
    let shared = 0;
    for (let index = 1; index < text.length; index++) if (pairs.has(pairAt(text, index))) shared++;
    return Math.min(0.99, (2 * shared) / (pairs.size + text.length - 1));
  };
}

function pairAt(text: string, index: number): number {
  return text.charCodeAt(index - 1) * 65_536 + text.charCodeAt(index);
}

function differenceOf(found: readonly string[], target: readonly string[]): string | undefined {
  const [a, b] = [found.join('\n'), target.join('\n')];
  if (a.replaceAll('\r', '') === b.replaceAll('\r', '')) return 'only the line endings differ';
  if (a.replace(/\s+/g, ' ').trim() === b.replace(/\s+/g, ' ').trim()) {
    const [inFile, wanted] = [found, target].map((lines) => indentKind(lines));
    const kinds = inFile && wanted && inFile !== wanted;
    return kinds
      ? `only white space differs: the file is indented with ${inFile}, old_string with ${wanted}`
      : 'only white space differs';
  }
  return a.toLowerCase() === b.toLowerCase() ? 'only upper and lower case differ' : undefined;
}

/** The most frequent indentation of the lines; undefined if none is indented. */
function indentKind(lines: readonly string[]): 'tabs' | 'spaces' | undefined {
  const tabs = lines.filter((line) => line.startsWith('\t')).length;
  const spaces = lines.filter((line) => line.startsWith(' ')).length;
  if (tabs === spaces) return undefined;
  return tabs > spaces ? 'tabs' : 'spaces';
}
