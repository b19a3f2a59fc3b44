// The shape of permission claims. What is not a proper claim is not judged: the call is refused.

import { ToolError } from './errors.js';

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

/** One thing that a call would do, as a policy sees it. */
export interface PermissionClaim {
  /** The text that rules are compared with: a tool name, a path, a command. */
  readonly pattern: string;
  /**
   * `glob`: a rule's pattern matches the whole text. `tokens`: text of words, quoted as a shell quotes them; a rule that
   * allows matches the whole, one that denies or asks also covers words that follow.
   */
  readonly match: 'glob' | 'tokens';
  /** False when the tool could not tell all that would happen: such a claim is at best asked about. */
  readonly understood: boolean;
  /** Why it is claimed, or why it was not understood, in words for the one who approves. */
  readonly reason?: string;
  /**
   * The rule's pattern that "always" would save. Default: this very claim. Null: no rule is
   * offered for the whole call, and "always" counts as "once".
   */
  readonly suggestedPattern?: string | null;
  /** A wider pattern, with a `*` where a person sees it, that may be chosen in place of the suggested one. */
  readonly widerPattern?: string;
}
