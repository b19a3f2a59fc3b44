// The table `note`: facts about the store itself.

import type { QuarantinedFile } from '../memory-backend.js';
import type { SqliteConnection } from './sqlite-connection.js';
import { asBytes, textOf } from './rows.js';

/** The name in stored files. */
const QUARANTINED = 'set-aside';

export function readNote(connection: SqliteConnection, name: string): string | undefined {
  const value = connection.prepare(`SELECT ${asBytes('value')} FROM note WHERE name = ?`).get(name)?.['value'];
  return value === undefined ? undefined : textOf(value);
}

export function writeNote(connection: SqliteConnection, name: string, value: string): void {
  connection.prepare('INSERT OR REPLACE INTO note (name, value) VALUES (?, ?)').run(name, value);
}

/** The files that were quarantined. */
export function quarantinedFiles(connection: SqliteConnection): QuarantinedFile[] {
  try {
    return JSON.parse(readNote(connection, QUARANTINED) ?? '[]') as QuarantinedFile[];
  } catch {
    return []; // the note itself is damaged
  }
}

export function recordQuarantined(connection: SqliteConnection, record: QuarantinedFile): void {
  writeNote(connection, QUARANTINED, JSON.stringify([...quarantinedFiles(connection), record]));
}
