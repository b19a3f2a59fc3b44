// Writes words as the text of a claim: quoted as in a shell, with expansions unquoted and invisible characters escaped.

import { HIDDEN, quoteWord } from '../../../contract/shell-words.js';
import { hasBraces, hasTilde, hasWildcard, type ShellWord } from './script-tokens.js';

/** Writes one word. What bash expands stays unquoted, so that a pattern for the literal characters does not match it. */
export function textOf(word: ShellWord): string {
  const { text, shape, variable } = word;
  // A variable inside a longer word is double-quoted, so that the letters after it are not read as part of its name.
  if (variable) return partsOf(text, VARIABLE, (name) => (name === text ? name : `"${name}"`));
  if (!expands(word)) return quoteWord(text);
  let written = '';
  for (let at = 0; at < text.length;) {
    const isSpecial = SPECIAL.test(shape[at] ?? '');
    let end = at + 1;
    while (end < text.length && SPECIAL.test(shape[end] ?? '') === isSpecial) end++;
    written += isSpecial ? text.slice(at, end) : quoteWord(text.slice(at, end));
    at = end;
  }
  return written;
}

/** Writes the words of one claim. */
export function claimText(words: readonly ShellWord[]): string {
  return words.map(textOf).join(' ');
}

/** True when bash expands a word: its claim says less than what runs. */
export function expands(word: ShellWord): boolean {
  return word.variable || hasWildcard(word) || hasBraces(word) || hasTilde(word);
}

/** Text that was not understood, on one line of bounded length. */
export function shownText(text: string): string {
  const shown = text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}...` : text;
  return shown.replace(/\s+/g, ' ').replace(ALL_HIDDEN, quoteWord).trim() || "''";
}

const MAX_SHOWN = 2_000;
const ALL_HIDDEN = new RegExp(HIDDEN, 'gu');
const VARIABLE = /(\$(?:[A-Za-z_][A-Za-z0-9_]*|[?#$!0-9]))/;
/** Characters that stay unquoted in a word that bash expands. */
const SPECIAL = /[*?[\]{},~!^]/;

function partsOf(text: string, separator: RegExp, write: (part: string) => string): string {
  return text
    .split(separator)
    .map((part, index) => (index % 2 === 1 ? write(part) : part === '' ? '' : quoteWord(part)))
    .join('');
}
