// ruff check --output-format json: a list of violations. Columns are characters, from 1.
// https://docs.astral.sh/ruff/settings/#output-format

import {
  field,
  notUnderstood,
  parseJson,
  place,
  text,
  type CheckerOutput,
  type CheckerReport,
} from './checker-report.js';

/** Parses ruff's output. */
export function parseRuff(output: CheckerOutput): CheckerReport {
  const violations = parseJson(output.stdout);
  if (!Array.isArray(violations)) return notUnderstood(output);
  const found = (violations as unknown[]).map((violation) => {
    const from = field(violation, 'location');
    const to = field(violation, 'end_location') ?? from;
    const code = text(field(violation, 'code'));
    return {
      file: text(field(violation, 'filename')),
      line: place(field(from, 'row')),
      column: place(field(from, 'column')),
      end_line: place(field(to, 'row')),
      end_column: place(field(to, 'column')),
      // A rule violation is a warning; a syntax error has no code, or that of the parser.
      severity: code === '' || code === 'E999' || code === 'invalid-syntax' ? ('error' as const) : ('warning' as const),
      code,
      source: 'ruff',
      message: text(field(violation, 'message')),
      columns: 'code-points' as const,
    };
  });
  // Without Python files ruff prints a message and exits with 0.
  const checkedNothing = /No Python files found/i.test(output.stderr);
  return { found, said: checkedNothing ? ['ruff found no Python files.'] : [], understood: !checkedNothing };
}
