// What every parser of a checker's output gives, and what several of them need.

import type { Diagnostic, Severity } from '../../project/diagnostic-rows.js';

/** One diagnostic as the checker printed it. */
export interface Found extends Diagnostic {
  /** The file as it was printed: absolute, or relative to the directory that the checker ran in. */
  file: string;
  /** What its columns count. Default: UTF-16 units, as everywhere here. */
  columns?: 'code-points' | 'bytes';
}

/** A checker's output, taken apart. */
export interface CheckerReport {
  found: Found[];
  /** What it said that is of no file, such as a configuration that it could not read. */
  said: string[];
  /** How many files it looked at, where it tells. */
  filesChecked?: number;
  /** False when the output could not be read: no diagnostics then means nothing. */
  understood: boolean;
}

/** What a checker printed. */
export interface CheckerOutput {
  stdout: string;
  stderr: string;
}

/** Reads what a checker printed. Never throws. */
export type CheckerParser = (output: CheckerOutput) => CheckerReport;

/** The report of what cannot be read. */
export function notUnderstood({ stdout, stderr }: CheckerOutput): CheckerReport {
  const said = lastLines(stderr.trim() === '' ? stdout : stderr);
  return { found: [], said, understood: false };
}

/** The end of an output, for the one who has to find out why. */
export function lastLines(text: string, count = 20): string[] {
  return text
    .split(/\r?\n/)
    .filter((line) => line.trim() !== '')
    .slice(-count);
}

/** The value of a JSON text; undefined for what is none. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** A field of a foreign object, if it is an object. */
export function field(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[name] : undefined;
}

/** A foreign number that counts from 1; 1 for anything else. */
export function place(value: unknown): number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 1 ? value : 1;
}

/** A foreign text; empty for anything else. */
export function text(value: unknown): string {
  return typeof value === 'string' ? value : typeof value === 'number' ? `${value}` : '';
}

/** A checker's word for how bad it is; an unknown one is an error, so that nothing is played down. */
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
