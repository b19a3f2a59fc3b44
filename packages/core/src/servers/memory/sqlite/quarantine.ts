// Quarantines a database that cannot be read: it is renamed, never deleted or overwritten, and its readable memories are copied
// to a new one.

import { randomBytes } from 'node:crypto';
import { copyFileSync, existsSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileFailure } from '../../project/open/file-failure.js';
import type { QuarantinedFile } from '../memory-backend.js';
import { openSqlite, type SqliteDriverName } from './driver.js';
import { type SqliteConnection } from './sqlite-connection.js';
import { RepairLock } from './repair-lock.js';
import { fileKind } from './store-schema.js';
import { COMPANIONS, type StorePlace } from './store-place.js';

/** The names of quarantined databases, which sort by their time. */
const DAMAGED = /^memory\.db\.damaged-(.+)-[0-9a-f]{6}$/;

/** A database that cannot be used. */
export interface DamagedFile {
  /** Identifies it: another file with its name is not touched. */
  identity: string;
  reason: string;
}

/**
 * Creates the new database unless it exists, records there what was quarantined, and returns how many memories were recovered;
 * undefined if that file was recorded before. `from` is undefined if nothing can be read. Call `onProgress` often.
 */
export type CreateSuccessor = (
  from: SqliteConnection | undefined,
  quarantined: Omit<QuarantinedFile, 'recovered'>,
  onProgress: () => void,
) => Promise<number | undefined>;

/**
 * Renames a database and creates its successor. Returns undefined if another process has done so already. If that process was
 * killed before it had recovered the memories, this is done now.
 *
 * @param damaged undefined: only waits for another process's repair, and finishes it if necessary
 * @throws {ToolError} LOCKED when another process keeps the lock for repairs
 */
export async function quarantine(
  place: StorePlace,
  damaged: DamagedFile | undefined,
  driver: SqliteDriverName,
  createSuccessor: CreateSuccessor,
): Promise<QuarantinedFile | undefined> {
  const lock = await RepairLock.acquire(place);
  try {
    const isInPlace = damaged !== undefined && place.identity() === damaged.identity;
    const quarantined = isInPlace ? renamed(place, damaged.reason) : lastRenamed(place);
    if (!quarantined) return undefined;
    place.create();
    const recovered = await withCopy(join(place.directory, quarantined.file), driver, (from) =>
      createSuccessor(from, quarantined, () => lock.renew()),
    );
    return recovered === undefined ? undefined : { ...quarantined, recovered };
  } catch (error) {
    throw fileFailure(error, 'write', place.shown);
  } finally {
    lock.release();
  }
}

function renamed({ file }: StorePlace, reason: string): Omit<QuarantinedFile, 'recovered'> {
  const at = new Date().toISOString();
  const target = `${file}.damaged-${at.replace(/[:.]/g, '-')}-${randomBytes(3).toString('hex')}`;
  // The database last: no process creates another one before.
  for (const companion of [...COMPANIONS].reverse()) {
    if (existsSync(file + companion)) renameSync(file + companion, target + companion);
  }
  return { file: basename(target), reason, at };
}

/** The database that was renamed last: the process that did it may have been killed before it had recovered the memories. */
function lastRenamed({ directory }: StorePlace): Omit<QuarantinedFile, 'recovered'> | undefined {
  const file = readdirSync(directory)
    .filter((name) => DAMAGED.test(name))
    .sort()
    .at(-1);
  const at = file && DAMAGED.exec(file)?.[1]?.replace(/T(\d\d)-(\d\d)-(\d\d)-/, 'T$1:$2:$3.');
  return file === undefined || !at ? undefined : { file, reason: 'it is damaged: its repair was interrupted', at };
}

/** Opens a copy, as SQLite writes to the files that it opens. */
async function withCopy(
  file: string,
  driver: SqliteDriverName,
  createSuccessor: (from: SqliteConnection | undefined) => Promise<number | undefined>,
): Promise<number | undefined> {
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
