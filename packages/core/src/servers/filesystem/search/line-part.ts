// The part of a line that a row shows, and the text form of rows.

import { escapeControls } from '../../project/scope/project-scope.js';
import type { GrepRow } from './grep-sink.js';
import type { LinePart } from './line-search.js';

/** Maximum text of one row, in UTF-16 units. */
export const MAX_TEXT_CHARS = 500;
/** How much of a long line is shown before the match. */
export const LEAD_CHARS = 100;

/** The part of a long text around a position, with the number of omitted characters. */
export function cutAround(text: string, column: number, isCut = false): string {
  if (text.length <= MAX_TEXT_CHARS) return isCut ? `${text}... [cut]` : text;
  const start = column + LEAD_CHARS < MAX_TEXT_CHARS ? 0 : Math.max(0, Math.min(column, text.length) - LEAD_CHARS);
  return showPart([text.slice(start, start + MAX_TEXT_CHARS), start, text.length], isCut);
}

/** A part of a line, with the number of omitted characters. */
export function showPart([text, start, length]: LinePart, isCut = false): string {
  const rest = length - start - text.length;
  if (start === 0 && rest === 0 && !isCut) return text;
  const shown = text.replace(/^[\udc00-\udfff]|[\ud800-\udbff]$/g, '');
  const before = start > 0 ? `[${start} characters] ...` : '';
  return `${before}${shown}${isCut ? '... [cut]' : rest > 0 ? `... [${rest} characters]` : ''}`;
}

/** The rows as text: a heading per file, `12:` before a match, `12-` before a line around it. */
export function grepLines(rows: readonly GrepRow[]): string[] {
  const lines: string[] = [];
  let path: string | undefined;
  let lastLine = 0;
  for (const row of rows) {
    if (row.path !== path) {
      path = row.path;
      lastLine = 0;
      lines.push(escapeControls(path));
    }
    const matched = row.text.split('\n').map((text, index) => ({ line: row.line + index, text, mark: ':' }));
    const around = [...(row.context ?? []).map((each) => ({ ...each, mark: '-' })), ...matched];
    for (const { line, text, mark } of around.sort((a, b) => a.line - b.line)) {
      if (line <= lastLine) continue;
      if (row.context && lastLine > 0 && line > lastLine + 1) lines.push('  --');
      lines.push(`  ${line}${mark} ${text}`);
      lastLine = line;
    }
  }
  return lines;
}
