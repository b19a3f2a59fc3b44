// The result of a checker's output parser, and shared helpers of the parsers.

import type { Diagnostic, Severity } from '../../project/diagnostic-rows.js';

/** A diagnostic as the checker printed it. */
export interface Found extends Diagnostic {
  /** The printed path: absolute, or relative to the checker's working directory. */
  file: string;
  /** The unit of its columns. Default: UTF-16 units. */
  columns?: 'code-points' | 'bytes';
}

/** A parsed checker output. */
export interface CheckerReport {
  found: Found[];
  /** Messages without a file, such as an unreadable configuration. */
  said: string[];
  /** The number of files checked, if reported. */
  filesChecked?: number;
  /** False when the output could not be parsed: an empty list then does not mean clean. */
  understood: boolean;
}

/** The output of a checker. */
export interface CheckerOutput {
  stdout: string;
  stderr: string;
}

/** Parses a checker's output. Never throws. */
export type CheckerParser = (output: CheckerOutput) => CheckerReport;

/** The report of output that cannot be parsed. */
export function notUnderstood({ stdout, stderr }: CheckerOutput): CheckerReport {
  const said = lastLines(stderr.trim() === '' ? stdout : stderr);
  return { found: [], said, understood: false };
}

/** The end of an output, to find the cause of a failure. */
export function lastLines(text: string, count = 20): string[] {
  return text
    .split(/\r?\n/)
    .filter((line) => line.trim() !== '')
    .slice(-count);
}

/** Parses JSON; undefined if it is invalid. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** A field of an unknown value; undefined if it is not an object. */
export function field(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[name] : undefined;
}

/** An unknown value as a number from 1; 1 if it is invalid. */
export function place(value: unknown): number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 1 ? value : 1;
}

/** An unknown value as a string; empty if it is not one. */
export function text(value: unknown): string {
  return typeof value === 'string' ? value : typeof value === 'number' ? `${value}` : '';
}

/** Parses a severity; an unknown one counts as an error. */
export function severityOf(word: unknown): Severity {
  switch (typeof word === 'string' ? word.toLowerCase() : '') {
    case 'warning':
    case 'warn':
      return 'warning';
    case 'information':
    case 'info':
    case 'note':
      return 'info';
    case 'hint':
    case 'help':
      return 'hint';
    default:
      return 'error';
  }
}
