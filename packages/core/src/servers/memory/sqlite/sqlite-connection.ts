// The interface that every SQLite library is adapted to.

export type SqlValue = string | number | null | Uint8Array;

/** Columns by name. Blobs are `Uint8Array`s. */
export type SqlRow = Record<string, string | number | null | Uint8Array>;
export interface SqliteStatement {
  all(...values: SqlValue[]): SqlRow[];
  get(...values: SqlValue[]): SqlRow | undefined;
  /** Returns the number of changed rows. */
  run(...values: SqlValue[]): number;
}

/** An open file. Its methods throw {@link SqliteError}s. */
export interface SqliteConnection {
  exec(sql: string): void;
  /** Compiles a statement, once for each text. */
  prepare(sql: string): SqliteStatement;
  close(): void;
}

/** An error of SQLite, with its primary result code. https://www.sqlite.org/rescode.html */
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
