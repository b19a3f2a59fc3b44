// Requests the diagnostics of one document and decides when they are complete: by pull where the server supports it,
// otherwise by the push for this version, followed by a period of silence.

import type { Diagnostic as LspDiagnostic, DocumentDiagnosticReport } from 'vscode-languageserver-protocol';
import { ToolError } from '../../../contract/errors.js';
import { inOrder, type Diagnostic, type Severity } from '../../project/diagnostic-rows.js';
import type { OpenDocument } from './documents.js';
import { diagnosticFromLsp } from './lsp-conversion.js';
import type { Deadline } from '../call-deadline.js';
import type { Push } from './pushed-diagnostics.js';
import type { LanguageSession } from './language-session.js';

/** The wait after an empty list from a server that pushes once per version. */
const CLEAN_QUIET_MS = 1_000;
/**
 * From any other server, a list without errors may precede the real one: only a long silence after it means that there
 * are none.
 */
const CLEAN_SILENCE_MS = 4_000;
/** The wait after a push with errors, which may be followed by another. */
const VERSIONED_QUIET_MS = 150;
const UNVERSIONED_QUIET_MS = 300;
/** The wait for a push without a version, as one for the previous version may still arrive. */
const AMBIGUOUS_QUIET_MS = 1_500;
/** How long to wait for a busy server after it has reported no errors. */
const CATCH_UP_MS = 5_000;
/** The limit of stored diagnostics of one document. */
const MAX_SAID = 2_000;
const RETRY_MS = 30;
/** https://microsoft.github.io/language-server-protocol/specifications/lsp/3.17/specification/#errorCodes */
const CONTENT_MODIFIED = -32801;
const SERVER_CANCELLED = -32802;
const REQUEST_CANCELLED = -32800;

/** All diagnostics of the document's current version. @throws {ToolError} when they do not arrive in time */
export async function askDiagnostics(
  session: LanguageSession,
  document: OpenDocument,
  deadline: Deadline,
): Promise<Diagnostic[]> {
  const { version, text } = document;
  const found = session.launch.asksTsserver
    ? await askTsserver(session, document, deadline)
    : await pullOrWait(session, document, deadline);
  // Copies: the caller may change its rows, and later pushes are compared with the original ones.
  const diagnostics = inOrder(found).map((each) => ({ ...each }));
  if (diagnostics.length <= MAX_SAID) document.said = { diagnostics: diagnostics.map((each) => ({ ...each })), text };
  else delete document.said;
  if (document.version === version) document.isSettled = true;
  return diagnostics;
}

async function pullOrWait(session: LanguageSession, document: OpenDocument, deadline: Deadline): Promise<Diagnostic[]> {
  let confirmed: Push | undefined;
  for (;;) {
    const providers = pullProviders(session, document);
    if (providers.length > 0) {
      await loaded(session, deadline);
      return await pull(session, document, providers, deadline);
    }
    const wait = untilSettled(session, document);
    if (wait === 0) {
      const found = pushedFor(session, document);
      const push = session.pushed.get(document.absolute);
      if (found.length > 0 || confirmed === push) return [...found];
      confirmed = push;
      await caughtUp(session, deadline);
      continue;
    }
    await deadline.race(session.pushed.changed(Math.min(wait, deadline.left + 1)));
    if (session.failure) throw session.failure;
  }
}

/**
 * Waits until the server has answered two requests, even with an error. A busy server has sent its pending diagnostics
 * by then (a timer that is due may still fire after the first): silence alone does not mean that a file is clean.
 */
async function caughtUp(session: LanguageSession, deadline: Deadline): Promise<void> {
  const enough = new AbortController();
  const timer = setTimeout(() => enough.abort(), CATCH_UP_MS);
  try {
    const signal = AbortSignal.any([deadline.signal, enough.signal]);
    for (let turn = 0; turn < 2; turn++)
      await deadline.race(session.request('$/toolwright/caughtUp', null, signal).catch(() => undefined));
  } finally {
    clearTimeout(timer);
  }
  if (session.failure) throw session.failure;
}

/** The identifiers of pull diagnostics. */
function pullProviders(session: LanguageSession, { languageId }: OpenDocument): (string | undefined)[] {
  const { diagnosticProvider } = session.capabilities;
  const options: unknown[] = session.requests
    .registered('textDocument/diagnostic')
    .map((each) => each.registerOptions as unknown)
    .filter((each) => isFor(each, languageId));
  if (diagnosticProvider) options.push(diagnosticProvider);
  const identifiers = options.map((each) => {
    const { identifier } = Object(each) as { identifier?: unknown };
    return typeof identifier === 'string' ? identifier : undefined;
  });
  return [...new Set(identifiers)];
}

/** Whether a registration applies to documents of a language; by default it does. */
function isFor(options: unknown, languageId: string): boolean {
  const { documentSelector } = Object(options) as { documentSelector?: unknown };
  if (!Array.isArray(documentSelector)) return true;
  return documentSelector.some((each) => {
    const { language } = Object(each) as { language?: unknown };
    return language === undefined || language === languageId;
  });
}

