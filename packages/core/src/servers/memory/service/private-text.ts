// What a memory must not contain: passages marked as private, and likely secrets.

import { ToolError } from '../../../contract/errors.js';
import { redactSecrets } from '../../project/secret-shapes.js';
import { isWellFormed, wellFormed } from './plain-text.js';

/** What to do with a content that contains a likely secret. */
export type SecretRule = 'redact' | 'refuse';

const MARK = /<\s{0,9}(\/?)\s{0,9}private\b[^<>]{0,200}>/gi;

/** The text without `<private>…</private>`, which may be nested; without its closing tag, it extends to the end. */
export function withoutPrivate(text: string): string {
  let rest = '';
  let depth = 0;
  let from = 0;
  for (const mark of text.matchAll(MARK)) {
    if (depth === 0) rest += text.slice(from, mark.index);
    depth = mark[1] === '/' ? Math.max(0, depth - 1) : depth + 1;
    from = mark.index + mark[0].length;
  }
  return depth === 0 ? rest + text.slice(from) : rest;
}

/** A content as it may be stored, and a notice of what was redacted. */
export function storableContent(given: string, rule: SecretRule): { content: string; notice: string | undefined } {
  const text = wellFormed(given).replaceAll('\0', '\u{fffd}'); // SQLite text ends at a NUL
  const visible = withoutPrivate(text).trim();
  if (visible === '') {
    const why = given.trim() === '' ? '' : ' Everything in it is inside <private>.';
    throw new ToolError('INVALID_ARGUMENT', `Content is required and cannot be empty.${why}`.replace(/\.$/, ''));
  }
  const { text: redacted, kinds } = redactSecrets(visible);
  if (kinds.length === 0) return { content: visible, notice: undefined };
  const what = kinds.join(', ');
  if (rule === 'refuse') {
    throw new ToolError(
      'INVALID_ARGUMENT',
      `content contains a likely secret (${what}) and was not stored. Remove it, or say where it can be found.`,
      { details: { field: 'content', secrets: kinds } },
    );
  }
  return { content: redacted, notice: `A likely secret was redacted before the content was stored (${what}).` };
}

/** @throws {ToolError} INVALID_ARGUMENT when a field contains a likely secret, a private passage, NUL or a lone surrogate */
export function assertStorable(field: string, value: string | null | undefined): void {
  if (value === null || value === undefined) return;
  if (value.includes('\0') || !isWellFormed(value))
    throw new ToolError('INVALID_ARGUMENT', `${field} contains a NUL character or a lone surrogate. Remove it.`);
  const { kinds } = redactSecrets(value);
  if (kinds.length === 0 && withoutPrivate(value) === value) return;
  throw new ToolError(
    'INVALID_ARGUMENT',
    `${field} contains a likely secret or a private passage; the memory was not stored. Remove it.`,
    { details: { field } },
  );
}
