// Quarantines a database that cannot be read: it is renamed, never deleted or overwritten, and its readable memories are copied
// to a new one.

import { randomBytes } from 'node:crypto';
import { copyFileSync, existsSync, lstatSync, mkdirSync, renameSync, rmdirSync, rmSync } from 'node:fs';
import { basename } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { ToolError } from '../../../contract/errors.js';
import { errnoOf, fileFailure } from '../../project/open/file-failure.js';
import type { QuarantinedFile } from '../memory-backend.js';
import { openSqlite, type SqliteDriverName } from './driver.js';
import { type SqliteConnection } from './sqlite-connection.js';
import { fileKind } from './store-schema.js';
import { COMPANIONS, type StorePlace } from './store-place.js';

/** After this time, the process that created the lock must have been killed. */
const STALE_LOCK_MS = 30_000;
/** How long to wait for the lock: longer than it takes to become stale. */
const LOCK_TIMEOUT_MS = STALE_LOCK_MS + 5_000;

/**
 * Renames a database and creates its successor. Returns undefined if another process has done so already.
 *
 * @param identity the damaged file: another file with its name is not touched
 * @param createSuccessor creates the new database, records there what was quarantined, and returns how many memories were
 *   recovered; `from` is undefined if nothing can be read
 * @throws {ToolError} LOCKED when another process keeps the lock for repairs
 */
export async function quarantine(
  place: StorePlace,
  identity: string,
  reason: string,
  driver: SqliteDriverName,
  createSuccessor: CreateSuccessor,
): Promise<QuarantinedFile | undefined> {
  const lock = `${place.file}.repair`;
  await acquireLock(lock, place);
  try {
    if (place.identity() !== identity) return undefined;
    const at = new Date().toISOString();
    const renamed = `${place.file}.damaged-${at.replace(/[:.]/g, '-')}-${randomBytes(3).toString('hex')}`;
    // The database last: no process creates another one before.
    for (const companion of [...COMPANIONS].reverse()) {
      if (existsSync(place.file + companion)) renameSync(place.file + companion, renamed + companion);
    }
    place.create();
    const quarantined = { file: basename(renamed), reason, at };
    const recovered = await withCopy(renamed, driver, (from) => createSuccessor(from, quarantined));
    return { ...quarantined, recovered };
  } catch (error) {
    throw fileFailure(error, 'write', place.shown);
  } finally {
    rmdirSync(lock);
  }
}

type CreateSuccessor = (
  from: SqliteConnection | undefined,
  quarantined: Omit<QuarantinedFile, 'recovered'>,
) => Promise<number>;

/** Opens a copy, as SQLite writes to the files that it opens. */
async function withCopy(
  file: string,
  driver: SqliteDriverName,
  createSuccessor: (from: SqliteConnection | undefined) => Promise<number>,
): Promise<number> {
  const copy = `${file}.reading`;
  let from: SqliteConnection | undefined;
  try {
    try {
      for (const companion of ['', '-wal', '-journal'])
        if (existsSync(file + companion)) copyFileSync(file + companion, copy + companion);
      from = await openSqlite(copy, driver, { forRepair: true });
      from.exec('PRAGMA trusted_schema = OFF');
      from.exec('PRAGMA writable_schema = ON'); // also reads a truncated file
      const kind = fileKind(from);
      if (kind !== 'ours') {
        from.close();
        from = undefined;
      }
    } catch {
      from = undefined; // nothing can be read; the renamed file stays for a person to inspect
    }
    return await createSuccessor(from);
  } finally {
    from?.close();
    for (const companion of COMPANIONS) rmSync(copy + companion, { force: true });
  }
}

async function acquireLock(lock: string, place: StorePlace): Promise<void> {
  const giveUpAt = performance.now() + LOCK_TIMEOUT_MS;
  for (;;) {
    try {
      return mkdirSync(lock, { mode: 0o700 });
    } catch (error) {
      if (errnoOf(error) !== 'EEXIST') throw fileFailure(error, 'write', place.shown);
    }
    const since = lstatSync(lock, { throwIfNoEntry: false })?.mtimeMs;
    if (since !== undefined && Date.now() - since > STALE_LOCK_MS) {
      try {
        rmdirSync(lock);
        continue;
      } catch (error) {
        if (errnoOf(error) === 'ENOENT') continue; // its owner or another waiting process has removed it
        throw lockedError(place); // not a lock of ours: it is a file, or something is in it
      }
    }
    if (performance.now() > giveUpAt) throw lockedError(place);
    await delay(20);
  }
}

function lockedError({ shown }: StorePlace): ToolError {
  return new ToolError(
    'LOCKED',
    `${shown}/memory.db is damaged and cannot be replaced while ${shown}/memory.db.repair exists. If no other process is replacing it, remove ${shown}/memory.db.repair and try again.`,
  );
}
