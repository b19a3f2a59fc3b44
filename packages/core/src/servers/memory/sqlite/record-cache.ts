// Records as they were last read. A memory has another place in the order of changes after each change, whoever made it, so
// that a question asks only which memories at which places, and reads whole what is not known yet.

import type { MemoryRecord } from '../memory-backend.js';
import type { SqliteConnection, SqlValue } from './sqlite-connection.js';
import { readJson, readRecords } from './rows.js';

/** Characters of contents that are kept. Beyond, all are forgotten. */
const MAX_CHARS = 500_000;
/** What a record takes beside its content, counted in characters. */
const RECORD_CHARS = 200;

export class RecordCache {
  readonly #connection: SqliteConnection;
  /** By the number of the memory. */
  #records = new Map<number, MemoryRecord>();
  #chars = 0;

  constructor(connection: SqliteConnection) {
    this.#connection = connection;
  }

  /** As {@link readRecords}. The same record, as long as nothing was changed: it is not to be written to. */
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
