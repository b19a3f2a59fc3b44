// Caches records. Every change, by any process, gives a memory a new sequence number, so a query reads only row and sequence
// numbers, and the records only if one of them is not cached.

import type { MemoryRecord } from '../memory-backend.js';
import type { SqliteConnection, SqlValue } from './sqlite-connection.js';
import { readJson, readRecords } from './rows.js';

/** The characters of contents in the cache. When they exceed this, the cache is emptied. */
const MAX_CHARS = 500_000;
/** The size of a record without its content, in characters. */
const RECORD_CHARS = 200;

export class RecordCache {
  readonly #connection: SqliteConnection;
  /** By row number. */
  #records = new Map<number, MemoryRecord>();
  #chars = 0;

  constructor(connection: SqliteConnection) {
    this.#connection = connection;
  }

  /** As {@link readRecords}. Returns the same object until the memory changes, so do not modify it. */
  read(from: string, ...values: SqlValue[]): MemoryRecord[] {
    const places = readJson(
      this.#connection,
      `SELECT CAST(json_group_array(json_array(place, seq)) AS BLOB) AS json
        FROM (SELECT CAST(memory.place AS INTEGER) AS place, CAST(memory.seq AS INTEGER) AS seq ${from})`,
      ...values,
    ) as [place: number, seq: number][];
    const known = places.flatMap(([place, seq]) => {
      const record = this.#records.get(place);
      return record?.seq === seq ? [record] : [];
    });
    if (known.length === places.length) return known;
    const read = readRecords(this.#connection, from, ...values);
    for (const { place, record } of read) this.#keep(place, record);
    return read.map(({ record }) => record);
  }

  #keep(place: number, record: MemoryRecord): void {
    const replaced = this.#records.get(place);
    if (replaced) this.#chars -= RECORD_CHARS + replaced.content.length;
    this.#chars += RECORD_CHARS + record.content.length;
    if (this.#chars > MAX_CHARS) {
      this.#records = new Map();
      this.#chars = RECORD_CHARS + record.content.length;
    }
    this.#records.set(place, record);
  }
}
