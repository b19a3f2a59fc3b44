// The difference of two versions of a text: as a unified diff, and as counts of added and removed lines.

import type { StructuredPatchHunk } from 'diff';
import type { FromJsonSchema } from '../../../tool/infer-schema.js';
import { objectSchema } from '../../../tool/object-schema.js';
import { limitText, type OutputLimits } from '../output-budget.js';
import { escapeControls } from '../scope/project-scope.js';

const CONTEXT_LINES = 3;
/** Myers' algorithm is quadratic in the number of differences: beyond this product the change is shown as one block. */
const MAX_DIFF_WORK = 4_000_000;
/** More changed lines are not compared: they are one block, of which only the beginning is shown. */
const MAX_COMPARED_LINES = 100_000;
const MAX_BLOCK_LINES = 10_000;
const MIN_EDIT_LENGTH = 50;
const MAX_EDIT_LENGTH = 2_000;
const COMPARE_BYTES = 64 * 1024;
const NEWLINE = 0x0a;

/** {@link DiffStat} as JSON Schema. */
export const diffStatOutput = {
  description: 'Lines added and removed; absent if a version is not text or is larger than 64 MiB.',
  ...objectSchema({ added: { type: 'integer' }, removed: { type: 'integer' } }),
} as const;

/** The number of lines that a change adds and removes. */
export type DiffStat = FromJsonSchema<typeof diffStatOutput>;

/** A unified diff as text. */
export interface DiffText {
  /** Empty if both versions are equal. */
  text: string;
  /** The number of lines omitted at the end, for a change of more than 100,000 lines. */
  omitted: number;
}

/**
 * A unified diff of two versions, as UTF-8. Never rejects: the diff must not fail a change that was made.
 *
 * @param missing the version in which the file does not exist
 */
export async function unifiedDiff(
  path: string,
  before: Buffer,
  after: Buffer,
  missing?: 'before' | 'after',
): Promise<DiffText> {
  const hunks = await hunksOf(before, after, CONTEXT_LINES);
  if (hunks.length === 0) return { text: '', omitted: 0 };
  const name = escapeControls(path);
  const lines = [
    `--- ${missing === 'before' ? '/dev/null' : `a/${name}`}`,
    `+++ ${missing === 'after' ? '/dev/null' : `b/${name}`}`,
  ];
  for (const hunk of hunks) {
    lines.push(`@@ -${rangeOf(hunk.oldStart, hunk.oldLines)} +${rangeOf(hunk.newStart, hunk.newLines)} @@`);
    for (const line of hunk.lines) lines.push(line);
  }
  return { text: lines.join('\n'), omitted: hunks.reduce((sum, hunk) => sum + (hunk.omitted ?? 0), 0) };
}

/** An empty range is named by the line before it. https://www.gnu.org/software/diffutils/manual/html_node/Detailed-Unified.html */
function rangeOf(start: number, count: number): string {
  return `${count === 0 ? start - 1 : start},${count}`;
}

/** A text and its diffs within the limits, with the number of omitted lines. */
export function limitDiffs(text: string, diffs: readonly DiffText[], limits: OutputLimits): string {
  const omitted = diffs.reduce((sum, diff) => sum + diff.omitted, 0);
  const notice = (lines: number): string => `[${lines} more lines of the diff]`;
  let isCut = false;
  const shown = limitText([text, ...diffs.map((diff) => diff.text)].filter(Boolean).join('\n'), limits, (lines) => {
    isCut = true;
    return notice(lines + omitted);
  });
  return isCut || omitted === 0 ? shown : `${shown}\n${notice(omitted)}`;
}

/** Counts the lines that a change adds and removes, in any encoding. Never rejects, as {@link unifiedDiff}. */
export async function diffStat(before: Buffer, after: Buffer): Promise<DiffStat> {
  const stat = { added: 0, removed: 0 };
  for (const { lines, omitted, oldLines, newLines } of await hunksOf(before, after, 0)) {
    if (omitted !== undefined) {
      stat.added += newLines;
      stat.removed += oldLines;
      continue;
    }
    for (const line of lines) {
      if (line.startsWith('+')) stat.added++;
      else if (line.startsWith('-')) stat.removed++;
    }
  }
  return stat;
}

/** With `omitted`, the change is one block, and `lines` has only its beginning. */
type Hunk = StructuredPatchHunk & { omitted?: number };

