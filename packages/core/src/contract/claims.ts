// Permission claims, and their parser: a call with a malformed claim is refused.

import { ToolError } from './errors.js';

/**
 * Parses claims into frozen objects, so that what is evaluated cannot change afterwards.
 *
 * @throws {ToolError} INTERNAL unless it is an array of one or more valid claims
 */
export function parseClaims(claims: unknown, provider: string, tool: string): readonly PermissionClaim[] {
  const parsed = Array.isArray(claims) ? claims.map(parseClaim) : [];
  if (parsed.length > 0 && parsed.every((claim) => claim !== undefined)) return Object.freeze(parsed);
  throw new ToolError(
    'INTERNAL',
    `The claims of "${tool}" are not { pattern, match, understood } objects, so nothing ran.`,
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

/** One effect of a call, as a policy evaluates it. */
export interface PermissionClaim {
  /** The text that the patterns of rules are matched against: a tool name, a path, a command. */
  readonly pattern: string;
  /**
   * `glob`: a rule's pattern must match the whole text. `tokens`: the text is a command, whose words are quoted as in a
   * shell; the pattern of an `allow` rule must match all of it, that of a `deny` or `ask` rule only its first words.
   */
  readonly match: 'glob' | 'tokens';
  /** False when the tool cannot tell all effects: such a claim always needs an approval, if it is not denied. */
  readonly understood: boolean;
  /** Why it is claimed, or why it is not understood, for the person who approves. */
  readonly reason?: string;
  /**
   * The pattern of the rule that "always" adds. Default: a pattern for exactly this claim. Null: no rule is suggested for the
   * whole call, and "always" counts as "once".
   */
  readonly suggestedPattern?: string | null;
  /** A wider pattern, with a `*`, that a person may choose in place of the suggested one. */
  readonly widerPattern?: string;
}
