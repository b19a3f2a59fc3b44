// diagnostics: lists the diagnostics of a file, a directory or the project, and whether they are complete.

import { defineTool, type Tool } from '../../../tool/define-tool.js';
import {
  countsOf,
  countsOutput,
  countWords,
  diagnosticLine,
  diagnosticOutput,
  isAtLeast,
  SEVERITIES,
  type Diagnostic,
  type FileDiagnostics,
  type Severity,
} from '../../project/diagnostic-rows.js';
import { limitText } from '../../project/output-budget.js';
import { escapeControls } from '../../project/scope/project-scope.js';
import { checkPath, type NotChecked } from '../files/check-path.js';
import { requestedPath, claimPath, type RequestedPath, type DiagnosticsContext } from '../diagnostics-context.js';
import { GivenAnswers, KnownDiagnostics } from '../files/known-diagnostics.js';
import { serverOutput } from '../lsp/server-rows.js';
import { hints, objectSchema } from '../../../tool/object-schema.js';

const MAX_WAIT_MS = 120_000;
const PENDING_SHOWN = 20;
/** The limit of the rows of one result, in bytes. */
const MAX_ROW_BYTES = 256 * 1024;

const input = objectSchema(
  {},
  {
    path: { type: 'string', default: 'all', description: 'A file, a directory, or "all" for the project.' },
    severity: { type: 'string', enum: SEVERITIES, default: 'warning', description: 'The least severity to list.' },
    since: { type: 'string', description: 'The token of an earlier result: only new diagnostics are listed.' },
    wait_ms: {
      type: 'integer',
      minimum: 0,
      maximum: MAX_WAIT_MS,
      default: 5_000,
      description: 'How long to wait for servers that have not reported everything.',
    },
    limit: {
      type: 'integer',
      minimum: 1,
      maximum: 1_000,
      default: 100,
    },
  },
);

const output = objectSchema(
  {
    files: {
      type: 'array',
      items: objectSchema({ path: { type: 'string' }, diagnostics: { type: 'array', items: diagnosticOutput } }),
    },
    counts: { ...countsOutput, description: 'The counts of all diagnostics found, listed or not.' },
    checked: { type: 'integer', description: 'The number of files checked completely.' },
    complete: { type: 'boolean', description: 'If false, a file without diagnostics may have some.' },
    pending: {
      type: 'array',
      description: 'Files that are not checked completely, and why; the first 20.',
      items: objectSchema({ path: { type: 'string' }, reason: { type: 'string' } }),
    },
    pending_count: { type: 'integer' },
    servers: { type: 'array', items: serverOutput },
    truncated: { type: 'boolean' },
    token: { type: 'string', description: 'For since.' },
  },
  {
    not_checked: {
      type: 'array',
      description: 'Kinds of files without a server, which do not count as pending.',
      items: objectSchema({ extension: { type: 'string' }, count: { type: 'integer' }, hint: { type: 'string' } }),
    },
    withheld: { type: 'integer', description: 'The number of files that the policy leaves out; absent if none.' },
  },
);

