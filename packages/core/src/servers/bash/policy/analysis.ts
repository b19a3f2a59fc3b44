// The claims of one command line while they are collected: each once, up to a maximum.

import type { PermissionClaim } from '../../../contract/claims.js';
import { quoteWord } from '../../../contract/shell-words.js';
import { claimText, expands, shownText } from './claim-text.js';
import { widerPattern } from './rule-offer.js';
import type { ShellWord } from './script-tokens.js';

/** Thrown when a command line does more than a person can review. */
export class TooComplex extends Error {}

/** Simple commands in one call, including those inside `bash -c` and wrappers. */
export const MAX_COMMANDS = 50;
const MAX_CLAIMS = 400;

/** Collects the claims of one command line. */
export class Analysis {
  readonly #claims = new Map<string, PermissionClaim>();
  #commands = 0;

  /** All claims so far. A single claim may offer a rule for "always"; several never do. */
  get claims(): PermissionClaim[] {
    const claims = [...this.#claims.values()];
    return claims.length === 1 ? claims : claims.map(withoutOffer);
  }

  /** @throws {TooComplex} for more than {@link MAX_COMMANDS} */
  countCommand(): void {
    if (++this.#commands > MAX_COMMANDS) throw new TooComplex(`it has more than ${MAX_COMMANDS} commands`);
  }

  /** A command that is understood. Rules are compared with its words; "always" offers exactly these words. */
  claimCommand(words: readonly ShellWord[]): void {
    const pattern = claimText(words);
    const wider = widerPattern(words);
    this.#add({
      pattern,
      understood: true,
      suggestedPattern: words.some(expands) ? null : pattern,
      ...(wider !== undefined && { widerPattern: wider }),
    });
  }

  /** A command that is not, or not wholly, understood. */
  claimUnknown(words: readonly ShellWord[], reason: string): void {
    this.#add({ pattern: claimText(words) || "''", understood: false, reason });
  }

  /** Text that is not understood. */
  claimUnknownText(text: string, reason: string): void {
    this.#add({ pattern: shownText(text), understood: false, reason });
  }

  /** An option that makes a command do more than its name says. A rule for the command does not match it. */
  claimOption(command: readonly ShellWord[], option: string, reason: string): void {
    this.#add({ pattern: `option ${claimText(command)} ${quoteWord(option)}`, understood: true, reason });
  }

  /** A file in the project that a redirection or an option writes: `> build/log.txt`. */
  claimWrite(path: string): void {
    this.#add({ pattern: `> ${quoteWord(path)}`, understood: true, reason: 'writes this file' });
  }

  /** A protected path that would be written, or that is named by a command which may write. */
  claimProtected(path: string, how: 'names' | 'writes'): void {
    const reason = `${how} a protected path, which programs run or trust without asking`;
    this.#add({ pattern: `protected ${quoteWord(path)}`, understood: false, reason });
  }

  /** A path outside the project. */
  claimOutside(path: string, how: 'names' | 'writes', exact: boolean): void {
    const shown = exact ? quoteWord(path) : shownText(path);
    const pattern = `outside ${how === 'writes' ? '> ' : ''}${shown}`;
    this.#add({ pattern, understood: exact, reason: `${how} a path outside the project` });
  }

  #add(claim: Omit<PermissionClaim, 'match'>): void {
    const key = `${claim.understood} ${claim.pattern}`;
    if (this.#claims.has(key)) return;
    if (this.#claims.size >= MAX_CLAIMS) throw new TooComplex(`it makes more than ${MAX_CLAIMS} claims`);
    this.#claims.set(key, { suggestedPattern: null, ...claim, match: 'tokens' });
  }
}

function withoutOffer({ pattern, match, understood, reason }: PermissionClaim): PermissionClaim {
  return { pattern, match, understood, ...(reason !== undefined && { reason }), suggestedPattern: null };
}
