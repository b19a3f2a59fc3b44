// Prepares a call of a hub's provider: with the provider's `prepareCall`, else from the tool's listing. Checks the outcome
// and adds the host's claims.

import type { CallScope } from '../call/call-scope.js';
import { parseClaims, type PermissionClaim } from '../contract/claims.js';
import { messageOf, ToolError } from '../contract/errors.js';
import { copyJson, snapshot } from '../contract/json-copy.js';
import type { JsonObject } from '../contract/json.js';
import { errorResult } from '../contract/result.js';
import type { PreparedCall } from '../contract/tool-provider.js';
import { InProcessToolProvider } from '../provider/in-process-provider.js';
import { bareName, isNameClaim, nameClaim, prepareFromListing, staleCallError } from '../provider/prepared-call.js';
import { listedTimeoutMs } from '../tool/run-call.js';
import type { HubMember } from './member.js';

/** Marks a call that a hub prepared whose `timeoutMs` is the provider's default rather than the tool's deadline. */
export const PROVIDERS_DEFAULT = Symbol.for('toolwright.providersDefault');

export interface ProvidersDefault {
  [PROVIDERS_DEFAULT]?: true;
}

/**
 * Resolves and validates a call. Asynchronous only where the provider is.
 *
 * @param name qualified, as the hub's routing resolved it
 * @throws {ToolError} TOOL_NOT_FOUND, INVALID_ARGUMENT; INTERNAL when the provider prepared a different tool or made
 *   invalid claims
 */
export function prepareMemberCall(
  member: HubMember,
  name: string,
  args: JsonObject,
  scope: CallScope,
): PreparedCall | Promise<PreparedCall> {
  const { provider, permission } = member;
  if (!provider.prepareCall) return prepareListed(member, name, args);
  // An in-process provider has already parsed the claims.
  const check = provider instanceof InProcessToolProvider && !permission ? assertSameTool : withCheckedClaims;
  const prepared = provider.prepareCall(name, args, scope.inwardFor(provider));
  return prepared instanceof Promise
    ? prepared.then((settled) => check(settled, name, member))
    : check(prepared, name, member);
}

async function prepareListed(member: HubMember, name: string, given: JsonObject): Promise<PreparedCall> {
  const asGiven = snapshot(given); // the caller may change the arguments while the list is read
  const tool = await member.find(name);
  const prepared = prepareFromListing(
    {
      tool,
      claims: (args) => hostClaims(member, tool.name, args, [nameClaim(tool.name)]),
      // Only provider processes may set a deadline: a foreign server could make callers wait.
      timeoutMs: (args) => (member.provider.kind === 'process' ? listedTimeoutMs(tool, args) : undefined),
      execute: (args, options) => {
        // A copy: a provider that changes it changes neither what middleware sees nor a second execution.
        if (member.tools.get(tool.name) === tool) return member.provider.callTool(tool.name, copyJson(args), options);
        // The list was read again while an approval was pending: the name may mean a different tool now.
        const changed = staleCallError(member.name, `The tool "${tool.name}" changed`);
        return Promise.resolve(errorResult(changed, performance.now()));
      },
    },
    asGiven,
  );
  return approved(prepared, member);
}

/** The policy evaluates the tool that routing resolved, so no other tool may run. */
function assertSameTool(prepared: PreparedCall, name: string, member: HubMember): PreparedCall {
  if (prepared.refused) return prepared;
  const { provider } = member;
  if (prepared.tool.name === name) return approved(prepared, member);
  throw new ToolError(
    'INTERNAL',
    `The provider "${provider.name}" prepared "${prepared.tool.name}" for a call of "${name}", so nothing ran. ` +
      'prepareCall() must prepare the tool that it was called with.',
    { provider: provider.name, tool: name },
  );
}

/** @throws {ToolError} PERMISSION_DENIED when the provider is pinned and its tool changed since it was listed */
function approved(prepared: PreparedCall, member: HubMember): PreparedCall {
  const refusal = member.tools.refusalOf(prepared.tool);
  if (refusal) throw refusal;
  return prepared;
}

function withCheckedClaims(given: PreparedCall, name: string, member: HubMember): PreparedCall {
  const prepared = assertSameTool(given, name, member);
  if (prepared.refused) return prepared;
  const parsed = parseClaims(prepared.claims, member.name, name);
  // Without `verdict`: callers of this hub cannot answer the verdict of an inner hub.
  const { tool, timeoutMs, [PROVIDERS_DEFAULT]: isDefault } = prepared as PreparedCall & ProvidersDefault;
  return {
    tool,
    get args() {
      return prepared.args; // often a lazy copy
    },
    claims: member.permission && isNameClaim(parsed, name) ? hostClaims(member, name, prepared.args, parsed) : parsed,
    ...(timeoutMs !== undefined && { timeoutMs }),
    ...(isDefault && { [PROVIDERS_DEFAULT]: isDefault }),
    execute: (options) => prepared.execute(options),
  };
}

/**
 * The claims that the host's `permission` function makes for a call of a foreign tool.
 *
 * @param fallback used when it returns undefined
 * @throws {ToolError} INTERNAL when it throws or returns anything else than claims
 */
function hostClaims(
  { name: provider, permission }: HubMember,
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
