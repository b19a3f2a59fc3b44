// Stores the vectors of memories, and reads them in the order of changes.

import type { MemoryRecord, MemoryVector, VectorCodes } from '../memory-backend.js';
import type { SqliteConnection } from './sqlite-connection.js';
import { COLUMNS, recordOf, textOf } from './rows.js';

export function pendingVectors(connection: SqliteConnection, embedder: string, limit: number): MemoryRecord[] {
  return connection
    .prepare(
      `SELECT ${COLUMNS} FROM memory WHERE deleted_ms IS NULL
        AND NOT EXISTS (SELECT 1 FROM vector WHERE vector.embedder = ? AND vector.place = memory.place)
        ORDER BY memory.place DESC LIMIT ?`,
    )
    .all(embedder, limit)
    .map(recordOf);
}

/** Call it in a transaction. */
export function setVectors(connection: SqliteConnection, embedder: string, vectors: readonly MemoryVector[]): number {
  const find = connection.prepare('SELECT place FROM memory WHERE id = ? AND rev = ? AND deleted_ms IS NULL');
  const next = connection.prepare('UPDATE counter SET seq = seq + 1 RETURNING seq');
  const codes = connection.prepare(
    'INSERT OR REPLACE INTO vector (place, embedder, scale, codes, seq) VALUES (?, ?, ?, ?, ?)',
  );
  const floats = connection.prepare('INSERT OR REPLACE INTO vector_floats (place, embedder, floats) VALUES (?, ?, ?)');
  let stored = 0;
  for (const vector of vectors) {
    const place = find.get(vector.id, vector.rev)?.['place'];
    if (place === undefined) continue;
    const seq = Number(next.get()?.['seq']);
    codes.run(Number(place), embedder, vector.scale, bytesOf(vector.codes), seq);
    floats.run(Number(place), embedder, bytesOf(vector.floats));
    stored++;
  }
  return stored;
}

export function vectorsSince(
  connection: SqliteConnection,
  embedder: string,
  seq: number,
  limit: number,
): VectorCodes[] {
  return connection
    .prepare(
      `SELECT CAST(memory.id AS BLOB) AS id, CAST(vector.scale AS REAL) AS scale, CAST(vector.codes AS BLOB) AS codes, CAST(vector.seq AS INTEGER) AS seq FROM vector JOIN memory ON memory.place = vector.place
        WHERE vector.embedder = ? AND vector.seq > ? ORDER BY vector.seq LIMIT ?`,
    )
    .all(embedder, seq, limit)
    .map((row) => {
      const codes = row['codes'] as Uint8Array;
      return {
        id: textOf(row['id']),
        scale: Number(row['scale']),
        codes: new Int8Array(codes.buffer, codes.byteOffset, codes.byteLength),
        seq: Number(row['seq']),
      };
    });
}

export function vectorFloats(
  connection: SqliteConnection,
  embedder: string,
  ids: readonly string[],
): Map<string, Float32Array> {
  // CROSS JOIN fixes the order of a join; otherwise SQLite would scan all vectors. One blob, as libsql takes ten times as long for
  // separate rows.
  const row = connection
    .prepare(
      `SELECT CAST(json_group_array(json_array(CAST(memory.id AS TEXT), length(CAST(floats AS BLOB)))) AS BLOB) AS found,
        CAST(group_concat(CAST(floats AS TEXT), '') AS BLOB) AS floats FROM json_each(?) AS each
        CROSS JOIN memory ON memory.id = each.value
        CROSS JOIN vector_floats ON vector_floats.place = memory.place AND vector_floats.embedder = ?`,
    )
    .get(JSON.stringify(ids), embedder);
  const bytes = row?.['floats'];
  const vectors = new Map<string, Float32Array>();
  if (!(bytes instanceof Uint8Array)) return vectors; // none
  let start = 0;
  for (const [id, length] of JSON.parse(textOf(row?.['found'])) as [string, number][]) {
    // Copied, as a Float32Array must start at a multiple of four.
    if (length % 4 === 0)
      vectors.set(id, new Float32Array(Uint8Array.from(bytes.subarray(start, start + length)).buffer));
    start += length;
  }
  return vectors;
}

function bytesOf(array: Int8Array | Float32Array): Uint8Array {
  return new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
}
