// The errors that a change of files caused, in these files and in other open ones: the diagnostics after the change that
// were not there before it.

import { ToolError } from '../../../contract/errors.js';
import type { AfterChange, AfterChangeHook } from '../../project/change-report.js';
import type { FileDiagnostic } from '../../project/diagnostic-rows.js';
import { askDiagnostics } from '../lsp/ask-diagnostics.js';
import { checkFiles, type CheckedFile } from './check-files.js';
import type { DiagnosticsContext } from '../diagnostics-context.js';
import { KnownDiagnostics } from './known-diagnostics.js';
import type { LanguageClient } from '../lsp/language-client.js';
import { decodeDocument, type LanguageServers } from '../lsp/language-servers.js';
import { Deadline } from '../call-deadline.js';
import type { LanguageSession } from '../lsp/language-session.js';
import type { TreeSnapshot } from './source-tree.js';

/** The number of other open documents that are checked again, most recently used first. */
const MAX_OTHERS = 20;

/** The diagnostics before the change. */
type Before = Map<string, KnownDiagnostics>;

/**
 * The hook for the filesystem's tools.
 *
 * @param running the servers of the current connection; without a connection, servers that are started would never be
 *   ended
 */
export function afterChangeHook(
  { files }: Pick<DiagnosticsContext, 'files'>,
  running: () => LanguageServers | undefined,
): AfterChangeHook {
  return async (paths, { signal, deadlineMs, before }) => {
    const servers = running();
    if (!servers) return undefined;
    using deadline = new Deadline(deadlineMs, signal);
    const changed: (CheckedFile & { old: Buffer | undefined; client: LanguageClient })[] = [];
    const clients = new Set<LanguageClient>();
    for (const path of paths) {
      const language = servers.languageOf(path);
      if (!language) continue;
      const resolved = await files.resolve(path, 'read').catch(() => undefined); // deleted, perhaps by this change
      const absolute = resolved?.absolute ?? files.scope.parse(path).absolute;
      const client = await servers.clientFor(absolute, language);
      if ('hint' in client) continue;
      clients.add(client);
      if (resolved) changed.push({ absolute, language, client, old: before?.get(path) });
    }
    if (clients.size === 0) return undefined;
    try {
      const snapshot = await deadline.race(servers.lookAround(deadline.signal));
      const known: Before = new Map();
      const checked: CheckedFile[] = [...changed];
      for (const client of clients) {
        const own = changed.filter((each) => each.client === client);
        const isLearnt = await client.use(() => learnBefore(servers, client, own, known, deadline, snapshot));
        if (!isLearnt) return NOT_KNOWN;
        for (const other of othersOf(servers, client, own, known)) checked.push(other);
      }
      const answers = await checkFiles(servers, checked, deadline, snapshot);
      const diagnostics = answers.flatMap(({ absolute, diagnostics: found, text }): FileDiagnostic[] => {
        const fresh = known.get(absolute)?.newOnes(found, text ?? '') ?? found;
        const path = files.scope.find(absolute)?.shown ?? absolute;
        return fresh.filter(({ severity }) => severity === 'error').map((each) => ({ path, ...each }));
      });
      return { diagnostics, complete: answers.every(({ pending }) => pending === undefined) };
    } catch (error) {
      if (!ToolError.isInstance(error)) throw error;
      return NOT_KNOWN; // timed out, or the server does not start
    }
  };
}

const NOT_KNOWN: AfterChange = { diagnostics: [], complete: false };

/**
 * The earlier diagnostics of the open documents; for other files those of their old text, which are requested. False
 * when they cannot be requested, because other clients ask the server about the text on disk.
 */
async function learnBefore(
  servers: LanguageServers,
  client: LanguageClient,
  changed: readonly (CheckedFile & { old: Buffer | undefined })[],
  known: Before,
  deadline: Deadline,
  snapshot: TreeSnapshot,
): Promise<boolean> {
  for (const { absolute, said } of client.running?.documents.all ?? [])
    if (said) known.set(absolute, new KnownDiagnostics(said.diagnostics, said.text));
  const unknown = changed.filter(({ absolute, old }) => old && !known.has(absolute));
  if (unknown.length === 0) return true;
  const session = await deadline.race(servers.informed(client, snapshot, deadline));
  if (client.isShared || client.pretending) return false;
  const pretending = pretend(servers, session, unknown, known, deadline);
  client.pretending = pretending.catch(() => undefined).finally(() => (client.pretending = undefined));
  await pretending;
  return true;
}

async function pretend(
  servers: LanguageServers,
  session: LanguageSession,
  unknown: readonly (CheckedFile & { old: Buffer | undefined })[],
  known: Before,
  deadline: Deadline,
): Promise<void> {
  for (const { absolute, language, old } of unknown) {
    const text = old && decodeDocument(old);
    if (text === undefined) continue;
    try {
      const document = session.documents.show(absolute, language.languageId, text, '');
      known.set(absolute, new KnownDiagnostics(await askDiagnostics(session, document, deadline), text));
    } finally {
      await servers.show(session, absolute, language).catch(() => session.documents.close(absolute));
    }
  }
}

function othersOf(
  servers: LanguageServers,
  client: LanguageClient,
  changed: readonly CheckedFile[],
  known: Before,
): CheckedFile[] {
  const own = new Set(changed.map(({ absolute }) => absolute));
  return [...known.keys()]
    .filter((absolute) => !own.has(absolute) && client.running?.documents.get(absolute))
    .slice(-MAX_OTHERS)
    .flatMap((absolute) => {
      const language = servers.languageOf(absolute);
      return language ? [{ absolute, language }] : [];
    });
}
