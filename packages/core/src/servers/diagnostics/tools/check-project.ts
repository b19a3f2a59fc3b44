// check_project: runs the project's own checker and parses its output. It runs programs of the project, so it requires
// a trusted project.

import { isAbsolute, join } from 'node:path';
import { ToolError } from '../../../contract/errors.js';
import { nearestNames } from '../../../contract/nearest-names.js';
import type { ToolOutput } from '../../../contract/result.js';
import { defineTool, type Tool, type ToolContext } from '../../../tool/define-tool.js';
import {
  countsOf,
  countsOutput,
  countWords,
  diagnosticLine,
  diagnosticOutput,
  inOrder,
  isAtLeast,
  SEVERITIES,
  type Diagnostic,
  type DiagnosticCounts,
  type FileDiagnostic,
  type FileDiagnostics,
  type Severity,
} from '../../project/diagnostic-rows.js';
import { limitText, type OutputLimits } from '../../project/output-budget.js';
import type { ProjectFiles } from '../../project/project-files.js';
import { escapeControls } from '../../project/scope/project-scope.js';
import { topNames, type Checker, type CheckerCommand } from '../checkers/checkers.js';
import { ColumnUnits } from '../checkers/column-units.js';
import { lastLines, type CheckerReport } from '../checkers/checker-report.js';
import { runChecker } from '../checkers/run-checker.js';
import { hints, objectSchema } from '../../../tool/object-schema.js';

const DEFAULT_TIMEOUT_MS = 120_000;
const MAX_TIMEOUT_MS = 3_600_000;
/** How long a checker may take to end after its timeout. */
const ENDING_MS = 10_000;
const MAX_SAID_LINES = 20;

/** Options of the tool. */
export interface CheckProjectContext {
  files: ProjectFiles;
  trust: 'untrusted' | 'trusted';
  /** The checkers, from `checkersWith`. */
  checkers: readonly Checker[];
  limits: OutputLimits;
}

const output = objectSchema(
  {
    files: {
      type: 'array',
      items: objectSchema({ path: { type: 'string' }, diagnostics: { type: 'array', items: diagnosticOutput } }),
    },
    counts: { ...countsOutput, description: 'The counts of all diagnostics, including those without a file.' },
    complete: {
      type: 'boolean',
      description: 'Whether the checker has checked everything. If false, an empty list does not mean clean.',
    },
    truncated: { type: 'boolean', description: 'Whether there are more than limit.' },
    checker: { type: 'string' },
    command: { type: 'string' },
    exit_code: { type: ['integer', 'null'], description: 'Null when the checker was ended.' },
    timed_out: { type: 'boolean' },
    others: { type: 'array', items: { type: 'string' }, description: 'Other checkers that fit the project.' },
  },
  {
    files_checked: { type: 'integer' },
    outside: { type: 'integer', description: 'The number of diagnostics in files outside the project.' },
    said: {
      type: 'array',
      items: { type: 'string' },
      description: 'Output of the checker that does not belong to a file.',
    },
  },
);

interface Facts {
  files: FileDiagnostics[];
  counts: DiagnosticCounts;
  complete: boolean;
  truncated: boolean;
  checker: string;
  command: string;
  exit_code: number | null;
  timed_out: boolean;
  files_checked?: number;
  outside?: number;
  said?: string[];
  others: string[];
}

interface Arguments {
  checker: string;
  severity: Severity;
  limit: number;
  timeout_ms: number;
}

/** The tool `check_project`. */
export function checkProjectTool(context: CheckProjectContext): Tool {
  const names = context.checkers.map(({ name }) => name);
  return defineTool({
    name: 'check_project',
    title: 'Check the whole project',
    description:
      `Run the project's checker (${names.join(', ')}) and return its diagnostics. "auto" selects the first that fits the project. ` +
      'Slower than diagnostics, but needs no language server.',
    input: {
      type: 'object',
      properties: {
        checker: { type: 'string', default: 'auto', description: `auto, ${names.join(', ')}.` },
        severity: {
          type: 'string',
          enum: SEVERITIES,
          default: 'warning',
          description: 'The least severity to return.',
        },
        limit: { type: 'integer', minimum: 1, maximum: 1_000, default: 100 },
        timeout_ms: { type: 'integer', minimum: 1, maximum: MAX_TIMEOUT_MS, default: DEFAULT_TIMEOUT_MS },
      },
    },
    output,
    annotations: hints('idempotent'),
    timeoutMs: MAX_TIMEOUT_MS + ENDING_MS,
    execute: (args, ctx: ToolContext) => checkProject(context, args as Arguments, ctx),
  });
}

