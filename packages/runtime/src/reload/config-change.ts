// Decides whether a changed config needs a new process, another `initialize`, or nothing.

import { ToolError } from '@toolwright/core';
import { isJsonObject, assertOptions, type OptionNames } from '@toolwright/core/internal';
import type { Decision } from '../wire/protocol.js';

/** What a change of these parts of the config requires, unless the provider decides. Dotted paths, such as `database.url`. */
export interface ChangeAnalysis {
  /** Paths whose change requires a new process. */
  restartTriggers?: readonly string[];
  /** Paths whose change requires another `initialize`, even if the provider does not ask for one. */
  reinitTriggers?: readonly string[];
}

/** What was done for a changed config. */
export type ConfigAction = 'restart' | 'reinitialize' | 'nothing';

const TRIGGERS: OptionNames<ChangeAnalysis> = { restartTriggers: true, reinitTriggers: true };

/** @throws {ToolError} INVALID_ARGUMENT for an unknown name, or a value that is not an array of strings */
export function assertChangeAnalysis(analysis: ChangeAnalysis): void {
  assertOptions('superviseProcess()', analysis, TRIGGERS, 'changeAnalysis.');
  for (const [name, paths] of Object.entries(analysis) as [string, unknown][]) {
    if (paths === undefined || (Array.isArray(paths) && paths.every((path) => typeof path === 'string'))) continue;
    throw new ToolError('INVALID_ARGUMENT', `changeAnalysis.${name} must be a list of paths such as "database.url".`);
  }
}

/** The dotted paths of the smallest parts in which two configs differ. */
export function changedPaths(before: unknown, after: unknown, path = ''): string[] {
  if (Object.is(before, after)) return [];
  if (!isJsonObject(before) || !isJsonObject(after))
    return JSON.stringify(before) === JSON.stringify(after) ? [] : [path];
  const keys = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...keys].flatMap((key) => {
    const at = path === '' ? key : `${path}.${key}`;
    const [old, next] = [before, after].map((each) => (Object.hasOwn(each, key) ? each[key] : undefined));
    return changedPaths(old, next, at);
  });
}

/** The provider decides first, then the triggers; by default it is initialized again. */
export function actionFor(
  changed: readonly string[],
  decision: Decision | undefined,
  { restartTriggers = [], reinitTriggers = [] }: ChangeAnalysis,
): ConfigAction {
  if (changed.length === 0) return 'nothing';
  if (decision?.restart || touches(changed, restartTriggers)) return 'restart';
  return decision?.reinitialize === false && !touches(changed, reinitTriggers) ? 'nothing' : 'reinitialize';
}

/** Whether a change is at, below or above a trigger. */
function touches(changed: readonly string[], triggers: readonly string[]): boolean {
  return triggers.some((trigger) =>
    changed.some((path) => path === trigger || path.startsWith(`${trigger}.`) || trigger.startsWith(`${path}.`)),
  );
}
