// What can be read of a damaged file, row by row, each proven by the digest of its content.

import type { SqliteConnection, SqlRow } from './sqlite-connection.js';
import { BATCH, MemoryRows, rowsAfter } from './memory-rows.js';
import { digestOf, recordOf } from './rows.js';

/**
 * So many places in a row that cannot be read are tried one by one, behind which the steps grow. No number of the file
 * itself is believed: it is damaged, and whoever made it so may have meant to keep a reader busy.
 */
const SINGLE_STEPS = 2_000;

/** Takes over what can be read of a damaged file. Gives how many memories that were. */
export function recover(from: SqliteConnection, into: SqliteConnection): number {
  const rows = new MemoryRows(into);
  let recovered = 0;
  const take = (row: SqlRow): void => {
    const record = recordOf(row);
    if (!isWhole(row) || record.deletedMs !== null || rows.byId(record.id)) return;
    const { key } = record;
    rows.insert({ ...record, key: key !== null && rows.byKey(key) ? null : key }, record.updatedMs);
    recovered++;
  };
  let barren = 0; // how many places in a row could not be read
  for (let place = 0; ;) {
    const batch = readable(() => rowsAfter(from, place));
    batch?.forEach(take);
    if (batch?.length === 0) return recovered;
    if (batch) {
      place = Number(batch.at(-1)?.['place']);
      barren = 0;
      continue;
    }
    // Around the pages that cannot be read.
    for (const end = place + BATCH; place < end; place++) {
      const row = readable(() => rowsAfter(from, place, place + 1));
      row?.forEach(take);
      barren = row ? 0 : barren + 1;
    }
    if (barren < SINGLE_STEPS) continue;
    const next = endOfDamage(from, place);
    if (next === undefined) return recovered;
    place = next;
    barren = 0;
  }
}

/** The first place behind one that cannot be read, by steps that double and, where one can be read, halve again. */
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

/** False for a row that came out of a damaged page as something else: its content has another digest. */
function isWhole({ id, content, category, importance, created_ms: createdMs, digest }: SqlRow): boolean {
  return (
    [id, content, category].every((text) => typeof text === 'string' && text !== '') &&
    [importance, createdMs].every((number) => typeof number === 'number') &&
    digest instanceof Uint8Array &&
    Buffer.compare(digest, digestOf(String(content))) === 0
  );
}

/** Undefined where the file is damaged. */
function readable<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined; // the file is put aside for just this
  }
}
