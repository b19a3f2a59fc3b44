// pyright --outputjson: diagnostics with ranges from 0.
// https://microsoft.github.io/pyright/#/command-line?id=json-output

import {
  field,
  notUnderstood,
  parseJson,
  severityOf,
  text,
  type CheckerOutput,
  type CheckerReport,
} from './checker-report.js';

/** Parses pyright's output. A run without any file has checked nothing, so it is not understood. */
export function parsePyright(output: CheckerOutput): CheckerReport {
  const report = parseJson(output.stdout);
  const diagnostics = field(report, 'generalDiagnostics');
  const analysed = field(field(report, 'summary'), 'filesAnalyzed');
  if (!Array.isArray(diagnostics) || typeof analysed !== 'number') return notUnderstood(output);
  const found = (diagnostics as unknown[]).map((diagnostic) => {
    const range = field(diagnostic, 'range');
    const [from, to] = [field(range, 'start'), field(range, 'end') ?? field(range, 'start')];
    return {
      file: text(field(diagnostic, 'file')),
      line: fromZero(field(from, 'line')),
      column: fromZero(field(from, 'character')),
      end_line: fromZero(field(to, 'line')),
      end_column: fromZero(field(to, 'character')),
      severity: severityOf(field(diagnostic, 'severity')),
      code: text(field(diagnostic, 'rule')),
      source: 'pyright',
      message: text(field(diagnostic, 'message')),
    };
  });
  return {
    found,
    said: analysed === 0 ? ['pyright found no source files.'] : [],
    filesChecked: analysed,
    understood: analysed > 0,
  };
}

function fromZero(value: unknown): number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value + 1 : 1;
}
