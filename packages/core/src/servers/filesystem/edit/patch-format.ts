// Parses the `*** Begin Patch` envelope into operations and hunks. patch-text.ts applies the hunks to a file.

import { ToolError } from '../../../contract/errors.js';

/** One line of a hunk: `' '` is context, `'-'` is removed, `'+'` is added. */
export interface PatchLine {
  kind: ' ' | '-' | '+';
  text: string;
}

/** Adjacent lines to change. */
export interface PatchHunk {
  /** The texts after `@@`: lines above the hunk, outermost first. */
  headers: string[];
  lines: PatchLine[];
  /** The last line of the hunk is the last of the file. */
  endOfFile: boolean;
  /** The `@@` had line numbers. They are ignored, but show that the hunk is not to be appended. */
  isNumbered: boolean;
  /** The line of the patch where the hunk begins, for messages. */
  at: number;
}

/** The operation on one file. */
export type PatchOperation =
  | { op: 'add'; path: string; text: string }
  | { op: 'delete'; path: string }
  | { op: 'update'; path: string; movePath: string | undefined; hunks: PatchHunk[] };

const BEGIN = '*** Begin Patch';
const END = '*** End Patch';
const END_OF_FILE = '*** End of File';
const FILE = /^\*\*\* (Add|Update|Delete) File:(.+)$/;
const MOVE = /^\*\*\* Move to:(.+)$/;
/** The line numbers of a unified diff, which are ignored. */
const NUMBERS = /^-\d+(?:,\d+)? \+\d+(?:,\d+)? @@/;

/**
 * Parses a patch. Blank lines around it are allowed, and a blank line in a hunk is a blank line of context.
 *
 * @throws {ToolError} INVALID_ARGUMENT naming the line of the patch
 */
export function parsePatch(patch: string): PatchOperation[] {
  const lines = patch.split(/\r?\n/);
  let at = lines.findIndex((line) => line.trim() !== '');
  const last = lines.findLastIndex((line) => line.trim() !== '');
  if (lines[at]?.trim() !== BEGIN) throw malformed(Math.max(at, 0), `the patch must begin with "${BEGIN}"`);
  if (last === at || lines[last]?.trim() !== END) throw malformed(last, `the patch must end with "${END}"`);
  const operations: PatchOperation[] = [];
  for (at++; at < last;) {
    const line = lines[at] ?? '';
    const [, verb, name = ''] = FILE.exec(line.trim()) ?? [];
    const path = name.trim();
    if (!verb) {
      if (line.trim() === '') {
        at++;
        continue;
      }
      throw malformed(at, 'expected "*** Add File: ", "*** Update File: " or "*** Delete File: " followed by a path');
    }
    const start = at++;
    let end = at;
    while (end < last && !beginsFile(lines, end, verb)) end++;
    const body = lines.slice(at, end);
    if (verb === 'Add') operations.push({ op: 'add', path, text: parseAdded(body, at) });
    else if (verb === 'Update') operations.push({ op: 'update', path, ...parseUpdate(body, at, start) });
    else {
      const extra = body.findIndex((each) => each.trim() !== '');
      if (extra >= 0) throw malformed(at + extra, 'nothing may follow "*** Delete File: "');
      operations.push({ op: 'delete', path });
    }
    at = end;
  }
  if (operations.length === 0) throw malformed(last, 'the patch has no file');
  return operations;
}

/**
 * Whether a line is the header of a file. An indented one inside a hunk is a context line, unless a hunk begins after it.
 */
function beginsFile(lines: readonly string[], index: number, verb: string): boolean {
  const line = lines[index] ?? '';
  if (FILE.test(line)) return true;
  const [, padded] = FILE.exec(line.trim()) ?? [];
  if (!padded) return false;
  if (verb !== 'Update') return true; // added lines begin with "+", and deletions have none
  const next = lines[index + 1] ?? '';
  return padded === 'Update' && (next.startsWith('@@') || MOVE.test(next.trim()));
}

function parseAdded(body: readonly string[], at: number): string {
  const content = withoutBlankEnd(body);
  const added = content.map((line, index) => {
    if (!line.startsWith('+')) throw malformed(at + index, 'every line of an added file must begin with "+"');
    return `${line.slice(1)}\n`;
  });
  return added.join('');
}

function parseUpdate(
  body: readonly string[],
  at: number,
  start: number,
): { movePath: string | undefined; hunks: PatchHunk[] } {
  const movePath = MOVE.exec((body[0] ?? '').trim())?.[1]?.trim();
  const content = withoutBlankEnd(body);
  const hunks: PatchHunk[] = [];
  let hunk: PatchHunk | undefined;
  for (const [index, line] of content.entries()) {
    if (index === 0 && movePath !== undefined) continue;
    const begins = line.startsWith('@@');
    if (begins || !hunk || hunk.endOfFile) {
      // Consecutive headers belong to one hunk.
      if (!hunk || hunk.lines.length > 0)
        hunks.push((hunk = { headers: [], lines: [], endOfFile: false, isNumbered: false, at: at + index + 1 }));
    }
    if (begins) {
      const given = line.slice(2).trim();
      const header = given.replace(NUMBERS, '').trim();
      hunk.isNumbered ||= NUMBERS.test(given);
      if (header !== '' && header !== '@@') hunk.headers.push(header);
    } else if (line.trimEnd() === END_OF_FILE) hunk.endOfFile = true;
    else if (line === '') hunk.lines.push({ kind: ' ', text: '' });
    else {
      const kind = line[0];
      if (kind !== ' ' && kind !== '-' && kind !== '+')
        throw malformed(at + index, 'every line of a hunk must begin with a space, "-", "+" or "@@"');
      hunk.lines.push({ kind, text: line.slice(1) });
    }
  }
  const empty = hunks.find(({ lines }) => lines.every(({ kind }) => kind === ' '));
  if (empty) throw malformed(empty.at - 1, 'this hunk changes nothing');
  if (hunks.length === 0 && movePath === undefined)
    throw malformed(start, 'this update has no hunk and no "*** Move to: "');
  return { movePath, hunks };
}

/** Drops blank lines before the next file, which are not context. */
function withoutBlankEnd(lines: readonly string[]): readonly string[] {
  return lines.slice(0, lines.findLastIndex((line) => line.trim() !== '') + 1);
}

function malformed(index: number, what: string): ToolError {
  return new ToolError('INVALID_ARGUMENT', `Line ${index + 1} of the patch: ${what}. Nothing was changed.`);
}
