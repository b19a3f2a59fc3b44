// What a memory must be to pass a filter, as a condition of SQL.

import type { MemoryFilter } from '../memory-backend.js';
import type { SqliteConnection, SqlValue } from './sqlite-connection.js';
import { foldTag } from './rows.js';

/** Tags that no more memories have are looked up by the tag. */
const FEW_TAGGED = 2_000;

/** Of those that are not deleted. */
export function condition(
  connection: SqliteConnection,
  { category, tags = [] }: MemoryFilter,
): { sql: string; values: SqlValue[] } {
  const conditions = ['memory.deleted_ms IS NULL'];
  const values: SqlValue[] = [];
  if (category !== undefined) {
    conditions.push('memory.category = ?');
    values.push(category);
  }
  if (tags.length > 0) {
    const names = JSON.stringify(tags.map(foldTag));
    const having = 'name IN (SELECT value FROM json_each(?))';
    const { few } = connection
      .prepare(
        `SELECT count(*) <= ${FEW_TAGGED} AS few FROM (SELECT 1 FROM tag WHERE ${having} LIMIT ${FEW_TAGGED + 1})`,
      )
      .get(names) as { few: number | bigint };
    // Those that few have are looked up; of what many have, a walk in order soon finds enough.
    conditions.push(
      Number(few) === 1
        ? `memory.place IN (SELECT place FROM tag WHERE ${having})`
        : `EXISTS (SELECT 1 FROM tag WHERE tag.place = memory.place AND ${having})`,
    );
    values.push(names);
  }
  return { sql: conditions.join(' AND '), values };
}
