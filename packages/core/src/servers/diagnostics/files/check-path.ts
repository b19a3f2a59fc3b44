// Checks a path: finds its files, checks each, and reports those without a server.

import { basename, extname } from 'node:path';
import { inOrder, type Diagnostic } from '../../project/diagnostic-rows.js';
import { escapeControls, isInside } from '../../project/scope/project-scope.js';
import { checkFiles, type CheckedFile, type FileAnswer } from './check-files.js';
import type { RequestedPath, DiagnosticsContext } from '../diagnostics-context.js';
import type { LanguageServers } from '../lsp/language-servers.js';
import { Deadline } from '../call-deadline.js';
import { filesToCheck } from './project-files-to-check.js';
import { serverRow, type ServerRow } from '../lsp/server-rows.js';
import type { TreeSnapshot } from './source-tree.js';

/** Options of a check. */
export interface CheckOptions {
  waitMs: number;
  signal: AbortSignal;
  permits: (shown: string) => boolean;
  /** Called after each file. */
  onChecked?: (done: number, total: number) => void;
}

/** A kind of file without a server. */
export interface NotChecked {
  extension: string;
  count: number;
  hint: string;
}

/** The result for a path. */
export interface PathAnswer {
  answers: FileAnswer[];
  servers: ServerRow[];
  withheld: number;
  notChecked: NotChecked[];
}

/** Checks a file, or every file below a directory that has a language. @throws {ToolError} the caller's reason */
export async function checkPath(
  context: DiagnosticsContext,
  requested: RequestedPath,
  { waitMs, signal, permits, onChecked }: CheckOptions,
): Promise<PathAnswer> {
  const servers = context.servers();
  using deadline = new Deadline(waitMs, signal);
  let snapshot: TreeSnapshot;
  try {
    snapshot = await deadline.race(servers.lookAround(deadline.signal));
  } catch (error) {
    if (!deadline.isOver) throw error;
    const pending = 'The files of the project could not be listed in time; wait longer.';
    const answer = { absolute: requested.absolute, diagnostics: [], text: undefined, pending };
    return { answers: [answer], servers: [], withheld: 0, notChecked: [] };
  }
  const { files, unknown } = await chosenFiles(context, servers, requested, snapshot);
  const permitted = files.filter(({ absolute }) => permits(context.files.scope.find(absolute)?.shown ?? absolute));
  const answers = await checkFiles(servers, permitted, deadline, snapshot, (done) =>
    onChecked?.(done, permitted.length),
  );
  const notChecked = requested.isDirectory ? missingOptional(answers.filter((each) => isOptional(servers, each))) : [];
  const counted = answers.filter((each) => !requested.isDirectory || !isOptional(servers, each));
  const involved = new Set(permitted.map(({ language }) => language.preset.name));
  const clients = servers.clients.filter((client) => involved.has(client.launch.name));
  return {
    answers: [
      ...counted,
      ...unknown,
      ...(requested.isDirectory ? notRequested(context, servers, requested, answers) : []),
    ],
    servers: clients.map((client) => serverRow(client, context.files.scope)),
    withheld: files.length - permitted.length,
    notChecked,
  };
}

async function chosenFiles(
  { files }: DiagnosticsContext,
  servers: LanguageServers,
  requested: RequestedPath,
  snapshot: TreeSnapshot,
): Promise<{ files: CheckedFile[]; unknown: FileAnswer[] }> {
  const { absolute } = requested;
  if (requested.isDirectory) {
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
    `No language server supports ${escapeControls(kind)} files. The operator can add one with the option ` +
    'servers: [{ name, command, extensions }].';
  return { files: [], unknown: [{ absolute, diagnostics: [], text: undefined, pending }] };
}

/** True for a file without a server that compilers do not check either. */
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

/** Diagnostics of other files, such as an invalid tsconfig.json. */
function notRequested(
  { files }: DiagnosticsContext,
  servers: LanguageServers,
  requested: RequestedPath,
  answers: readonly FileAnswer[],
): FileAnswer[] {
  const known = new Set(answers.filter((each) => !each.isMissing).map(({ absolute }) => absolute));
  const found = new Map<string, Diagnostic[]>();
  for (const { running } of servers.clients) {
    for (const [absolute, { diagnostics }] of running?.pushed.all ?? []) {
      if (known.has(absolute) || !files.scope.find(absolute) || !isInside(requested.absolute, absolute)) continue;
      if (diagnostics.length > 0) found.set(absolute, inOrder([...(found.get(absolute) ?? []), ...diagnostics]));
    }
  }
  return [...found].map(([absolute, diagnostics]) => ({ absolute, diagnostics, text: '', pending: undefined }));
}
