// Matches patterns of rules with claims that are commands: both are split into words as a shell splits them.

/**
 * Quotes one word for a shell: unquoted if nothing in it is special, else in single quotes. Invisible characters are escaped:
 * `$'\u200b'`.
 */
export function quoteWord(text: string): string {
  const hides = HIDDEN.test(text);
  if (!hides && PLAIN.test(text)) return text;
  if (!hides) return `'${text.replaceAll("'", "'\\''")}'`;
  return `$'${text.replace(/[\\']/g, '\\$&').replace(new RegExp(HIDDEN, 'gu'), escapeHidden)}'`;
}

/** Joins words into a line that {@link matchesWords} splits into the same words. */
export function quoteWords(words: readonly string[]): string {
  return words.map(quoteWord).join(' ');
}

/** False for a pattern with an unclosed quote. */
export function isClosed(pattern: string): boolean {
  return patternOf(pattern) !== undefined;
}

/** True for a command that, as a pattern, matches only itself: without an unclosed quote or an unquoted expansion. */
export function isLiteral(claim: string): boolean {
  const { words, closed } = claimOf(claim);
  return closed && words.every((word) => word.every(({ char, quoted }) => quoted || !EXPANDS.has(char)));
}

/** Escapes the characters of a text that are invisible or change how it is displayed. */
export function showHidden(text: string): string {
  return text.replace(new RegExp(HIDDEN, 'gu'), escapeHidden);
}

/**
 * Whether a pattern matches a command. In the pattern an unquoted `*` matches any characters within its word or, as a word by
 * itself, any number of words; an unquoted `?` matches one character. Quotes and `\` make characters literal. In the
 * command an unquoted expansion (`*`, `?`, `[`, `~`, `$`, `{`, a backtick) or operator (`>`, `|`, `;`) differs from the
 * quoted character.
 *
 * @param reach `whole`: the pattern must match the whole command (for `allow` rules). `prefix`: more words may follow, and
 *   quoted characters also match expansions (for `deny` and `ask` rules). A pattern with an unclosed quote matches no whole
 *   command and every prefix; a command with an unclosed quote is matched by no whole pattern.
 */
export function matchesWords(pattern: string, claim: string, reach: 'whole' | 'prefix'): boolean {
  const isPrefix = reach === 'prefix';
  const wanted = patternOf(pattern);
  if (!wanted) return isPrefix;
  const { words: given, closed } = claimOf(claim);
  if (!closed && !isPrefix) return false;
  let at = 0;
  let index = 0;
  let starAt = -1;
  let starIndex = -1;
  // Greedy; on a mismatch only the last `*` needs to match more words.
  for (;;) {
    const word = wanted[index];
    if (word === undefined && (isPrefix || at === given.length)) return true;
    if (word === ANY_RUN) {
      starIndex = index++;
      starAt = at;
    } else if (word !== undefined && at < given.length && matchesWord(word, given[at] as Word, isPrefix)) {
      index++;
      at++;
    } else if (starIndex >= 0 && starAt < given.length) {
      index = starIndex + 1;
      at = ++starAt;
    } else return false;
  }
}

interface Character {
  readonly char: string;
  readonly quoted: boolean;
}
type Word = readonly Character[];
const ANY_RUN = Symbol('*');
const ANY_ONE = Symbol('?');
type Wanted = Character | typeof ANY_RUN | typeof ANY_ONE;
type PatternWord = readonly Wanted[] | typeof ANY_RUN;

const PLAIN = /^[\p{L}\p{N}_@%+=:,./-]+$/u;
/** Characters that are invisible or change the display: controls, formats, fillers, private use, and look-alike spaces. */
export const HIDDEN = /[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]|(?! )\p{Zs}/u;
const EXPANDS = new Set('*?[~${`');
/** Operators of the shell when unquoted: `> x` writes a file, `'>' x` runs a program named `>`. */
const OPERATORS = new Set('<>|&;()');
const MAX_CACHED = 1_000;

function matchesWord(wanted: readonly Wanted[], word: Word, isPrefix: boolean): boolean {
  let at = 0;
  let index = 0;
  let starAt = -1;
  let starIndex = -1;
  while (at < word.length) {
    const current = wanted[index];
    if (current === ANY_RUN) {
      starIndex = index++;
      starAt = at;
    } else if (current !== undefined && matchesCharacter(current, word[at] as Character, isPrefix)) {
      index++;
      at++;
    } else if (starIndex >= 0) {
      index = starIndex + 1;
      at = ++starAt;
    } else return false;
  }
  while (wanted[index] === ANY_RUN) index++;
  return index === wanted.length;
}

