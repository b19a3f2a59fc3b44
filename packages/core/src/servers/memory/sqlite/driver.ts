// Chooses the SQLite library: the one built into Node if it exists, else the prebuilt libsql.

import { ToolError } from '../../../contract/errors.js';
import { openLibsql } from './libsql.js';
import { hasNodeSqlite, openNodeSqlite } from './node-sqlite.js';
import { SqliteError, type SqliteConnection } from './sqlite-connection.js';

export type SqliteDriverName = 'node:sqlite' | 'libsql';

/** The driver for this version of Node. */
export function driverName(): SqliteDriverName {
  return hasNodeSqlite() ? 'node:sqlite' : 'libsql';
}

/**
 * Opens a database file, and creates it if it is missing.
 *
 * @throws {ToolError} UNAVAILABLE when no SQLite library can be loaded, {@link SqliteError} for errors of the file
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
      `The memory server needs SQLite, but ${driver} cannot be loaded: ${cause instanceof Error ? cause.message : String(cause)}. Use Node 22.13 or later, or install the package libsql.`,
      { cause, retryable: false },
    );
  }
}
