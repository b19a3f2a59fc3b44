// The place that a caller asks about, by line and column or by the name of a symbol, in a server that has the file's
// current content.

import type { DocumentSymbol, Position, SymbolInformation } from 'vscode-languageserver-protocol';
import { ToolError } from '../../../contract/errors.js';
import type { ToolContext } from '../../../tool/define-tool.js';
import { escapeControls, quote } from '../../project/scope/project-scope.js';
import { requestedPath, type DiagnosticsContext } from '../diagnostics-context.js';
import type { OpenDocument } from './documents.js';
import type { LanguageClient } from './language-client.js';
import type { Language, LanguageServers } from './language-servers.js';
import { rangeFromLsp } from './lsp-conversion.js';
import { Deadline } from '../call-deadline.js';
import { pathOfUri } from './pushed-diagnostics.js';
import type { LanguageSession } from './language-session.js';
import type { TreeSnapshot } from '../files/source-tree.js';
import { TextPlaces } from './text-places.js';

const MAX_NAMED = 10;

/** The JSON Schema properties of a position. */
export const placeInput = {
  path: { type: 'string', description: 'The file. Optional with symbol.' },
  line: { type: 'integer', minimum: 1, description: 'The line, from 1; together with column.' },
  column: { type: 'integer', minimum: 1, description: 'The column of the name, from 1, in UTF-16 units.' },
  symbol: { type: 'string', description: 'Instead of line and column: a name, or Container.name.' },
} as const;

/** A position as in {@link placeInput}. */
export interface PlaceArguments {
  path?: string;
  line?: number;
  column?: number;
  symbol?: string;
}

/** A running server, with the call's time limit. */
export interface RequestedServer {
  servers: LanguageServers;
  session: LanguageSession;
  snapshot: TreeSnapshot;
  deadline: Deadline;
}

/** A position in a document that is open in a server. */
export interface RequestedPlace extends RequestedServer {
  document: OpenDocument;
  position: Position;
}

type CallSignal = Pick<ToolContext, 'signal'>;

/**
 * Finds the place and runs something there, within the time that requests have.
 *
 * @throws {ToolError} INVALID_ARGUMENT, NOT_FOUND, MULTIPLE_MATCHES, UNAVAILABLE without a server, TIMED_OUT
 */
export async function atPlace<T>(
  context: DiagnosticsContext,
  args: PlaceArguments,
  { signal }: CallSignal,
  run: (place: RequestedPlace) => Promise<T>,
): Promise<T> {
  const { path, line, column, symbol } = args;
  const byPlace = line !== undefined && column !== undefined && path !== undefined && symbol === undefined;
  const bySymbol = symbol !== undefined && symbol !== '' && line === undefined && column === undefined;
  if (!byPlace && !bySymbol)
    throw new ToolError('INVALID_ARGUMENT', 'Set path, line and column; or symbol, with or without path.');
  using deadline = new Deadline(context.requestTimeoutMs, signal);
  if (path === undefined) {
    const found = await findInWorkspace(context, symbol ?? '', deadline);
    return await inFile(context, found.absolute, deadline, (server, document) =>
      run({ ...server, document, position: found.position }),
    );
  }
  const requested = await requestedPath(context, path);
  if (requested.isDirectory)
    throw new ToolError('INVALID_ARGUMENT', `${quote(requested.shown)} is a directory; use a file, or omit path.`);
  return await inFile(context, requested.absolute, deadline, async (server, document) => {
    const position = byPlace
      ? new TextPlaces(document.text).position(line, column)
      : await findInFile(server, document, symbol ?? '', requested.shown);
    return await run({ ...server, document, position });
  });
}

/**
 * Opens a file in its server and runs something there.
 *
 * @throws {ToolError} UNAVAILABLE without a server, TIMED_OUT
 */
export async function inFile<T>(
  context: DiagnosticsContext,
  absolute: string,
  deadline: Deadline,
  run: (server: RequestedServer, document: OpenDocument) => Promise<T>,
): Promise<T> {
  const servers = context.servers();
  const { client, language } = await clientOf(context, servers, absolute);
  return await client.use(async () => {
    const snapshot = await deadline.race(servers.lookAround(deadline.signal));
    const session = await deadline.race(servers.informed(client, snapshot, deadline));
    const document = await deadline.race(servers.show(session, absolute, language));
    return await deadline.race(run({ servers, session, snapshot, deadline }, document));
  });
}

/**
 * Runs a function in every server that the project has files for, each with one file open, which makes it load the
 * project.
 */
export async function inWorkspace<T>(
  context: DiagnosticsContext,
  deadline: Deadline,
  run: (server: RequestedServer) => Promise<T>,
): Promise<T[]> {
  const servers = context.servers();
  const snapshot = await deadline.race(servers.lookAround(deadline.signal));
  const first = new Map<LanguageClient, { absolute: string; language: Language }>();
  const kinds = new Set<string>();
  for (const absolute of [...snapshot.stamps.keys()].sort()) {
    const language = servers.languageOf(absolute);
    if (!language || kinds.has(language.preset.name) || language.preset.isOptional) continue;
    kinds.add(language.preset.name);
    const client = await servers.clientFor(absolute, language);
    if (!('hint' in client)) first.set(client, { absolute, language });
  }
  if (first.size === 0)
    throw new ToolError('UNAVAILABLE', 'No language server supports the files of this project; see the tool servers.');
  return await Promise.all(
    [...first].map(([client, { absolute, language }]) =>
      client.use(async () => {
        const session = await deadline.race(servers.informed(client, snapshot, deadline));
        if (session.documents.all.length === 0) await deadline.race(servers.show(session, absolute, language));
        return await deadline.race(run({ servers, session, snapshot, deadline }));
      }),
    ),
  );
}

