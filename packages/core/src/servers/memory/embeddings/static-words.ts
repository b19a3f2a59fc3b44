// The words that the static model looks up in a text: as they stand, else the pieces of an identifier, else the word
// without its ending, else the known words that it is put together from.

import type { WordPlaces } from './word-table.js';

/** Runs of letters and digits, in any script. */
const RUN = /[\p{L}\p{N}]+/gu;
/** The pieces of `parseHTTPResponse2`: parse, HTTP, Response, 2. */
const PIECE = /\p{Lu}+(?!\p{Ll})|\p{Lu}?\p{Ll}+|\p{N}+|[^\p{Lu}\p{Ll}\p{N}]+/gu;
/** Longer ones are keys and base64, not words. */
const MAX_WORD_CHARS = 40;
/** English endings, and what may have stood in their place. */
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

/** The places of the words of a text, in order, one as often as it occurs. Unknown words give none, or several. */
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

/** `kubeconfig` as kube and config: the fewest known words of three letters or more that are all of it. */
function parts(word: string, places: WordPlaces): number[] {
  /** By end: the fewest parts of what comes before it. */
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
