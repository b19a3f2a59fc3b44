// Preparing a call for a provider that does not do so itself: validated as its schema says, coerced where that
// makes a wrong call right, and otherwise sent unchanged.

import { repairArguments } from '../tool/coercion.js';
import { parseClaims, type PermissionClaim } from '../contract/claims.js';
import { messageOf, ToolError } from '../contract/errors.js';
import type { JsonObject } from '../contract/json.js';
import { copyArguments, snapshot, copyJson } from '../contract/json-copy.js';
import type { JsonSchemaValidator } from '../tool/json-schema-validator.js';
import { preparedBefore } from './rejected-call.js';
import { errorResult } from '../contract/result.js';
import { readListedSchema } from '../tool/listed-schema-validator.js';
import { describeIssues } from '../tool/schema.js';
import { listedTimeoutMs } from '../tool/run-call.js';
import type { PreparedCall, ToolProvider } from '../contract/tool-provider.js';
import type { ToolDefinition } from '../contract/tool-definition.js';

/** A provider that lists its tools and leaves it to its host to prepare calls of them. */
export interface ListedProvider {
  readonly name: string;
  readonly provider: ToolProvider;
  /** What the host says that a call touches; see `ProviderEntry.permission`. */
  readonly permission: ((tool: string, args: JsonObject) => readonly PermissionClaim[] | undefined) | undefined;
  /** One for each listed tool, made by its first call. */
  readonly validators: Map<ToolDefinition, JsonSchemaValidator | ToolError>;
  /** @throws {ToolError} TOOL_NOT_FOUND */
  find(name: string): Promise<ToolDefinition>;
  /** The tool as it is listed now. */
  listed(name: string): ToolDefinition | undefined;
}

/** A validator tells of so many faults at once; more are told when those are repaired. */
const MAX_REPAIRS = 10;

/** @throws {ToolError} TOOL_NOT_FOUND, INVALID_ARGUMENT */
export async function prepareForeignCall(
  member: ListedProvider,
  name: string,
  given: JsonObject,
): Promise<PreparedCall> {
  const asGiven = snapshot(given); // it may be changed while the call waits
  const tool = await member.find(name);
  let args = copyArguments(tool.name, asGiven);
  const validator = validatorOf(member, tool);
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
  // A stranger does not choose how long it is waited for.
  const timeoutMs = member.provider.kind === 'process' ? listedTimeoutMs(tool, args) : undefined;
  return {
    tool,
    args: copyJson(args), // whoever changes these does not change what runs
    ...(timeoutMs !== undefined && { timeoutMs }),
    claims: claimsOfHost(member, tool.name, args, [nameClaim(tool.name)]),
    execute: (options) => {
      // The list was read again while a person was asked: the tool may be another one.
      if (member.listed(tool.name) === tool) return member.provider.callTool(tool.name, args, options);
      const why = `The tool "${tool.name}" was listed anew`;
      return Promise.resolve(errorResult(preparedBefore(member.name, why), performance.now()));
    },
  };
}

/** The claim of a call that nobody says more of: the tool's bare name. */
function nameClaim(name: string): PermissionClaim {
  return Object.freeze({ pattern: bareName(name), match: 'glob', understood: true });
}

/** True where a provider says no more of a call than the tool's name. */
export function isNameClaim(claims: readonly PermissionClaim[], name: string): boolean {
  const [claim, ...more] = claims;
  return claim?.match === 'glob' && claim.pattern === bareName(name) && claim.understood && more.length === 0;
}

/**
 * What the host says that a call of a foreign tool touches, in place of the claim of its name.
 *
 * @param fallback where the host says nothing
 * @throws {ToolError} INTERNAL when its `permission` throws or gives something else
 */
export function claimsOfHost(
  { name: provider, permission }: ListedProvider,
  name: string,
  args: JsonObject,
  fallback: readonly PermissionClaim[],
): readonly PermissionClaim[] {
  if (!permission) return fallback;
  let claims: unknown;
  try {
    claims = permission(bareName(name), copyJson(args));
  } catch (thrown) {
    const message = `The permission() of the provider "${provider}" failed, so "${name}" was not run: ${messageOf(thrown)}`;
    throw new ToolError('INTERNAL', message, { provider, tool: name, cause: thrown });
  }
  return claims === undefined ? fallback : parseClaims(claims, provider, name);
}

function bareName(name: string): string {
  return name.slice(name.indexOf('.') + 1);
}

/** The validator of the tool's schema, kept as long as the listing; an error where the schema cannot be enforced. */
export function validatorOf(member: ListedProvider, tool: ToolDefinition): JsonSchemaValidator | ToolError {
  let validator = member.validators.get(tool);
  if (!validator) {
    try {
      validator = readListedSchema(tool.inputSchema);
    } catch (thrown) {
      validator = ToolError.from(thrown); // explain() says that it is not enforced
    }
    member.validators.set(tool, validator);
  }
  return validator;
}