async function clientOf(
  { files }: DiagnosticsContext,
  servers: LanguageServers,
  absolute: string,
): Promise<{ client: LanguageClient; language: Language }> {
  const language = servers.languageOf(absolute);
  const shown = quote(files.scope.find(absolute)?.shown ?? absolute);
  if (!language) throw new ToolError('UNAVAILABLE', `No language server supports files such as ${shown}.`);
  const client = await servers.clientFor(absolute, language);
  if ('hint' in client)
    throw new ToolError('UNAVAILABLE', `The language server for ${shown} is not installed. ${client.hint}`, {
      retryable: false,
    });
  return { client, language };
}

async function findInFile(
  { session, deadline }: RequestedServer,
  { uri }: OpenDocument,
  symbol: string,
  shown: string,
): Promise<Position> {
  const params = { textDocument: { uri } };
  const answer = await session.request<unknown>('textDocument/documentSymbol', params, deadline.signal);
  const all = flatSymbols(answer);
  const found = all.filter(
    (each) => each.names.join('.') === symbol || `.${each.names.join('.')}`.endsWith(`.${symbol}`),
  );
  // Parts of a symbol may have its name; the outermost is meant.
  const depth = found.reduce((least, { names }) => Math.min(least, names.length), Infinity);
  const outermost = found.filter(({ names }) => names.length === depth);
  const [first] = outermost;
  if (!first)
    throw new ToolError(
      'NOT_FOUND',
      `${quote(shown)} has no symbol ${quote(symbol)}. Its symbols: ${someNames(all.map(({ names }) => names.join('.')))}.`,
    );
  const others = outermost.filter(({ start }) => start.line !== first.start.line);
  if (others.length > 0)
    throw several(
      symbol,
      outermost.map(({ start }) => `${shown}:${start.line + 1}:${start.character + 1}`),
    );
  return first.start;
}

async function findInWorkspace(
  context: DiagnosticsContext,
  symbol: string,
  deadline: Deadline,
): Promise<{ absolute: string; position: Position }> {
  const name = symbol.split('.').at(-1) ?? symbol;
  const container = symbol.split('.').slice(0, -1).at(-1);
  const answers = await inWorkspace(context, deadline, ({ session }) =>
    session.request<SymbolInformation[] | null>('workspace/symbol', { query: name }, deadline.signal),
  );
  const { scope } = context.files;
  const found = answers
    .flatMap((each) => (Array.isArray(each) ? each : []))
    .filter((each) => each?.name === name && (container === undefined || each.containerName === container))
    .flatMap(({ location }) => {
      const absolute = pathOfUri(location?.uri);
      const range = rangeFromLsp(location?.range);
      const place = absolute === undefined ? undefined : scope.find(absolute);
      return place && range && !place.shown.includes('node_modules/') ? [{ place, range }] : [];
    });
  const [first] = found;
  if (!first)
    throw new ToolError(
      'NOT_FOUND',
      `The symbol ${quote(symbol)} was not found in the project. Set the path of its file, or path, line and column.`,
    );
  if (found.length > 1)
    throw several(
      symbol,
      found.map(({ place, range }) => `${place.shown}:${range.line}:${range.column}`),
    );
  const { line, column } = first.range;
  return { absolute: first.place.absolute, position: { line: line - 1, character: column - 1 } };
}

function several(symbol: string, places: readonly string[]): ToolError {
  const shown = places.slice(0, MAX_NAMED).map(escapeControls).join(', ');
  const more = places.length > MAX_NAMED ? ` and ${places.length - MAX_NAMED} more` : '';
  return new ToolError(
    'MULTIPLE_MATCHES',
    `${quote(symbol)} matches several symbols: ${shown}${more}. Set path, line and column of one.`,
  );
}

function someNames(names: readonly string[]): string {
  if (names.length === 0) return 'none';
  const more = names.length > MAX_NAMED ? ` and ${names.length - MAX_NAMED} more` : '';
  return names.slice(0, MAX_NAMED).map(escapeControls).join(', ') + more;
}

/** A symbol of a file. */
export interface FlatSymbol {
  /** The names of its containers, then its name. */
  names: string[];
  kind: number;
  /** The range of the name. */
  start: Position;
  /** The range of the whole symbol. */
  range: unknown;
}

/** Flattens both formats of a server's response. */
export function flatSymbols(answer: unknown): FlatSymbol[] {
  const found: FlatSymbol[] = [];
  const visit = (symbols: unknown, above: readonly string[]): void => {
    if (!Array.isArray(symbols) || above.length > 50) return;
    for (const each of symbols as Partial<DocumentSymbol & SymbolInformation>[]) {
      const { name, kind = 0, location, containerName } = Object(each) as typeof each;
      const range = each.range ?? location?.range;
      const at = rangeFromLsp(each.selectionRange ?? range);
      if (typeof name !== 'string' || !at) continue;
      const names = [...above, ...(containerName ? [containerName] : []), name];
      found.push({ names, kind, start: { line: at.line - 1, character: at.column - 1 }, range });
      visit(each.children, names);
    }
  };
  visit(answer, []);
  return found;
}
