// One open database file. The first write creates it, a file that cannot be read is quarantined and replaced, and a file that
// another process has quarantined meanwhile is not written to.

import { setTimeout as delay } from 'node:timers/promises';
import { ToolError } from '../../../contract/errors.js';
import type { QuarantinedFile } from '../memory-backend.js';
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
import { quarantine, type DamagedFile } from './quarantine.js';
import { RepairLock } from './repair-lock.js';
import { quarantinedFiles, recordQuarantined } from './store-notes.js';
import type { StorePlace } from './store-place.js';

/** How long to wait while another process writes. */
const BUSY_TIMEOUT_MS = 10_000;
/** Files up to this size are checked completely when they are opened. */
const CHECKED_BYTES = 8 * 1024 * 1024;

/** The pages of the write-ahead log before it is checkpointed; fewer if the disk is nearly full. */
const LOG_PAGES = 1_000;
const MIN_LOG_PAGES = 16;
/** The log's part of the free space: without room in the database, the log could never be checkpointed. */
const LOG_PART = 1 / 8;
const PAGE_BYTES = 4_096;
/** After so many damaged files in a row, something other than the files is wrong. */
const MAX_REPLACED = 3;

export interface StoreFileOptions {
  place: StorePlace;
  driver: SqliteDriverName;
  /** `'normal'`: a power failure may lose the last writes; a killed process loses none. */
  durability: 'normal' | 'full';
  /** Copies the memories of a quarantined file into its successor, before that is used. Returns how many. */
  recover: (from: SqliteConnection, into: SqliteConnection, onProgress: () => void) => number;
  /** Called after a file was quarantined. */
  onQuarantine: (record: QuarantinedFile) => void;
}

interface OpenFile {
  connection: SqliteConnection;
  identity: string;
}

export class StoreFile {
  readonly #options: StoreFileOptions;
  #open: OpenFile | undefined;
  #verified: OpenFile | undefined;
  #opening: Promise<OpenFile | undefined> | undefined;

  constructor(options: StoreFileOptions) {
    this.#options = options;
  }

  /** Runs an action that only reads. Returns undefined if the file does not exist. */
  async read<T>(action: (connection: SqliteConnection) => T): Promise<T | undefined> {
    for (let tries = 0; ; tries++) {
      const open = await this.#connect(false);
      if (!open) return undefined;
      try {
        return action(open.connection);
      } catch (error) {
        await this.#quarantineOrThrow(error, open, tries);
      }
    }
  }

