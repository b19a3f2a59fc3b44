// libsql, a prebuilt SQLite without an install script, for versions of Node without one. Values are always passed as one array:
// libsql takes a single typed array for an object of named parameters, which crashes the process.

import {
  type SqliteConnection,
  SqliteError,
  type SqliteStatement,
  type SqlRow,
  type SqlValue,
} from './sqlite-connection.js';

interface LibsqlStatement {
  all(values: SqlValue[]): Record<string, unknown>[];
  get(values: SqlValue[]): Record<string, unknown> | undefined;
  run(values: SqlValue[]): { changes: number };
}
interface LibsqlDatabase {
  exec(sql: string): void;
  prepare(sql: string): LibsqlStatement;
  close(): void;
}
type Database = new (path: string) => LibsqlDatabase;

/** Result codes, for errors that have only a name. https://www.sqlite.org/rescode.html */
const RESULTS: Readonly<Record<string, number>> = {
  SQLITE_ERROR: 1,
  SQLITE_PERM: 3,
  SQLITE_BUSY: 5,
  SQLITE_LOCKED: 6,
  SQLITE_READONLY: 8,
  SQLITE_IOERR: 10,
  SQLITE_CORRUPT: 11,
  SQLITE_FULL: 13,
  SQLITE_CANTOPEN: 14,
  SQLITE_CONSTRAINT: 19,
  SQLITE_NOTADB: 26,
};

export async function openLibsql(path: string): Promise<SqliteConnection> {
  const Database = ((await import('libsql')) as unknown as { default: Database }).default;
  const database = attempt(() => new Database(path));
  const statements = new Map<string, SqliteStatement>();
  return {
    exec: (sql) => attempt(() => database.exec(sql)),
    prepare(sql) {
      let statement = statements.get(sql);
      if (!statement) statements.set(sql, (statement = wrap(attempt(() => database.prepare(sql)))));
      return statement;
    },
    close: () => attempt(() => database.close()),
  };
}

function wrap(statement: LibsqlStatement): SqliteStatement {
  return {
    all: (...values) => attempt(() => statement.all(values.map(bound))).map(plain),
    get(...values) {
      const row = attempt(() => statement.get(values.map(bound)));
      return row && plain(row);
    },
    run: (...values) => attempt(() => statement.run(values.map(bound)).changes),
  };
}

/** libsql accepts blobs as Buffers only. */
function bound(value: SqlValue): SqlValue {
  return value instanceof Uint8Array && !Buffer.isBuffer(value)
    ? Buffer.from(value.buffer, value.byteOffset, value.byteLength)
    : value;
}

/** libsql returns blobs as Buffers or ArrayBuffers, and `get` adds the duration. */
function plain(row: Record<string, unknown>): SqlRow {
  delete row['_metadata'];
  for (const name in row) {
    const value = row[name];
    if (value instanceof ArrayBuffer) row[name] = new Uint8Array(value);
  }
  return row as SqlRow;
}

function attempt<T>(action: () => T): T {
  try {
    return action();
  } catch (error) {
    const { code, rawCode, message } = error as { code?: unknown; rawCode?: unknown; message?: unknown };
    if (typeof code !== 'string') throw error;
    const named = Object.entries(RESULTS).find(([name]) => code === name || code.startsWith(`${name}_`))?.[1];
    const result = named ?? (typeof rawCode === 'number' ? rawCode : 1);
    throw new SqliteError(result, String(message), error);
  }
}
