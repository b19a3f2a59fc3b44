// Applies a change of a memory to all tables: its row, words, tags, versions and sequence number. Call it in a transaction.

import { randomUUID } from 'node:crypto';
import type { MemoryDraft, MemoryRecord, MemoryVersion } from '../memory-backend.js';
import { identifierParts } from '../service/words.js';
import type { SqliteConnection, SqlRow } from './sqlite-connection.js';
import { COLUMNS, digestOf, foldTag, recordOf, withTexts } from './rows.js';

/** Rows read at a time. */
export const BATCH = 500;

/** A record with its row number. */
export interface MemoryRow {
  place: number;
  record: MemoryRecord;
}

/** Versions kept of each memory; older ones are deleted. */
const MAX_VERSIONS = 100;

export class MemoryRows {
  readonly #connection: SqliteConnection;

  constructor(connection: SqliteConnection) {
    this.#connection = connection;
  }

  /** Finds deleted memories too. */
  byId(id: string): MemoryRow | undefined {
    return rowOf(this.#connection.prepare(`SELECT ${COLUMNS} FROM memory WHERE id = ?`).get(id));
  }

  byKey(key: string): MemoryRow | undefined {
    const sql = `SELECT ${COLUMNS} FROM memory WHERE upsert_key = ? AND deleted_ms IS NULL`;
    return rowOf(this.#connection.prepare(sql).get(key));
  }

  /** The oldest memory with the same content. */
  byContent(content: string): MemoryRow | undefined {
    const sql = `SELECT ${COLUMNS} FROM memory WHERE digest = ? AND deleted_ms IS NULL ORDER BY memory.place LIMIT 1`;
    return rowOf(this.#connection.prepare(sql).get(digestOf(content)));
  }

  isGone(id: string): boolean {
    return this.#connection.prepare('SELECT 1 AS found FROM gone WHERE id = ?').get(id) !== undefined;
  }

  insert(draft: MemoryDraft, nowMs: number): MemoryRecord {
    const record: MemoryRecord = {
      id: draft.id ?? randomUUID(),
      content: draft.content,
      category: draft.category,
      tags: [...draft.tags],
      importance: draft.importance,
      documentationPath: draft.documentationPath ?? null,
      key: draft.key ?? null,
      project: draft.project ?? null,
      createdMs: draft.createdMs ?? nowMs,
      updatedMs: draft.createdMs ?? nowMs,
      rev: 1,
      deletedMs: null,
      seq: this.#nextSeq(1),
    };
    const row = this.#connection
      .prepare(
        `INSERT INTO memory (id, content, category, tags, importance, documentation_path, upsert_key, project, digest,
          created_ms, updated_ms, rev, deleted_ms, seq) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 1, NULL, ?) RETURNING place`,
      )
      .get(
        record.id,
        record.content,
        record.category,
        JSON.stringify(record.tags),
        record.importance,
        record.documentationPath,
        record.key,
        record.project,
        digestOf(record.content),
        record.createdMs,
        record.updatedMs,
        record.seq,
      );
    this.#index(Number(row?.['place']), record);
    return record;
  }

  /** Changes a memory, and stores its previous version. */
  replace(
    { place, record: before }: MemoryRow,
    change: Partial<MemoryRecord>,
    operation: MemoryVersion['operation'],
    nowMs: number,
  ): MemoryRecord {
    const isRestored = before.deletedMs !== null && change.deletedMs === null;
    const isDeleted = before.deletedMs === null && typeof change.deletedMs === 'number';
    const record: MemoryRecord = {
      ...before,
      ...change,
      rev: before.rev + 1,
      updatedMs: Math.max(nowMs, before.createdMs),
      seq: this.#nextSeq(isRestored ? 1 : isDeleted ? -1 : 0),
    };
    const connection = this.#connection;
    connection
      .prepare('INSERT INTO version (place, rev, operation, at_ms, before) VALUES (?, ?, ?, ?, ?)')
      .run(place, before.rev, operation, nowMs, JSON.stringify(before));
    connection.prepare('DELETE FROM version WHERE place = ? AND rev <= ?').run(place, before.rev - MAX_VERSIONS);
    connection
      .prepare(
        `UPDATE memory SET content = ?, category = ?, tags = ?, importance = ?, documentation_path = ?, upsert_key = ?,
          digest = ?, updated_ms = ?, rev = ?, deleted_ms = ?, seq = ? WHERE place = ?`,
      )
      .run(
        record.content,
        record.category,
        JSON.stringify(record.tags),
        record.importance,
        record.documentationPath,
        record.key,
        digestOf(record.content),
        record.updatedMs,
        record.rev,
        record.deletedMs,
        record.seq,
        place,
      );
    if (record.deletedMs !== null || record.content !== before.content) this.#dropVectors(place);
    this.#unindex(place);
    if (record.deletedMs === null) this.#index(place, record);
    return record;
  }

  /** Deletes a memory permanently. Only its ID stays, so that no import restores it. */
  erase({ place, record }: MemoryRow): void {
    const seq = this.#nextSeq(record.deletedMs === null ? -1 : 0);
    this.#unindex(place);
    this.#dropVectors(place);
    this.#connection.prepare('DELETE FROM version WHERE place = ?').run(place);
    this.#connection.prepare('DELETE FROM memory WHERE place = ?').run(place);
    this.#connection.prepare('INSERT OR REPLACE INTO gone (id, seq) VALUES (?, ?)').run(record.id, seq);
  }

  /** Allows an erased ID again, for a memory that is stored under it. */
  forgetErased(id: string): void {
    this.#connection.prepare('DELETE FROM gone WHERE id = ?').run(id);
  }

  /** @param added how many memories the change adds, -1 to 1 */
  #nextSeq(added: number): number {
    const row = this.#connection
      .prepare('UPDATE counter SET seq = seq + 1, memories = memories + ? RETURNING seq')
      .get(added);
    return Number(row?.['seq']);
  }

  #index(place: number, record: MemoryRecord): void {
    const tags = record.tags.join(' ');
    const parts = identifierParts(`${record.content} ${tags}`);
    this.#connection
      .prepare('INSERT INTO words (rowid, content, tags, parts) VALUES (?, ?, ?, ?)')
      .run(place, record.content, tags, parts);
    const insert = this.#connection.prepare('INSERT OR IGNORE INTO tag (name, place) VALUES (?, ?)');
    for (const tag of record.tags) insert.run(foldTag(tag), place);
  }

  #unindex(place: number): void {
    this.#connection.prepare('DELETE FROM words WHERE rowid = ?').run(place);
    this.#connection.prepare('DELETE FROM tag WHERE place = ?').run(place);
  }

  #dropVectors(place: number): void {
    this.#connection.prepare('DELETE FROM vector WHERE place = ?').run(place);
    this.#connection.prepare('DELETE FROM vector_floats WHERE place = ?').run(place);
  }
}

function rowOf(row: SqlRow | undefined): MemoryRow | undefined {
  return row && { place: Number(row['place']), record: recordOf(row) };
}

/** A batch of undeleted memories with row numbers above `place`, up to `upTo`. */
export function rowsAfter(connection: SqliteConnection, place: number, upTo = Number.MAX_SAFE_INTEGER): SqlRow[] {
  return connection
    .prepare(
      `SELECT ${COLUMNS}, digest FROM memory WHERE deleted_ms IS NULL AND memory.place > ? AND memory.place <= ? ORDER BY memory.place LIMIT ${BATCH}`,
    )
    .all(place, upTo)
    .map(withTexts);
}
