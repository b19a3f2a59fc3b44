// What an answer says of an import.

import type { ImportReport } from '../transfer/legacy-import.js';

/** One sentence: how many came, were there, and could not be taken. */
export function importNotice({ source, imported, skipped, rejected, rejectedFile }: ImportReport): string {
  const parts = [`${imported} memories were imported from ${source}`];
  if (skipped > 0) parts.push(`${skipped} were there already`);
  if (rejected > 0) parts.push(`${rejected} could not be taken and are, with the reasons, in ${rejectedFile}`);
  return `${parts.join('; ')}.`;
}
