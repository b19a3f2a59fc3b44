// The hook that reports the errors a change introduced. The filesystem tools call it, the diagnostics server implements
// it, and neither depends on the other.

import { objectSchema } from '../../tool/object-schema.js';
import { settledWithin } from '../../call/waiting.js';
import {
  countsOf,
  countWords,
  diagnosticLine,
  diagnosticOutput,
  SEVERITIES,
  type Diagnostic,
} from './diagnostic-rows.js';

/** The new errors after a change. */
export interface AfterChange {
  /** Errors that did not exist before; with their file if the report covers several. */
  diagnostics: (Diagnostic & { path?: string })[];
  /** If false, an empty list does not mean that there are no new errors. */
  complete: boolean;
}

/** Options of an {@link AfterChangeHook}. */
export interface AfterChangeOptions {
  /** Cancels the wait for diagnostics. */
  signal: AbortSignal;
  /** Maximum time, in milliseconds. */
  deadlineMs: number;
  /** The previous contents by path; without files that are new or whose content is unknown. */
  before?: ReadonlyMap<string, Buffer>;
}

/** Reports the new errors after a change of files, given relative to the project; undefined if no diagnostics are available. */
export type AfterChangeHook = (
  paths: readonly string[],
  options: AfterChangeOptions,
) => Promise<AfterChange | undefined>;

/** How long the answer to a change waits for diagnostics. */
const DEADLINE_MS = 1_500;
const MAX_ROWS = 20;

/** {@link AfterChange} as JSON Schema. */
export const afterChangeOutput = {
  description:
    'The errors that this change introduced, here or in other files; absent if no diagnostics are available.',
  ...objectSchema({
    diagnostics: { type: 'array', items: objectSchema(diagnosticOutput.properties, { path: { type: 'string' } }) },
    complete: { type: 'boolean', description: 'If false, an empty list does not mean that there are no new errors.' },
  }),
} as const;

/** Calls the hook. Never rejects and never exceeds the deadline: the change is made, and its answer must not depend on the hook. */
export async function lookAfterChange(
  hook: AfterChangeHook | undefined,
  paths: readonly string[],
  options: Omit<AfterChangeOptions, 'deadlineMs'>,
): Promise<AfterChange | undefined> {
  if (!hook || paths.length === 0) return undefined;
  const unknown: AfterChange = { diagnostics: [], complete: false };
  try {
    const report = Promise.resolve(hook(paths, { ...options, deadlineMs: DEADLINE_MS }));
    if (!(await settledWithin([report], DEADLINE_MS + 100))) return unknown;
    const said = await report;
    if (said === undefined) return undefined;
    const rows = said.diagnostics.slice(0, MAX_ROWS).map(row);
    const diagnostics = rows.filter((each) => each !== undefined);
    return { diagnostics, complete: said.complete === true && diagnostics.length === rows.length };
  } catch {
    return unknown;
  }
}

/** The errors as text that begins with a newline; empty if there are none. @param path the file of rows without a path */
export function afterChangeText(after: AfterChange | undefined, path: string): string {
  if (!after || after.diagnostics.length === 0) return '';
  const { diagnostics, complete } = after;
  const lines = diagnostics.map((each) => diagnosticLine(each.path ?? path, each));
  return `\nNew errors after this change: ${countWords(countsOf(diagnostics))}${complete ? '' : ', and perhaps more'}.\n${lines.join('\n')}`;
}

/** Keeps only the fields of the output schema; undefined for an invalid row, which would fail the answer of a change that was made. */
function row(given: AfterChange['diagnostics'][number]): AfterChange['diagnostics'][number] | undefined {
  const { path, line, column, end_line, end_column, severity, code, source, message } = given;
  const places = [line, column, end_line, end_column].every((each) => Number.isInteger(each) && each >= 1);
  const texts = [code, source, message, path ?? ''].every((each) => typeof each === 'string');
  if (!places || !texts || !SEVERITIES.includes(severity)) return undefined;
  return { ...(path !== undefined && { path }), line, column, end_line, end_column, severity, code, source, message };
}
