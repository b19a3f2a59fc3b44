// The shape of permission claims. What is not a proper claim is not judged: the call is refused.

import { ToolError } from './errors.js';
import type { PermissionClaim } from './tool-provider.js';

/**
 * The claims as plain, frozen objects: what is judged cannot change afterwards.
 *
 * @throws {ToolError} INTERNAL unless it is a list of at least one claim of the right shape
 */
export function parseClaims(claims: unknown, provider: string, tool: string): readonly PermissionClaim[] {
  const parsed = Array.isArray(claims) ? claims.map(parseClaim) : [];
  if (parsed.length > 0 && parsed.every((claim) => claim !== undefined)) return Object.freeze(parsed);
  throw new ToolError(
    'INTERNAL',
    `The claims of "${tool}" are not { pattern, match, understood } objects; it was not run.`,
    {
      provider,
      tool,
    },
  );
}

function parseClaim(claim: unknown): PermissionClaim | undefined {
  const { pattern, match, understood, reason, suggestedPattern, widerPattern } = (claim ??
    {}) as Partial<PermissionClaim>;
  if (typeof pattern !== 'string' || (match !== 'glob' && match !== 'tokens') || typeof understood !== 'boolean') {
    return undefined;
  }
  return Object.freeze({
    pattern,
    match,
    understood,
    ...(typeof reason === 'string' && { reason }),
    ...((typeof suggestedPattern === 'string' || suggestedPattern === null) && { suggestedPattern }),
    ...(typeof widerPattern === 'string' && { widerPattern }),
  });
}
