// diagnostics: what is wrong with a file, a directory or the project, and whether that is all.

import { basename, extname } from 'node:path';
import { ToolError } from '../../errors.js';
import { defineTool, type Tool } from '../../tool.js';
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
  type FileDiagnostics,
  type Severity,
} from '../diagnostic.js';
import { limitText } from '../output-budget.js';
import { escapeControls } from '../project-scope.js';
import { checkFiles, type CheckedFile, type FileAnswer } from './check-files.js';
import { askedPath, claimPath, type AskedPath, type DiagnosticsContext } from './context.js';
import { GivenAnswers, KnownDiagnostics } from './known-diagnostics.js';
import type { LanguageServers } from './language-servers.js';
import { Patience } from './patience.js';
import { filesToCheck } from './project-files-to-check.js';
import { serverOutput, serverRow, type ServerRow } from './server-rows.js';
import type { TreeSnapshot } from './source-tree.js';

const MAX_WAIT_MS = 120_000;
const PENDING_SHOWN = 20;
/** The rows of one answer, in bytes. */
const MAX_ROW_BYTES = 256 * 1024;

const input = {
  type: 'object',
  properties: {
    path: { type: 'string', default: 'all', description: 'A file, a directory, or "all" for the project.' },
    severity: { type: 'string', enum: SEVERITIES, default: 'warning', description: 'The least that is listed.' },
    since: { type: 'string', description: 'The token of an earlier answer: only what is new since then is listed.' },
    wait_ms: {
      type: 'integer',
      minimum: 0,
      maximum: MAX_WAIT_MS,
      default: 5_000,
      description: 'How long to wait for servers that have not said everything.',
    },
    limit: { type: 'integer', minimum: 1, maximum: 1_000, default: 100, description: 'Diagnostics at most.' },
  },
} as const;

const output = {
  type: 'object',
  properties: {
    files: {
      type: 'array',
      items: {
        type: 'object',
        properties: { path: { type: 'string' }, diagnostics: { type: 'array', items: diagnosticOutput } },
        required: ['path', 'diagnostics'],
        additionalProperties: false,
      },
    },
    counts: { ...countsOutput, description: 'Of everything that was found, whatever is listed.' },
    checked: { type: 'integer', description: 'Files of which everything is known.' },
    complete: { type: 'boolean', description: 'Only when true is a file without diagnostics a file without faults.' },
    pending: {
      type: 'array',
      description: 'Files of which not everything is known, and why; the first 20.',
      items: {
        type: 'object',
        properties: { path: { type: 'string' }, reason: { type: 'string' } },
        required: ['path', 'reason'],
        additionalProperties: false,
      },
    },
    pending_count: { type: 'integer' },
    not_checked: {
      type: 'array',
      description: 'Kinds of files that have no server and do not count as pending.',
      items: {
        type: 'object',
        properties: { extension: { type: 'string' }, count: { type: 'integer' }, hint: { type: 'string' } },
        required: ['extension', 'count', 'hint'],
        additionalProperties: false,
      },
    },
    servers: { type: 'array', items: serverOutput },
    withheld: { type: 'integer', description: 'How many files the policy leaves out; absent for none.' },
    truncated: { type: 'boolean' },
    token: { type: 'string', description: 'For since.' },
  },
  required: ['files', 'counts', 'checked', 'complete', 'pending', 'pending_count', 'servers', 'truncated', 'token'],
  additionalProperties: false,
} as const;