async function hunksOf(before: Buffer, after: Buffer, context: number): Promise<Hunk[]> {
  const region = changedRegion(before, after, context);
  if (!region) return [];
  const old = before.subarray(region.start, region.beforeEnd);
  const now = after.subarray(region.start, region.afterEnd);
  const hunks = (await comparedHunks(old, now, context)) ?? [wholeHunk(old, now)];
  for (const hunk of hunks) {
    hunk.oldStart += region.linesBefore;
    hunk.newStart += region.linesBefore;
  }
  return hunks;
}

/** The part between the common beginning and the common end, in whole lines with some context. */
function changedRegion(before: Buffer, after: Buffer, context: number) {
  const prefix = commonPrefix(before, after);
  if (prefix === before.length && prefix === after.length) return undefined;
  const suffix = commonSuffix(before, after, prefix);
  let start = prefix === 0 ? 0 : before.lastIndexOf(NEWLINE, prefix - 1) + 1;
  for (let line = 0; line < context && start > 0; line++)
    start = start >= 2 ? before.lastIndexOf(NEWLINE, start - 2) + 1 : 0;
  // Both versions are equal from here on, so the end moves by the same length in both.
  let end = before.length - suffix;
  for (let line = 0; line <= context && end < before.length; line++) {
    const newline = before.indexOf(NEWLINE, end);
    end = newline < 0 ? before.length : newline + 1;
  }
  return {
    start,
    beforeEnd: end,
    afterEnd: after.length - (before.length - end),
    linesBefore: countNewlines(before, start),
  };
}

function commonPrefix(a: Buffer, b: Buffer): number {
  const length = Math.min(a.length, b.length);
  let at = 0;
  while (at + COMPARE_BYTES <= length && a.compare(b, at, at + COMPARE_BYTES, at, at + COMPARE_BYTES) === 0)
    at += COMPARE_BYTES;
  while (at < length && a[at] === b[at]) at++;
  return at;
}

function commonSuffix(a: Buffer, b: Buffer, prefix: number): number {
  const length = Math.min(a.length, b.length) - prefix;
  let count = 0;
  while (count + COMPARE_BYTES <= length) {
    const [fromA, fromB] = [a.length - count - COMPARE_BYTES, b.length - count - COMPARE_BYTES];
    if (a.compare(b, fromB, fromB + COMPARE_BYTES, fromA, fromA + COMPARE_BYTES) !== 0) break;
    count += COMPARE_BYTES;
  }
  while (count < length && a[a.length - count - 1] === b[b.length - count - 1]) count++;
  return count;
}

function countNewlines(bytes: Buffer, end: number): number {
  let count = 0;
  for (let at = bytes.indexOf(NEWLINE); at >= 0 && at < end; at = bytes.indexOf(NEWLINE, at + 1)) count++;
  return count;
}

function countLines(bytes: Buffer): number {
  return countNewlines(bytes, bytes.length) + (bytes.length > 0 && bytes.at(-1) !== NEWLINE ? 1 : 0);
}

/** Compares line by line; undefined if that would take too long or fails. */
async function comparedHunks(old: Buffer, now: Buffer, context: number): Promise<Hunk[] | undefined> {
  const work = countLines(old) + countLines(now) + 1;
  if (work > MAX_COMPARED_LINES) return undefined;
  const maxEditLength = Math.min(MAX_EDIT_LENGTH, Math.max(MIN_EDIT_LENGTH, Math.floor(MAX_DIFF_WORK / work)));
  try {
    const { structuredPatch } = await import('diff');
    const options = { context, maxEditLength };
    return structuredPatch('', '', old.toString(), now.toString(), undefined, undefined, options)?.hunks;
  } catch {
    return undefined; // one block is less detailed but correct
  }
}

function wholeHunk(old: Buffer, now: Buffer): Hunk {
  const [removed, added] = [countLines(old), countLines(now)];
  const lines: string[] = [];
  for (const line of firstLines(old)) lines.push(`-${line}`);
  for (const line of firstLines(now)) lines.push(`+${line}`);
  const omitted = removed + added - lines.length;
  return {
    oldStart: removed === 0 ? 0 : 1,
    oldLines: removed,
    newStart: added === 0 ? 0 : 1,
    newLines: added,
    lines,
    ...(omitted > 0 && { omitted }),
  };
}

function* firstLines(bytes: Buffer): Generator<string> {
  for (let start = 0, count = 0; start < bytes.length && count < MAX_BLOCK_LINES; count++) {
    const newline = bytes.indexOf(NEWLINE, start);
    const end = newline < 0 ? bytes.length : newline;
    yield bytes.toString('utf8', start, end);
    start = end + 1;
  }
}
