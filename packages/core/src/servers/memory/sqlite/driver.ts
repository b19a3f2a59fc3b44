// The few things that the store needs of an SQLite library, and the choice between the two there are: Node's own where
// it has one, else the prebuilt libsql.

import { ToolError } from '../../../contract/errors.js';
import { openLibsql } from './libsql.js';
import { hasNodeSqlite, openNodeSqlite } from './node-sqlite.js';

export type SqlValue = string | number | null | Uint8Array;

/** Columns by name. Blobs are `Uint8Array`s. */
export type SqlRow = Record<string, string | number | null | Uint8Array>;

export interface SqliteStatement {
  all(...values: SqlValue[]): SqlRow[];
  get(...values: SqlValue[]): SqlRow | undefined;
  /** The number of rows that it changed. */
  run(...values: SqlValue[]): number;
}

/** An open file. Its methods throw {@link SqliteError}s. */
export interface SqliteConnection {
  exec(sql: string): void;
  /** Compiled once for each text. */
  prepare(sql: string): SqliteStatement;
  close(): void;
}

export type SqliteDriverName = 'node:sqlite' | 'libsql';

/** What SQLite said, by its primary result code. https://www.sqlite.org/rescode.html */
export class SqliteError extends Error {
  override readonly name = 'SqliteError';
  readonly result: number;

  constructor(result: number, message: string, cause: unknown) {
    super(message, { cause });
    this.result = result & 0xff;
  }
}

export const SQLITE_BUSY = 5;
export const SQLITE_LOCKED = 6;
export const SQLITE_READONLY = 8;
export const SQLITE_IOERR = 10;
export const SQLITE_CORRUPT = 11;
export const SQLITE_FULL = 13;
export const SQLITE_CANTOPEN = 14;
export const SQLITE_NOTADB = 26;

/** The driver of this run time. */
export function driverName(): SqliteDriverName {
  return hasNodeSqlite() ? 'node:sqlite' : 'libsql';
}

/**
 * Opens a database file, which is made when it is missing.
 *
 * @throws {ToolError} UNAVAILABLE when no SQLite library can be loaded, {@link SqliteError} for the file
 */
export async function openSqlite(
  path: string,
  driver: SqliteDriverName,
  { forRepair = false } = {},
): Promise<SqliteConnection> {
  try {
    return await (driver === 'node:sqlite' ? openNodeSqlite(path, forRepair) : openLibsql(path));
  } catch (cause) {
    if (cause instanceof SqliteError) throw cause;
    throw new ToolError(
      'UNAVAILABLE',
      `The memory server needs SQLite, and ${driver} cannot be loaded: ${cause instanceof Error ? cause.message : String(cause)}. Use Node 22.13 or later, or install the package libsql.`,
      { cause, retryable: false },
    );
  }
}
