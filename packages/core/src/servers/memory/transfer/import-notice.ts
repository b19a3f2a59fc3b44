// The sentence that reports an import to the user.

import type { ImportReport } from './legacy-import.js';

/** How many memories were imported, existed already, and were rejected. */
export function importNotice({ source, imported, skipped, rejected, rejectedFile }: ImportReport): string {
  const parts = [`${imported} memories were imported from ${source}`];
  if (skipped > 0) parts.push(`${skipped} existed already`);
  if (rejected > 0) parts.push(`${rejected} were rejected; ${rejectedFile} has them, with the reasons`);
  return `${parts.join('; ')}.`;
}
