// What a memory is not to hold: passages that were marked as private, and what reads like a secret.

import { ToolError } from '../../../contract/errors.js';
import { redactSecrets } from '../../project/secret-shapes.js';
import { isWellFormed, wellFormed } from './plain-text.js';

/** What to do with a content that holds what reads like a secret. */
export type SecretRule = 'redact' | 'refuse';

const MARK = /<\s{0,9}(\/?)\s{0,9}private\b[^<>]{0,200}>/gi;

/** The text without `<private>…</private>`, nested ones included; one that is not closed ends with the text. */
export function withoutPrivate(text: string): string {
  let kept = '';
  let depth = 0;
  let from = 0;
  for (const mark of text.matchAll(MARK)) {
    if (depth === 0) kept += text.slice(from, mark.index);
    depth = mark[1] === '/' ? Math.max(0, depth - 1) : depth + 1;
    from = mark.index + mark[0].length;
  }
  return depth === 0 ? kept + text.slice(from) : kept;
}

/** A content as it may be stored, and a notice of what was left out. */
export function storableContent(given: string, rule: SecretRule): { content: string; notice: string | undefined } {
  const whole = wellFormed(given).replaceAll('\0', '\u{fffd}'); // a database text ends at a NUL
  const open = withoutPrivate(whole).trim();
  if (open === '') {
    const why = given.trim() === '' ? '' : ' It has nothing outside of <private>.';
    throw new ToolError('INVALID_ARGUMENT', `Content is required and cannot be empty.${why}`.replace(/\.$/, ''));
  }
  const { text, kinds } = redactSecrets(open);
  if (kinds.length === 0) return { content: open, notice: undefined };
  const what = kinds.join(', ');
  if (rule === 'refuse') {
    throw new ToolError(
      'INVALID_ARGUMENT',
      `content holds what reads like a secret (${what}); it was not stored. Leave it out, or say where it is kept.`,
      { details: { field: 'content', secrets: kinds } },
    );
  }
  return { content: text, notice: `What reads like a secret was redacted before it was stored (${what}).` };
}

/** @throws {ToolError} INVALID_ARGUMENT when a short field reads like a secret, or has a NUL */
export function assertStorable(field: string, value: string | null | undefined): void {
  if (value === null || value === undefined) return;
  if (value.includes('\0') || !isWellFormed(value))
    throw new ToolError('INVALID_ARGUMENT', `${field} holds a NUL or half a surrogate pair; leave it out.`);
  const { kinds } = redactSecrets(value);
  if (kinds.length === 0 && withoutPrivate(value) === value) return;
  throw new ToolError(
    'INVALID_ARGUMENT',
    `${field} holds what reads like a secret or is marked private; it was not stored. Leave it out.`,
    { details: { field } },
  );
}
