// Checks the current content of files, each with the server of its language, and reports whether each result is complete.

import { messageOf, ToolError } from '../../../contract/errors.js';
import type { Diagnostic } from '../../project/diagnostic-rows.js';
import { askDiagnostics } from '../lsp/ask-diagnostics.js';
import type { LanguageClient } from '../lsp/language-client.js';
import type { Language, LanguageServers } from '../lsp/language-servers.js';
import type { Deadline } from '../call-deadline.js';
import type { LanguageSession } from '../lsp/language-session.js';
import type { TreeSnapshot } from './source-tree.js';

/** The number of documents that a server checks concurrently. */
const AT_ONCE = 16;
/** How often a server that exits during a check is restarted. */
const SECOND_TRIES = 1;

/** A file to check. */
export interface CheckedFile {
  absolute: string;
  language: Language;
}

/** The result for a file. */
export interface FileAnswer {
  absolute: string;
  diagnostics: Diagnostic[];
  /** The text that was checked; undefined without a result. */
  text: string | undefined;
  /** Why the result is incomplete; undefined when it is complete. */
  pending: string | undefined;
  /** True without a server; {@link pending} explains how to install one. */
  isMissing?: true;
}

/**
 * Checks files until the deadline. Files that were not checked by then are reported as such; only the caller's abort rejects.
 *
 * @throws {ToolError} the caller's reason
 */
export async function checkFiles(
  servers: LanguageServers,
  files: readonly CheckedFile[],
  deadline: Deadline,
  snapshot: TreeSnapshot,
  onChecked: (done: number) => void = () => undefined,
): Promise<FileAnswer[]> {
  const answers = new Map<string, FileAnswer>();
  const byClient = new Map<LanguageClient, CheckedFile[]>();
  for (const file of files) {
    try {
      const client = await deadline.race(servers.clientFor(file.absolute, file.language));
      if ('hint' in client) answers.set(file.absolute, { ...unknown(file, client.hint), isMissing: true });
      else byClient.set(client, [...(byClient.get(client) ?? []), file]);
    } catch (error) {
      answers.set(file.absolute, unknown(file, reasonOf(error, deadline, { name: file.language.preset.name })));
    }
  }
  const checks = [...byClient].map(([client, own]) =>
    client.use(async () => {
      await checkWith(servers, client, own, deadline, snapshot, (answer) => {
        answers.set(answer.absolute, answer);
        onChecked(answers.size);
      });
    }),
  );
  await Promise.all(checks);
  const cut = 'The project has too many files to watch: changes by other programs may be missed.';
  return files.map((file) => {
    const answer = answers.get(file.absolute) ?? unknown(file, 'It was not checked.');
    return snapshot.isCut ? { ...answer, pending: answer.pending ?? cut } : answer;
  });
}

async function checkWith(
  servers: LanguageServers,
  client: LanguageClient,
  files: readonly CheckedFile[],
  deadline: Deadline,
  snapshot: TreeSnapshot,
  onAnswer: (answer: FileAnswer) => void,
): Promise<void> {
  let starting: Promise<LanguageSession> | undefined;
  const queue = [...files];
  const informed = (): Promise<LanguageSession> =>
    (starting ??= deadline.race(servers.informed(client, snapshot, deadline)));
  if (client.pretending) await deadline.race(client.pretending).catch(() => undefined); // timed out, as each file reports
  const worker = async (): Promise<void> => {
    for (let file = queue.shift(); file; file = queue.shift()) {
      let answer = unknown(file, '');
      for (let tries = 0; tries <= SECOND_TRIES; tries++) {
        let session: LanguageSession | undefined;
        try {
          session = await informed();
          answer = await checkOne(servers, session, file, deadline);
          break;
        } catch (error) {
          answer = unknown(file, reasonOf(error, deadline, { name: client.launch.name, failure: client.failure }));
          if (!session?.failure) break;
          starting = undefined;
        }
      }
      onAnswer(answer);
    }
  };
  await Promise.all(Array.from({ length: Math.min(AT_ONCE, files.length) }, worker));
}

async function checkOne(
  servers: LanguageServers,
  session: LanguageSession,
  file: CheckedFile,
  deadline: Deadline,
): Promise<FileAnswer> {
  for (;;) {
    const document = await deadline.race(servers.show(session, file.absolute, file.language));
    const { text, version } = document;
    const diagnostics = await askDiagnostics(session, document, deadline);
    // The file may have changed during the check; the result is then about an old version.
    if (document.version === version && (await deadline.race(servers.isCurrent(document))))
      return { absolute: file.absolute, diagnostics, text, pending: undefined };
  }
}

function unknown({ absolute }: CheckedFile, pending: string): FileAnswer {
  return { absolute, diagnostics: [], text: undefined, pending };
}

/** @throws {ToolError} the caller's reason */
function reasonOf(
  error: unknown,
  deadline: Deadline,
  { name, failure }: { name: string; failure?: ToolError | undefined },
): string {
  const { code } = ToolError.from(error);
  if (deadline.isOver && code === 'TIMED_OUT')
    return failure
      ? `${failure.message} It was restarted and has not reported everything yet.`
      : `${name} has not reported everything yet; call again, or wait longer.`;
  if (deadline.signal.aborted && !deadline.isOver) throw error;
  return messageOf(error);
}