/** The tool `diagnostics`. */
export function diagnosticsTool(context: DiagnosticsContext): Tool {
  const given = new GivenAnswers();
  return defineTool({
    name: 'diagnostics',
    title: 'Diagnostics',
    description:
      'List errors and warnings of a file, a directory or the whole project, as the language servers of its languages see them now. ' +
      'Lines and columns count from 1. Only when complete is true do files that are not listed have none; otherwise pending says ' +
      'what is not known, and asking again gives the rest.',
    input,
    output,
    annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
    permission: ({ path }) => claimPath(context, path, 'checks it'),
    async execute({ path, severity, since, wait_ms: waitMs, limit }, ctx) {
      const known = since === undefined ? undefined : given.get(since);
      const asked = await askedPath(context, path);
      const result = await checkPath(context, asked, {
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
        asked,
        isSince: known !== undefined,
        unknownToken: since !== undefined && !known,
        complete,
        pending: rows,
        pendingCount: pending.length,
        notChecked,
        counts: countWords(counts),
        withheld,
      });
      const more = (lines: number): string => `[${lines} more lines. Ask for less at once.]`;
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

/** How a path is checked. */
export interface CheckOptions {
  waitMs: number;
  signal: AbortSignal;
  permits: (shown: string) => boolean;
  /** Told of each file that was checked. */
  onChecked?: (done: number, total: number) => void;
}

/** A kind of file that was left out, as nothing is there to check it. */
export interface NotChecked {
  extension: string;
  count: number;
  hint: string;
}

/** What is known of a path. */
export interface PathAnswer {
  answers: FileAnswer[];
  servers: ServerRow[];
  withheld: number;
  notChecked: NotChecked[];
}

/** Checks a file, or every file below a directory that has a language. @throws {ToolError} the caller's reason */
export async function checkPath(
  context: DiagnosticsContext,
  asked: AskedPath,
  { waitMs, signal, permits, onChecked }: CheckOptions,
): Promise<PathAnswer> {
  const servers = context.servers();
  using patience = new Patience(waitMs, signal);
  let snapshot: TreeSnapshot;
  try {
    snapshot = await patience.race(servers.lookAround(patience.signal));
  } catch (error) {
    if (!patience.isOver) throw error;
    const pending = 'The files of the project could not be looked through in time; wait longer.';
    const answer = { absolute: asked.absolute, diagnostics: [], text: undefined, pending };
    return { answers: [answer], servers: [], withheld: 0, notChecked: [] };
  }
  const { files, unknown } = await chosenFiles(context, servers, asked, snapshot);
  const permitted = files.filter(({ absolute }) => permits(context.files.scope.find(absolute)?.shown ?? absolute));
  const answers = await checkFiles(servers, permitted, patience, snapshot, (done) =>
    onChecked?.(done, permitted.length),
  );
  const notChecked = asked.isDirectory ? missingOptional(answers.filter((each) => isOptional(servers, each))) : [];
  const counted = answers.filter((each) => !asked.isDirectory || !isOptional(servers, each));
  const involved = new Set(permitted.map(({ language }) => language.preset.name));
  const clients = servers.clients.filter((client) => involved.has(client.launch.name));
  return {
    answers: [...counted, ...unknown, ...(asked.isDirectory ? unaskedFor(context, servers, asked, answers) : [])],
    servers: clients.map((client) => serverRow(client, context.files.scope)),
    withheld: files.length - permitted.length,
    notChecked,
  };
}

async function chosenFiles(
  { files }: DiagnosticsContext,
  servers: LanguageServers,
  asked: AskedPath,
  snapshot: TreeSnapshot,
): Promise<{ files: CheckedFile[]; unknown: FileAnswer[] }> {
  const { absolute } = asked;
  if (asked.isDirectory) {
    const found = await filesToCheck(files, absolute, snapshot);
    return {
      files: found.flatMap((file) => {
        const language = servers.languageOf(file);
        return language ? [{ absolute: file, language }] : [];
      }),
      unknown: [],
    };
  }
  const language = servers.languageOf(absolute);
  if (language) return { files: [{ absolute, language }], unknown: [] };
  const kind = extname(absolute) || basename(absolute);
  const pending =
    `No language server is known for ${escapeControls(kind)} files. The operator can add one with the option ` +
    'servers: [{ name, command, extensions }].';
  return { files: [], unknown: [{ absolute, diagnostics: [], text: undefined, pending }] };
}

/** A file that has no server, and of which nobody expects that a compiler looks at it. */
function isOptional(servers: LanguageServers, { absolute, isMissing }: FileAnswer): boolean {
  return isMissing === true && servers.languageOf(absolute)?.preset.isOptional === true;
}

function missingOptional(answers: readonly FileAnswer[]): NotChecked[] {
  const rows = new Map<string, NotChecked>();
  for (const { absolute, pending = '' } of answers) {
    const extension = extname(absolute).toLowerCase();
    const row = rows.get(extension) ?? { extension, count: 0, hint: pending };
    row.count++;
    rows.set(extension, row);
  }
  return [...rows.values()];
}

/** What servers said of other files, such as a tsconfig.json that they cannot read. */
function unaskedFor(
  { files }: DiagnosticsContext,
  servers: LanguageServers,
  asked: AskedPath,
  answers: readonly FileAnswer[],
): FileAnswer[] {
  const known = new Set(answers.filter((each) => !each.isMissing).map(({ absolute }) => absolute));
  const found = new Map<string, Diagnostic[]>();
  for (const { running } of servers.clients) {
    for (const [absolute, { diagnostics }] of running?.pushed.all ?? []) {
      if (known.has(absolute) || !files.scope.find(absolute) || !isBelow(asked.absolute, absolute)) continue;
      if (diagnostics.length > 0) found.set(absolute, inOrder([...(found.get(absolute) ?? []), ...diagnostics]));
    }
  }
  return [...found].map(([absolute, diagnostics]) => ({ absolute, diagnostics, text: '', pending: undefined }));
}

function isBelow(directory: string, path: string): boolean {
  return path.startsWith(directory.endsWith('/') ? directory : `${directory}/`);
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
  asked: AskedPath;
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
  const { files, complete, severity, isSince, checked, total, asked, pending, pendingCount, notChecked } = words;
  const lines = files.flatMap(({ path, diagnostics }) => diagnostics.map((each) => diagnosticLine(path, each)));
  const where = asked.isDirectory ? `${checked} ${checked === 1 ? 'file' : 'files'}` : escapeControls(asked.shown);
  const what = `${isSince ? 'new ' : ''}diagnostics of severity ${severity}${severity === 'error' ? '' : ' or worse'}`;
  if (total === 0) lines.push(`There is no file of a known language in ${escapeControls(asked.shown)}.`);
  else if (complete) lines.push(lines.length === 0 ? `No ${what} in ${where}. Everything was checked.` : '');
  else
    lines.push(
      `NOT COMPLETE: ${pendingCount} of ${total} files are not known yet, which does not mean that they are right.`,
    );
  if (total > 0) lines.push(`Found in all: ${words.counts}.`);
  for (const { path, reason } of pending) lines.push(`pending ${escapeControls(path)}: ${reason}`);
  if (pendingCount > pending.length) lines.push(`[${pendingCount - pending.length} more are pending.]`);
  for (const { extension, count, hint } of notChecked)
    lines.push(`Not checked: ${count} ${escapeControls(extension)} ${count === 1 ? 'file' : 'files'}. ${hint}`);
  if (words.unknownToken) lines.push('The token of since is not known any more, so everything is listed.');
  if (words.withheld > 0) lines.push(`The policy leaves out ${words.withheld} files.`);
  if (words.isCut) lines.push('[There is more. Raise limit, or ask for less at once.]');
  return lines.filter((line) => line !== '').join('\n');
}

/** @throws {ToolError} NOT_CONNECTED */
export function notStarted(): never {
  throw new ToolError('NOT_CONNECTED', 'The diagnostics server is not started; connect its provider.');
}
