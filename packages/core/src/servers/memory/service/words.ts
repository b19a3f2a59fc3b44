// The words of a text as the search sees them: runs of letters and digits, the pieces of identifiers, and pairs of
// characters where a script writes no spaces. Whatever else a text holds (quotes, operators, NUL) is none.

/** What FTS5's unicode61 takes for a word, quotes and all else left out. */
const WORD = /[\p{L}\p{N}\p{M}\p{Co}]+/gu;

/** The pieces of `parseHTTPResponse2`: parse, HTTP, Response, 2. */
const PIECE = /\p{Lu}+(?!\p{Ll})|\p{Lu}?[\p{Ll}\p{M}]+|\p{N}+|[\p{Lo}\p{Lm}\p{Lt}\p{Co}]+|\p{Lu}/gu;

/** What most words are: one piece. */
const PLAIN = /^[A-Z]?[a-z]+$/;

const SPACELESS = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}]+/gu;

/** Longer ones are no words: a key, a base64 block. They are found by their beginning at most. */
const MAX_WORD_CHARS = 100;

/** Pieces of a content's words that the tokenizer of the index leaves together, for a column of their own. */
export function identifierParts(text: string): string {
  const parts: string[] = [];
  for (const [word] of text.matchAll(WORD)) for (const piece of piecesOf(word)) parts.push(piece);
  return parts.join(' ');
}

/** The words of a text and their pieces, in small letters. */
export function wordsOf(text: string): string[] {
  const words = text.normalize('NFC').match(WORD) ?? [];
  const pieces = words.flatMap((word) => (PLAIN.test(word) ? [] : piecesOf(word)));
  return [...words, ...pieces].map((word) => word.toLowerCase());
}

/**
 * The distinct words of a query, in order, pieces after the words they are of.
 *
 * @param most of more only the first count
 */
export function queryWords(text: string, most: number): string[] {
  const words = new Map<string, string>();
  for (const [word] of text.normalize('NFC').matchAll(WORD)) {
    for (const each of [word, ...piecesOf(word)]) {
      const cut = each.slice(0, MAX_WORD_CHARS);
      if (words.size < most && !words.has(cut.toLowerCase())) words.set(cut.toLowerCase(), cut);
    }
    if (words.size >= most) break;
  }
  return [...words.keys()];
}

/** Empty for a word that is one piece. */
function piecesOf(word: string): string[] {
  const pieces: string[] = [];
  if (PLAIN.test(word)) return pieces;
  for (const [run] of word.matchAll(SPACELESS)) {
    const characters = [...run];
    for (let index = 0; index + 1 < characters.length; index++)
      pieces.push(`${characters[index]}${characters[index + 1]}`);
  }
  const cased = word.length <= MAX_WORD_CHARS ? (word.match(PIECE) ?? []) : [];
  if (cased.length > 1) for (const piece of cased) if (piece.length > 1 || /\p{N}/u.test(piece)) pieces.push(piece);
  return pieces;
}
