// The error for a caller that has seen an older version of a file, with the difference from the current one.

import type { JsonObject } from '../../../contract/json.js';
import { ToolError } from '../../../contract/errors.js';
import { limitText } from '../output-budget.js';
import { asUtf8 } from '../open/text-encoding.js';
import { unifiedDiff } from './unified-diff.js';
import { quote } from '../scope/project-scope.js';

/** Enough for small changes, such as by a formatter; after larger ones the file is better read again. */
const DIFFERENCE_LIMITS = { maxLines: 200, maxBytes: 8 * 1024 };

/** A version of a file; without bytes if they are unknown. */
export interface KnownVersion {
  etag: string;
  bytes: Buffer | undefined;
}

/**
 * The FILE_CHANGED error for a file that changed since the caller saw it, with the difference if both versions are known
 * and text: at most 200 lines and 8 KiB.
 *
 * @param how why it is stale, as in `"a.txt" was changed since it was read`
 * @param takesEtag whether the caller can repeat the change with `if_match`
 */
export async function staleFile(
  shown: string,
  how: string,
  seen: KnownVersion,
  now: KnownVersion,
  takesEtag: boolean,
): Promise<ToolError> {
  const details: JsonObject = { etag: now.etag, seen_etag: seen.etag };
  const stale = (text: string, difference: 'whole' | 'cut' | 'unknown'): ToolError =>
    new ToolError('FILE_CHANGED', `${quote(shown)} ${how}. ${text}`, { details: { ...details, difference } });
  const again = 'Read it again, then repeat the change.';
  if (!seen.bytes || !now.bytes)
    return stale(`The old content was not kept, so the difference is unknown. ${again}`, 'unknown');
  const [before, after] = [asUtf8(seen.bytes), asUtf8(now.bytes)];
  if (!before || !after) return stale(`It is not text, so no difference is shown. ${again}`, 'unknown');
  const diff = await unifiedDiff(shown, before, after);
  if (diff.text === '') return stale(`Its text is the same, in a different encoding. ${again}`, 'unknown');
  let cut = diff.omitted > 0;
  const text = limitText(diff.text, DIFFERENCE_LIMITS, (lines) => {
    cut = true;
    return `[${lines + diff.omitted} more lines of the difference]`;
  });
  return cut
    ? stale(`The difference since then starts:\n${text}\n${again}`, 'cut')
    : stale(
        `The difference since then:\n${text}\n${takesEtag ? `If the change still applies, repeat it with if_match "${now.etag}"; otherwise read the file again.` : again}`,
        'whole',
      );
}
