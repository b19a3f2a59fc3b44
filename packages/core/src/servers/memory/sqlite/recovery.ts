// What can be read of a damaged file, row by row, each proven by the digest of its content.

import type { SqliteConnection, SqlRow } from './driver.js';
import { BATCH, MemoryRows, rowsAfter } from './memory-rows.js';
import { digestOf, recordOf } from './rows.js';

/**
 * Behind so many places without a readable memory nothing more is looked for. No number of the file itself is believed: it
 * is damaged, and whoever made it so may have meant to keep a reader busy.
 */
const MAX_BARREN = 50_000;

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
  let barren = 0; // how many places in a row gave nothing
  for (let place = 0; barren < MAX_BARREN;) {
    const batch = readable(() => rowsAfter(from, place));
    batch?.forEach(take);
    if (batch?.length === 0) break;
    if (batch) {
      place = Number(batch.at(-1)?.['place']);
      barren = 0;
      continue;
    }
    // Around the pages that cannot be read.
    for (const end = place + BATCH; place < end; place++) {
      const row = readable(() => rowsAfter(from, place, place + 1));
      row?.forEach(take);
      barren = row && row.length > 0 ? 0 : barren + 1;
    }
  }
  return recovered;
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
