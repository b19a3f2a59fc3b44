// The options and the conditions that several middlewares share.

import { ToolError } from '../../contract/errors.js';
import { assertOptions, shownValue, type OptionType } from '../../contract/options.js';
import { assertSelection, selectTools, type ToolSelection } from '../../provider/tool-selection.js';
import type { MiddlewareCall } from './middleware.js';

/**
 * Checks the options of a middleware: their names, the selection of tools, and that `numbers` are positive.
 *
 * @throws {ToolError} INVALID_ARGUMENT
 */
export function assertMiddlewareOptions(
  where: string,
  options: ToolSelection,
  known: Readonly<Record<string, OptionType>>,
  numbers: Readonly<Record<string, number>>,
): void {
  assertOptions(where, options, known);
  assertSelection(options);
  for (const [name, value] of Object.entries(numbers)) {
    if (typeof value === 'number' && value > 0) continue;
    throw new ToolError('INVALID_ARGUMENT', `${where}: \`${name}\` must be above 0, not ${shownValue(value)}.`);
  }
}

/** Whether the middleware applies to the call: its tool is selected, and it is not only there for another call of the hub. */
export function appliesTo(call: MiddlewareCall, selection: ToolSelection): boolean {
  return !call.isDelegating && isSelected(call, selection);
}

/** Whether the tool of a call is selected. */
export function isSelected(call: Pick<MiddlewareCall, 'name'>, selection: ToolSelection): boolean {
  return selectTools([call], selection).length > 0;
}

/** Whether a tool changes nothing, by its annotations, if the hub trusts them. */
export function isReadOnly({ tool, trustsAnnotations }: MiddlewareCall): boolean {
  return trustsAnnotations && tool.annotations?.readOnlyHint === true;
}

/** Whether running a call twice has the effect of running it once, by its annotations, if the hub trusts them. */
export function isRepeatable(call: MiddlewareCall): boolean {
  return isReadOnly(call) || (call.trustsAnnotations && call.tool.annotations?.idempotentHint === true);
}
