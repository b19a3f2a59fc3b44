// Parses `file:line:column: message`, with an optional column, severity and code.

import { lastLines, severityOf, type CheckerOutput, type CheckerReport, type Found } from './checker-report.js';

const AT_PLACE =
  /^(?<file>(?:[A-Za-z]:[\\/])?[^\s:()][^:()]*?)(?::(?<line>\d+)(?::(?<column>\d+))?|\((?<line2>\d+)(?:[,:](?<column2>\d+))?\)):?\s+(?<rest>\S.*)$/;
/** Matches a time of day, which looks like a location. */
const NO_FILE = /(?:^|[\s/\\])\d+$/;
const SEVERITY =
  /^(?<severity>fatal error|error|warning|warn|note|info|information|hint)\b(?:\s*\[(?<code>[\w./-]+)\]|\s+(?<code2>[A-Z]+\d+))?\s*:?\s*(?<message>.*)$/i;

/** Parses lines of that form on both streams. Output without one is not understood. */
export function parseGeneric({ stdout, stderr }: CheckerOutput): CheckerReport {
  const found: Found[] = [];
  const rest: string[] = [];
  for (const line of `${stdout}\n${stderr}`.split(/\r?\n/)) {
    const match = AT_PLACE.exec(line)?.groups;
    if (!match || NO_FILE.test(match.file!)) {
      if (line.trim() !== '') rest.push(line);
      continue;
    }
    const how = SEVERITY.exec(match.rest!)?.groups;
    const at = {
      line: Math.max(1, Number(match.line ?? match.line2)),
      column: Math.max(1, Number(match.column ?? match.column2 ?? 1)),
    };
    found.push({
      file: match.file!,
      ...at,
      ...{ end_line: at.line, end_column: at.column },
      severity: severityOf(how?.severity),
      code: how?.code ?? how?.code2 ?? '',
      source: '',
      message: how?.message || match.rest!,
    });
  }
  return {
    found,
    said: found.length > 0 ? [] : lastLines(rest.join('\n')),
    understood: found.length > 0 || rest.length === 0,
  };
}
