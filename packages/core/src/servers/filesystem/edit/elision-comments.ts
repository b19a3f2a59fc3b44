// Detects comments such as "... rest of code" in place of code that a model omitted. Written to a file they would delete it.

import { ToolError } from '../../../contract/errors.js';

const COMMENT_START = String.raw`(?://+|#+|--|;+|%+|/\*+|<!--|\{/\*|"""|''')`;
const OMITTED = String.raw`(?:the\s+)?(?:rest|remaining|remainder|existing|unchanged|previous|other|same|omitted)\b`;
const DOTS = String.raw`(?:\.{3}|…)`;

/** `// ... rest of code`, `# ... existing code ...`, `/* rest of the file unchanged ...`, `<!-- ... same as before -->` */
const PLACEHOLDER = new RegExp(
  `^\\s*${COMMENT_START}\\s*\\(?\\[?(?:${DOTS}\\s*${OMITTED}.*|${OMITTED}[^.…]{0,80}${DOTS}.{0,12}|${DOTS}\\s*\\(?\\w[^.…]{0,40}\\b(?:unchanged|omitted|as before)\\b.*)$`,
  'i',
);

/**
 * Rejects new text with a placeholder that the old text does not have.
 *
 * @throws {ToolError} INVALID_ARGUMENT naming the line
 */
export function assertNoPlaceholder(newText: string, oldText: string, label: string, what = 'new_string'): void {
  for (const line of newText.split('\n')) {
    // Longer lines are never placeholders.
    if (line.length > 300 || !PLACEHOLDER.test(line)) continue;
    if (oldText.includes(line.trim())) continue;
    throw new ToolError(
      'INVALID_ARGUMENT',
      `${label}${what} has the placeholder "${line.trim()}", which would be written literally. Write the code out, or replace only the part that changes.`,
    );
  }
}
