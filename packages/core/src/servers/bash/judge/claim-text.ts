// Words as the tokens of a claim. Rules compare tokens split at white space, so nothing inside a word may look like
// the end of it, and a quoted or hidden character never like a plain one.

import type { ShellWord } from './script-tokens.js';

/** One word as one token: white space, controls and `$` that is no variable are escaped, an empty word is `''`. */
export function tokenOf({ text, shape, variable }: ShellWord): string {
  const token = variable ? text : text.replace(/\$/g, '\\$');
  return escapeToken(text === '' && shape === '' ? "''" : token);
}

/** A whole command line as the tokens of one claim. */
export function tokensOf(words: readonly ShellWord[]): string {
  return words.map(tokenOf).join(' ');
}

/** Text that was not understood, for a claim that shows it: on one line, its length bounded. */
export function shownText(text: string): string {
  const shown = text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}...` : text;
  return shown.replace(/\s+/g, ' ').replace(HIDDEN, escape).trim() || "''";
}

const MAX_SHOWN = 2_000;
const HIDDEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu;

function escapeToken(text: string): string {
  return text
    .replace(/\\(?!\$)/g, '\\\\')
    .replace(/\s/g, escape)
    .replace(HIDDEN, escape);
}

function escape(character: string): string {
  return `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`;
}
