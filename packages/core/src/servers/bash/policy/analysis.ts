// The claims of one command line while they are collected. A claim is made once, and there are at most so many.

import type { PermissionClaim } from '../../../contract/claims.js';
import { quoteWord } from '../../../contract/shell-words.js';
import { claimText, expands, shownText } from './claim-text.js';
import { widerPattern } from './rule-offer.js';
import type { ShellWord } from './script-tokens.js';

/** Thrown when a command line is more than one person can judge. */
export class TooComplex extends Error {}

/** Simple commands in one call; those inside `bash -c` and wrappers count. */
export const MAX_COMMANDS = 50;
const MAX_CLAIMS = 400;

/** Collects claims. */
export class Analysis {
  readonly #claims = new Map<string, PermissionClaim>();
  #commands = 0;

  /** What was claimed. A single claim may offer a rule for "always"; several never do. */
  get claims(): PermissionClaim[] {
    const claims = [...this.#claims.values()];
    return claims.length === 1 ? claims : claims.map(withoutOffer);
  }

  /** Counts a simple command. @throws {TooComplex} */
  countCommand(): void {
    if (++this.#commands > MAX_COMMANDS) throw new TooComplex(`it is more than ${MAX_COMMANDS} commands`);
  }

  /** A command that runs; rules are compared with its words. "Always" offers the command as it stands. */
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

  /** A command that runs and of which not all is understood. */
  claimUnknown(words: readonly ShellWord[], reason: string): void {
    this.#add({ pattern: claimText(words) || "''", understood: false, reason });
  }

  /** Text of which nothing is understood. */
  claimUnknownText(text: string, reason: string): void {
    this.#add({ pattern: shownText(text), understood: false, reason });
  }

  /** An option that makes a command do more than its name says. No rule for the command is a prefix of this. */
  claimOption(command: readonly ShellWord[], option: string, reason: string): void {
    this.#add({ pattern: `option ${claimText(command)} ${quoteWord(option)}`, understood: true, reason });
  }

  /** A file inside the project that is written by a redirection or an option: `> build/log.txt`. */
  claimWrite(path: string): void {
    this.#add({ pattern: `> ${quoteWord(path)}`, understood: true, reason: 'writes this file' });
  }

  /** A protected path that a command which is no reader names, or that would be written. */
  claimProtected(path: string, how: 'names' | 'writes'): void {
    const reason = `${how} a path that programs run or trust by themselves`;
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
    if (this.#claims.size >= MAX_CLAIMS) throw new TooComplex(`it is more than ${MAX_CLAIMS} things to judge`);
    this.#claims.set(key, { suggestedPattern: null, ...claim, match: 'tokens' });
  }
}

function withoutOffer({ pattern, match, understood, reason }: PermissionClaim): PermissionClaim {
  return { pattern, match, understood, ...(reason !== undefined && { reason }), suggestedPattern: null };
}
