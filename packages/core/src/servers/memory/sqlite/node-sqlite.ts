// node:sqlite, which Node has from 22.13 on without a flag. Its types are not those of the oldest Node that we support.

import { isBuiltin } from 'node:module';
import {
  type SqliteConnection,
  SqliteError,
  type SqliteStatement,
  type SqlRow,
  type SqlValue,
} from './sqlite-connection.js';

interface NodeStatement {
  all(...values: SqlValue[]): SqlRow[];
  get(...values: SqlValue[]): SqlRow | undefined;
  run(...values: SqlValue[]): { changes: number | bigint };
}
interface NodeDatabase {
  exec(sql: string): void;
  prepare(sql: string): NodeStatement;
  close(): void;
}
type DatabaseSync = new (
  path: string,
  options: { timeout?: number; allowExtension: boolean; defensive?: boolean },
) => NodeDatabase;

/** In a variable, as bundlers and type checkers of older releases know no such module. */
const MODULE = 'node:sqlite';

export function hasNodeSqlite(): boolean {
  return isBuiltin(MODULE);
}

/** @param forRepair what is left of a damaged file is read, which the defensive mode of Node 24 forbids */
export async function openNodeSqlite(path: string, forRepair: boolean): Promise<SqliteConnection> {
  const Database = await loadQuietly();
  const database = attempt(() => new Database(path, { allowExtension: false, ...(forRepair && { defensive: false }) }));
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

function wrap(statement: NodeStatement): SqliteStatement {
  return {
    all: (...values) => attempt(() => statement.all(...values)),
    get: (...values) => attempt(() => statement.get(...values)),
    run: (...values) => attempt(() => Number(statement.run(...values).changes)),
  };
}

/**
 * Node 22 warns that the module is experimental, on the standard error of whoever uses this library. That one warning
 * is held back while the module is loaded; the thread has a `process` of its own, so nobody else's is.
 */
async function loadQuietly(): Promise<DatabaseSync> {
  // eslint-disable-next-line @typescript-eslint/unbound-method -- put back as it was
  const { emitWarning } = process;
  process.emitWarning = (warning: string | Error, ...rest: unknown[]) => {
    if (String(warning).includes('SQLite')) return;
    Reflect.apply(emitWarning, process, [warning, ...rest]);
  };
  try {
    return ((await import(MODULE)) as { DatabaseSync: DatabaseSync }).DatabaseSync;
  } finally {
    process.emitWarning = emitWarning;
  }
}

function attempt<T>(action: () => T): T {
  try {
    return action();
  } catch (error) {
    const { errcode, message } = error as { errcode?: unknown; message?: unknown };
    if (typeof errcode === 'number') throw new SqliteError(errcode, String(message), error);
    throw error;
  }
}
