// A memory filter as an SQL condition.

import type { MemoryFilter } from '../memory-backend.js';
import type { SqliteConnection, SqlValue } from './sqlite-connection.js';
import { foldTag } from './rows.js';

/** If at most this many memories have the tags, they are looked up by tag. */
const FEW_TAGGED = 2_000;

/** The condition for undeleted memories that pass the filter. */
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
    // If many memories have a tag, walking them in the query's order soon finds enough.
    conditions.push(
      Number(few) === 1
        ? `memory.place IN (SELECT place FROM tag WHERE ${having})`
        : `EXISTS (SELECT 1 FROM tag WHERE tag.place = memory.place AND ${having})`,
    );
    values.push(names);
  }
  return { sql: conditions.join(' AND '), values };
}
