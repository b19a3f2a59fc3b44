// The words of a text as the search sees them: runs of letters and digits, the pieces of identifiers, and pairs of
// characters in scripts without spaces. Everything else (quotes, operators, NUL) separates words.

/** A word as FTS5's unicode61 tokenizer splits text. */
const WORD = /[\p{L}\p{N}\p{M}\p{Co}]+/gu;

/** The pieces of `parseHTTPResponse2`: parse, HTTP, Response, 2. */
const PIECE = /\p{Lu}+(?!\p{Ll})|\p{Lu}?[\p{Ll}\p{M}]+|\p{N}+|[\p{Lo}\p{Lm}\p{Lt}\p{Co}]+|\p{Lu}/gu;

/** A word of one piece, as most words are. */
const PLAIN = /^[A-Z]?[a-z]+$/;

const SPACELESS = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}]+/gu;

/** Longer runs are keys or base64, not words. Only their beginning is searched for. */
const MAX_WORD_CHARS = 100;

/** The pieces of words that the index's tokenizer does not split, for the column `parts`. */
export function identifierParts(text: string): string {
  const parts: string[] = [];
  for (const [word] of text.matchAll(WORD)) for (const piece of piecesOf(word)) parts.push(piece);
  return parts.join(' ');
}

/** The words of a text and their pieces, in lower case. */
export function wordsOf(text: string): string[] {
  const words = text.normalize('NFC').match(WORD) ?? [];
  const pieces = words.flatMap((word) => (PLAIN.test(word) ? [] : piecesOf(word)));
  return [...words, ...pieces].map((word) => word.toLowerCase());
}

/**
 * The distinct words of a query in order, each followed by its pieces.
 *
 * @param limit how many to return
 */
export function queryWords(text: string, limit: number): string[] {
  const words = new Map<string, string>();
  for (const [word] of text.normalize('NFC').matchAll(WORD)) {
    for (const part of [word, ...piecesOf(word)]) {
      const cut = part.slice(0, MAX_WORD_CHARS);
      if (words.size < limit && !words.has(cut.toLowerCase())) words.set(cut.toLowerCase(), cut);
    }
    if (words.size >= limit) break;
  }
  return [...words.keys()];
}

/** The pieces of a word; none for a word of one piece. */
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
