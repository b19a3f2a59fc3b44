// The words that the static model finds in a text: each word as it is, else the pieces of an identifier, else the word without
// its ending, else the known words that it is composed of.

import type { WordPlaces } from './word-table.js';

/** Runs of letters and digits, in any script. */
const RUN = /[\p{L}\p{N}]+/gu;
/** The pieces of `parseHTTPResponse2`: parse, HTTP, Response, 2. */
const PIECE = /\p{Lu}+(?!\p{Ll})|\p{Lu}?\p{Ll}+|\p{N}+|[^\p{Lu}\p{Ll}\p{N}]+/gu;
/** Longer runs are keys or base64, not words. */
const MAX_WORD_CHARS = 40;
/** English endings, and what they may have replaced. */
const ENDINGS: readonly (readonly [ending: string, ...instead: string[]])[] = [
  ['ies', 'y'],
  ['ied', 'y'],
  ['ing', '', 'e'],
  ['ed', '', 'e'],
  ['es', '', 'e'],
  ['ers', '', 'e', 'er'],
  ['er', '', 'e'],
  ['ly', ''],
  ['s', ''],
];

/** The line numbers of a text's words in the table, in order and with repetitions. An unknown word has none, or several. */
export function wordPlaces(text: string, places: WordPlaces): number[] {
  const found: number[] = [];
  const plain = text.normalize('NFKD').replace(/\p{M}+/gu, '');
  for (const [run] of plain.matchAll(RUN)) {
    const whole = places.get(run.toLowerCase());
    if (whole !== undefined) found.push(whole);
    else if (run.length <= MAX_WORD_CHARS) {
      for (const piece of run.match(PIECE) ?? [])
        for (const place of placesOf(piece.toLowerCase(), places)) found.push(place);
    }
  }
  return found;
}

function placesOf(word: string, places: WordPlaces): number[] {
  const whole = places.get(word) ?? withoutEnding(word, places);
  return whole === undefined ? parts(word, places) : [whole];
}

function withoutEnding(word: string, places: WordPlaces): number | undefined {
  for (const [ending, ...instead] of ENDINGS) {
    if (!word.endsWith(ending) || word.length < ending.length + 3) continue;
    const stem = word.slice(0, -ending.length);
    for (const end of instead) {
      const place = places.get(stem + end);
      if (place !== undefined) return place;
    }
    const single = /([^aeiou])\1$/.test(stem) ? places.get(stem.slice(0, -1)) : undefined; // stopped: stop
    if (single !== undefined) return single;
  }
  return undefined;
}

/** Splits `kubeconfig` into kube and config: the fewest known words of at least three letters that compose it. */
function parts(word: string, places: WordPlaces): number[] {
  /** By end position: the fewest parts of the text before it. */
  const best: (number[] | undefined)[] = [[]];
  for (let end = 1; end <= word.length; end++) {
    for (let start = Math.max(0, end - 16); start <= end - 3; start++) {
      const before = best[start];
      const place = before && places.get(word.slice(start, end));
      if (before === undefined || place === undefined) continue;
      if (before.length + 1 < (best[end]?.length ?? Infinity)) best[end] = [...before, place];
    }
  }
  return best[word.length] ?? [];
}
