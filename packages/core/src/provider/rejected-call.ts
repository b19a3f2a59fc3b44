// A call that cannot run, in the shape of one that can.

import { ToolError } from '../contract/errors.js';
import type { JsonObject } from '../contract/json.js';
import { isOwnFailure, type ToolResult } from '../contract/result.js';
import { fillAnnotations } from '../tool/define-tool.js';
import type { PreparedCall } from '../contract/tool-provider.js';
import type { ToolDefinition } from '../contract/tool-definition.js';

/** What `prepareCall` gives for an unknown tool or wrong arguments: `refused` is the answer of its `execute` too. */
export function refusedCall(
  name: string,
  definition: ToolDefinition | undefined,
  args: JsonObject,
  refused: ToolResult,
): PreparedCall {
  return {
    tool: definition ?? { name, description: '', inputSchema: { type: 'object' }, annotations: fillAnnotations() },
    args,
    claims: [],
    refused,
    execute: () => Promise.resolve(refused),
  };
}

/** What a prepared call answers when what prepared it is not there any more: it did not run, and may be prepared again. */
export function preparedBefore(provider: string, why = `The provider "${provider}" was disconnected`): ToolError {
  return new ToolError('NOT_CONNECTED', `${why} after the call was prepared; prepare it again.`, {
    provider,
    details: { prepareAgain: true },
  });
}

/** True for the answer of a prepared call that {@link preparedBefore} made. */
export function wasPreparedBefore(result: ToolResult): boolean {
  return isOwnFailure(result) && result.error?.details?.prepareAgain === true;
}

/** True for two listings of one tool that say the same. */
export function isSameListing(one: ToolDefinition, other: ToolDefinition | undefined): boolean {
  return one === other || JSON.stringify(one) === JSON.stringify(other);
}

/** True when a call that was prepared again is the one that was judged. */
export function isSameCall(before: Pick<PreparedCall, 'tool' | 'claims'>, now: PreparedCall): boolean {
  return isSameListing(before.tool, now.tool) && JSON.stringify(before.claims) === JSON.stringify(now.claims);
}
