// Converts between rows of the table `memory` and records, and computes a content's digest.

import { createHash } from 'node:crypto';
import { isJsonObject } from '../../../contract/json.js';
import type { MemoryRecord, MemoryVersion } from '../memory-backend.js';
import type { SqliteConnection, SqlRow, SqlValue } from './sqlite-connection.js';

const TEXTS = ['id', 'content', 'category', 'tags', 'documentation_path', 'upsert_key', 'project'] as const;

const NUMBERS = ['place', 'importance', 'created_ms', 'updated_ms', 'rev', 'deleted_ms', 'seq'] as const;

/**
 * Reads a text as bytes for {@link textOf}. libsql crashes the process on text that is not valid UTF-8, which a damaged or
 * malicious file may contain.
 */
export function asBytes(expression: string, name = expression): string {
  return `CAST(${expression} AS BLOB) AS ${name}`;
}

/** The columns of a record. Numbers are cast, as any column of an untrusted file may contain text. */
export const COLUMNS = [
  ...TEXTS.map((name) => asBytes(`memory.${name}`, name)),
  ...NUMBERS.map((name) => `CAST(memory.${name} AS INTEGER) AS ${name}`),
].join(', ');

/** The columns of a version. */
export const VERSION_COLUMNS = `${asBytes('version.operation', 'operation')}, CAST(at_ms AS INTEGER) AS at_ms, ${asBytes('before')}`;

/** A row of {@link COLUMNS} with its texts decoded. */
export function withTexts(row: SqlRow): SqlRow {
  const texts = TEXTS.map((name) => [name, row[name] instanceof Uint8Array ? textOf(row[name]) : (row[name] ?? null)]);
  return { ...row, ...(Object.fromEntries(texts) as SqlRow) };
}

/** Decodes a text that was read as bytes. Invalid UTF-8 becomes U+FFFD. */
export function textOf(value: SqlRow[string] | undefined): string {
  return value instanceof Uint8Array
    ? Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString()
    : String(value);
}

/** {@link TEXTS} and {@link NUMBERS} of a row, in their order. */
type Fields = [
  ...[id: string, content: string, category: string, tags: string],
  ...[documentationPath: string | null, key: string | null, project: string | null, place: number],
  ...[importance: number, createdMs: number, updatedMs: number, rev: number, deletedMs: number | null, seq: number],
];
const AS_JSON = `SELECT CAST(json_group_array(json_array(${[...TEXTS, ...NUMBERS].join(', ')})) AS BLOB) AS json FROM (SELECT ${[
  ...TEXTS.map((name) => `CAST(memory.${name} AS TEXT) AS ${name}`),
  ...NUMBERS.map((name) => `CAST(memory.${name} AS INTEGER) AS ${name}`),
].join(', ')}`;

/**
 * Reads many records with their row numbers. `from` is the query after its columns, such as `FROM memory LIMIT 50`. SQLite
 * returns them as one JSON text, as libsql takes ten times as long for separate rows.
 */
export function readRecords(
  connection: SqliteConnection,
  from: string,
  ...values: SqlValue[]
): { place: number; record: MemoryRecord }[] {
  return (readJson(connection, `${AS_JSON} ${from})`, ...values) as Fields[]).map(
    ([
      id,
      content,
      category,
      tags,
      documentationPath,
      key,
      project,
      place,
      importance,
      createdMs,
      updatedMs,
      rev,
      deletedMs,
      seq,
    ]) => ({
      place,
      record: {
        id,
        content,
        category,
        tags: parseTags(tags),
        importance,
        documentationPath,
        key,
        project,
        createdMs,
        updatedMs,
        rev,
        deletedMs,
        seq,
      },
    }),
  );
}

/** Runs a query that returns one row with one column `json`, as bytes. */
export function readJson(connection: SqliteConnection, sql: string, ...values: SqlValue[]): unknown {
  return JSON.parse(textOf(connection.prepare(sql).get(...values)?.['json']));
}

export function recordOf(bytes: SqlRow): MemoryRecord {
  const row = withTexts(bytes);
  return {
    id: String(row['id']),
    content: String(row['content']),
    category: String(row['category']),
    tags: parseTags(row['tags']),
    importance: Number(row['importance']),
    documentationPath: textOrNull(row['documentation_path']),
    key: textOrNull(row['upsert_key']),
    project: textOrNull(row['project']),
    createdMs: Number(row['created_ms']),
    updatedMs: Number(row['updated_ms']),
    rev: Number(row['rev']),
    deletedMs: row['deleted_ms'] === null || row['deleted_ms'] === undefined ? null : Number(row['deleted_ms']),
    seq: Number(row['seq']),
  };
}

/** Undefined for a damaged row, as a version is only a text. */
export function versionOf(row: SqlRow): MemoryVersion | undefined {
  let before: unknown;
  try {
    before = JSON.parse(textOf(row['before']));
  } catch {
    return undefined;
  }
  if (!isJsonObject(before) || typeof before['content'] !== 'string') return undefined;
  return {
    before: before as unknown as MemoryRecord,
    operation: textOf(row['operation']) as MemoryVersion['operation'],
    atMs: Number(row['at_ms']),
  };
}

/** The digest of a content, ignoring case and the amount of white space. */
export function digestOf(content: string): Uint8Array {
  const folded = content.normalize('NFKC').toLowerCase().replace(/\s+/g, ' ').trim();
  return createHash('sha256').update(folded).digest();
}

/** The normal form of a tag, for comparisons. */
export function foldTag(tag: string): string {
  return tag.normalize('NFKC').toLowerCase();
}

/** Parses a memory's tags, stored as JSON. */
export function parseTags(value: SqlRow[string] | undefined): string[] {
  try {
    const tags: unknown = JSON.parse(String(value));
    return Array.isArray(tags) ? tags.filter((tag) => typeof tag === 'string') : [];
  } catch {
    return []; // a damaged row: its content is still usable
  }
}

function textOrNull(value: SqlRow[string] | undefined): string | null {
  return typeof value === 'string' ? value : null;
}
