// What a rule is about: which tools it names, and which claims its pattern covers.

import { matchesWords } from '../../contract/shell-words.js';
import type { PermissionClaim } from '../../contract/claims.js';
import { matchesGlob } from './name-pattern.js';
import type { PolicyRule } from '../../contract/approval.js';

/** Whether a glob over qualified names matches one; a glob without a dot also names servers: `bash` is `bash.*`. */
export function matchesTool(glob: string, name: string): boolean {
  return matchesGlob(glob, name) || (!glob.includes('.') && matchesGlob(`${glob}.*`, name));
}

/**
 * Whether a rule covers a claim. A pattern matches the whole claim; for a claim of words, a rule that denies or asks
 * also covers words that follow.
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
 * Whether a rule's `tool` matches nothing that is listed, and nothing that a server without a list could list.
 *
 * @param names the qualified names of every listed tool
 * @param unlisted the servers whose tools are not known yet
 */
export function namesNoTool(glob: string, names: readonly string[], unlisted: readonly string[]): boolean {
  if (names.some((name) => matchesTool(glob, name))) return false;
  if (unlisted.length === 0) return true;
  const server = glob.split('.', 1)[0] as string;
  // A wildcard may reach over the dot: what it means is not known before every list is there.
  return !/[*?\\]/.test(server) && !unlisted.includes(server);
}
