// The search by words: the BM25 of FTS5, computed here from what the index says of each word. In a large store the words
// that are in many memories cost the most and say the least, so candidates come from the rarer ones; all words rank them.

import type { MemoryFilter, WordHit } from '../memory-backend.js';
import { Best } from '../service/best.js';
import { condition } from './conditions.js';
import type { SqliteConnection } from './sqlite-connection.js';
import { readJson } from './rows.js';
import { WordPostings, type Postings } from './word-postings.js';

interface Hit {
  /** The number of its memory. */
  place: number;
  /** Its BM25. */
  score: number;
}

/** The two numbers of BM25, as FTS5 has them. https://www.sqlite.org/fts5.html#the_bm25_function */
const K1 = 1.2;
const B = 0.75;
/** The rarity that FTS5 gives a word that is in over half of the memories. */
const NO_RARITY = 1e-6;

/** In a store of few memories every word counts: whatever is in two of three is in over half of them. */
const SMALL = 250;
/** In more memories than this, candidates come from the rarer words. */
const TWO_STAGES_FROM = 500;

/** A word that is in more of the memories than this finds no candidates, unless there is no rarer one. */
const COMMON = 0.05;
const MIN_CANDIDATE_WORDS = 3;
/** In more memories than this no list is read of a word that is in over half of them. */
const LARGE = 10_000;

/** Of a longer query the rarest words count. */
const MAX_WORDS = 32;
/** With a category or a tag: so many of the best are looked at, until enough have it. */
const MOST_LOOKED_AT = 2_000;

/** Ids are remembered, and only so many. */
const MAX_IDS = 20_000;

/** A word of a query and the memories that have it. */
interface Term extends Postings {
  rarity: number;
}

export class WordSearch {
  readonly #connection: SqliteConnection;
  readonly #postings: WordPostings;
  /** By the number of the memory, which is never used for another one. */
  #ids = new Map<number, string>();

  constructor(connection: SqliteConnection) {
    this.#connection = connection;
    this.#postings = new WordPostings(connection);
  }

