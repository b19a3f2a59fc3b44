// The tokens of a text as FTS5 makes them: folded, stemmed, without what is no letter or digit. What most words are is
// stemmed here by the same algorithm; for the others, and for whole texts, a scratch index with the same tokenizer is asked.

import { stemmer } from 'stemmer';
import type { SqliteConnection } from './sqlite-connection.js';
import { readJson } from './rows.js';

/** Words of which FTS5 makes one token, the same stem as Porter's. It has another one for some with two y. */
const PLAIN = /^(?!.*yy)[a-z]{1,40}$/;
/** Tokens of words are remembered, and only so many. */
const MAX_WORDS = 20_000;

export class Tokenizer {
  readonly #connection: SqliteConnection;
  #words = new Map<string, readonly string[]>();
  #isReady = false;

  constructor(connection: SqliteConnection) {
    this.#connection = connection;
  }

  /** What the index has in the place of each word: one token for most, none for what it does not take for a word. */
  tokensOf(words: readonly string[]): readonly (readonly string[])[] {
    const unknown = words.filter((word) => !this.#words.has(word));
    if (unknown.length > 0) {
      if (this.#words.size > MAX_WORDS) this.#words = new Map();
      const others = unknown.filter((word) => !PLAIN.test(word));
      for (const word of unknown) this.#words.set(word, [stemmer(word)]);
      if (others.length > 0) this.tokenize(others).forEach((tokens, index) => this.#words.set(others[index]!, tokens));
    }
    return words.map((word) => this.#words.get(word) ?? []);
  }

  /** The tokens of each text, in its order, as they would be if it were indexed. */
  tokenize(texts: readonly string[]): string[][] {
    const connection = this.#connection;
    if (!this.#isReady) {
      connection.exec(`CREATE VIRTUAL TABLE IF NOT EXISTS temp.scratch USING fts5(
        text, content='', columnsize=0, tokenize='porter unicode61 remove_diacritics 2')`);
      connection.exec(
        `CREATE VIRTUAL TABLE IF NOT EXISTS temp.scratch_words USING fts5vocab('temp', 'scratch', 'instance')`,
      );
      this.#isReady = true;
    }
    connection.exec('BEGIN');
    try {
      connection
        .prepare('INSERT INTO temp.scratch (rowid, text) SELECT key, value FROM json_each(?)')
        .run(JSON.stringify(texts));
      const found = readJson(
        connection,
        'SELECT CAST(json_group_array(json_array(doc, term, offset)) AS BLOB) AS json FROM temp.scratch_words',
      ) as [text: number, token: string, offset: number][];
      const tokens: string[][] = texts.map(() => []);
      for (const [text, token] of found.sort((a, b) => a[2] - b[2])) tokens[text]?.push(token);
      return tokens;
    } finally {
      connection.exec('ROLLBACK');
    }
  }
}
