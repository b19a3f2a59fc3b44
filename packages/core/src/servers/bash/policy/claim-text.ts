// Words as the text of a claim: as a shell would write them, an expansion unquoted, what hides escaped.

import { HIDDEN, quoteWord } from '../../../contract/shell-words.js';
import { hasBraces, hasTilde, hasWildcard, type ShellWord } from './script-tokens.js';

/** One word. What bash would expand stays unquoted, so that no pattern for the literal characters matches it. */
export function textOf(word: ShellWord): string {
  const { text, shape, variable } = word;
  // A variable of a longer word is in double quotes, so that the letters behind it are no part of its name.
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

/** A whole command line as the words of one claim. */
export function claimText(words: readonly ShellWord[]): string {
  return words.map(textOf).join(' ');
}

/** True when bash makes something else of a word: a claim of it says less than what runs. */
export function expands(word: ShellWord): boolean {
  return word.variable || hasWildcard(word) || hasBraces(word) || hasTilde(word);
}

/** Text that was not understood, for a claim that shows it: on one line, its length bounded. */
export function shownText(text: string): string {
  const shown = text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}...` : text;
  return shown.replace(/\s+/g, ' ').replace(ALL_HIDDEN, quoteWord).trim() || "''";
}

const MAX_SHOWN = 2_000;
const ALL_HIDDEN = new RegExp(HIDDEN, 'gu');
const VARIABLE = /(\$(?:[A-Za-z_][A-Za-z0-9_]*|[?#$!0-9]))/;
/** Unquoted, in a word that bash expands. */
const SPECIAL = /[*?[\]{},~!^]/;

function partsOf(text: string, separator: RegExp, write: (part: string) => string): string {
  return text
    .split(separator)
    .map((part, index) => (index % 2 === 1 ? write(part) : part === '' ? '' : quoteWord(part)))
    .join('');
}
