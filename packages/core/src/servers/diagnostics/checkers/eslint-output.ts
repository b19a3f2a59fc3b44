// eslint --format json: a list of files with their messages.
// https://eslint.org/docs/latest/use/formatters/#json

import {
  field,
  notUnderstood,
  parseJson,
  place,
  text,
  type CheckerOutput,
  type CheckerReport,
  type Found,
} from './checker-report.js';

/** Reads eslint. A message without a place, as for an ignored file, is put at the beginning of its file. */
export function parseEslint(output: CheckerOutput): CheckerReport {
  const files = parseJson(output.stdout);
  if (!Array.isArray(files)) return notUnderstood(output);
  const found: Found[] = [];
  for (const file of files as unknown[]) {
    const messages = field(file, 'messages');
    if (!Array.isArray(messages)) return notUnderstood(output);
    for (const message of messages as unknown[]) {
      const line = place(field(message, 'line'));
      const column = place(field(message, 'column'));
      const end = field(message, 'endLine');
      found.push({
        file: text(field(file, 'filePath')),
        ...{ line, column },
        end_line: end === undefined ? line : place(end),
        end_column: end === undefined ? column : place(field(message, 'endColumn')),
        severity: field(message, 'severity') === 1 ? 'warning' : 'error',
        code: text(field(message, 'ruleId')),
        source: 'eslint',
        message: text(field(message, 'message')),
      });
    }
  }
  return { found, said: [], filesChecked: files.length, understood: files.length > 0 };
}
