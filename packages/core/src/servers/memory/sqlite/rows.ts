// Between rows of the table `memory` and records, and what is computed of a content before it is kept.

import { createHash } from 'node:crypto';
import type { MemoryRecord, MemoryVersion } from '../memory-backend.js';
import type { SqliteConnection, SqlRow, SqlValue } from './sqlite-connection.js';

const TEXTS = ['id', 'content', 'category', 'tags', 'documentation_path', 'upsert_key', 'project'] as const;

const NUMBERS = ['place', 'importance', 'created_ms', 'updated_ms', 'rev', 'deleted_ms', 'seq'] as const;

/**
 * A text of a file, read as bytes for {@link textOf}: libsql ends the whole process at a text that is no UTF-8, which one
 * damaged byte of a file makes of it, or somebody who made the file for that.
 */
export function asBytes(expression: string, name = expression): string {
  return `CAST(${expression} AS BLOB) AS ${name}`;
}

/** The columns of a record. A number is read as one, as any column of a file may hold a text. */
export const COLUMNS = [
  ...TEXTS.map((name) => asBytes(`memory.${name}`, name)),
  ...NUMBERS.map((name) => `CAST(memory.${name} AS INTEGER) AS ${name}`),
].join(', ');

/** The columns of a version. */
export const VERSION_COLUMNS = `${asBytes('version.operation', 'operation')}, CAST(at_ms AS INTEGER) AS at_ms, ${asBytes('before')}`;

/** A row of {@link COLUMNS} with its texts as texts. */
export function withTexts(row: SqlRow): SqlRow {
  const texts = TEXTS.map((name) => [name, row[name] instanceof Uint8Array ? textOf(row[name]) : (row[name] ?? null)]);
  return { ...row, ...(Object.fromEntries(texts) as SqlRow) };
}

/** A text that was read as bytes. What is no UTF-8 in it becomes U+FFFD. */
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
 * Reads many records, each with the number of its memory: `from` is the query after its columns, such as
 * `FROM memory LIMIT 50`. They come as one JSON, since a row costs libsql ten times what its JSON does.
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

/** What a query gives whose one row has one column, `json`, as bytes. */
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

export function versionOf(row: SqlRow): MemoryVersion {
  return {
    before: JSON.parse(textOf(row['before'])) as MemoryRecord,
    operation: textOf(row['operation']) as MemoryVersion['operation'],
    atMs: Number(row['at_ms']),
  };
}

/** The same for contents that differ in case and white space only. */
export function digestOf(content: string): Uint8Array {
  const folded = content.normalize('NFKC').toLowerCase().replace(/\s+/g, ' ').trim();
  return createHash('sha256').update(folded).digest();
}

/** The form in which tags are compared. */
export function foldTag(tag: string): string {
  return tag.normalize('NFKC').toLowerCase();
}

/** The tags of a memory, which its column holds as JSON. */
export function parseTags(value: SqlRow[string] | undefined): string[] {
  try {
    const tags: unknown = JSON.parse(String(value));
    return Array.isArray(tags) ? tags.filter((tag) => typeof tag === 'string') : [];
  } catch {
    return []; // of a damaged row the content is worth more
  }
}

function textOrNull(value: SqlRow[string] | undefined): string | null {
  return typeof value === 'string' ? value : null;
}
