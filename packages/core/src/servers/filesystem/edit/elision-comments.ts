// Recognises a comment that stands for code the model left out. Written into a file it would delete that code.

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
 * Refuses new text with a placeholder that the old text does not have.
 *
 * @throws {ToolError} INVALID_ARGUMENT naming the line
 */
export function assertNoPlaceholder(newText: string, oldText: string, label: string, what = 'new_string'): void {
  for (const line of newText.split('\n')) {
    // A line longer than this is no placeholder, and need not be searched for one.
    if (line.length > 300 || !PLACEHOLDER.test(line)) continue;
    if (oldText.includes(line.trim())) continue;
    throw new ToolError(
      'INVALID_ARGUMENT',
      `${label}${what} has the placeholder "${line.trim()}", which would be written as it stands. Write the code out, or replace only the part that changes.`,
    );
  }
}
