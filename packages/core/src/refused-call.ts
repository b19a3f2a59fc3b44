// A call that cannot run, in the shape of one that can.

import type { JsonObject } from './json.js';
import type { ToolResult } from './result.js';
import { fillAnnotations } from './tool.js';
import type { PreparedCall, ToolDefinition } from './tool-provider.js';

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
