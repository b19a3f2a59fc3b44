// One database file, open while it is used: made by the first write, replaced when it cannot be read, and never one that
// another process has put aside meanwhile.

import { setTimeout as delay } from 'node:timers/promises';
import { ToolError } from '../../../contract/errors.js';
import type { SetAsideRecord } from '../memory-backend.js';
import { openSqlite, type SqliteDriverName } from './driver.js';
import {
  SQLITE_BUSY,
  SQLITE_CANTOPEN,
  SQLITE_CORRUPT,
  SQLITE_FULL,
  SQLITE_IOERR,
  SQLITE_LOCKED,
  SQLITE_NOTADB,
  SQLITE_READONLY,
  type SqliteConnection,
  SqliteError,
} from './sqlite-connection.js';
import { fileKind, migrate } from './store-schema.js';
import { putAside } from './quarantine.js';
import type { StorePlace } from './store-place.js';

/** When another process writes, this one waits as long. */
const BUSY_TIMEOUT_MS = 10_000;
/** Smaller files are checked whole when they are opened; larger ones by what is read of them. */
const CHECKED_BYTES = 8 * 1024 * 1024;

/** The log grows to so many pages before its content moves into the database, or to less where the disk is small. */
const LOG_PAGES = 1_000;
const MIN_LOG_PAGES = 16;
/** Of what is free the log takes this part at most: the database needs room as well, or the log could never be emptied. */
const LOG_PART = 1 / 8;
const PAGE_BYTES = 4_096;
/** A file that is put aside again and again is no accident. */
const MAX_REPLACED = 3;

export interface StoreFileOptions {
  place: StorePlace;
  driver: SqliteDriverName;
  /** `'normal'` may lose the last writes when the power fails; a process that dies loses none. */
  durability: 'normal' | 'full';
  /** Brings memories of a file that was put aside into its successor, before anybody uses that. Gives how many. */
  recover: (from: SqliteConnection, into: SqliteConnection) => number;
  /** Told when a file was put aside. */
  onSetAside: (record: SetAsideRecord) => void;
}

interface OpenFile {
  connection: SqliteConnection;
  identity: string;
}

export class StoreFile {
  readonly #options: StoreFileOptions;
  #open: OpenFile | undefined;
  #lookedAt: OpenFile | undefined;
  #opening: Promise<OpenFile | undefined> | undefined;

  constructor(options: StoreFileOptions) {
    this.#options = options;
  }

  /** Runs a reading action; undefined when there is no file. */
  async read<T>(action: (connection: SqliteConnection) => T): Promise<T | undefined> {
    for (let tries = 0; ; tries++) {
      const open = await this.#connect(false);
      if (!open) return undefined;
      try {
        return action(open.connection);
      } catch (error) {
        await this.#putAsideOrThrow(error, open, tries);
      }
    }
  }

