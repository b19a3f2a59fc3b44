// Search by words, ranked by FTS5's bm25(). In a large store, words that are in many memories cost the most to look up and
// say the least, so only the rarer words of a query find memories; all words rank them.

import type { MemoryFilter, WordHit } from '../memory-backend.js';
import { condition } from './conditions.js';
import { readJson } from './rows.js';
import type { SqliteConnection } from './sqlite-connection.js';

/** BM25's saturation constant in FTS5: one word adds less than its rarity times K1 + 1 to a score. */
const K1 = 1.2;
/** The rarity that FTS5 gives to a word that is in over half of the memories. */
const NO_RARITY = 1e-6;

/** Up to this size, words that are in over half of the memories are looked up too: in two of three, that is any word. */
const SMALL_STORE = 250;
/** Above this size, only the rarer words of a query find memories, and counts of words may be slightly out of date. */
const LARGE_STORE = 500;
/** In a large store, a word that is in a greater share of the memories finds none, unless there are too few rarer words. */
const COMMON_SHARE = 0.05;
const MIN_FINDING_WORDS = 3;

/** Only the rarest words of a longer query are looked up. */
const MAX_WORDS = 32;
/** How many of the best memories are tested against a filter before all found memories are. */
const MAX_FILTERED = 2_000;
/** How many words have their counts cached. */
const MAX_COUNTS = 20_000;

interface CountedWord {
  phrase: string;
  /** How many memories have it. */
  count: number;
}

export class WordSearch {
  readonly #connection: SqliteConnection;
  /** Memories per phrase. A count of 0 is not cached: the next memory may have the word. */
  #counts = new Map<string, number>();
  #countedAt = { seq: -1, memories: 0 };

  constructor(connection: SqliteConnection) {
    this.#connection = connection;
  }

  /** The memories that fit the words best, the best first; of two that fit alike, the newer one first. */
  find(words: readonly string[], filter: MemoryFilter, limit: number): WordHit[] {
    const memories = this.#refreshCounts();
    const present = this.#countsOf(words.map(quoted))
      .filter(({ count }) => count > 0)
      .sort((a, b) => a.count - b.count);
    const uncommon = memories > SMALL_STORE ? present.filter(({ count }) => count < memories / 2) : [];
    const chosen = (uncommon.length > 0 ? uncommon : present).slice(0, MAX_WORDS);
    if (chosen.length === 0) return [];
    const isFinding = ({ count }: CountedWord, index: number): boolean =>
      memories <= LARGE_STORE || index < MIN_FINDING_WORDS || count < memories * COMMON_SHARE;
    const match = matchExpression(
      chosen.filter(isFinding),
      chosen.filter((word, index) => !isFinding(word, index)),
    );
    const hits = this.#passing(match, filter, limit);
    if (hits.length === 0) return [];
    // A word that is in no memory counts as one of average rarity.
    const missing = Math.min(words.length, MAX_WORDS) / Math.min(present.length, MAX_WORDS);
    const best = this.#raritySum(chosen, memories) * Math.max(1, missing) * (K1 + 1);
    return hits.map(([id, score]) => ({ id, score, share: Math.min(1, score / best) }));
  }

  /** The row numbers of memories that have all of these words, the newest first. */
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

