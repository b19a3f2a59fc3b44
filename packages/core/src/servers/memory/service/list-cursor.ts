// Cursors of `list`: the position of the last memory of a page, bound to the query by a digest. They hold no secret: a forged
// cursor can only skip memories.

import { createHash } from 'node:crypto';
import { ToolError } from '../../../contract/errors.js';
import type { ListPosition, MemoryRecord, MemorySort } from '../memory-backend.js';

const DIGEST_BYTES = 9;

/** The value by which a memory is sorted. */
export function sortValue({ createdMs, updatedMs, importance }: MemoryRecord, sort: MemorySort): number {
  return sort === 'created' ? createdMs : sort === 'updated' ? updatedMs : importance;
}

/** @param query what determines the memories and their order */
export function writeCursor(query: unknown, { value, id }: ListPosition): string {
  const text = JSON.stringify([value, id]);
  return Buffer.concat([digest(query, text), Buffer.from(text)]).toString('base64url');
}

/** @throws {ToolError} INVALID_ARGUMENT when the cursor belongs to another query or was changed */
export function readCursor(query: unknown, cursor: string | undefined): ListPosition | undefined {
  if (cursor === undefined) return undefined;
  const bytes = Buffer.from(cursor, 'base64url');
  const text = bytes.toString('utf8', DIGEST_BYTES);
  if (bytes.length > DIGEST_BYTES && bytes.subarray(0, DIGEST_BYTES).equals(digest(query, text))) {
    const position = parse(text);
    if (Array.isArray(position) && typeof position[0] === 'number' && typeof position[1] === 'string')
      return { value: position[0], id: position[1] };
  }
  throw new ToolError(
    'INVALID_ARGUMENT',
    'cursor does not belong to this query. Pass it unchanged, with the same scope, category, tags and sort, or omit it to start over.',
  );
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // a forged cursor with a valid digest
  }
}

function digest(query: unknown, text: string): Buffer {
  const hash = createHash('sha256').update(JSON.stringify(query)).update('\0').update(text);
  return hash.digest().subarray(0, DIGEST_BYTES);
}
