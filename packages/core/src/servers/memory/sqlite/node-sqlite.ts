// node:sqlite, which Node has since 22.13 without a flag. The types of the oldest supported Node lack it.

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

/** In a variable, as older bundlers and type checkers do not know this module. */
const MODULE = 'node:sqlite';

export function hasNodeSqlite(): boolean {
  return isBuiltin(MODULE);
}

/** @param forRepair turns off the defensive mode of Node 24, which forbids reading some damaged files */
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
 * Loads the module without Node 22's warning that it is experimental, which would appear on the host's stderr. A thread has its
 * own `process` object, so other warnings of the host are not affected.
 */
async function loadQuietly(): Promise<DatabaseSync> {
  // eslint-disable-next-line @typescript-eslint/unbound-method -- restored unchanged below
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
