// What a change of files may be told at once: the errors that it brought. The filesystem tools ask, the diagnostics server
// answers, and neither knows the other.

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
  /** Errors that were not there before, with the file that they are in where the answer is about several. */
  diagnostics: (Diagnostic & { path?: string })[];
  /** Only when true do no diagnostics mean that there is no new error. */
  complete: boolean;
}

/** What an {@link AfterChangeHook} is given beside the paths. */
export interface AfterChangeOptions {
  /** Cancels the wait for diagnostics. */
  signal: AbortSignal;
  /** How long it may take, in milliseconds. */
  deadlineMs: number;
  /** What was in the files before, by the same paths; nothing for one that was made or is not known. */
  before?: ReadonlyMap<string, Buffer>;
}

/** Is told of changed files, relative to the project, and says what is wrong now; undefined when nobody can say. */
export type AfterChangeHook = (
  paths: readonly string[],
  options: AfterChangeOptions,
) => Promise<AfterChange | undefined>;

/** How long the answer to a change waits for its errors. */
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

/** Asks the hook. Never rejects and never takes longer: the change is made, and its answer must not depend on this. */
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

/** As lines of an answer, beginning with a line end; empty for no new error. @param path of the file where a row names none */
export function afterChangeText(after: AfterChange | undefined, path: string): string {
  if (!after || after.diagnostics.length === 0) return '';
  const { diagnostics, complete } = after;
  const lines = diagnostics.map((each) => diagnosticLine(each.path ?? path, each));
  return `\nNew with this change: ${countWords(countsOf(diagnostics))}${complete ? '' : ', and perhaps more'}.\n${lines.join('\n')}`;
}

/** Only what the output schema knows; undefined for what it refuses, which would fail the answer of a change that was made. */
function row(given: AfterChange['diagnostics'][number]): AfterChange['diagnostics'][number] | undefined {
  const { path, line, column, end_line, end_column, severity, code, source, message } = given;
  const places = [line, column, end_line, end_column].every((each) => Number.isInteger(each) && each >= 1);
  const texts = [code, source, message, path ?? ''].every((each) => typeof each === 'string');
  if (!places || !texts || !SEVERITIES.includes(severity)) return undefined;
  return { ...(path !== undefined && { path }), line, column, end_line, end_column, severity, code, source, message };
}
