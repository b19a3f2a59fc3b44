// The tokens of a text as FTS5 makes them: folded, stemmed, without what is no letter or digit. Only FTS5 knows, so a
// scratch index with the same tokenizer is asked.

import type { SqliteConnection } from './driver.js';
import { readJson } from './rows.js';

/** The texts of one row of the index. */
export interface IndexedTexts {
  content: string;
  tags: string;
  parts: string;
}

/** One token of a row. Those of one column come in the order of the text. */
export interface Token {
  text: string;
  column: keyof IndexedTexts;
}

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
      const rows = this.tokenize(unknown.map((content) => ({ content, tags: '', parts: '' })));
      rows.forEach((tokens, index) => {
        this.#words.set(
          unknown[index]!,
          tokens.map(({ text }) => text),
        );
      });
    }
    return words.map((word) => this.#words.get(word) ?? []);
  }

  /** The tokens of each row, as they would be if it were indexed. */
  tokenize(rows: readonly IndexedTexts[]): Token[][] {
    const connection = this.#connection;
    if (!this.#isReady) {
      connection.exec(`CREATE VIRTUAL TABLE IF NOT EXISTS temp.scratch USING fts5(
        content, tags, parts, tokenize='porter unicode61 remove_diacritics 2', detail=full)`);
      connection.exec(
        `CREATE VIRTUAL TABLE IF NOT EXISTS temp.scratch_words USING fts5vocab('temp', 'scratch', 'instance')`,
      );
      this.#isReady = true;
    }
    connection.exec('BEGIN');
    try {
      connection
        .prepare(
          `INSERT INTO temp.scratch (rowid, content, tags, parts)
            SELECT key, value ->> 'content', value ->> 'tags', value ->> 'parts' FROM json_each(?)`,
        )
        .run(JSON.stringify(rows));
      const found = readJson(
        connection,
        `SELECT CAST(json_group_array(json_array(doc, term, col, offset)) AS BLOB) AS json FROM temp.scratch_words`,
      ) as [row: number, text: string, column: Token['column'], offset: number][];
      const tokens: Token[][] = rows.map(() => []);
      for (const [row, text, column] of found.sort((a, b) => a[3] - b[3])) tokens[row]?.push({ text, column });
      return tokens;
    } finally {
      connection.exec('ROLLBACK');
    }
  }
}
