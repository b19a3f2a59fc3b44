// For each word of the questions so far, the memories that have it and how often: read from the index at its first use,
// kept in memory, and kept in step with what any process writes. FTS5 looks up the length of every memory that it ranks,
// each time; from here a store of any size is ranked without reading it.

import type { SqliteConnection } from './sqlite-connection.js';
import { indexedTexts, type IndexedTexts } from './memory-rows.js';
import { parseTags, readJson, textOf } from './rows.js';
import { Tokenizer } from './tokenizer.js';

/** The memories that have a word. */
export interface Postings {
  /** Their numbers, ascending. */
  readonly places: number[];
  /** How often each of them has it, times the weights of its columns. */
  readonly weights: number[];
}

/** What BM25 knows of a store as a whole. */
export interface StoreLengths {
  /** Memories that were ever indexed: what was deleted stays counted, in the index and so in its BM25. */
  rows: number;
  /** Tokens of a memory on average. */
  average: number;
}

/** The weights of the columns. */
const WEIGHTS = { content: 1, tags: 2, parts: 0.5 } as const;
const COLUMNS = ['content', 'tags', 'parts'] as const;
/** The same by the first letter of the column. */
const WEIGHT_BY_INITIAL: Readonly<Record<number, number>> = Object.fromEntries(
  Object.entries(WEIGHTS).map(([column, weight]) => [column.charCodeAt(0), weight]),
);

/** Of more changes than this everything is read anew. */
const MAX_CHANGES = 64;
/** A posting takes 16 bytes. Beyond so many those that were not used for the longest time go. */
const MAX_POSTINGS = 2_000_000;

/** What a list takes beside, counted in postings: also words that no memory has are remembered. */
const EMPTY_LIST = 16;
/** Counts are taken for true until the store has grown by a tenth, and only so many. */
const MAX_COUNTS = 20_000;

export class WordPostings {
  readonly #connection: SqliteConnection;
  readonly #tokenizer: Tokenizer;
  readonly #most: number;
  /** By token, or by the tokens of a phrase with spaces between them. The last used is the last. */
  #lists = new Map<string, Postings>();
  #postings = 0;
  /** Of tokens without a list. One that no memory has is not counted for good: the next one may have it. */
  #counts = new Map<string, number>();
  #countedAt = 0;
  /** The number of tokens of each memory, by its number; undefined until a word is looked up. */
  #lengths: number[] | undefined;
  #whole: StoreLengths = { rows: 0, average: 0 };
  #seq = -1;
  #hasVocabulary = false;

  /** @param most for tests: how many postings are kept */
  constructor(connection: SqliteConnection, most = MAX_POSTINGS) {
    this.#connection = connection;
    this.#most = most;
    this.#tokenizer = new Tokenizer(connection);
  }