/** Waits until the server has loaded, if its results are preliminary before that. */
async function loaded(session: LanguageSession, deadline: Deadline): Promise<void> {
  while (session.requests.isWorking && !session.launch.pullIsFinal) {
    await deadline.race(session.pushed.changed(deadline.left + 1));
    if (session.failure) throw session.failure;
  }
}

async function pull(
  session: LanguageSession,
  document: OpenDocument,
  providers: readonly (string | undefined)[],
  deadline: Deadline,
): Promise<Diagnostic[]> {
  const found: Diagnostic[] = [];
  for (const identifier of providers) {
    const params = { textDocument: { uri: document.uri }, ...(identifier !== undefined && { identifier }) };
    const report = await retried(deadline, () =>
      session.request<DocumentDiagnosticReport | null>('textDocument/diagnostic', params, deadline.signal),
    );
    // "unchanged" is invalid without a previous result.
    if (report?.kind !== 'full' || !Array.isArray(report.items))
      throw new ToolError('PROTOCOL_VIOLATION', `${session.launch.name} answered without a full report.`);
    for (const item of report.items) found.push(fromLsp(session, item));
  }
  // Some servers provide a part by pull and another by push.
  for (const each of pushedFor(session, document)) found.push(each);
  return found;
}

/** The pushed diagnostics of this version. @throws {ToolError} PROTOCOL_VIOLATION */
function pushedFor(session: LanguageSession, { absolute, version, changedAt }: OpenDocument): readonly Diagnostic[] {
  const push = session.pushed.get(absolute);
  if (!push || push.at < changedAt || (push.version !== undefined && push.version !== version)) return [];
  if (push.isWrong) throw noDiagnostic(session);
  return push.diagnostics;
}

/** Repeats the request when the server reports an interruption. */
async function retried<T>(deadline: Deadline, ask: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await ask();
    } catch (error) {
      const code = ToolError.isInstance(error) ? error.details?.lsp_code : undefined;
      if (code !== CONTENT_MODIFIED && code !== SERVER_CANCELLED && code !== REQUEST_CANCELLED) throw error;
      await deadline.pause(RETRY_MS);
    }
  }
}

/** How long to wait without a push until the result is complete; 0 when it is. */
function untilSettled(session: LanguageSession, document: OpenDocument): number {
  const push = session.pushed.get(document.absolute);
  const { version, changedAt, wasSettled } = document;
  const { launch, pushed, requests } = session;
  if (!push || push.at < changedAt || requests.isWorking) return Infinity;
  if (push.version !== undefined && push.version !== version) return Infinity;
  let quiet = push.version === undefined ? UNVERSIONED_QUIET_MS : VERSIONED_QUIET_MS;
  if (push.isCleanSoFar && launch.pushesOnce) quiet = CLEAN_QUIET_MS;
  if (push.version === undefined && !wasSettled) quiet = AMBIGUOUS_QUIET_MS;
  let until = Math.max(push.at, requests.idleSince) + quiet;
  if (push.isCleanSoFar && !launch.pushesOnce) {
    const silence = Math.max(CLEAN_SILENCE_MS, 2 * pushed.findsErrorsAfterMs);
    until = Math.max(until, Math.max(push.firstAt, requests.idleSince) + silence);
  }
  return Math.max(0, Math.ceil(until - performance.now()));
}

function fromLsp(session: LanguageSession, item: LspDiagnostic): Diagnostic {
  const diagnostic = diagnosticFromLsp(item, session.launch.name);
  if (!diagnostic) throw noDiagnostic(session);
  return diagnostic;
}

/** Checks that no diagnostic is invalid: leaving one out would make a file look clean. */
function noDiagnostic(session: LanguageSession): ToolError {
  return new ToolError('PROTOCOL_VIOLATION', `${session.launch.name} returned an invalid diagnostic.`);
}

/** https://github.com/microsoft/TypeScript/blob/v5.9.3/src/server/protocol.ts: DiagnosticWithLinePosition */
interface TsserverDiagnostic {
  message: string;
  category: string;
  code: number;
  startLocation: { line: number; offset: number };
  endLocation: { line: number; offset: number };
}

const TSSERVER_SEVERITIES: Readonly<Record<string, Severity>> = { error: 'error', warning: 'warning', message: 'info' };

async function askTsserver(
  session: LanguageSession,
  { absolute }: OpenDocument,
  deadline: Deadline,
): Promise<Diagnostic[]> {
  const found: Diagnostic[] = [];
  for (const command of ['syntacticDiagnosticsSync', 'semanticDiagnosticsSync']) {
    const { success, body } = Object(
      await session.request<unknown>(
        'workspace/executeCommand',
        {
          command: 'typescript.tsserverRequest',
          arguments: [command, { file: absolute, includeLinePosition: true }],
        },
        deadline.signal,
      ),
    ) as { success?: unknown; body?: unknown };
    if (success !== true || !Array.isArray(body))
      throw new ToolError('EXECUTION_FAILED', `tsserver did not answer ${command}.`);
    for (const { message, category, code, startLocation, endLocation } of body as TsserverDiagnostic[])
      found.push({
        line: startLocation.line,
        column: startLocation.offset,
        end_line: endLocation.line,
        end_column: endLocation.offset,
        severity: TSSERVER_SEVERITIES[category] ?? 'hint',
        code: String(code),
        source: 'ts',
        message,
      });
  }
  return found;
}
