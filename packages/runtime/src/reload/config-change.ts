// What a changed config asks for: a new process, another `initialize`, or nothing.

import { ToolError } from '@toolwright/core';
import { isJsonObject, assertOptions, type OptionNames } from '@toolwright/core/internal';
import type { Decision } from '../wire/protocol.js';

/** Which parts of a config ask for what, where the provider itself does not say. Dotted paths, such as `database.url`. */
export interface ChangeAnalysis {
  /** A change at or below one of these takes a new process. */
  restartTriggers?: readonly string[];
  /** A change at or below one of these takes another `initialize`, also where the provider sees no need. */
  reinitTriggers?: readonly string[];
}

/** What is done for a changed config. */
export type ConfigAction = 'restart' | 'reinitialize' | 'nothing';

const TRIGGERS: OptionNames<ChangeAnalysis> = { restartTriggers: true, reinitTriggers: true };

/** @throws {ToolError} INVALID_ARGUMENT for a wrong name, or what is no list of texts */
export function assertChangeAnalysis(analysis: ChangeAnalysis): void {
  assertOptions('superviseProcess()', analysis, TRIGGERS, 'changeAnalysis.');
  for (const [name, paths] of Object.entries(analysis) as [string, unknown][]) {
    if (paths === undefined || (Array.isArray(paths) && paths.every((path) => typeof path === 'string'))) continue;
    throw new ToolError('INVALID_ARGUMENT', `changeAnalysis.${name} must be a list of paths such as "database.url".`);
  }
}

/** The dotted paths at which two configs differ: those of the smallest parts. */
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

/** The provider is asked first, then the triggers; who has said nothing is initialized again. */
export function actionFor(
  changed: readonly string[],
  decision: Decision | undefined,
  { restartTriggers = [], reinitTriggers = [] }: ChangeAnalysis,
): ConfigAction {
  if (changed.length === 0) return 'nothing';
  if (decision?.restart || touches(changed, restartTriggers)) return 'restart';
  return decision?.reinitialize === false && !touches(changed, reinitTriggers) ? 'nothing' : 'reinitialize';
}

/** A change below a trigger touches it, and so does one of a part that the trigger is in. */
function touches(changed: readonly string[], triggers: readonly string[]): boolean {
  return triggers.some((trigger) =>
    changed.some((path) => path === trigger || path.startsWith(`${trigger}.`) || trigger.startsWith(`${path}.`)),
  );
}
