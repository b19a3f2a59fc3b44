// The table `note`: what a store remembers of itself.

import type { SetAsideRecord } from '../memory-backend.js';
import type { SqliteConnection } from './sqlite-connection.js';
import { asBytes, textOf } from './rows.js';

const SET_ASIDE = 'set-aside';

export function readNote(connection: SqliteConnection, name: string): string | undefined {
  const value = connection.prepare(`SELECT ${asBytes('value')} FROM note WHERE name = ?`).get(name)?.['value'];
  return value === undefined ? undefined : textOf(value);
}

export function writeNote(connection: SqliteConnection, name: string, value: string): void {
  connection.prepare('INSERT OR REPLACE INTO note (name, value) VALUES (?, ?)').run(name, value);
}

/** The files that were put aside for being damaged. */
export function setAsideIn(connection: SqliteConnection): SetAsideRecord[] {
  try {
    return JSON.parse(readNote(connection, SET_ASIDE) ?? '[]') as SetAsideRecord[];
  } catch {
    return []; // the note itself is damaged
  }
}

export function noteSetAside(connection: SqliteConnection, records: readonly SetAsideRecord[]): void {
  writeNote(connection, SET_ASIDE, JSON.stringify([...setAsideIn(connection), ...records]));
}
