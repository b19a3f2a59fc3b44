// Cursors of `list`: the place of the last memory that was given, bound to the question by a digest. They hold no secret:
// a forged one can only skip memories.

import { createHash } from 'node:crypto';
import { ToolError } from '../../../contract/errors.js';
import type { ListPosition } from '../memory-backend.js';

const DIGEST_BYTES = 9;

/** @param question what decides which memories there are, and their order */
export function writeCursor(question: unknown, { value, id }: ListPosition): string {
  const text = JSON.stringify([value, id]);
  return Buffer.concat([digest(question, text), Buffer.from(text)]).toString('base64url');
}

/** @throws {ToolError} INVALID_ARGUMENT for a cursor of another question, or one that was changed */
export function readCursor(question: unknown, cursor: string | undefined): ListPosition | undefined {
  if (cursor === undefined) return undefined;
  const bytes = Buffer.from(cursor, 'base64url');
  const text = bytes.toString('utf8', DIGEST_BYTES);
  if (bytes.length > DIGEST_BYTES && bytes.subarray(0, DIGEST_BYTES).equals(digest(question, text))) {
    const position = parse(text);
    if (Array.isArray(position) && typeof position[0] === 'number' && typeof position[1] === 'string')
      return { value: position[0], id: position[1] };
  }
  throw new ToolError(
    'INVALID_ARGUMENT',
    'cursor is not one of this question. Give it unchanged, with the same scope, category, tags and sort, or begin again without it.',
  );
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // its digest was made by somebody else
  }
}

function digest(question: unknown, text: string): Buffer {
  const hash = createHash('sha256').update(JSON.stringify(question)).update('\0').update(text);
  return hash.digest().subarray(0, DIGEST_BYTES);
}
