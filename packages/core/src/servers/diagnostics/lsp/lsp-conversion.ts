// Converts the protocol's positions from 0 and numeric codes to those of results.

import type { Diagnostic as LspDiagnostic, Range as LspRange } from 'vscode-languageserver-protocol';
import { cutText } from '../../project/output-budget.js';
import { SEVERITIES, type Diagnostic } from '../../project/diagnostic-rows.js';

/** A range of a file: lines and columns from 1, columns in UTF-16 units, the end one past the last character. */
export interface FileRange {
  line: number;
  column: number;
  end_line: number;
  end_column: number;
}

const MAX_MESSAGE_BYTES = 4 * 1024;

/** Undefined for an invalid range. */
export function rangeFromLsp(range: unknown): FileRange | undefined {
  const { start, end } = Object(range) as Partial<LspRange>;
  const numbers = [start?.line, start?.character, end?.line, end?.character];
  if (!numbers.every((each) => Number.isSafeInteger(each) && (each ?? -1) >= 0)) return undefined;
  const [line = 0, column = 0, endLine = 0, endColumn = 0] = numbers;
  return { line: line + 1, column: column + 1, end_line: endLine + 1, end_column: endColumn + 1 };
}

/** Undefined for an invalid diagnostic. */
export function diagnosticFromLsp(item: LspDiagnostic, server: string): Diagnostic | undefined {
  const { range, severity, code, source, message } = Object(item) as Partial<LspDiagnostic>;
  const at = rangeFromLsp(range);
  const text: unknown = typeof message === 'object' ? (message as { value?: unknown }).value : message;
  if (!at || typeof text !== 'string') return undefined;
  return {
    ...at,
    // Without a severity the client decides: it counts as an error.
    severity: SEVERITIES[(severity ?? 1) - 1] ?? 'error',
    code: typeof code === 'string' || typeof code === 'number' ? String(code).slice(0, 200) : '',
    source: (typeof source === 'string' ? source : server).slice(0, 200),
    message: cutText(text, MAX_MESSAGE_BYTES),
  };
}
