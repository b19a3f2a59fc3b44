// The words of a tool's names and texts, and of a query, as the search compares them: identifiers in pieces, without endings.

/** A run of letters and digits; `_`, `.` and `-` separate words. */
const WORD = /[\p{L}\p{N}\p{M}]+/gu;
/** The pieces of `parseHTTPResponse`: parse, HTTP, Response. Digits stay with what they follow: `sha256`, `k8s`. */
const PIECE = /\p{Lu}+(?!\p{Ll})[\p{N}]*|\p{Lu}?[\p{Ll}\p{M}\p{N}]+|[\p{Lo}\p{Lm}\p{Lt}]+/gu;
/** Scripts without spaces, which are compared by pairs of characters. */
const SPACELESS = /^[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}]{2,}$/u;
const MAX_WORD_CHARS = 64;

/** Words that a sentence needs and a search does not. */
const STOP_WORDS = new Set(
  `a about all am an and any are as at be been but by can could did do does for from had has have how i if in into is it
   its let me my of on one or our out so some someone that the their them there these they this those to us was we were what
   when where which who whose why will with would you your`.split(/\s+/),
);

/** The words of a text in lower case: each as it is, and its pieces if it has several. */
export function wordsOf(text: string): string[] {
  const words: string[] = [];
  for (const [found] of text.normalize('NFKC').matchAll(WORD)) {
    const word = found.slice(0, MAX_WORD_CHARS);
    const pieces = SPACELESS.test(word) ? pairsOf(word) : (word.match(PIECE) ?? [word]);
    if (pieces.length > 1) for (const piece of pieces) words.push(piece.toLowerCase());
    words.push(word.toLowerCase());
  }
  return words;
}

/** The distinct words of a query that say something; all of its words if none does. */
export function queryWordsOf(text: string, limit: number): string[] {
  const words = [...new Set(wordsOf(text))];
  const telling = words.filter((word) => !STOP_WORDS.has(word));
  return (telling.length > 0 ? telling : words).slice(0, limit);
}

function pairsOf(word: string): string[] {
  const characters = Array.from(word);
  return characters.slice(1).map((character, index) => `${characters[index]}${character}`);
}
