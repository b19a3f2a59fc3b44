// The search by words: BM25 of FTS5. In a large store the words that are in many memories cost the most and say the
// least, so candidates come from the rarer ones; all words rank them.

import type { MemoryFilter, WordHit } from '../backend.js';
import type { SqliteConnection, SqlValue } from './driver.js';
import { readJson } from './rows.js';

interface Hit {
  /** The number of its memory. */
  place: number;
  /** Its BM25. */
  score: number;
}

/** The weights of the columns content, tags and parts. */
const RANK = 'bm25(words, 1.0, 2.0, 0.5)';
/** More memories than this are searched in two stages. */
const TWO_STAGES_FROM = 500;
/** The rarity that FTS5 gives a word that is in over half of the memories. */
const NO_RARITY = 1e-6;
/** In a store of few memories every word counts: whatever is in two of three is in over half of them. */
const SMALL = 250;
/** A word that is in more of the memories than this finds no candidates, unless there is no rarer one. */
const COMMON = 0.05;
const MIN_CANDIDATE_WORDS = 3;
/** Of a longer query the rarest words count. */
const MAX_WORDS = 32;
/** The `k1 + 1` of FTS5's BM25: what the score of a word tends to, times its rarity. */
const SATURATION = 2.2;
/** Counts are remembered until the store has grown by a tenth, and only so many. */
const MAX_COUNTS = 20_000;

interface Word {
  text: string;
  rarity: number;
  /** How many memories have it. */
  count: number;
}

export class WordSearch {
  readonly #connection: SqliteConnection;
  #counts = new Map<string, number>();
  #countedAt = 0;
  #hasScratch = false;

  constructor(connection: SqliteConnection) {
    this.#connection = connection;
  }

  /** @param memories how many there are */
  find(words: readonly string[], filter: MemoryFilter, limit: number, memories: number): WordHit[] {
    const known = this.#known(words, memories);
    if (known.length === 0) return [];
    const best = known.reduce((sum, { rarity }) => sum + rarity, 0);
    // A word that is nowhere counts as one that is as rare as the others are.
    const missing = Math.min(words.length, MAX_WORDS) / Math.min(known.length, MAX_WORDS);
    const telling = known.filter(({ rarity }) => rarity > NO_RARITY);
    // What is in over half of the memories adds nothing to a score, and costs the most to look up.
    const asked = memories > SMALL && telling.length > 0 ? telling : known;
    const hits =
      memories > TWO_STAGES_FROM
        ? this.#findInTwoStages(asked, filter, limit, memories)
        : this.#query(anyOf(asked), filter, limit);
    const ids = this.#idsAt(hits.map(({ place }) => place));
    return hits.flatMap(({ place, score }) => {
      const id = ids.get(place);
      if (id === undefined) return []; // of a damaged file
      return [{ id, score, share: Math.min(1, score / (best * Math.max(1, missing) * SATURATION)) }];
    });
  }

  /** Memories that have all of these words, the newest first. */
  withAll(words: readonly string[], limit: number): number[] {
    if (words.length === 0) return [];
    return this.#connection
      .prepare('SELECT rowid FROM words WHERE words MATCH ? ORDER BY rowid DESC LIMIT ?')
      .all(words.map(quoted).join(' AND '), limit)
      .map(({ rowid }) => Number(rowid));
  }

