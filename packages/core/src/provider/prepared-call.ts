// What providers share of prepared calls: preparing one from a tool's listing, rejecting one, and comparing two.

import type { PermissionClaim } from '../contract/claims.js';
import { ToolError } from '../contract/errors.js';
import { copyArguments, copyJson } from '../contract/json-copy.js';
import type { JsonObject } from '../contract/json.js';
import { isOwnFailure, type ToolResult } from '../contract/result.js';
import type { ToolDefinition } from '../contract/tool-definition.js';
import type { CallOptions, PreparedCall } from '../contract/tool-provider.js';
import { coerceArguments } from '../tool/coercion.js';
import { fillAnnotations } from '../tool/define-tool.js';
import type { JsonSchemaValidator } from '../tool/json-schema-validator.js';
import { readListedSchema } from '../tool/listed-schema-validator.js';
import { describeIssues } from '../tool/schema.js';

/** A validator reports a limited number of issues; the next round shows those that the first ones hid. */
const MAX_COERCION_ROUNDS = 10;

/** A call of a tool that is known only from its listing. */
export interface ListedCall {
  /** The tool's listing. */
  readonly tool: ToolDefinition;
  /** Returns the claims of the call. Default: one claim with the bare name. */
  readonly claims?: (args: JsonObject) => readonly PermissionClaim[];
  /** The tool's own deadline in milliseconds, from a provider that may set one. */
  readonly timeoutMs?: (args: JsonObject) => number | undefined;
  /** Runs the call. Never rejects. */
  execute(args: JsonObject, options?: CallOptions): Promise<ToolResult>;
}

/**
 * Prepares a call of a foreign tool: copies the arguments and validates them against the listed schema. Valid arguments
 * are sent unchanged; invalid ones, which the tool would reject, are coerced first where that makes them valid.
 *
 * @throws {ToolError} INVALID_ARGUMENT, and what `claims` throws
 */
export function prepareFromListing(call: ListedCall, given: JsonObject): PreparedCall {
  const { tool } = call;
  const args = validArguments(tool, copyArguments(tool.name, given));
  const timeoutMs = call.timeoutMs?.(args);
  let shown: JsonObject | undefined;
  return {
    tool,
    // A copy: changing it does not change the call. Most callers never read it.
    get args() {
      return (shown ??= copyJson(args));
    },
    ...(timeoutMs !== undefined && { timeoutMs }),
    claims: call.claims?.(args) ?? [nameClaim(tool.name)],
    execute: (options) => call.execute(args, options),
  };
}

function validArguments(tool: ToolDefinition, given: JsonObject): JsonObject {
  const validate = validatorOf(tool);
  if (validate instanceof ToolError) return given; // explain() reports that the schema is not enforced
  let args = given;
  let { issues } = validate(args);
  for (let round = 0; issues && round < MAX_COERCION_ROUNDS; round++) {
    const coerced = coerceArguments(args, issues, tool.inputSchema);
    if (!coerced) break;
    args = coerced;
    ({ issues } = validate(args));
  }
  if (!issues) return args;
  throw new ToolError('INVALID_ARGUMENT', `Wrong arguments for "${tool.name}": ${describeIssues(issues)}.`, {
    tool: tool.name,
    details: { issues: issues.slice(0, 20).map(({ path, message }) => ({ path: path.map(String), message })) },
  });
}

/** The default claim of a call: the tool's name without its server. */
export function nameClaim(name: string): PermissionClaim {
  return Object.freeze({ pattern: bareName(name), match: 'glob', understood: true });
}

/** Whether `claims` is only the {@link nameClaim} of the tool. */
export function isNameClaim(claims: readonly PermissionClaim[], name: string): boolean {
  const [claim, ...more] = claims;
  return claim?.match === 'glob' && claim.pattern === bareName(name) && claim.understood && more.length === 0;
}

/** The part of `server.tool` after the dot. */
export function bareName(name: string): string {
  return name.slice(name.indexOf('.') + 1);
}

const validators = new WeakMap<ToolDefinition, JsonSchemaValidator | ToolError>();

/** The validator of the tool's input schema, compiled by the first call; an error when the schema cannot be enforced. */
export function validatorOf(tool: ToolDefinition): JsonSchemaValidator | ToolError {
  let validator = validators.get(tool);
  if (!validator) {
    try {
      validator = readListedSchema(tool.inputSchema);
    } catch (thrown) {
      validator = ToolError.from(thrown);
    }
    validators.set(tool, validator);
  }
  return validator;
}

/**
 * The prepared form of a call that cannot run, such as one of an unknown tool or with wrong arguments.
 *
 * @param refused the result that says why; `execute` returns it too
 */
export function rejectedCall(
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

/** The error of a prepared call whose tool or connection has changed since. Nothing ran; the call may be prepared again. */
export function staleCallError(provider: string, why = `The provider "${provider}" was disconnected`): ToolError {
  return new ToolError('NOT_CONNECTED', `${why} after the call was prepared; prepare it again.`, {
    provider,
    details: { prepareAgain: true },
  });
}

/** Whether the result comes from {@link staleCallError}. */
export function isStaleCall(result: ToolResult): boolean {
  return isOwnFailure(result) && result.error?.details?.prepareAgain === true;
}

/** Whether two listings of a tool are equal. */
export function isSameListing(one: ToolDefinition, other: ToolDefinition | undefined): boolean {
  return one === other || JSON.stringify(one) === JSON.stringify(other);
}

/** Whether a call that was prepared again has the tool and the claims that it had when the policy decided. */
export function isSameCall(before: Pick<PreparedCall, 'tool' | 'claims'>, now: PreparedCall): boolean {
  return isSameListing(before.tool, now.tool) && JSON.stringify(before.claims) === JSON.stringify(now.claims);
}