  /** Runs an action as one transaction, again in the successor when the file was put aside meanwhile. */
  async write<T>(action: (connection: SqliteConnection) => T): Promise<T> {
    let madeRoom = false;
    for (let tries = 0; ; tries++) {
      const open = await this.#connect(true);
      if (!open) throw new ToolError('INTERNAL', 'A store that is to be made was not.');
      try {
        const result = inTransaction(open.connection, () => action(open.connection));
        if (tries >= MAX_REPLACED || this.#isInPlace(open)) return result;
      } catch (error) {
        if (!madeRoom && this.#isNoSpace(error) && emptyLog(open.connection)) {
          madeRoom = true;
          continue;
        }
        await this.#putAsideOrThrow(error, open, tries);
      }
    }
  }

  close(): void {
    const open = this.#open;
    this.#open = undefined;
    open?.connection.close();
  }

  async #connect(create: boolean): Promise<OpenFile | undefined> {
    for (;;) {
      const open = this.#open;
      if (open && (create ? this.#isInPlace(open) : this.#wasInPlace(open))) return open;
      this.#opening ??= this.#reopen(create).finally(() => (this.#opening = undefined));
      const opened = await this.#opening;
      if (opened || !create) return opened;
    }
  }

  #isInPlace({ identity }: OpenFile): boolean {
    return this.#options.place.currentIdentity() === identity;
  }

  /** Enough for reading: looked at once a turn of the event loop, in which one call may read many times. */
  #wasInPlace(open: OpenFile): boolean {
    if (this.#lookedAt === open) return true;
    if (!this.#isInPlace(open)) return false;
    this.#lookedAt = open;
    setImmediate(() => (this.#lookedAt = undefined));
    return true;
  }

  async #reopen(create: boolean): Promise<OpenFile | undefined> {
    this.close();
    const { place, driver } = this.#options;
    const giveUpAt = performance.now() + BUSY_TIMEOUT_MS;
    for (let replaced = 0; ;) {
      if (create) place.create();
      const identity = place.identity();
      if (identity === undefined) return undefined;
      let connection: SqliteConnection | undefined;
      try {
        connection = await openSqlite(place.file, driver);
        const fault = this.#prepare(connection, create);
        if (fault === 'empty') {
          connection.close();
          return undefined;
        }
        if (fault === undefined && place.identity() === identity) return (this.#open = { connection, identity });
        connection.close();
        if (fault !== undefined) await this.#putAside(identity, fault, ++replaced);
      } catch (error) {
        connection?.close();
        if (ToolError.isInstance(error)) throw error;
        const reason = brokenReason(error);
        if (reason !== undefined) await this.#putAside(identity, reason, ++replaced);
        // The first to open a file, or to come after a crash, holds it for a moment in a way that no timeout covers.
        else if (isBusy(error) && performance.now() < giveUpAt) await delay(5 + Math.random() * 20);
        else throw this.#failure(error);
      }
    }
  }

  /** Undefined when it is ready, else why not: `'empty'`, or a reason to put it aside. */
  #prepare(connection: SqliteConnection, create: boolean): string | undefined {
    connection.exec(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`);
    // What a stranger's file has in views and triggers gets no functions but the harmless ones.
    connection.exec('PRAGMA trusted_schema = OFF');
    connection.exec('PRAGMA cell_size_check = ON');
    connection.exec('PRAGMA temp_store = MEMORY');
    let kind = fileKind(connection);
    if (kind === 'empty' && !create) return 'empty';
    if (typeof kind === 'object') return kind.foreign;
    if (kind === 'newer') {
      throw new ToolError(
        'UNAVAILABLE',
        `${this.#options.place.shown}/memory.db was written by a newer release of Toolwright. Update this one; the file was left as it is.`,
        { retryable: false },
      );
    }
    const bytes = Number(connection.prepare('PRAGMA page_count').get()?.['page_count']) * 4096;
    if (kind !== 'empty' && bytes <= CHECKED_BYTES) {
      const found = connection.prepare('PRAGMA quick_check(1)').get()?.['quick_check'];
      if (found !== 'ok') return `it is damaged: ${String(found).slice(0, 200)}`;
    }
    connection.exec('PRAGMA journal_mode = WAL');
    connection.exec(`PRAGMA wal_autocheckpoint = ${this.#logPages()}`);
    connection.exec(`PRAGMA synchronous = ${this.#options.durability === 'full' ? 'FULL' : 'NORMAL'}`);
    if (kind === 'ours') return undefined;
    return inTransaction(connection, () => {
      kind = fileKind(connection); // another process may have been first
      if (typeof kind === 'object') return kind.foreign;
      if (kind === 'empty' || kind === 'older') migrate(connection);
      return undefined;
    });
  }

  async #putAsideOrThrow(error: unknown, { identity }: OpenFile, tries: number): Promise<void> {
    const reason = brokenReason(error);
    if (reason === undefined) throw this.#failure(error);
    this.close();
    await this.#putAside(identity, reason, tries + 1);
  }

  async #putAside(identity: string, reason: string, times: number): Promise<void> {
    const { place, driver, recover, onSetAside } = this.#options;
    if (times > MAX_REPLACED) {
      throw new ToolError(
        'EXECUTION_FAILED',
        `${place.shown}/memory.db cannot be read (${reason}), and neither can its successors. Look at the disk, and move the file away.`,
      );
    }
    const record = await putAside(place, identity, reason, driver, async (from) => {
      const successor = await openSqlite(place.file, driver);
      try {
        const fault = this.#prepare(successor, true);
        if (fault !== undefined) throw new Error(fault);
        return from ? inTransaction(successor, () => recover(from, successor)) : 0;
      } finally {
        successor.close();
      }
    });
    if (record) onSetAside(record);
  }

  #logPages(): number {
    const free = this.#options.place.freeBytes();
    return Math.max(MIN_LOG_PAGES, Math.min(LOG_PAGES, Math.floor((free * LOG_PART) / PAGE_BYTES)));
  }

