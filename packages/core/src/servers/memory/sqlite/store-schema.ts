// The tables of a store and their migrations. A file is accepted only if it has our application ID and exactly these objects, as a
// repository may contain a database with malicious triggers.

import { asBytes, textOf } from './rows.js';
import type { SqliteConnection } from './sqlite-connection.js';

/** The `application_id` of memory files: "twms". https://www.sqlite.org/pragma.html#pragma_application_id */
const APPLICATION_ID = 0x74776d73;

/**
 * One step for each version; a published step never changes. `user_version` is the number of completed steps.
 *
 * - `memory.place` is the row number that the other tables refer to, never reused; `digest` is that of the folded content.
 * - `words` contains only the index, no text. `parts` are the pieces of identifiers that its tokenizer does not split.
 *   `word_count` is no longer used.
 * - `vector` has what a search reads, `vector_floats` what only the best candidates need.
 * - `gone` has the IDs of permanently deleted memories, so that no import restores them and other processes notice.
 * - `counter` has one row: the last sequence number, and the number of memories.
 */
const STEPS: readonly (readonly string[])[] = [
  [
    `CREATE TABLE memory (
      place INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, content TEXT NOT NULL, category TEXT NOT NULL,
      tags TEXT NOT NULL, importance INTEGER NOT NULL, documentation_path TEXT, upsert_key TEXT, project TEXT,
      digest BLOB NOT NULL, created_ms INTEGER NOT NULL, updated_ms INTEGER NOT NULL, rev INTEGER NOT NULL,
      deleted_ms INTEGER, seq INTEGER NOT NULL)`,
    `CREATE UNIQUE INDEX memory_by_key ON memory (upsert_key) WHERE upsert_key IS NOT NULL AND deleted_ms IS NULL`,
    `CREATE INDEX memory_by_digest ON memory (digest) WHERE deleted_ms IS NULL`,
    `CREATE INDEX memory_by_created ON memory (created_ms, id) WHERE deleted_ms IS NULL`,
    `CREATE INDEX memory_by_updated ON memory (updated_ms, id) WHERE deleted_ms IS NULL`,
    `CREATE INDEX memory_by_importance ON memory (importance, id) WHERE deleted_ms IS NULL`,
    `CREATE INDEX memory_by_category ON memory (category, created_ms, id) WHERE deleted_ms IS NULL`,
    `CREATE INDEX memory_by_seq ON memory (seq)`,
    `CREATE TABLE tag (name TEXT NOT NULL, place INTEGER NOT NULL, PRIMARY KEY (name, place)) WITHOUT ROWID`,
    `CREATE INDEX tag_by_place ON tag (place)`,
    `CREATE TABLE version (
      place INTEGER NOT NULL, rev INTEGER NOT NULL, operation TEXT NOT NULL, at_ms INTEGER NOT NULL, before TEXT NOT NULL,
      PRIMARY KEY (place, rev)) WITHOUT ROWID`,
    `CREATE TABLE gone (id TEXT PRIMARY KEY, seq INTEGER NOT NULL) WITHOUT ROWID`,
    `CREATE INDEX gone_by_seq ON gone (seq)`,
    `CREATE TABLE vector (
      place INTEGER NOT NULL, embedder TEXT NOT NULL, scale REAL NOT NULL, codes BLOB NOT NULL, seq INTEGER NOT NULL,
      PRIMARY KEY (embedder, place))`,
    `CREATE INDEX vector_by_seq ON vector (embedder, seq)`,
    `CREATE INDEX vector_by_place ON vector (place)`,
    `CREATE TABLE vector_floats (
      place INTEGER NOT NULL, embedder TEXT NOT NULL, floats BLOB NOT NULL, PRIMARY KEY (embedder, place))`,
    `CREATE INDEX vector_floats_by_place ON vector_floats (place)`,
    `CREATE TABLE note (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID`,
    `CREATE TABLE counter (one INTEGER PRIMARY KEY CHECK (one = 1), seq INTEGER NOT NULL, memories INTEGER NOT NULL)`,
    `INSERT INTO counter VALUES (1, 0, 0)`,
    `CREATE VIRTUAL TABLE words USING fts5(
      content, tags, parts, content='', contentless_delete=1, tokenize='porter unicode61 remove_diacritics 2')`,
    `CREATE VIRTUAL TABLE word_count USING fts5vocab('words', 'row')`,
  ],
];

/** The version of the tables that this release writes. */
export const SCHEMA_VERSION = STEPS.length;

/** FTS5's tables for `words`. https://www.sqlite.org/fts5.html#fts5_data_structures */
const SHADOWS = ['words_data', 'words_idx', 'words_docsize', 'words_config'];

/** What a file contains: nothing, a store of some version, or something else, with the reason. */
export type FileKind = 'empty' | 'ours' | 'older' | 'newer' | { foreign: string };

/** Classifies an open file by its header and its list of objects. */
export function fileKind(connection: SqliteConnection): FileKind {
  const applicationId = Number(connection.prepare('PRAGMA application_id').get()?.['application_id']);
  const version = Number(connection.prepare('PRAGMA user_version').get()?.['user_version']);
  const objects = connection
    .prepare(`SELECT ${asBytes('name')}, ${asBytes('sql')} FROM sqlite_schema ORDER BY sqlite_schema.name`)
    .all()
    .map((row) => ({ name: textOf(row['name']), sql: textOf(row['sql']) }));
  if (applicationId === 0 && version === 0 && objects.length === 0) return 'empty';
  if (applicationId !== APPLICATION_ID) return { foreign: 'it is not a memory file of Toolwright' };
  if (version > SCHEMA_VERSION) return 'newer';
  const expected = new Map(STEPS.slice(0, version).flat().flatMap(objectOf));
  for (const { name, sql } of objects) {
    const known = expected.get(name);
    if (known === undefined ? isInternal(name) : sameSql(known, sql)) continue;
    return { foreign: `it contains an unexpected object, ${JSON.stringify(name).slice(0, 100)}` };
  }
  for (const name of expected.keys()) {
    if (!objects.some((object) => object.name === name)) return { foreign: `its object ${name} is missing` };
  }
  return version === SCHEMA_VERSION ? 'ours' : 'older';
}

/** Runs the missing steps. Call it in a transaction. */
export function migrate(connection: SqliteConnection): void {
  const done = Number(connection.prepare('PRAGMA user_version').get()?.['user_version']);
  for (const step of STEPS.slice(done)) for (const sql of step) connection.exec(sql);
  connection.exec(`PRAGMA application_id = ${APPLICATION_ID}`);
  connection.exec(`PRAGMA user_version = ${SCHEMA_VERSION}`);
}

function objectOf(sql: string): [string, string][] {
  const name = /^CREATE (?:UNIQUE )?(?:VIRTUAL )?(?:TABLE|INDEX) (\w+)/.exec(sql)?.[1];
  return name === undefined ? [] : [[name, sql]];
}

function isInternal(name: string): boolean {
  return name.startsWith('sqlite_') || SHADOWS.includes(name);
}

function sameSql(a: string, b: string): boolean {
  const bare = (sql: string): string => sql.replace(/\s+/g, ' ');
  return bare(a) === bare(b);
}