/** The tool `diagnostics`. */
export function diagnosticsTool(context: DiagnosticsContext): Tool {
  const given = new GivenAnswers();
  return defineTool({
    name: 'diagnostics',
    title: 'Diagnostics',
    description:
      'List errors and warnings of a file, a directory or the whole project, according to their language servers. ' +
      'Lines and columns count from 1. If complete is true, files that are not listed have none; otherwise pending says ' +
      'what is not known yet, and a later call returns the rest.',
    input,
    output,
    annotations: hints('readOnly', 'idempotent'),
    permission: ({ path }) => claimPath(context, path, 'checks it'),
    async execute({ path, severity, since, wait_ms: waitMs, limit }, ctx) {
      const known = since === undefined ? undefined : given.get(since);
      const requested = await requestedPath(context, path);
      const result = await checkPath(context, requested, {
        waitMs,
        signal: ctx.signal,
        permits: ctx.permits,
        onChecked: (progress, total) => ctx.progress({ progress, total, message: 'checking files' }),
      });
      const { answers, servers, withheld, notChecked } = result;
      const shownOf = (absolute: string): string => context.files.scope.find(absolute)?.shown ?? absolute;
      const token = given.keep(
        new Map(answers.map((each) => [each.absolute, new KnownDiagnostics(each.diagnostics, each.text ?? '')])),
      );
      const listed = answers.map((answer): FileDiagnostics => {
        const before = known?.get(answer.absolute);
        const fresh = before?.newOnes(answer.diagnostics, answer.text ?? '') ?? answer.diagnostics;
        return {
          path: shownOf(answer.absolute),
          diagnostics: fresh.filter((each) => isAtLeast(each.severity, severity)),
        };
      });
      const { files, isCut } = limited(listed, limit);
      const pending = answers.filter((answer) => answer.pending !== undefined);
      const counts = countsOf(answers.flatMap((answer) => answer.diagnostics));
      const complete = pending.length === 0;
      const rows = pending
        .slice(0, PENDING_SHOWN)
        .map((each) => ({ path: shownOf(each.absolute), reason: each.pending ?? '' }));
      const text = answerText({
        files,
        isCut,
        severity,
        checked: answers.length - pending.length,
        total: answers.length,
        requested,
        isSince: known !== undefined,
        unknownToken: since !== undefined && !known,
        complete,
        pending: rows,
        pendingCount: pending.length,
        notChecked,
        counts: countWords(counts),
        withheld,
      });
      const more = (lines: number): string => `[${lines} more lines. Request less.]`;
      return {
        content: [{ type: 'text', text: limitText(text, context.limits, more) }],
        structuredContent: {
          files,
          counts,
          checked: answers.length - pending.length,
          complete,
          pending: rows,
          pending_count: pending.length,
          ...(notChecked.length > 0 && { not_checked: notChecked }),
          servers,
          ...(withheld > 0 && { withheld }),
          truncated: isCut,
          token,
        },
      };
    },
  });
}

function limited(files: readonly FileDiagnostics[], limit: number): { files: FileDiagnostics[]; isCut: boolean } {
  const kept: FileDiagnostics[] = [];
  let [left, bytes] = [limit, MAX_ROW_BYTES];
  for (const { path, diagnostics } of files) {
    const own: Diagnostic[] = [];
    for (const each of diagnostics) {
      bytes -= Buffer.byteLength(each.message) + 150;
      if (left === 0 || bytes < 0) {
        if (own.length > 0) kept.push({ path, diagnostics: own });
        return { files: kept, isCut: true };
      }
      own.push(each);
      left--;
    }
    if (own.length > 0) kept.push({ path, diagnostics: own });
  }
  return { files: kept, isCut: false };
}

interface AnswerWords {
  files: readonly FileDiagnostics[];
  isCut: boolean;
  severity: Severity;
  checked: number;
  total: number;
  requested: RequestedPath;
  isSince: boolean;
  unknownToken: boolean;
  complete: boolean;
  pending: readonly { path: string; reason: string }[];
  pendingCount: number;
  notChecked: readonly NotChecked[];
  counts: string;
  withheld: number;
}

function answerText(words: AnswerWords): string {
  const { files, complete, severity, isSince, checked, total, requested, pending, pendingCount, notChecked } = words;
  const lines = files.flatMap(({ path, diagnostics }) => diagnostics.map((each) => diagnosticLine(path, each)));
  const where = requested.isDirectory
    ? `${checked} ${checked === 1 ? 'file' : 'files'}`
    : escapeControls(requested.shown);
  const what = `${isSince ? 'new ' : ''}diagnostics of severity ${severity}${severity === 'error' ? '' : ' or worse'}`;
  if (total === 0) lines.push(`No file in ${escapeControls(requested.shown)} has a supported language.`);
  else if (complete) lines.push(lines.length === 0 ? `No ${what} in ${where}. Everything was checked.` : '');
  else lines.push(`NOT COMPLETE: ${pendingCount} of ${total} files are not checked yet; they may have diagnostics.`);
  if (total > 0) lines.push(`Total: ${words.counts}.`);
  for (const { path, reason } of pending) lines.push(`pending ${escapeControls(path)}: ${reason}`);
  if (pendingCount > pending.length) lines.push(`[${pendingCount - pending.length} more are pending.]`);
  for (const { extension, count, hint } of notChecked)
    lines.push(`Not checked: ${count} ${escapeControls(extension)} ${count === 1 ? 'file' : 'files'}. ${hint}`);
  if (words.unknownToken) lines.push('The token in since has expired, so everything is listed.');
  if (words.withheld > 0) lines.push(`The policy leaves out ${words.withheld} files.`);
  if (words.isCut) lines.push('[There is more. Raise limit, or request less.]');
  return lines.filter((line) => line !== '').join('\n');
}
