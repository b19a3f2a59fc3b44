// Calls of a member that does not prepare them itself, and what the host says that calls of foreign tools touch.

import { parseClaims, type PermissionClaim } from '../contract/claims.js';
import { messageOf, ToolError } from '../contract/errors.js';
import type { JsonObject } from '../contract/json.js';
import { copyJson, snapshot } from '../contract/json-copy.js';
import { errorResult } from '../contract/result.js';
import type { PreparedCall } from '../contract/tool-provider.js';
import { bareName, nameClaim, prepareFromListing } from '../provider/prepare-from-listing.js';
import { preparedBefore } from '../provider/rejected-call.js';
import { listedTimeoutMs } from '../tool/run-call.js';
import type { HubMember } from './member.js';

/** @throws {ToolError} TOOL_NOT_FOUND, INVALID_ARGUMENT */
export async function prepareForMember(member: HubMember, name: string, given: JsonObject): Promise<PreparedCall> {
  const asGiven = snapshot(given); // it may be changed while the call waits
  const tool = await member.find(name);
  return prepareFromListing(
    {
      tool,
      claims: (args) => claimsOfHost(member, tool.name, args, [nameClaim(tool.name)]),
      // A stranger does not choose how long it is waited for.
      timeoutMs: (args) => (member.provider.kind === 'process' ? listedTimeoutMs(tool, args) : undefined),
      execute: (args, options) => {
        // The list was read again while a person was asked: the tool may be another one.
        if (member.listed(tool.name) === tool) return member.provider.callTool(tool.name, args, options);
        const why = `The tool "${tool.name}" was listed anew`;
        return Promise.resolve(errorResult(preparedBefore(member.name, why), performance.now()));
      },
    },
    asGiven,
  );
}

/**
 * What the host says that a call of a foreign tool touches, in place of the claim of its name.
 *
 * @param fallback where the host says nothing
 * @throws {ToolError} INTERNAL when its `permission` throws or gives something else
 */
export function claimsOfHost(
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