async function checkProject(
  context: CheckProjectContext,
  args: Arguments,
  ctx: ToolContext,
): Promise<ToolOutput<Facts>> {
  const { files, trust } = context;
  if (trust !== 'trusted')
    throw new ToolError(
      'PERMISSION_DENIED',
      "check_project runs programs and configuration of the project, which requires a trusted project (the operator sets trust: 'trusted'). Use diagnostics.",
    );
  const { projectDir } = files.scope;
  const { checker, command, others } = await chooseChecker(context, args.checker);
  const run = await runChecker(command, projectDir, args.timeout_ms, ctx);
  const report: CheckerReport = run.cut
    ? { found: [], said: ['Its output was larger than 64 MiB.'], understood: false }
    : checker.parse(run);
  const { inside, outside } = await placed(files, report);
  const all = byFile(inside);
  const severe = all.map(({ path, diagnostics }) => ({
    path,
    diagnostics: diagnostics.filter(({ severity }) => isAtLeast(severity, args.severity)),
  }));
  const shown = firstOf(severe, args.limit);
  const counts = countsOf(all.flatMap(({ diagnostics }) => diagnostics));
  // A checker that failed without a diagnostic does not mean that the project is clean.
  const silentFailure = run.code !== 0 && report.found.length === 0;
  const complete = report.understood && !run.timedOut && run.code !== null && !silentFailure;
  const said = silentFailure && report.said.length === 0 ? lastLines(run.stderr || run.stdout) : report.said;
  const line = [command.command, ...command.args]
    .map((word) => (/\s/.test(word) ? JSON.stringify(word) : word))
    .join(' ');
  const structuredContent: Facts = {
    files: shown.files,
    counts,
    complete,
    truncated: shown.truncated,
    checker: checker.name,
    command: escapeControls(line),
    exit_code: run.code,
    timed_out: run.timedOut,
    ...(report.filesChecked !== undefined && { files_checked: report.filesChecked }),
    ...(outside > 0 && { outside }),
    ...(said.length > 0 && { said: said.slice(0, MAX_SAID_LINES).map(escapeControls) }),
    others,
  };
  const rows = shown.files.flatMap(({ path, diagnostics }) => diagnostics.map((each) => diagnosticLine(path, each)));
  const head = complete
    ? `${checker.name}: ${countWords(counts)}.`
    : `${checker.name} did not check the whole project; found so far: ${countWords(counts)}.`;
  const notes = [
    ...said.slice(0, MAX_SAID_LINES).map((each) => `[output of ${checker.name}] ${escapeControls(each)}`),
    ...(shown.truncated ? [`[More than ${args.limit}. Fix these first, or raise limit.]`] : []),
    ...(outside > 0 ? [`[${outside} more are in files outside the project.]`] : []),
    ...(others.length > 0 ? [`[Other checkers that fit: ${others.join(', ')}.]`] : []),
  ];
  const text = limitText(rows.join('\n'), context.limits, (more) => `[${more} more lines are not shown.]`);
  const content = [{ type: 'text' as const, text: [head, ...(text === '' ? [] : [text]), ...notes].join('\n') }];
  if (!run.timedOut) return { content, structuredContent };
  const error = new ToolError(
    'TIMED_OUT',
    `${checker.name} was ended after ${args.timeout_ms} ms. Raise timeout_ms, or use diagnostics for the files that matter.`,
  );
  return { content, structuredContent, isError: true, error };
}

interface Chosen {
  checker: Checker;
  command: CheckerCommand;
  others: string[];
}

async function chooseChecker({ files, checkers }: CheckProjectContext, name: string): Promise<Chosen> {
  const { projectDir } = files.scope;
  const names = await topNames(projectDir);
  const fitting = checkers.filter((checker) => checker.applies(names));
  if (name !== 'auto') {
    const checker = checkers.find((each) => each.name === name);
    if (!checker) {
      const near = nearestNames(
        name,
        checkers.map((each) => each.name),
      ).join(', ');
      throw new ToolError('INVALID_ARGUMENT', `Unknown checker ${JSON.stringify(name)}; valid checkers: ${near}.`);
    }
    const command = await checker.find(projectDir);
    if (!command)
      throw new ToolError(
        'UNAVAILABLE',
        `${name} is not installed in the project or on the PATH. To install it: ${checker.hint}.`,
      );
    return { checker, command, others: fitting.map((each) => each.name).filter((each) => each !== name) };
  }
  for (const checker of fitting) {
    const command = await checker.find(projectDir);
    if (command) {
      const others = fitting.filter((each) => each !== checker).map((each) => each.name);
      return { checker, command, others };
    }
  }
  const missing = fitting.map((each) => `${each.name} (${each.hint})`).join('; ');
  throw new ToolError(
    'UNAVAILABLE',
    fitting.length > 0
      ? `The project's checkers are not installed: ${missing}.`
      : `No checker fits the project: its top directory has no configuration of ${checkers.map((each) => each.name).join(', ')}. Set checker to run one.`,
  );
}

/** Makes paths relative to the project; diagnostics of outside files are only counted. */
async function placed(
  files: ProjectFiles,
  { found }: CheckerReport,
): Promise<{ inside: FileDiagnostic[]; outside: number }> {
  const { scope } = files;
  const units = new ColumnUnits(files);
  const inside: FileDiagnostic[] = [];
  for (const each of found) {
    const place = scope.find(isAbsolute(each.file) ? each.file : join(scope.projectDir, each.file));
    if (!place) continue;
    const { line, end_line, severity, code, source, message } = each;
    const columns = await units.inUtf16(each, place.shown);
    inside.push({ path: place.shown, line, end_line, ...columns, severity, code, source, message });
  }
  return { inside, outside: found.length - inside.length };
}

function byFile(diagnostics: readonly FileDiagnostic[]): FileDiagnostics[] {
  const files = new Map<string, Diagnostic[]>();
  for (const { path, ...diagnostic } of diagnostics) {
    const list = files.get(path) ?? [];
    list.push(diagnostic);
    files.set(path, list);
  }
  return [...files]
    .map(([path, list]) => ({ path, diagnostics: inOrder(list) }))
    .sort((a, b) => (a.path < b.path ? -1 : 1));
}

function firstOf(files: readonly FileDiagnostics[], limit: number): { files: FileDiagnostics[]; truncated: boolean } {
  const shown: FileDiagnostics[] = [];
  let left = limit;
  for (const { path, diagnostics } of files) {
    if (diagnostics.length === 0) continue;
    if (left === 0) return { files: shown, truncated: true };
    const some = diagnostics.slice(0, left);
    shown.push({ path, diagnostics: some });
    left -= some.length;
    if (some.length < diagnostics.length) return { files: shown, truncated: true };
  }
  return { files: shown, truncated: false };
}
