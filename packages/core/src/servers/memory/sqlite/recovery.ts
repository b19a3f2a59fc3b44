// Recovers memories from a damaged file, row by row. The digest of its content proves that a row is intact.

import type { SqliteConnection, SqlRow } from './sqlite-connection.js';
import { BATCH, MemoryRows, rowsAfter } from './memory-rows.js';
import { digestOf, recordOf } from './rows.js';

/**
 * After this many unreadable row numbers in a row, the steps grow. No row number in the file is trusted, as a file may be
 * damaged on purpose to keep a reader busy.
 */
const SINGLE_STEPS = 2_000;

/**
 * Copies every memory that can be read. Returns how many.
 *
 * @param onProgress called often
 */
export function recover(from: SqliteConnection, into: SqliteConnection, onProgress: () => void): number {
  const rows = new MemoryRows(into);
  let recovered = 0;
  const copy = (row: SqlRow): void => {
    const record = recordOf(row);
    if (!isIntact(row) || record.deletedMs !== null || rows.byId(record.id)) return;
    const { key } = record;
    rows.insert({ ...record, key: key !== null && rows.byKey(key) ? null : key }, record.updatedMs);
    recovered++;
  };
  let unreadable = 0; // row numbers in a row
  for (let place = 0; ;) {
    onProgress();
    const batch = readable(() => rowsAfter(from, place));
    batch?.forEach(copy);
    if (batch?.length === 0) return recovered;
    if (batch) {
      place = Number(batch.at(-1)?.['place']);
      unreadable = 0;
      continue;
    }
    // Row by row around the unreadable pages.
    for (const end = place + BATCH; place < end; place++) {
      const row = readable(() => rowsAfter(from, place, place + 1));
      row?.forEach(copy);
      unreadable = row ? 0 : unreadable + 1;
    }
    if (unreadable < SINGLE_STEPS) continue;
    const next = endOfDamage(from, place);
    if (next === undefined) return recovered;
    place = next;
    unreadable = 0;
  }
}

/** The first readable row number after an unreadable one, by doubling steps and then bisection. */
function endOfDamage(from: SqliteConnection, place: number): number | undefined {
  const isReadable = (at: number): boolean => readable(() => rowsAfter(from, at, at + 1)) !== undefined;
  let bad = place;
  let good: number | undefined;
  for (let step = 1; good === undefined; step *= 2) {
    if (place + step >= Number.MAX_SAFE_INTEGER) return undefined;
    if (isReadable(place + step)) good = place + step;
    else bad = place + step;
  }
  while (good - bad > 1) {
    const middle = Math.floor((bad + good) / 2);
    if (isReadable(middle)) good = middle;
    else bad = middle;
  }
  return good;
}

/** Whether the row's digest is that of its content, which a damaged page would not preserve. */
function isIntact({ id, content, category, importance, created_ms: createdMs, digest }: SqlRow): boolean {
  return (
    [id, content, category].every((text) => typeof text === 'string' && text !== '') &&
    [importance, createdMs].every((number) => typeof number === 'number') &&
    digest instanceof Uint8Array &&
    Buffer.compare(digest, digestOf(String(content))) === 0
  );
}

/** Undefined if the file is damaged there. */
function readable<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined; // expected: the file is damaged
  }
}
