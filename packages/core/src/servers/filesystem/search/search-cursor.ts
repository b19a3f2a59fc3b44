// Cursors: the position where a page ended, as a string that only the same query accepts. The position is compared with
// rows and never opened: a forged cursor can only skip rows.

import { createHash } from 'node:crypto';
import { ToolError } from '../../../contract/errors.js';

/** The last row of a page. */
export interface Position {
  /** Its path, as {@link orderKey} has it. */
  key: string;
  /** The second part of the sort key, after the path: a line number, or a time. */
  number?: number;
}

/** Part of the SHA-256; long enough to reject cursors of other queries. */
const DIGEST_BYTES = 12;
/** A path of 4,096 bytes, each a character of two, in base64. */
const MAX_CURSOR_CHARS = 16_384;

/** The argument of every tool that pages. */
export const cursorInput = {
  type: 'string',
  minLength: 1,
  maxLength: MAX_CURSOR_CHARS,
  description: 'Of the previous result, to continue it. Repeat the other arguments.',
} as const;

/** The output of every tool that pages. */
export const cursorOutput = {
  type: 'string',
  description: 'Pass it as cursor for the next rows; absent at the end.',
} as const;

/** @param question everything that determines the rows and their order */
export function writeCursor(question: unknown, { key, number }: Position): string {
  const text = JSON.stringify(number === undefined ? [key] : [key, number]);
  return Buffer.concat([digest(question, text), Buffer.from(text)]).toString('base64url');
}

/** @throws {ToolError} INVALID_ARGUMENT for a cursor of another search, or a changed one */
export function readCursor(question: unknown, cursor: string | undefined): Position | undefined {
  if (cursor === undefined) return undefined;
  const bytes = Buffer.from(cursor, 'base64url');
  const text = bytes.toString('utf8', DIGEST_BYTES);
  const isOurs = bytes.length > DIGEST_BYTES && bytes.subarray(0, DIGEST_BYTES).equals(digest(question, text));
  const position = isOurs ? parse(text) : undefined;
  if (Array.isArray(position)) {
    const [key, number] = position as unknown[];
    if (typeof key === 'string' && (number === undefined || typeof number === 'number'))
      return number === undefined ? { key } : { key, number };
  }
  throw new ToolError(
    'INVALID_ARGUMENT',
    'The cursor does not belong to this search. Pass it unchanged with the same arguments, or start again without a cursor.',
  );
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // its digest is not ours
  }
}

function digest(question: unknown, text: string): Buffer {
  const hash = createHash('sha256').update(JSON.stringify(question)).update('\0').update(text);
  return hash.digest().subarray(0, DIGEST_BYTES);
}
