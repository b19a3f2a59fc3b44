// Diagnostics, from a language server or from the output of a checker.

import { objectSchema } from '../../tool/object-schema.js';
import { escapeControls } from './scope/project-scope.js';

/** Worst first. */
export const SEVERITIES = ['error', 'warning', 'info', 'hint'] as const;

/** How bad a diagnostic is. */
export type Severity = (typeof SEVERITIES)[number];

/** A problem at a position in a file. Lines and columns count from 1, columns in UTF-16 units. */
export interface Diagnostic {
  /** The first line, from 1. */
  line: number;
  /** The first column, from 1. */
  column: number;
  /** The last line, from 1. */
  end_line: number;
  /** One past the last character. */
  end_column: number;
  /** How serious it is. */
  severity: Severity;
  /** The checker's code, such as `2322` or `F401`; empty if it has none. */
  code: string;
  /** The checker, such as `ts` or `ruff`. */
  source: string;
  /** The message of the checker. */
  message: string;
}

/** A diagnostic with its file. */
export interface FileDiagnostic extends Diagnostic {
  /** Project-relative, with `/`. */
  path: string;
}

/** The diagnostics of one file, in file order. */
export interface FileDiagnostics {
  path: string;
  diagnostics: Diagnostic[];
}

/** The number of diagnostics of each severity. */
export type DiagnosticCounts = Record<Severity, number>;

const place = { type: 'integer', minimum: 1 } as const;

const fields = {
  line: place,
  column: { ...place, description: 'In UTF-16 units.' },
  end_line: place,
  end_column: { ...place, description: 'One past the last character.' },
  severity: { type: 'string', enum: SEVERITIES },
  code: { type: 'string' },
  source: { type: 'string' },
  message: { type: 'string' },
} as const;

/** A {@link Diagnostic} as JSON Schema. */
export const diagnosticOutput = objectSchema(fields);

/** {@link DiagnosticCounts} as JSON Schema. */
export const countsOutput = objectSchema({
  error: { type: 'integer' },
  warning: { type: 'integer' },
  info: { type: 'integer' },
  hint: { type: 'integer' },
});

/** Whether a severity is at least as bad as another. */
export function isAtLeast(severity: Severity, least: Severity): boolean {
  return SEVERITIES.indexOf(severity) <= SEVERITIES.indexOf(least);
}

/** The number of diagnostics of each severity. */
export function countsOf(diagnostics: Iterable<Diagnostic>): DiagnosticCounts {
  const counts: DiagnosticCounts = { error: 0, warning: 0, info: 0, hint: 0 };
  for (const { severity } of diagnostics) counts[severity]++;
  return counts;
}

/** Sorts by position, then worst first, without duplicates. */
export function inOrder<D extends Diagnostic>(diagnostics: readonly D[]): D[] {
  const seen = new Set<string>();
  return [...diagnostics]
    .sort(
      (a, b) =>
        a.line - b.line ||
        a.column - b.column ||
        SEVERITIES.indexOf(a.severity) - SEVERITIES.indexOf(b.severity) ||
        (a.message < b.message ? -1 : a.message > b.message ? 1 : 0),
    )
    .filter((each) => {
      const key = JSON.stringify([
        each.line,
        each.column,
        each.end_line,
        each.end_column,
        each.severity,
        each.code,
        each.message,
      ]);
      return !seen.has(key) && seen.add(key);
    });
}

/** A diagnostic as one line: `src/a.ts:3:7 error ts 2322: message`. */
export function diagnosticLine(path: string, { line, column, severity, source, code, message }: Diagnostic): string {
  const who = [source, code].filter((word) => word !== '').join(' ');
  const text = `${path}:${line}:${column} ${severity}${who === '' ? '' : ` ${who}`}: `;
  return escapeControls(text) + message.split(/\r?\n/).map(escapeControls).join('\n    ');
}

/** The counts as text, such as `2 errors, 1 warning`, or `none`. */
export function countWords(counts: DiagnosticCounts): string {
  const words = SEVERITIES.filter((severity) => counts[severity] > 0).map((severity) => {
    const count = counts[severity];
    return `${count} ${severity}${count === 1 || severity === 'info' ? '' : 's'}`;
  });
  return words.length === 0 ? 'none' : words.join(', ');
}
