// A database that cannot be read is renamed, never deleted and never written over; what can be read of it comes back.

import { randomBytes } from 'node:crypto';
import { copyFileSync, existsSync, mkdirSync, renameSync, rmdirSync, rmSync, statSync } from 'node:fs';
import { basename } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { errnoOf, fileFailure } from '../../project/open/file-failure.js';
import type { SetAsideRecord } from '../memory-backend.js';
import { openSqlite, type SqliteDriverName } from './driver.js';
import { type SqliteConnection } from './sqlite-connection.js';
import { fileKind } from './store-schema.js';
import { COMPANIONS, type StorePlace } from './store-place.js';

/** Whoever renames has long ended then, or was killed. */
const STALE_LOCK_MS = 30_000;

/**
 * Puts a database aside and makes its successor. Undefined when another process has done so already.
 *
 * @param identity of the file that was found broken: another one under its name is left alone
 * @param succeed makes the successor, and gives how many memories it took over; it is given nothing when nothing of the
 * old one can be read
 */
export async function putAside(
  place: StorePlace,
  identity: string,
  reason: string,
  driver: SqliteDriverName,
  succeed: (from: SqliteConnection | undefined) => Promise<number>,
): Promise<SetAsideRecord | undefined> {
  const lock = `${place.file}.repair`;
  await takeLock(lock, place);
  try {
    if (place.identity() !== identity) return undefined;
    const at = new Date().toISOString();
    const aside = `${place.file}.damaged-${at.replace(/[:.]/g, '-')}-${randomBytes(3).toString('hex')}`;
    // The database last: until it is gone nobody makes another one.
    for (const companion of [...COMPANIONS].reverse()) {
      if (existsSync(place.file + companion)) renameSync(place.file + companion, aside + companion);
    }
    place.create();
    const recovered = await withCopy(aside, driver, succeed);
    return { file: basename(aside), reason, at, recovered };
  } catch (error) {
    throw fileFailure(error, 'write', place.shown);
  } finally {
    rmdirSync(lock);
  }
}

/** A copy is opened, as SQLite writes to what it opens. */
async function withCopy(
  aside: string,
  driver: SqliteDriverName,
  succeed: (from: SqliteConnection | undefined) => Promise<number>,
): Promise<number> {
  const copy = `${aside}.reading`;
  let from: SqliteConnection | undefined;
  try {
    try {
      for (const companion of ['', '-wal', '-journal'])
        if (existsSync(aside + companion)) copyFileSync(aside + companion, copy + companion);
      from = await openSqlite(copy, driver, { forRepair: true });
      from.exec('PRAGMA trusted_schema = OFF');
      from.exec('PRAGMA writable_schema = ON'); // also reads what is left of a file that was cut off
      const kind = fileKind(from);
      if (kind !== 'ours') {
        from.close();
        from = undefined;
      }
    } catch {
      from = undefined; // nothing of it can be read: it stays for a person to look at
    }
    return await succeed(from);
  } finally {
    from?.close();
    for (const companion of COMPANIONS) rmSync(copy + companion, { force: true });
  }
}

async function takeLock(lock: string, place: StorePlace): Promise<void> {
  for (;;) {
    try {
      return mkdirSync(lock, { mode: 0o700 });
    } catch (error) {
      if (errnoOf(error) !== 'EEXIST') throw fileFailure(error, 'write', place.shown);
    }
    const since = statSync(lock, { throwIfNoEntry: false })?.mtimeMs ?? 0;
    if (Date.now() - since > STALE_LOCK_MS) {
      try {
        rmdirSync(lock);
      } catch {
        // Its owner, or another one who waits, was faster.
      }
    } else await delay(20);
  }
}