  /** How many postings are kept, and how many lists. */
  get kept(): { postings: number; lists: number } {
    return { postings: this.#postings, lists: this.#lists.size };
  }

  get whole(): StoreLengths {
    return this.#whole;
  }

  /** Takes up what was written since the last time. Gives how many memories there are. */
  refresh(): number {
    const counter = this.#connection.prepare('SELECT seq, memories FROM counter').get();
    const [seq, memories] = [Number(counter?.['seq']), Number(counter?.['memories'])];
    if (seq !== this.#seq) {
      if (!this.#takeChanges(seq)) this.#forget();
      this.#whole = this.#readWhole();
      this.#seq = seq;
    }
    if (Math.abs(memories - this.#countedAt) > this.#countedAt / 10 || this.#counts.size > MAX_COUNTS) {
      this.#counts = new Map();
      this.#countedAt = memories;
    }
    return memories;
  }

  /** How many memories have each word, nearly: what is split in two counts as its rarest part. Costs less than {@link of}. */
  countsOf(words: readonly string[]): number[] {
    const tokens = this.#tokenizer.tokensOf(words);
    const uncounted = [...new Set(tokens.flat())].filter(
      (token) => !this.#lists.has(token) && !this.#counts.has(token),
    );
    if (uncounted.length > 0) {
      const counts = readJson(
        this.#connection,
        `SELECT CAST(json_group_array(json_array(each.key, word_count.doc)) AS BLOB) AS json
          FROM json_each(?) AS each CROSS JOIN word_count ON word_count.term = each.value`,
        JSON.stringify(uncounted),
      ) as [number, number][];
      for (const [index, count] of counts) this.#counts.set(uncounted[index]!, count);
    }
    const countOf = (token: string): number => this.#lists.get(token)?.places.length ?? this.#counts.get(token) ?? 0;
    const least = (some: readonly string[]): number =>
      some.reduce((found, token) => Math.min(found, countOf(token)), Infinity);
    return tokens.map((some) => (some.length === 0 ? 0 : least(some)));
  }

  /** The memories that have each word. */
  of(words: readonly string[]): Postings[] {
    const tokens = this.#tokenizer.tokensOf(words);
    this.#read(tokens);
    const found = tokens.map((some) => this.#use(some.join(' ')));
    for (const name of this.#lists.keys()) {
      if (this.#postings <= this.#most) break;
      this.#drop(name);
    }
    return found;
  }

  /** The number of tokens of a memory, by its number. */
  get lengths(): readonly (number | undefined)[] {
    return (this.#lengths ??= this.#readLengths());
  }

  #forget(): void {
    this.#lists = new Map();
    this.#postings = 0;
    this.#lengths = undefined;
  }

  /** Reads the lists of these words that are not known. */
  #read(words: readonly (readonly string[])[]): void {
    const unknown = new Map(
      words.map((tokens) => [tokens.join(' '), tokens] as const).filter(([name]) => !this.#lists.has(name)),
    );
    const single = [...unknown].flatMap(([name, tokens]) => (tokens.length === 1 ? [name] : []));
    this.#readTokens(single).forEach((postings, index) => this.#keep(single[index]!, postings));
    for (const [name, tokens] of unknown) if (tokens.length !== 1) this.#keep(name, this.#readPhrase(tokens));
  }

  #keep(name: string, postings: Postings): void {
    this.#lists.set(name, postings);
    this.#postings += EMPTY_LIST + postings.places.length;
  }

  /** A list that is known; it goes last now. */
  #use(name: string): Postings {
    const postings = this.#lists.get(name)!;
    this.#lists.delete(name);
    this.#lists.set(name, postings);
    return postings;
  }

  #drop(name: string): void {
    this.#postings -= EMPTY_LIST + (this.#lists.get(name)?.places.length ?? 0);
    this.#lists.delete(name);
  }

  /** False when there are too many, or when something is gone of which nobody knows any more what it had. */
  #takeChanges(seq: number): boolean {
    const connection = this.#connection;
    if (!this.#lengths || seq < this.#seq) return false;
    if (connection.prepare('SELECT 1 AS found FROM gone WHERE seq > ? LIMIT 1').get(this.#seq)) return false;
    const changes = readJson(
      connection,
      `SELECT CAST(json_group_array(json_array(place, deleted_ms IS NULL, CAST(content AS TEXT), CAST(tags AS TEXT)))
        AS BLOB) AS json FROM (SELECT * FROM memory WHERE seq > ? ORDER BY seq LIMIT ${MAX_CHANGES + 1})`,
      this.#seq,
    ) as [place: number, isThere: 0 | 1, content: string, tags: string][];
    if (changes.length > MAX_CHANGES) return false;
    if (changes.length === 0) return true; // a vector, a note
    for (const name of this.#lists.keys()) if (name.includes(' ')) this.#drop(name);
    for (const [place] of changes) this.#remove(place);
    const indexed = changes.filter(([, isThere]) => isThere === 1);
    const tokens = this.#tokenizer.tokenize(
      indexed.flatMap(([, , content, tags]) => {
        const texts = indexedTexts({ content, tags: parseTags(tags) });
        return COLUMNS.map((column) => texts[column]);
      }),
    );
    indexed.forEach(([place], index) => {
      const start = index * COLUMNS.length;
      this.#add(place, tokens.slice(start, start + COLUMNS.length));
    });
    return true;
  }

  #remove(place: number): void {
    delete this.#lengths?.[place];
    for (const { places, weights } of this.#lists.values()) {
      const index = indexFrom(places, place);
      if (places[index] !== place) continue;
      places.splice(index, 1);
      weights.splice(index, 1);
      this.#postings--;
    }
  }

  /** @param columns the tokens of each of {@link COLUMNS} */
  #add(place: number, columns: readonly (readonly string[])[]): void {
    if (this.#lengths) this.#lengths[place] = sum(columns.map(({ length }) => length));
    const weights = new Map<string, number>();
    columns.forEach((tokens, index) => {
      for (const token of tokens) weights.set(token, (weights.get(token) ?? 0) + WEIGHTS[COLUMNS[index]!]);
    });
    for (const [token, weight] of weights) {
      const postings = this.#lists.get(token);
      if (!postings) continue;
      const index = indexFrom(postings.places, place);
      postings.places.splice(index, 0, place);
      postings.weights.splice(index, 0, weight);
      this.#postings++;
    }
  }

  /** In one query, as each that looks into the index takes longer to begin than to read a list. */
  #readTokens(tokens: readonly string[]): Postings[] {
    const lists = tokens.map((): Postings => ({ places: [], weights: [] }));
    if (tokens.length === 0) return lists;
    this.#openVocabulary();
    const row = this.#connection
      .prepare(
        `SELECT CAST(json_group_array(each.key) AS BLOB) AS keys, CAST(json_group_array(doc) AS BLOB) AS places,
          CAST(group_concat(substr(col, 1, 1), '') AS BLOB) AS columns
          FROM json_each(?) AS each CROSS JOIN temp.word_instances ON word_instances.term = each.value`,
      )
      .get(JSON.stringify(tokens));
    const columns = row?.['columns'];
    if (!(columns instanceof Uint8Array)) return lists; // none
    const keys = JSON.parse(textOf(row?.['keys'])) as number[];
    const places = JSON.parse(textOf(row?.['places'])) as number[];
    for (let i = 0; i < places.length; i++) append(lists[keys[i]!]!, places[i]!, WEIGHT_BY_INITIAL[columns[i]!] ?? 0);
    return lists;
  }

  /** A phrase is where its first token is, with each other one so much further on. */
  #readPhrase(tokens: readonly string[]): Postings {
    this.#openVocabulary();
    const [first = [], ...others] = tokens.map(
      (token) =>
        readJson(
          this.#connection,
          `SELECT CAST(json_group_array(json_array(doc, col, offset)) AS BLOB) AS json FROM temp.word_instances WHERE term = ?`,
          token,
        ) as [place: number, column: keyof IndexedTexts, offset: number][],
    );
    const following = others.map((instances) => new Set(instances.map((instance) => instance.join(' '))));
    const postings: Postings = { places: [], weights: [] };
    for (const [place, column, offset] of first) {
      if (following.every((positions, index) => positions.has(`${place} ${column} ${offset + index + 1}`)))
        append(postings, place, WEIGHTS[column]);
    }
    return postings;
  }

  /** Each place of each word. */
  #openVocabulary(): void {
    if (this.#hasVocabulary) return;
    this.#connection.exec(
      `CREATE VIRTUAL TABLE IF NOT EXISTS temp.word_instances USING fts5vocab('main', 'words', 'instance')`,
    );
    this.#hasVocabulary = true;
  }