function matchesCharacter(wanted: Exclude<Wanted, typeof ANY_RUN>, given: Character, isPrefix: boolean): boolean {
  if (wanted === ANY_ONE) return true;
  if (wanted.char !== given.char) return false;
  if (isPrefix || wanted.quoted === given.quoted) return true;
  return !OPERATORS.has(given.char) && (given.quoted || !EXPANDS.has(given.char));
}

/** Patterns are matched on every call, so each is split once. Null: an unclosed quote. */
const patterns = new Map<string, readonly PatternWord[] | null>();

function patternOf(pattern: string): readonly PatternWord[] | undefined {
  let words = patterns.get(pattern);
  if (words === undefined) {
    const split = splitWords(pattern);
    words = split.closed ? split.words.map(wildcards) : null;
    if (patterns.size >= MAX_CACHED) patterns.clear();
    patterns.set(pattern, words);
  }
  return words ?? undefined;
}

function wildcards(word: Word): PatternWord {
  const wanted = word.map((character) => {
    if (character.quoted) return character;
    return character.char === '*' ? ANY_RUN : character.char === '?' ? ANY_ONE : character;
  });
  return wanted.length > 0 && wanted.every((part) => part === ANY_RUN) ? ANY_RUN : wanted;
}

/** The latest claim: a call compares it with many rules. */
let lastClaim: { text: string; split: SplitText } = { text: '', split: { words: [], closed: true } };

function claimOf(text: string): SplitText {
  if (lastClaim.text !== text) lastClaim = { text, split: splitWords(text) };
  return lastClaim.split;
}

interface SplitText {
  readonly words: readonly Word[];
  /** False when a quote is not closed or the text ends in `\`: the last word then extends to the end. */
  readonly closed: boolean;
}

/** Splits a line into words by the quoting rules of a POSIX shell and bash's `$'…'`. */
function splitWords(text: string): SplitText {
  const chars = Array.from(text);
  const words: Word[] = [];
  let word: Character[] | undefined;
  let closed = true;
  for (let i = 0; i < chars.length; i++) {
    const char = chars[i] as string;
    if (char === ' ' || char === '\t' || char === '\n') {
      if (word) words.push(word);
      word = undefined;
      continue;
    }
    word ??= [];
    if (char === '\\') {
      const next = chars[++i];
      if (next === undefined) closed = false;
      else word.push({ char: next, quoted: true });
    } else if (char === "'" || char === '"' || (char === '$' && chars[i + 1] === "'")) {
      const end = readQuoted(chars, i, word);
      if (end === undefined) closed = false;
      i = end ?? chars.length;
    } else word.push({ char, quoted: false });
  }
  if (word) words.push(word);
  return { words, closed };
}

/** Reads a quoted part into `word`. Returns the index of its closing quote; undefined if there is none. */
function readQuoted(chars: readonly string[], start: number, word: Character[]): number | undefined {
  const isAnsi = chars[start] === '$';
  const quote = isAnsi ? "'" : (chars[start] as string);
  for (let i = start + (isAnsi ? 2 : 1); i < chars.length; i++) {
    const char = chars[i] as string;
    if (char === quote) return i;
    if (char !== '\\' || (quote === "'" && !isAnsi)) {
      // Within double quotes `$` still expands; the other expansions do not.
      word.push({ char, quoted: !(quote === '"' && char === '$') });
    } else if (isAnsi) {
      const escape = ANSI_ESCAPE.exec(chars.slice(i + 1, i + 12).join(''));
      word.push({ char: escape ? decodeEscape(escape[0]) : '\\', quoted: true });
      i += escape ? Array.from(escape[0]).length : 0;
    } else {
      const next = chars[i + 1];
      if (next !== undefined && '$`"\\'.includes(next)) i++;
      word.push({ char: chars[i] as string, quoted: true });
    }
  }
  return undefined;
}

const ANSI_ESCAPE = /^(?:x[0-9a-f]{1,2}|u\{[0-9a-f]{1,6}\}|u[0-9a-f]{1,4}|U[0-9a-f]{1,8}|[abefnrtv\\'"?])/i;
const NAMED_ESCAPES: Readonly<Record<string, string>> = {
  a: '\x07',
  b: '\b',
  e: '\x1b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
};

function decodeEscape(escape: string): string {
  if (escape.length === 1) return NAMED_ESCAPES[escape.toLowerCase()] ?? escape;
  const codePoint = Number.parseInt(escape.slice(1).replace(/[{}]/g, ''), 16);
  return codePoint <= 0x10ffff ? String.fromCodePoint(codePoint) : '\ufffd';
}

function escapeHidden(char: string): string {
  const named = Object.entries(NAMED_ESCAPES).find(([, control]) => control === char);
  if (named) return `\\${named[0]}`;
  const codePoint = char.codePointAt(0) ?? 0;
  return codePoint > 0xffff
    ? `\\U${codePoint.toString(16).padStart(8, '0')}`
    : `\\u${codePoint.toString(16).padStart(4, '0')}`;
}
