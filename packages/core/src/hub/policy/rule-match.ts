// Matches policy rules with tools and claims.

import { matchesWords } from '../../contract/shell-words.js';
import type { PermissionClaim } from '../../contract/claims.js';
import { matchesGlob } from '../../provider/name-pattern.js';
import { matchesTool } from '../../provider/tool-selection.js';
import type { PolicyRule } from '../../contract/approval.js';

/**
 * Whether a rule covers a claim. A pattern must match the whole claim; for a claim of words, the pattern of a `deny` or
 * `ask` rule need only match its first words.
 */
export function coversClaim({ pattern, action }: PolicyRule, claim: PermissionClaim): boolean {
  if (pattern === undefined) return true;
  if (claim.match === 'glob') return matchesGlob(pattern, claim.pattern);
  return matchesWords(pattern, claim.pattern, action === 'allow' ? 'whole' : 'prefix');
}

/** True for a rule that covers every claim, whatever the arguments. */
export function coversEverything({ pattern }: PolicyRule): boolean {
  return pattern === undefined || /^\*+$/.test(pattern);
}

/**
 * Whether a rule's `tool` matches no listed tool, and none that a server without a list could have.
 *
 * @param names the qualified names of every listed tool
 * @param unlisted the servers whose tools are not listed yet
 */
export function namesNoTool(glob: string, names: readonly string[], unlisted: readonly string[]): boolean {
  if (names.some((name) => matchesTool(glob, name))) return false;
  if (unlisted.length === 0) return true;
  const server = glob.split('.', 1)[0] as string;
  // A wildcard may match across the dot: its matches are known only once all servers are listed.
  return !/[*?\\]/.test(server) && !unlisted.includes(server);
}
