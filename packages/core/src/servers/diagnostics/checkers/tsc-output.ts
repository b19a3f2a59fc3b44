// tsc --pretty false --listFiles: `src/a.ts(3,7): error TS2322: message`, with indented continuation lines, and the
// checked files, one absolute path a line.

import { isAbsolute } from 'node:path';
import { notUnderstood, severityOf, type CheckerOutput, type CheckerReport, type Found } from './checker-report.js';

const AT_PLACE =
  /^(?<file>.+?)\((?<line>\d+),(?<column>\d+)\): (?<severity>error|warning) TS(?<code>\d+): (?<message>.*)$/;
const OF_NO_FILE = /^(?:error|warning) TS\d+: .*$/;

/** Parses tsc's output. A run without any project file has checked nothing, so it is not understood. */
export function parseTsc(output: CheckerOutput): CheckerReport {
  const found: Found[] = [];
  const said: string[] = [];
  let filesChecked = 0;
  let last: Found | undefined;
  let strange = false;
  for (const line of output.stdout.split(/\r?\n/)) {
    const match = AT_PLACE.exec(line)?.groups;
    if (match) {
      const at = { line: Number(match.line), column: Number(match.column) };
      last = {
        file: match.file!,
        ...at,
        ...{ end_line: at.line, end_column: at.column },
        severity: severityOf(match.severity),
        code: match.code!,
        source: 'ts',
        message: match.message!,
      };
      found.push(last);
    } else if (OF_NO_FILE.test(line)) {
      said.push(line);
      last = undefined;
    } else if (/^\s+\S/.test(line) && last) last.message += `\n${line.trimEnd()}`;
    else if (isAbsolute(line)) {
      last = undefined;
      if (!/[/\\]node_modules[/\\]/.test(line)) filesChecked++;
    } else if (line.trim() !== '') strange = true;
  }
  if (found.length === 0 && said.length === 0 && (strange || filesChecked === 0)) return notUnderstood(output);
  return { found, said, filesChecked, understood: said.length === 0 && filesChecked > 0 };
}
