// cargo check --message-format=json: an object a line, of which those with reason "compiler-message" are diagnostics.
// Columns are characters, from 1. https://doc.rust-lang.org/cargo/reference/external-tools.html#json-messages

import {
  field,
  lastLines,
  parseJson,
  place,
  severityOf,
  text,
  type CheckerOutput,
  type CheckerReport,
  type Found,
} from './checker-report.js';

/** Parses cargo's output. Without the final "build-finished" the output is incomplete. */
export function parseCargo({ stdout, stderr }: CheckerOutput): CheckerReport {
  const found: Found[] = [];
  let finished = false;
  for (const line of stdout.split(/\r?\n/)) {
    const record = parseJson(line);
    const reason = field(record, 'reason');
    if (reason === 'build-finished') finished = true;
    if (reason !== 'compiler-message') continue;
    const message = field(record, 'message');
    const spans = field(message, 'spans');
    const span = Array.isArray(spans)
      ? (spans as unknown[]).find((each) => field(each, 'is_primary') === true)
      : undefined;
    if (!span) continue; // messages such as "aborting due to 2 previous errors" have no location
    found.push({
      file: text(field(span, 'file_name')),
      line: place(field(span, 'line_start')),
      column: place(field(span, 'column_start')),
      end_line: place(field(span, 'line_end')),
      end_column: place(field(span, 'column_end')),
      severity: severityOf(field(message, 'level')),
      code: text(field(field(message, 'code'), 'code')),
      source: 'rustc',
      message: text(field(message, 'message')),
      columns: 'code-points',
    });
  }
  return { found, said: finished ? [] : lastLines(stderr), understood: finished };
}
