// Counts the content of a store, and checks its file.

import type { BackendStats } from '../memory-backend.js';
import type { SqliteConnection } from './sqlite-connection.js';
import { asBytes, textOf } from './rows.js';

/** @param check whether to read the whole file and check its integrity */
export function countsOf(connection: SqliteConnection, check: boolean): Omit<BackendStats, 'engine' | 'quarantined'> {
  const counter = connection.prepare('SELECT seq, memories FROM counter').get();
  const count = (sql: string): Record<string, number> =>
    Object.fromEntries(
      connection
        .prepare(sql)
        .all()
        .map((row) => [textOf(row['name']), Number(row['count'])] as const),
    );
  return {
    memories: Number(counter?.['memories']),
    deleted: Number(
      connection.prepare('SELECT count(*) AS count FROM memory WHERE deleted_ms IS NOT NULL').get()?.['count'],
    ),
    byCategory: count(
      `SELECT ${asBytes('category', 'name')}, count(*) AS count FROM memory WHERE deleted_ms IS NULL GROUP BY category`,
    ),
    vectors: count(`SELECT ${asBytes('embedder', 'name')}, count(*) AS count FROM vector GROUP BY embedder`),
    seq: Number(counter?.['seq']),
    bytes: pragma(connection, 'page_count') * pragma(connection, 'page_size'),
    ...(check && { integrity: integrityOf(connection) }),
  };
}

/**
 * FTS5 checks against this connection's cached structure of the index, and reports later writes of other processes as damage. A
 * search in the same transaction refreshes the cache.
 */
function integrityOf(connection: SqliteConnection): string {
  connection.exec('BEGIN');
  try {
    connection.prepare('SELECT rowid FROM words WHERE words MATCH ? LIMIT 1').all('"a"');
    return String(connection.prepare('PRAGMA integrity_check(1)').get()?.['integrity_check']);
  } finally {
    connection.exec('COMMIT');
  }
}

function pragma(connection: SqliteConnection, name: 'page_count' | 'page_size'): number {
  return Number(connection.prepare(`PRAGMA ${name}`).get()?.[name]);
}
