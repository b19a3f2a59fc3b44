// Finds lines whose indentation differs from the searched text in one way (more, less, or tabs for spaces), and applies
// the same shift to the new text.

import type { IndentShift, MatchedSpan } from './matched-span.js';

/** The parts of a line. */
export interface Line {
  indent: string;
  /** Without white space at either end. */
  body: string;
}

/**
 * Finds whole lines that differ from the text by one {@link IndentShift}; returns positions in the decoded text. Trailing
 * white space and the kind of line endings are ignored; the first line is compared from its beginning.
 */
export function findShifted(text: string, wanted: string): MatchedSpan[] {
  const pieces = wanted.split('\n');
  const withLineEnd = pieces.length > 1 && pieces.at(-1) === '';
  if (withLineEnd) pieces.pop();
  const lines = pieces.map(parseLine);
  const last = lines.at(-1);
  // A last line of only white space is a part of the next line, which cannot be shifted in part.
  if (!last || (!withLineEnd && last.body === '')) return [];
  const anchor = lines.findIndex(({ body }) => body !== '');
  const anchorBody = lines[anchor]?.body;
  const withSpaces = /[ \t]$/.test(pieces.at(-1) ?? '');
  const file = fileLines(text);
  const spans: MatchedSpan[] = [];
  for (const [index, start] of file.entries()) {
    const first = index - anchor;
    if (first < 0 || lineAt(text, file, index).body !== anchorBody) continue;
    const shift = shiftOf(lines, (offset) => lineAt(text, file, first + offset));
    if (!shift) continue;
    const next = first + lines.length;
    const end = file[next];
    if (withLineEnd) {
      if (end !== undefined) spans.push({ start: file[first] ?? start, end, shift });
      continue;
    }
    const whole = text.slice(file[next - 1], end).replace(/\r?\n$/, '');
    const kept = withSpaces ? whole.length : whole.replace(/[ \t]+$/, '').length;
    spans.push({ start: file[first] ?? start, end: (file[next - 1] ?? 0) + kept, shift });
  }
  return spans;
}

/** Shifts every line that is not blank; undefined if a line has less indentation than is to be removed. */
export function shiftIndent(text: string, shift: IndentShift): string | undefined {
  const lines = text.split('\n');
  if ('spacesOfTab' in shift) return lines.map((line) => withTabs(line, shift.spacesOfTab)).join('\n');
  const { indent, added } = shift;
  for (const [index, line] of lines.entries()) {
    if (line.trim() === '') continue;
    if (!added && !line.startsWith(indent)) return undefined;
    lines[index] = added ? indent + line : line.slice(indent.length);
  }
  return lines.join('\n');
}

/** A remainder of less than a tab stays spaces, as it is alignment. */
function withTabs(line: string, spacesOfTab: number): string {
  const { indent } = parseLine(line);
  return indent.replaceAll(' '.repeat(spacesOfTab), '\t') + line.slice(indent.length);
}

/** The start of each line. A text that ends with a newline has an empty last line. */
function fileLines(text: string): number[] {
  const starts = [text.startsWith('\ufeff') ? 1 : 0];
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) starts.push(at + 1);
  return starts;
}

function lineAt(text: string, starts: readonly number[], index: number): Line {
  const start = starts[index];
  if (start === undefined) return { indent: '', body: '\n' }; // past the end: equal to no line
  const next = starts[index + 1];
  return parseLine(text.slice(start, next === undefined ? undefined : next - 1));
}

/** Splits a line without its newline into indentation and rest. */
export function parseLine(line: string): Line {
  const [indent = ''] = /^[ \t]*/.exec(line) ?? [];
  return { indent, body: line.slice(indent.length).replace(/(?<![ \t])[ \t]*\r?$/, '') };
}

/** The one shift between the lines and those at a position of the file; undefined if they differ in any other way. */
export function shiftOf(lines: readonly Line[], inFile: (offset: number) => Line): IndentShift | undefined {
  return depthShiftOf(lines, inFile) ?? tabShiftOf(lines, inFile);
}

const MAX_TAB_SPACES = 8;

/** The number of spaces per tab if all lines differ only in tabs for spaces. */
function tabShiftOf(lines: readonly Line[], inFile: (offset: number) => Line): IndentShift | undefined {
  let spacesOfTab: number | undefined;
  for (const [offset, { indent, body }] of lines.entries()) {
    const found = inFile(offset);
    if (found.body !== body) return undefined;
    if (body === '' || (indent === '' && found.indent === '')) continue;
    if (!/^ +$/.test(indent) || !/^\t+$/.test(found.indent)) return undefined;
    const here = indent.length / found.indent.length;
    if (!Number.isInteger(here) || here > MAX_TAB_SPACES || here !== (spacesOfTab ?? here)) return undefined;
    spacesOfTab = here;
  }
  return spacesOfTab === undefined ? undefined : { spacesOfTab };
}

function depthShiftOf(lines: readonly Line[], inFile: (offset: number) => Line): IndentShift | undefined {
  let shift: { indent: string; added: boolean } | undefined;
  for (const [offset, { indent, body }] of lines.entries()) {
    const found = inFile(offset);
    if (found.body !== body) return undefined;
    if (body === '') continue;
    const here = shiftBetween(indent, found.indent);
    if (!here || (shift && (here.indent !== shift.indent || here.added !== shift.added))) return undefined;
    shift = here;
  }
  return shift;
}

function shiftBetween(wanted: string, found: string): { indent: string; added: boolean } | undefined {
  if (wanted === found) return undefined;
  const [long, short] = found.length > wanted.length ? [found, wanted] : [wanted, found];
  if (!long.endsWith(short)) return undefined;
  return { indent: long.slice(0, long.length - short.length), added: long === found };
}