  /** From a table of FTS5: of each row a varint a column. https://www.sqlite.org/fts5.html#the_docsize_shadow_table */
  #readLengths(): number[] {
    const row = this.#connection
      .prepare(
        `SELECT CAST(json_group_array(id) AS BLOB) AS places, CAST(json_group_array(length(sz)) AS BLOB) AS sizes,
          CAST(group_concat(CAST(sz AS TEXT), '') AS BLOB) AS varints FROM words_docsize`,
      )
      .get();
    const places = JSON.parse(textOf(row?.['places'])) as number[];
    const sizes = JSON.parse(textOf(row?.['sizes'])) as number[];
    const bytes = row?.['varints'];
    const lengths: number[] = [];
    if (!(bytes instanceof Uint8Array)) return lengths; // none
    let start = 0;
    places.forEach((place, index) => {
      const end = start + (sizes[index] ?? 0);
      lengths[place] = sum(varintsOf(bytes.subarray(start, end)));
      start = end;
    });
    return lengths;
  }

  /** The record 1: the number of rows, and of the tokens of each column. https://www.sqlite.org/fts5.html#the_averages_record */
  #readWhole(): StoreLengths {
    const block = this.#connection.prepare('SELECT block FROM words_data WHERE id = 1').get()?.['block'];
    const [rows = 0, ...tokens] = block instanceof Uint8Array ? varintsOf(block) : [];
    return { rows, average: rows > 0 ? sum(tokens) / rows : 0 };
  }
}

function append({ places, weights }: Postings, place: number, weight: number): void {
  const last = places.length - 1;
  if (places[last] === place) weights[last]! += weight;
  else {
    places.push(place);
    weights.push(weight);
  }
}

/** The index of the first number that is no smaller. */
function indexFrom(ascending: readonly number[], number: number): number {
  let [low, high] = [0, ascending.length];
  if (high > 0 && ascending[high - 1]! < number) return high; // the newest are asked for the most
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (ascending[middle]! < number) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Seven bits a byte, the highest first; the eighth says that more follow. */
function varintsOf(bytes: Uint8Array): number[] {
  const numbers: number[] = [];
  let number = 0;
  for (const byte of bytes) {
    number = number * 128 + (byte & 0x7f);
    if (byte >= 0x80) continue;
    numbers.push(number);
    number = 0;
  }
  return numbers;
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