  find(words: readonly string[], filter: MemoryFilter, limit: number): WordHit[] {
    const memories = this.#postings.refresh();
    const { chosen, present } = this.#choose(words, memories);
    const known = this.#terms(chosen);
    if (known.length === 0) return [];
    const best = known.reduce((sum, { rarity }) => sum + rarity, 0);
    // A word that is nowhere counts as one that is as rare as the others are.
    const missing = Math.min(words.length, MAX_WORDS) / Math.min(present ?? known.length, MAX_WORDS);
    const telling = known.filter(({ rarity }) => rarity > NO_RARITY);
    // What is in over half of the memories adds nothing to a score.
    const asked = memories > SMALL && telling.length > 0 ? telling : known;
    const finding =
      memories > TWO_STAGES_FROM
        ? asked.filter(({ places }, index) => index < MIN_CANDIDATE_WORDS || places.length < memories * COMMON)
        : asked;
    const hits = this.#passing(filter, limit, (most, accept) =>
      this.#rank(finding, asked.slice(finding.length), most, accept),
    );
    const ids = this.#idsAt(hits.map(({ place }) => place));
    return hits.flatMap(({ place, score }) => {
      const id = ids.get(place);
      if (id === undefined) return []; // of a damaged file
      return [{ id, score, share: Math.min(1, score / (best * Math.max(1, missing) * (K1 + 1))) }];
    });
  }

  /** Memories that have all of these words, the newest first. */
  withAll(words: readonly string[], limit: number): number[] {
    if (words.length === 0) return [];
    return readJson(
      this.#connection,
      `SELECT CAST(json_group_array(place) AS BLOB) AS json FROM
        (SELECT rowid AS place FROM words WHERE words MATCH ? ORDER BY rowid DESC LIMIT ?)`,
      words.map(quoted).join(' AND '),
      limit,
    ) as number[];
  }

  /**
   * The words whose memories are looked up. In a large store the list of a common word is long, and in a long query there
   * are many: they are counted first.
   */
  #choose(words: readonly string[], memories: number): { chosen: readonly string[]; present?: number } {
    if (memories <= LARGE && words.length <= MAX_WORDS) return { chosen: words };
    const counts = this.#postings.countsOf(words);
    const present = words
      .map((text, index) => ({ text, count: counts[index]! }))
      .filter(({ count }) => count > 0)
      .sort((a, b) => a.count - b.count);
    const telling = present.filter(({ count }) => count < memories / 2);
    const chosen = (memories > LARGE && telling.length > 0 ? telling : present).slice(0, MAX_WORDS);
    return { chosen: chosen.map(({ text }) => text), present: present.length };
  }

  /** The words that any memory has, the rarest first. */
  #terms(words: readonly string[]): Term[] {
    const { rows } = this.#postings.whole;
    return this.#postings
      .of(words)
      .filter(({ places }) => places.length > 0)
      .map((postings): Term => {
        const count = postings.places.length;
        const rarity = Math.log((rows - count + 0.5) / (count + 0.5));
        return { ...postings, rarity: rarity > 0 ? rarity : NO_RARITY };
      })
      .sort((a, b) => a.places.length - b.places.length);
  }

  /**
   * The best of those that have a word that finds: all lists are walked at once, memory by memory. The words that only
   * rank are looked up where a memory could still become one of the best.
   */
  #rank(
    finding: readonly Term[],
    ranking: readonly Term[],
    limit: number,
    accept: ((place: number) => boolean) | undefined,
  ): Hit[] {
    const { lengths, whole } = this.#postings;
    const finders = finding.map((term) => new Walk(term));
    const rankers = ranking.map((term) => new Walk(term));
    const most = ranking.reduce((sum, { rarity }) => sum + rarity * (K1 + 1), 0);
    const best = new Best<Hit>(limit, byRank);
    for (;;) {
      let place = Infinity;
      for (const walk of finders) if (walk.place < place) place = walk.place;
      if (place === Infinity) return best.sorted();
      const length = whole.average > 0 ? (lengths[place] ?? whole.average) / whole.average : 1;
      const saturation = K1 * (1 - B + B * length);
      let score = 0;
      for (const walk of finders) if (walk.place === place) score += walk.take(saturation);
      const least = best.worst?.score ?? 0;
      if (score + most < least) continue;
      for (const walk of rankers) if (walk.goTo(place)) score += walk.take(saturation);
      if (score >= least && (accept === undefined || accept(place))) best.add({ place, score });
    }
  }

  /** The best that pass a filter. */
  #passing(
    filter: MemoryFilter,
    limit: number,
    find: (limit: number, accept?: (place: number) => boolean) => Hit[],
  ): Hit[] {
    if (filter.category === undefined && (filter.tags ?? []).length === 0) return find(limit);
    // Of what many have, some of the best have it: more and more of the best are looked at.
    for (let looked = limit * 4; looked <= MOST_LOOKED_AT; looked *= 4) {
      const best = find(looked);
      const passing = this.#placesOf(
        filter,
        best.map(({ place }) => place),
      );
      if (passing.size >= limit || best.length < looked)
        return best.filter(({ place }) => passing.has(place)).slice(0, limit);
    }
    const passing = this.#placesOf(filter);
    return find(limit, (place) => passing.has(place));
  }

  /** @param among only of these */
  #placesOf(filter: MemoryFilter, among?: readonly number[]): Set<number> {
    const { sql, values } = condition(this.#connection, filter);
    const from = among ? 'json_each(?) AS each CROSS JOIN memory ON memory.place = each.value' : 'memory';
    const places = readJson(
      this.#connection,
      `SELECT CAST(json_group_array(memory.place) AS BLOB) AS json FROM ${from} WHERE ${sql}`,
      ...(among ? [JSON.stringify(among)] : []),
      ...values,
    ) as number[];
    return new Set(places);
  }

  #idsAt(places: readonly number[]): ReadonlyMap<number, string> {
    if (this.#ids.size > MAX_IDS) this.#ids = new Map();
    const unknown = places.filter((place) => !this.#ids.has(place));
    if (unknown.length === 0) return this.#ids;
    const ids = readJson(
      this.#connection,
      `SELECT CAST(json_group_array(json_array(memory.place, CAST(memory.id AS TEXT))) AS BLOB) AS json
        FROM json_each(?) AS each CROSS JOIN memory ON memory.place = each.value`,
      JSON.stringify(unknown),
    ) as [number, string][];
    for (const [place, id] of ids) this.#ids.set(place, id);
    return this.#ids;
  }
}

/** A way through the memories that have a word. */
class Walk {
  /** Where it is; infinite at the end. */
  place: number;
  readonly #term: Term;
  #index = 0;

  constructor(term: Term) {
    this.#term = term;
    this.place = term.places[0] ?? Infinity;
  }

  /** What the word adds to the score of the memory where this is. Goes on to the next one. */
  take(saturation: number): number {
    const { rarity, weights, places } = this.#term;
    const weight = weights[this.#index++]!;
    this.place = places[this.#index] ?? Infinity;
    return (rarity * weight * (K1 + 1)) / (weight + saturation);
  }

  /** Goes on to a memory, if it has the word. */
  goTo(place: number): boolean {
    const { places } = this.#term;
    while (places[this.#index]! < place) this.#index++;
    this.place = places[this.#index] ?? Infinity;
    return this.place === place;
  }
}

/** Of two that fit alike, the newer one. */
function byRank(a: Hit, b: Hit): number {
  return b.score - a.score || b.place - a.place;
}

/** Between double quotes everything is text to FTS5 but the double quote itself, which no word holds. */
function quoted(word: string): string {
  return `"${word.replaceAll('"', '""').replaceAll('\0', ' ')}"`;
}
