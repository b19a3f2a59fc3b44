// The sentence that reports an import to the user.

import type { ImportReport } from './legacy-import.js';

/** How many memories were imported, existed already, and were rejected. */
export function importNotice({
  source,
  imported,
  skipped,
  rejected,
  rejectedFile,
  rejectedFault,
}: ImportReport): string {
  const parts = [`${imported} memories were imported from ${source}`];
  if (skipped > 0) parts.push(`${skipped} existed already`);
  if (rejected > 0) {
    const where =
      rejectedFault === undefined
        ? `${rejectedFile} has them, with the reasons`
        : `they were not saved: ${rejectedFault}`;
    parts.push(`${rejected} were rejected; ${where}`);
  }
  return `${parts.join('; ')}.`;
}
