// go vet -json: on stderr (on stdout since Go 1.25) one object per package, after a comment that names it; compile errors
// have the form `./a.go:3:5: undefined: x`. Columns are bytes, from 1. https://pkg.go.dev/cmd/vet

import { parseGeneric } from './generic-output.js';
import { field, parseJson, text, type CheckerOutput, type CheckerReport, type Found } from './checker-report.js';

const PLACE = /^(?<file>.+):(?<line>\d+):(?<column>\d+)$/;

/** Parses go vet's output. */
export function parseGo({ stdout, stderr }: CheckerOutput): CheckerReport {
  const found: Found[] = [];
  const rest: string[] = [];
  let object: string[] | undefined;
  let understood = true;
  for (const line of `${stdout}\n${stderr}`.split(/\r?\n/)) {
    if (object) object.push(line);
    else if (line.startsWith('{')) object = [line];
    else if (!line.startsWith('#')) rest.push(line.replace(/^vet: /, ''));
    if (!object || !line.endsWith('}') || /^\s/.test(line)) continue;
    const findings = findingsIn(object.join('\n'));
    if (findings) for (const finding of findings) found.push(finding);
    else understood = false;
    object = undefined;
  }
  const compiler = parseGeneric({ stdout: rest.join('\n'), stderr: '' });
  const errors = compiler.found.map((each) => ({ ...each, source: 'go', columns: 'bytes' as const }));
  const said = compiler.found.length > 0 ? [] : rest.filter((line) => line.trim() !== '' && !/^exit status/.test(line));
  return { found: [...errors, ...found], said, understood: understood && !object && said.length === 0 };
}

/** `{ package: { analyzer: [{ posn, end?, message }] } }`; an analyzer that failed has `{ error }` instead. */
function findingsIn(json: string): Found[] | undefined {
  const packages = parseJson(json);
  if (typeof packages !== 'object' || packages === null) return undefined;
  const found: Found[] = [];
  for (const analyzers of Object.values(packages) as unknown[]) {
    if (typeof analyzers !== 'object' || analyzers === null) return undefined;
    for (const [code, list] of Object.entries(analyzers)) {
      if (!Array.isArray(list)) return undefined;
      for (const finding of list as unknown[]) {
        const from = PLACE.exec(text(field(finding, 'posn')))?.groups;
        const to = PLACE.exec(text(field(finding, 'end')))?.groups ?? from;
        if (!from || !to) return undefined;
        found.push({
          file: from.file!,
          ...{ line: Number(from.line), column: Number(from.column) },
          ...{ end_line: Number(to.line), end_column: Number(to.column) },
          severity: 'warning',
          code,
          source: 'go vet',
          message: text(field(finding, 'message')),
          columns: 'bytes',
        });
      }
    }
  }
  return found;
}
