// What a caller who has seen an older version of a file is told: how it differs from the one that is there now.

import type { JsonObject } from '../../../contract/json.js';
import { ToolError } from '../../../contract/errors.js';
import { limitText } from '../output-budget.js';
import { asUtf8 } from '../open/text-encoding.js';
import { unifiedDiff } from './unified-diff.js';
import { quote } from '../scope/project-scope.js';

/** Enough for what a formatter or a colleague does to a file; more is better read as a whole. */
const DIFFERENCE_LIMITS = { maxLines: 200, maxBytes: 8 * 1024 };

/** A version of a file; without bytes where they are not known. */
export interface KnownVersion {
  etag: string;
  bytes: Buffer | undefined;
}

/**
 * The FILE_CHANGED of a file that is not what the caller has seen, with the difference where both versions are known
 * and text: at most 200 lines and 8 KiB of it.
 *
 * @param how what makes it stale, as in `"a.txt" was changed since it was read`
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
    return stale(`What it was is not kept, so the difference is not known. ${again}`, 'unknown');
  const [before, after] = [asUtf8(seen.bytes), asUtf8(now.bytes)];
  if (!before || !after) return stale(`It is not text, so the difference is not shown. ${again}`, 'unknown');
  const diff = await unifiedDiff(shown, before, after);
  if (diff.text === '') return stale(`Its text is the same, in another encoding. ${again}`, 'unknown');
  let cut = diff.omitted > 0;
  const text = limitText(diff.text, DIFFERENCE_LIMITS, (lines) => {
    cut = true;
    return `[${lines + diff.omitted} more lines of the difference]`;
  });
  return cut
    ? stale(`The difference since then begins:\n${text}\n${again}`, 'cut')
    : stale(
        `The difference since then:\n${text}\n${takesEtag ? `If the change still fits, repeat it with if_match "${now.etag}"; else read the file again.` : again}`,
        'whole',
      );
}
