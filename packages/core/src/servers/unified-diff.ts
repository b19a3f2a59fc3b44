// The difference of two versions of a text: as a unified diff for the model, as two numbers for the program.

import type { StructuredPatchHunk } from 'diff';
import { escapeControls } from './project-scope.js';

const CONTEXT_LINES = 3;
/** Myers' search is quadratic in the number of differences: beyond this product the change is shown as one block. */
const MAX_DIFF_WORK = 4_000_000;
const MIN_EDIT_LENGTH = 50;
const MAX_EDIT_LENGTH = 2_000;
const COMPARE_BYTES = 64 * 1024;
const NEWLINE = 0x0a;

/** How many lines a change adds and removes. */
export interface DiffStat {
  added: number;
  removed: number;
}

/** A unified diff of two versions, as UTF-8. Empty when they are equal. */
export async function unifiedDiff(path: string, before: Buffer, after: Buffer): Promise<string> {
  const hunks = await hunksOf(before, after, CONTEXT_LINES);
  if (hunks.length === 0) return '';
  const name = escapeControls(path);
  const lines = [`--- a/${name}`, `+++ b/${name}`];
  for (const hunk of hunks) {
    lines.push(`@@ -${hunk.oldStart},${hunk.oldLines} +${hunk.newStart},${hunk.newLines} @@`);
    for (const line of hunk.lines) lines.push(line);
  }
  return lines.join('\n');
}

/** The lines that a change adds and removes, whatever the encoding. */
export async function diffStat(before: Buffer, after: Buffer): Promise<DiffStat> {
  const stat = { added: 0, removed: 0 };
  for (const { lines } of await hunksOf(before, after, 0)) {
    for (const line of lines) {
      if (line.startsWith('+')) stat.added++;
      else if (line.startsWith('-')) stat.removed++;
    }
  }
  return stat;
}

async function hunksOf(before: Buffer, after: Buffer, context: number): Promise<StructuredPatchHunk[]> {
  const region = changedRegion(before, after, context);
  if (!region) return [];
  const old = before.toString('utf8', region.start, region.beforeEnd);
  const now = after.toString('utf8', region.start, region.afterEnd);
  const work = countLines(old) + countLines(now) + 1;
  const maxEditLength = Math.min(MAX_EDIT_LENGTH, Math.max(MIN_EDIT_LENGTH, Math.floor(MAX_DIFF_WORK / work)));
  const { structuredPatch } = await import('diff');
  const patch = structuredPatch('', '', old, now, undefined, undefined, { context, maxEditLength });
  const hunks = patch ? patch.hunks : [wholeHunk(old, now)];
  for (const hunk of hunks) {
    hunk.oldStart += region.linesBefore;
    hunk.newStart += region.linesBefore;
  }
  return hunks;
}

/** What lies between the common beginning and the common end, in whole lines and with some context. */
function changedRegion(before: Buffer, after: Buffer, context: number) {
  const prefix = commonPrefix(before, after);
  if (prefix === before.length && prefix === after.length) return undefined;
  const suffix = commonSuffix(before, after, prefix);
  let start = prefix === 0 ? 0 : before.lastIndexOf(NEWLINE, prefix - 1) + 1;
  for (let line = 0; line < context && start > 0; line++)
    start = start >= 2 ? before.lastIndexOf(NEWLINE, start - 2) + 1 : 0;
  // Both versions are the same from here on, so the end is moved by the same length in both.
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

function countLines(text: string): number {
  let count = 1;
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) count++;
  return count;
}

function wholeHunk(old: string, now: string): StructuredPatchHunk {
  const removed = linesOf(old);
  const added = linesOf(now);
  return {
    oldStart: removed.length === 0 ? 0 : 1,
    oldLines: removed.length,
    newStart: added.length === 0 ? 0 : 1,
    newLines: added.length,
    lines: [...removed.map((line) => `-${line}`), ...added.map((line) => `+${line}`)],
  };
}

function linesOf(text: string): string[] {
  const lines = text.split('\n');
  if (lines.at(-1) === '') lines.pop();
  return lines;
}
