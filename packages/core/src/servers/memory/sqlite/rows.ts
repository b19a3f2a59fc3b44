// Between rows of the table `memory` and records, and what is computed of a content before it is kept.

import { createHash } from 'node:crypto';
import type { MemoryRecord, MemoryVersion } from '../backend.js';
import type { SqlRow } from './driver.js';

/** The columns of a record. */
export const COLUMNS =
  'memory.place, memory.id, content, category, tags, importance, documentation_path, upsert_key, project, created_ms, updated_ms, rev, deleted_ms, memory.seq';

export function recordOf(row: SqlRow): MemoryRecord {
  return {
    id: String(row['id']),
    content: String(row['content']),
    category: String(row['category']),
    tags: parseTags(row['tags']),
    importance: Number(row['importance']),
    documentationPath: textOrNull(row['documentation_path']),
    key: textOrNull(row['upsert_key']),
    project: textOrNull(row['project']),
    createdMs: Number(row['created_ms']),
    updatedMs: Number(row['updated_ms']),
    rev: Number(row['rev']),
    deletedMs: row['deleted_ms'] === null || row['deleted_ms'] === undefined ? null : Number(row['deleted_ms']),
    seq: Number(row['seq']),
  };
}

export function versionOf(row: SqlRow): MemoryVersion {
  return {
    before: JSON.parse(String(row['before'])) as MemoryRecord,
    operation: String(row['operation']) as MemoryVersion['operation'],
    atMs: Number(row['at_ms']),
  };
}

/** The same for contents that differ in case and white space only. */
export function digestOf(content: string): Uint8Array {
  const folded = content.normalize('NFKC').toLowerCase().replace(/\s+/g, ' ').trim();
  return createHash('sha256').update(folded).digest();
}

/** The form in which tags are compared. */
export function foldTag(tag: string): string {
  return tag.normalize('NFKC').toLowerCase();
}

function parseTags(value: SqlRow[string] | undefined): string[] {
  try {
    const tags: unknown = JSON.parse(String(value));
    return Array.isArray(tags) ? tags.filter((tag) => typeof tag === 'string') : [];
  } catch {
    return []; // of a damaged row the content is worth more
  }
}

function textOrNull(value: SqlRow[string] | undefined): string | null {
  return typeof value === 'string' ? value : null;
}