  /** SQLite says so of a full disk, and calls it an error of the disk where it is a quota, or shared memory has no room. */
  #isNoSpace(error: unknown): boolean {
    if (!(error instanceof SqliteError)) return false;
    return error.result === SQLITE_FULL || (error.result === SQLITE_IOERR && this.#options.place.isFull());
  }

  #failure(error: unknown): ToolError {
    if (ToolError.isInstance(error)) return ToolError.from(error);
    const { shown } = this.#options.place;
    if (!(error instanceof SqliteError)) return ToolError.from(error, 'INTERNAL');
    const because = `${shown}/memory.db: ${error.message}`;
    if (this.#isNoSpace(error))
      return new ToolError(
        'NO_SPACE',
        `The disk or the quota has no room for ${because}. Nothing of this call was kept. Free some, and try again.`,
        { cause: error },
      );
    switch (error.result) {
      case SQLITE_BUSY:
      case SQLITE_LOCKED:
        return new ToolError('LOCKED', `Another process has held ${because}, for over 10 s. Try again.`, {
          cause: error,
        });
      case SQLITE_READONLY:
      case SQLITE_CANTOPEN:
        return new ToolError('PERMISSION_DENIED', `Permission denied: cannot write to ${because}.`, { cause: error });
      case SQLITE_IOERR:
        return new ToolError('EXECUTION_FAILED', `The disk failed at ${because}. Nothing of this call was kept.`, {
          cause: error,
        });
      default:
        return new ToolError('INTERNAL', `SQLite refused at ${because}.`, { cause: error });
    }
  }
}

/** All or nothing, and nobody else writes meanwhile. */
export function inTransaction<T>(connection: SqliteConnection, action: () => T): T {
  connection.exec('BEGIN IMMEDIATE');
  try {
    const result = action();
    connection.exec('COMMIT');
    return result;
  } catch (error) {
    try {
      connection.exec('ROLLBACK');
    } catch {
      // It was rolled back by SQLite itself; the first error says why.
    }
    throw error;
  }
}

/**
 * Moves what is in the log into the database, and gives back the room that the log took; false when there is no room for
 * that either, or somebody reads. From then on the log is kept short.
 */
function emptyLog(connection: SqliteConnection): boolean {
  try {
    connection.exec(`PRAGMA wal_autocheckpoint = ${MIN_LOG_PAGES}`);
    return Number(connection.prepare('PRAGMA wal_checkpoint(TRUNCATE)').get()?.['busy']) === 0;
  } catch {
    return false; // the caller has the error that matters
  }
}

function brokenReason(error: unknown): string | undefined {
  if (!(error instanceof SqliteError)) return undefined;
  if (error.result === SQLITE_CORRUPT) return `it is damaged: ${error.message}`;
  return error.result === SQLITE_NOTADB ? 'it is no database' : undefined;
}

function isBusy(error: unknown): boolean {
  return error instanceof SqliteError && (error.result === SQLITE_BUSY || error.result === SQLITE_LOCKED);
}
