// Preparing a call from what a provider lists, for providers that do not know more of their tools: validated as the
// listed schema says, coerced where that makes a wrong call right, and otherwise sent unchanged.

import { repairArguments } from '../tool/coercion.js';
import { ToolError } from '../contract/errors.js';
import type { JsonObject } from '../contract/json.js';
import { copyArguments, copyJson } from '../contract/json-copy.js';
import type { JsonSchemaValidator } from '../tool/json-schema-validator.js';
import { readListedSchema } from '../tool/listed-schema-validator.js';
import { describeIssues } from '../tool/schema.js';
import type { PermissionClaim } from '../contract/claims.js';
import type { CallOptions, PreparedCall } from '../contract/tool-provider.js';
import type { ToolDefinition } from '../contract/tool-definition.js';
import type { ToolResult } from '../contract/result.js';

/** A validator tells of so many faults at once; more are told when those are repaired. */
const MAX_REPAIRS = 10;

/** A call of a listed tool. */
export interface ListedCall {
  readonly tool: ToolDefinition;
  /** Default: the claim of the tool's bare name. */
  readonly claims?: (args: JsonObject) => readonly PermissionClaim[];
  /** The deadline that the tool names, where it is believed. */
  readonly timeoutMs?: (args: JsonObject) => number | undefined;
  execute(args: JsonObject, options?: CallOptions): Promise<ToolResult>;
}

/**
 * Copies, validates and coerces the arguments of a call.
 *
 * @throws {ToolError} INVALID_ARGUMENT, and what `claims` throws
 */
export function prepareFromListing(call: ListedCall, given: JsonObject): PreparedCall {
  const { tool } = call;
  let args = copyArguments(tool.name, given);
  const validator = validatorOf(tool);
  const validate = typeof validator === 'function' ? validator : undefined;
  let { issues } = validate?.(args) ?? {};
  // What is right is sent as it is. What is wrong would be refused: a number sent as a string is coerced instead.
  for (let round = 0; issues && round < MAX_REPAIRS; round++) {
    const repaired = repairArguments(args, issues, tool.inputSchema);
    if (!repaired) break;
    args = repaired;
    ({ issues } = validate?.(args) ?? {});
  }
  if (issues) {
    throw new ToolError('INVALID_ARGUMENT', `Wrong arguments for "${tool.name}": ${describeIssues(issues)}.`, {
      tool: tool.name,
      details: { issues: issues.slice(0, 20).map(({ path, message }) => ({ path: path.map(String), message })) },
    });
  }
  const timeoutMs = call.timeoutMs?.(args);
  return {
    tool,
    args: copyJson(args), // whoever changes these does not change what runs
    ...(timeoutMs !== undefined && { timeoutMs }),
    claims: call.claims?.(args) ?? [nameClaim(tool.name)],
    execute: (options) => call.execute(args, options),
  };
}

/** The claim of a call that nobody says more of: the tool's bare name. */
export function nameClaim(name: string): PermissionClaim {
  return Object.freeze({ pattern: bareName(name), match: 'glob', understood: true });
}

/** True where a provider says no more of a call than the tool's name. */
export function isNameClaim(claims: readonly PermissionClaim[], name: string): boolean {
  const [claim, ...more] = claims;
  return claim?.match === 'glob' && claim.pattern === bareName(name) && claim.understood && more.length === 0;
}

/** `server.tool` without the server. */
export function bareName(name: string): string {
  return name.slice(name.indexOf('.') + 1);
}

/** One for each listed tool, made by its first call. */
const validators = new WeakMap<ToolDefinition, JsonSchemaValidator | ToolError>();

/** The validator of the tool's schema; an error where the schema cannot be enforced. */
export function validatorOf(tool: ToolDefinition): JsonSchemaValidator | ToolError {
  let validator = validators.get(tool);
  if (!validator) {
    try {
      validator = readListedSchema(tool.inputSchema);
    } catch (thrown) {
      validator = ToolError.from(thrown); // explain() says that it is not enforced
    }
    validators.set(tool, validator);
  }
  return validator;
}