  /** Drops cached counts that may mislead. Returns how many memories there are. */
  #refreshCounts(): number {
    const row = this.#connection.prepare('SELECT seq, memories FROM counter').get();
    const [seq, memories] = [Number(row?.['seq']), Number(row?.['memories'])];
    const counted = this.#countedAt;
    const isStale =
      memories > LARGE_STORE
        ? Math.abs(memories - counted.memories) > counted.memories / 10 || this.#counts.size > MAX_COUNTS
        : seq !== counted.seq;
    if (isStale) {
      this.#counts = new Map();
      this.#countedAt = { seq, memories };
    }
    return memories;
  }

  #countsOf(phrases: readonly string[]): CountedWord[] {
    const uncounted = phrases.filter((phrase) => !this.#counts.has(phrase));
    const found = new Map<string, number>();
    if (uncounted.length > 0) {
      const counts = readJson(
        this.#connection,
        `SELECT CAST(json_group_array((SELECT count(*) FROM words WHERE words MATCH each.value)) AS BLOB) AS json
          FROM json_each(?) AS each`,
        JSON.stringify(uncounted),
      ) as number[];
      uncounted.forEach((phrase, index) => found.set(phrase, counts[index] ?? 0));
      for (const [phrase, count] of found) if (count > 0) this.#counts.set(phrase, count);
    }
    return phrases.map((phrase) => ({ phrase, count: this.#counts.get(phrase) ?? found.get(phrase) ?? 0 }));
  }

  /** The best memories that match and pass the filter. With a filter, more and more of the best ones are tested. */
  #passing(match: string, filter: MemoryFilter, limit: number): [id: string, score: number][] {
    const isFiltered = filter.category !== undefined || (filter.tags ?? []).length > 0;
    const { sql, values } = condition(this.#connection, filter);
    for (let ranked = isFiltered ? limit * 4 : limit; ; ranked = ranked * 4 > MAX_FILTERED ? -1 : ranked * 4) {
      const [total, hits] = readJson(
        this.#connection,
        `WITH ranked AS MATERIALIZED (SELECT rowid AS place, bm25(words, 1.0, 2.0, 0.5) AS score
            FROM words WHERE words MATCH ? ORDER BY score, place DESC LIMIT ?),
          passing AS (SELECT CAST(memory.id AS TEXT) AS id, -score AS score FROM ranked
            CROSS JOIN memory ON memory.place = ranked.place WHERE ${sql} ORDER BY ranked.score, ranked.place DESC LIMIT ?)
          SELECT CAST(json_array((SELECT count(*) FROM ranked),
            (SELECT json_group_array(json_array(id, score)) FROM passing)) AS BLOB) AS json`,
        match,
        ranked,
        ...values,
        limit,
      ) as [total: number, hits: [string, number][]];
      if (!isFiltered || ranked < 0 || hits.length >= limit || total < ranked) return hits;
    }
  }

  /** The sum of the words' rarities, as bm25() has them. */
  #raritySum(words: readonly CountedWord[], memories: number): number {
    const rows = Math.max(memories, this.#rowsEverIndexed());
    return words.reduce((sum, { count }) => {
      const rarity = Math.log((rows - count + 0.5) / (count + 0.5));
      return sum + (rarity > 0 ? rarity : NO_RARITY);
    }, 0);
  }

  /**
   * The number of rows that bm25() counts with, which deleted rows are still part of: the first number of FTS5's averages
   * record. https://www.sqlite.org/fts5.html#the_averages_record
   */
  #rowsEverIndexed(): number {
    const block = this.#connection.prepare('SELECT block FROM words_data WHERE id = 1').get()?.['block'];
    if (!(block instanceof Uint8Array)) return 0;
    let rows = 0;
    for (const byte of block) {
      rows = rows * 128 + (byte & 0x7f); // seven bits a byte, the highest first; the eighth says that more follow
      if (byte < 0x80) break;
    }
    return rows;
  }
}

/**
 * Matches the memories that have a finding word. The ranking words must not find any, yet FTS5 scores every phrase of an
 * expression: so all words are alternatives, and those that have ranking words alone are taken away again. A phrase behind
 * `NOT` adds nothing to a score.
 */
function matchExpression(finding: readonly CountedWord[], ranking: readonly CountedWord[]): string {
  const anyOf = (words: readonly CountedWord[]): string => `(${words.map(({ phrase }) => phrase).join(' OR ')})`;
  if (ranking.length === 0) return anyOf(finding);
  return `${anyOf([...finding, ...ranking])} NOT (${anyOf(ranking)} NOT ${anyOf(finding)})`;
}

/** A phrase of FTS5: between double quotes everything is text but the double quote itself. */
function quoted(word: string): string {
  return `"${word.replaceAll('"', '""').replaceAll('\0', ' ')}"`;
}