  /** Runs an action in a transaction, and again in the new file if the file was quarantined meanwhile. */
  async write<T>(action: (connection: SqliteConnection) => T): Promise<T> {
    let madeRoom = false;
    for (let tries = 0; ; tries++) {
      const open = await this.#connect(true);
      if (!open) throw new ToolError('INTERNAL', 'The store was not created.');
      try {
        const result = inTransaction(open.connection, () => action(open.connection));
        if (tries >= MAX_REPLACED || this.#isInPlace(open)) return result;
      } catch (error) {
        if (!madeRoom && this.#isNoSpace(error) && emptyLog(open.connection)) {
          madeRoom = true;
          continue;
        }
        await this.#quarantineOrThrow(error, open, tries);
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

  /** For reading: checks only once per turn of the event loop, as one call may read many times. */
  #wasInPlace(open: OpenFile): boolean {
    if (this.#verified === open) return true;
    if (!this.#isInPlace(open)) return false;
    this.#verified = open;
    setImmediate(() => (this.#verified = undefined));
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
      // The file is empty until the memories of the damaged one are recovered.
      if (RepairLock.isHeld(place)) {
        await this.#repair(undefined);
        continue;
      }
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
        if (fault !== undefined) await this.#quarantine(identity, fault, ++replaced);
      } catch (error) {
        connection?.close();
        if (ToolError.isInstance(error)) throw error;
        const reason = brokenReason(error);
        if (reason !== undefined) await this.#quarantine(identity, reason, ++replaced);
        // Creating a file and recovering after a crash lock it briefly, which busy_timeout does not cover.
        else if (isBusy(error) && performance.now() < giveUpAt) await delay(5 + Math.random() * 20);
        else throw this.#failure(error);
      }
    }
  }

  /** Returns undefined if the file is usable, else `'empty'` or the reason to quarantine it. */
  #prepare(connection: SqliteConnection, create: boolean): string | undefined {
    connection.exec(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`);
    // Views and triggers of an untrusted file may call harmless functions only.
    connection.exec('PRAGMA trusted_schema = OFF');
    connection.exec('PRAGMA cell_size_check = ON');
    connection.exec('PRAGMA temp_store = MEMORY');
    let kind = fileKind(connection);
    if (kind === 'empty' && !create) return 'empty';
    if (typeof kind === 'object') return kind.foreign;
    if (kind === 'newer') {
      throw new ToolError(
        'UNAVAILABLE',
        `${this.#options.place.shown}/memory.db was written by a newer release of Toolwright and was not changed. Update Toolwright.`,
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
    if (kind === 'ours')
      return connection.prepare('SELECT one FROM counter').get() ? undefined : 'it is damaged: its counter is missing';
    return inTransaction(connection, () => {
      kind = fileKind(connection); // another process may have been first
      if (typeof kind === 'object') return kind.foreign;
      if (kind === 'empty' || kind === 'older') migrate(connection);
      return undefined;
    });
  }

  async #quarantineOrThrow(error: unknown, { identity }: OpenFile, tries: number): Promise<void> {
    const reason = brokenReason(error);
    if (reason === undefined) throw this.#failure(error);
    this.close();
    await this.#quarantine(identity, reason, tries + 1);
  }

  async #quarantine(identity: string, reason: string, times: number): Promise<void> {
    const { place } = this.#options;
    if (times > MAX_REPLACED) {
      throw new ToolError(
        'EXECUTION_FAILED',
        `${place.shown}/memory.db cannot be read (${reason}), and neither can the files created instead. Check the disk, and move the file away.`,
      );
    }
    await this.#repair({ identity, reason });
  }

  /** @param damaged undefined: waits for the repair of another process, or finishes that of a killed one */
  async #repair(damaged: DamagedFile | undefined): Promise<void> {
    const { place, driver, recover, onQuarantine } = this.#options;
    const record = await quarantine(place, damaged, driver, async (from, quarantined, onProgress) => {
      const successor = await openSqlite(place.file, driver);
      try {
        const fault = this.#prepare(successor, true);
        if (fault !== undefined) throw new Error(fault);
        return inTransaction(successor, () => {
          if (quarantinedFiles(successor).some(({ file }) => file === quarantined.file)) return undefined;
          const recovered = from ? recover(from, successor, onProgress) : 0;
          recordQuarantined(successor, { ...quarantined, recovered });
          return recovered;
        });
      } finally {
        successor.close();
      }
    });
    if (record) onQuarantine(record);
  }

  #logPages(): number {
    const free = this.#options.place.freeBytes();
    return Math.max(MIN_LOG_PAGES, Math.min(LOG_PAGES, Math.floor((free * LOG_PART) / PAGE_BYTES)));
  }

  /** SQLite reports a full disk as such, but an exceeded quota or full shared memory as an I/O error. */
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
        `The disk or the quota is full: ${because}. This call changed nothing. Free some space and try again.`,
        { cause: error },
      );
    switch (error.result) {
      case SQLITE_BUSY:
      case SQLITE_LOCKED:
        return new ToolError('LOCKED', `Another process has locked the file for over 10 s: ${because}. Try again.`, {
          cause: error,
        });
      case SQLITE_READONLY:
      case SQLITE_CANTOPEN:
        return new ToolError('PERMISSION_DENIED', `Permission denied: cannot write ${because}.`, { cause: error });
      case SQLITE_IOERR:
        return new ToolError('EXECUTION_FAILED', `The disk failed: ${because}. This call changed nothing.`, {
          cause: error,
        });
      default:
        return new ToolError('INTERNAL', `SQLite failed: ${because}.`, { cause: error });
    }
  }
}

/** Runs an action in a transaction that locks out other writers. */
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
      // SQLite has rolled back already; the first error says why.
    }
    throw error;
  }
}

/**
 * Checkpoints and truncates the log, and keeps it short from then on. Returns false if there is no space for that either, or
 * another process is reading.
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
  // FTS5 reports a damaged table of settings as an error of the statement.
  if (error.result === SQLITE_CORRUPT || error.message.includes('invalid fts5 file format'))
    return `it is damaged: ${error.message}`;
  return error.result === SQLITE_NOTADB ? 'it is not a database' : undefined;
}

function isBusy(error: unknown): boolean {
  return error instanceof SqliteError && (error.result === SQLITE_BUSY || error.result === SQLITE_LOCKED);
}