  /**
   * The rarer words find the candidates. FTS5 knows no optional word, so that it is asked twice: for those with a rarer
   * word, and for those that have a common one too, whose score is of all words. Both lists are cut where none behind can
   * be among the best.
   */
  #findInTwoStages(words: readonly Word[], filter: MemoryFilter, limit: number, memories: number): Hit[] {
    const rare = words.filter(({ count }, index) => index < MIN_CANDIDATE_WORDS || count < memories * COMMON);
    const common = words.slice(rare.length);
    const byRare = this.#query(anyOf(rare), filter, limit);
    if (common.length === 0) return byRare;
    const byAll = this.#query(`(${anyOf(rare)}) AND (${anyOf(common)})`, filter, limit);
    const places = new Set(byAll.map(({ place }) => place));
    return [...byAll, ...byRare.filter(({ place }) => !places.has(place))]
      .sort((a, b) => b.score - a.score || b.place - a.place)
      .slice(0, limit);
  }

  #query(match: string, { category, tags }: MemoryFilter, limit: number): Hit[] {
    const values: SqlValue[] = [match];
    let sql = `SELECT words.rowid AS place, ${RANK} AS rank FROM words`;
    if (category !== undefined) sql += ' JOIN memory ON memory.place = words.rowid';
    sql += ' WHERE words MATCH ?';
    if (category !== undefined) {
      sql += ' AND memory.category = ?';
      values.push(category);
    }
    if (tags !== undefined && tags.length > 0) {
      sql +=
        ' AND EXISTS (SELECT 1 FROM tag WHERE tag.place = words.rowid AND tag.name IN (SELECT value FROM json_each(?)))';
      values.push(JSON.stringify(tags));
    }
    values.push(limit);
    const hits = readJson(
      this.#connection,
      `SELECT CAST(json_group_array(json_array(place, rank)) AS BLOB) AS json FROM (${sql} ORDER BY rank LIMIT ?)`,
      ...values,
    ) as [number, number][];
    return hits.map(([place, rank]) => ({ place, score: -rank }));
  }

  /** The ids of memories, by their numbers. */
  #idsAt(places: readonly number[]): Map<number, string> {
    const ids = readJson(
      this.#connection,
      `SELECT CAST(json_group_array(json_array(memory.place, CAST(memory.id AS TEXT))) AS BLOB) AS json
        FROM json_each(?) AS each CROSS JOIN memory ON memory.place = each.value`,
      JSON.stringify(places),
    ) as [number, string][];
    return new Map(ids);
  }

  /** The words that any memory has, the rarest first. */
  #known(words: readonly string[], memories: number): Word[] {
    const rows = this.#rowsEver();
    if (Math.abs(memories - this.#countedAt) > this.#countedAt / 10 || this.#counts.size > MAX_COUNTS) {
      this.#counts = new Map();
      this.#countedAt = memories;
    }
    const uncounted = words.filter((word) => !this.#counts.has(word));
    if (uncounted.length > 0) this.#count(uncounted);
    return words
      .map((text) => {
        const count = this.#counts.get(text) ?? 0;
        return { text, count, rarity: Math.max(NO_RARITY, Math.log((rows - count + 0.5) / (count + 0.5))) };
      })
      .filter(({ count }) => count > 0)
      .sort((a, b) => a.count - b.count)
      .slice(0, MAX_WORDS);
  }

  /**
   * The number of rows that BM25 counts with: an index that holds no text does not take deleted ones off. It is the
   * first varint of the record 1. https://www.sqlite.org/fts5.html#the_averages_record
   */
  #rowsEver(): number {
    const block = this.#connection.prepare('SELECT block FROM words_data WHERE id = 1').get()?.['block'];
    if (!(block instanceof Uint8Array)) return 0;
    let rows = 0;
    for (const byte of block) {
      rows = rows * 128 + (byte & 0x7f);
      if (byte < 0x80) break;
    }
    return rows;
  }

  /** The index holds stems. A scratch index with the same tokenizer tells the stem of each word. */
  #count(words: readonly string[]): void {
    const connection = this.#connection;
    if (!this.#hasScratch) {
      connection.exec(`CREATE VIRTUAL TABLE temp.scratch USING fts5(
        content, tokenize='porter unicode61 remove_diacritics 2', detail=full)`);
      connection.exec(`CREATE VIRTUAL TABLE temp.scratch_words USING fts5vocab('temp', 'scratch', 'instance')`);
      this.#hasScratch = true;
    }
    connection.exec('BEGIN');
    try {
      connection
        .prepare('INSERT INTO temp.scratch (rowid, content) SELECT key, value FROM json_each(?)')
        .run(JSON.stringify(words));
      const counts = readJson(
        connection,
        `SELECT CAST(json_group_array(json_array(scratch_words.doc, word_count.doc)) AS BLOB) AS json
          FROM temp.scratch_words CROSS JOIN word_count ON word_count.term = scratch_words.term`,
      ) as [number, number][];
      const seen = new Set<number>();
      // A word that no memory has is not remembered: the next one may have it.
      for (const [index, memories] of counts) {
        const word = words[index] ?? '';
        // What is split in two is asked for as a phrase, which is no more common than its rarest part.
        this.#counts.set(word, seen.has(index) ? Math.min(memories, this.#counts.get(word) ?? 0) : memories);
        seen.add(index);
      }
    } finally {
      connection.exec('ROLLBACK');
    }
  }
}

function anyOf(words: readonly Word[]): string {
  return words.map(({ text }) => quoted(text)).join(' OR ');
}

/** Between double quotes everything is text to FTS5 but the double quote itself, which no word holds. */
function quoted(word: string): string {
  return `"${word.replaceAll('"', '""').replaceAll('\0', ' ')}"`;
}
