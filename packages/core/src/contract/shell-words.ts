// Claims of words, and the patterns that rules compare them with: text split into words as a shell splits it.

/**
 * One word as a shell would write it: plain where nothing in it is special, else in single quotes. What cannot be seen
 * is shown escaped: `$'\u200b'`.
 */
export function quoteWord(text: string): string {
  const hides = HIDDEN.test(text);
  if (!hides && PLAIN.test(text)) return text;
  if (!hides) return `'${text.replaceAll("'", "'\\''")}'`;
  return `$'${text.replace(/[\\']/g, '\\$&').replace(new RegExp(HIDDEN, 'gu'), escapeHidden)}'`;
}

/** Words as one line that {@link matchesWords} splits into the same words again. */
export function quoteWords(words: readonly string[]): string {
  return words.map(quoteWord).join(' ');
}

/** False for a pattern whose quote is never closed: it says nothing for certain. */
export function isClosed(pattern: string): boolean {
  return patternOf(pattern) !== undefined;
}

/** True for a claim of words that is, as a pattern, only itself: no open quote, no unquoted expansion. */
export function isLiteral(claim: string): boolean {
  const { words, closed } = claimOf(claim);
  return closed && words.every((word) => word.every(({ char, quoted }) => quoted || !EXPANDS.has(char)));
}

/** A text with what cannot be seen, or would move what is shown, written as an escape. */
export function showHidden(text: string): string {
  return text.replace(new RegExp(HIDDEN, 'gu'), escapeHidden);
}

/**
 * Whether a pattern matches a claim of words. In the pattern an unquoted `*` is any run of characters within its word,
 * or, as a word of its own, any number of words, none included; an unquoted `?` is one character. Quotes and `\` make
 * literal. In the claim an unquoted expansion (`*`, `?`, `[`, `~`, `$`, `{`, a backtick) or operator (`>`, `|`, `;`) is not
 * the same as the quoted character.
 *
 * @param reach `whole`: the pattern matches the whole claim (for rules that allow). `prefix`: words may follow, and
 *   quoted characters also match expansions (for rules that deny or ask). A pattern with an open quote matches no
 *   claim as a whole and every claim as a prefix; a claim with an open quote is matched by no whole pattern.
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
  // Greedy, with one step back: only the last run of words ever needs to take more.
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
/** What cannot be seen or moves what is shown: controls, formats, fillers, private use, and spaces that look like the one. */
export const HIDDEN = /[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]|(?! )\p{Zs}/u;
const EXPANDS = new Set('*?[~${`');
/** Unquoted these are the shell's own: `> x` writes a file, `'>' x` runs a program of that name. */
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

/** Rules are few and are compared on every call: each pattern is split once. Null: an open quote. */
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
  const wanted = word.map((each) => {
    if (each.quoted) return each;
    return each.char === '*' ? ANY_RUN : each.char === '?' ? ANY_ONE : each;
  });
  return wanted.length > 0 && wanted.every((each) => each === ANY_RUN) ? ANY_RUN : wanted;
}

/** One call compares one claim with many rules. */
let lastClaim: { text: string; split: SplitText } = { text: '', split: { words: [], closed: true } };

function claimOf(text: string): SplitText {
  if (lastClaim.text !== text) lastClaim = { text, split: splitWords(text) };
  return lastClaim.split;
}

interface SplitText {
  readonly words: readonly Word[];
  /** False where a quote is never closed, or the text ends in `\`: the last word goes on to the end. */
  readonly closed: boolean;
}

/** The words of a line as a POSIX shell quotes them, and bash's `$'…'`. */
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

/** Reads one quoted part into `word`. Returns where its closing quote is; undefined where there is none. */
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
  const named = Object.entries(NAMED_ESCAPES).find(([, each]) => each === char);
  if (named) return `\\${named[0]}`;
  const codePoint = char.codePointAt(0) ?? 0;
  return codePoint > 0xffff
    ? `\\U${codePoint.toString(16).padStart(8, '0')}`
    : `\\u${codePoint.toString(16).padStart(4, '0')}`;
}
