// The language servers of one project: which one a file belongs to, whether it is installed, and one client per
// language and root. Before each request a server is notified of changes since the last one.

import { lstat } from 'node:fs/promises';
import { dirname, extname, isAbsolute, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { messageOf, ToolError } from '../../../contract/errors.js';
import type { ProjectFiles } from '../../project/project-files.js';
import type { FileChange } from '../../project/write/change-together.js';
import { escapeControls, isInside, quote } from '../../project/scope/project-scope.js';
import { decodeText, encodingOf } from '../../project/open/text-encoding.js';
import type { OpenDocument } from './documents.js';
import { LanguageClient, type ClientTimes } from './language-client.js';
import type { MissingServer, ServerLaunch } from './launch.js';
import type { Deadline } from '../call-deadline.js';
import type { LanguagePreset } from '../presets/presets.js';
import type { ProgramPlaces } from '../presets/program-places.js';
import type { LanguageSession } from './language-session.js';
import { lookAtTree, stampOfFile, type TreeSnapshot } from '../files/source-tree.js';

/** The limit of running servers; the least recently used are stopped. */
const MAX_CLIENTS = 8;
/** Larger files are usually generated, and block a server. */
export const MAX_DOCUMENT_BYTES = 4 * 1024 * 1024;

/** How long a missing program is not searched again; it may be installed meanwhile. */
const LOOK_AGAIN_MS = 10_000;
/** https://microsoft.github.io/language-server-protocol/specifications/lsp/3.17/specification/#fileChangeType */
const FILE_CHANGE = { created: 1, changed: 2, deleted: 3 } as const;

/** The language of a file. */
export interface Language {
  preset: LanguagePreset;
  /** The protocol's name of the language. */
  languageId: string;
}

/** Options of {@link LanguageServers}. */
export interface LanguageServersOptions {
  files: ProjectFiles;
  places: ProgramPlaces;
  /** The presets; custom ones first. */
  presets: readonly LanguagePreset[];
  times: ClientTimes;
}

interface Found {
  launch: ServerLaunch | MissingServer;
  at: number;
}

/** Finds, starts, notifies and stops the servers. */
export class LanguageServers {
  readonly files: ProjectFiles;
  readonly places: ProgramPlaces;
  readonly #presets: readonly LanguagePreset[];
  readonly #times: ClientTimes;
  readonly #byExtension = new Map<string, Language>();
  readonly #found = new Map<string, Promise<Found>>();
  readonly #clients = new Map<string, LanguageClient>();
  readonly #unsubscribe: () => void;
  #closed = false;

  constructor({ files, places, presets, times }: LanguageServersOptions) {
    this.files = files;
    this.places = places;
    this.#presets = presets;
    this.#times = times;
    for (const preset of [...presets].reverse()) {
      for (const [extension, languageId] of Object.entries(preset.languages))
        this.#byExtension.set(extension, { preset, languageId });
    }
    this.#unsubscribe = files.onChanged((change) => this.#forget(change));
  }

  /** The language of a file, by name; undefined if unknown. */
  languageOf(path: string): Language | undefined {
    return this.#byExtension.get(extname(path).toLowerCase());
  }

  /** All presets, in order. */
  get presets(): readonly LanguagePreset[] {
    return this.#presets;
  }

  /** The servers that were started. */
  get clients(): LanguageClient[] {
    return [...this.#clients.values()];
  }

  /** The program for a language, or what is missing. Searched once, and again after a while if missing. */
  async locate(preset: LanguagePreset): Promise<ServerLaunch | MissingServer> {
    const known = await this.#found.get(preset.name);
    if (known && ('command' in known.launch || performance.now() - known.at < LOOK_AGAIN_MS)) return known.launch;
    const search = this.#search(preset).then((launch) => ({ launch, at: performance.now() }));
    this.#found.set(preset.name, search);
    search.catch(() => this.#found.delete(preset.name));
    return (await search).launch;
  }

  /** The client for a file, not started; or what is missing. */
  async clientFor(absolute: string, { preset }: Language): Promise<LanguageClient | MissingServer> {
    const launch = await this.locate(preset);
    if (!('command' in launch)) return launch;
    const root = await this.#rootOf(absolute, preset.rootMarkers);
    if (this.#closed) throw new ToolError('NOT_CONNECTED', 'The language servers were stopped.');
    const key = `${preset.name}\0${root}`;
    let client = this.#clients.get(key);
    if (!client) {
      await this.#makeRoom();
      if (this.#closed) throw new ToolError('NOT_CONNECTED', 'The language servers were stopped.');
      const cwd = this.places.trust === 'trusted' ? root : launch.cwd;
      client =
        this.#clients.get(key) ??
        new LanguageClient({ ...launch, cwd }, root, this.#times, async (session) => {
          // Taken before the start, so that changes during the start are sent to it.
          const { at, stamps, packages } = await this.lookAround(new AbortController().signal);
          session.seen = stamps;
          session.seenAt = at;
          session.packages = packages;
        });
      this.#clients.set(key, client);
    }
    return client;
  }

  /** A snapshot of the project's files. */
  lookAround(signal: AbortSignal): Promise<TreeSnapshot> {
    return lookAtTree(this.files.scope, new Set(this.#byExtension.keys()), signal);
  }

  /**
   * The running server, notified of all changes. It is restarted if installed packages that it has read have changed
   * since.
   *
   * @throws {ToolError} as `LanguageClient.session`
   */
  async informed(client: LanguageClient, snapshot: TreeSnapshot, deadline: Deadline): Promise<LanguageSession> {
    const { running } = client;
    if (running && running.packages !== snapshot.packages && running.seenAt < snapshot.at) await client.stop();
    const session = await client.session(deadline);
    this.#tell(session, snapshot);
    for (const { absolute, stamp } of session.documents.all) {
      const now = snapshot.stamps.get(absolute);
      if (stamp === '' || stamp !== now) await this.#showAgain(session, absolute);
    }
    return session;
  }

  /**
   * Opens a document, or sends its current text to the server.
   *
   * @throws {ToolError} NOT_FOUND, OUTSIDE_PROJECT, TOO_LARGE, BINARY_FILE
   */
  async show(session: LanguageSession, absolute: string, { languageId }: Language): Promise<OpenDocument> {
    const stamp = await stampOfFile(absolute);
    const text = await this.readText(absolute);
    return session.documents.show(absolute, languageId, text, stamp ?? '');
  }

  /** Whether the file still equals the server's text. */
  async isCurrent({ absolute, text, stamp }: OpenDocument): Promise<boolean> {
    if (stamp !== '' && stamp === (await stampOfFile(absolute))) return true;
    return (await this.readText(absolute).catch(() => undefined)) === text;
  }

  /** @throws {ToolError} NOT_FOUND, OUTSIDE_PROJECT, TOO_LARGE, BINARY_FILE */
  async readText(absolute: string): Promise<string> {
    const { bytes } = await this.files.read(absolute);
    const { shown } = this.files.scope.parse(absolute);
    if (bytes.length > MAX_DOCUMENT_BYTES)
      throw new ToolError(
        'TOO_LARGE',
        `${quote(shown)} has ${bytes.length} bytes; the limit for checked files is ${MAX_DOCUMENT_BYTES / 1024 / 1024} MiB.`,
      );
    const text = decodeDocument(bytes);
    if (text !== undefined) return text;
    throw new ToolError('BINARY_FILE', `${quote(shown)} is not text, so no language server can check it.`);
  }

  /** Stops all servers. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#unsubscribe();
    const clients = this.clients;
    this.#clients.clear();
    await Promise.all(clients.map((client) => client.close()));
  }

  async #search(preset: LanguagePreset): Promise<ServerLaunch | MissingServer> {
    if (preset.needsTrust && this.places.trust !== 'trusted')
      return {
        hint: `${preset.name} runs code of the project (build scripts, macros), but the project is not trusted.`,
      };
    try {
      const found = await preset.locate(this.places);
      if (!('command' in found)) return found;
      const env = { ...(await this.places.environment()), ...found.extraEnv };
      // Not the project: interpreters load files from their working directory.
      return { ...found, name: preset.name, env, cwd: dirname(process.execPath) };
    } catch (error) {
      return { hint: escapeControls(messageOf(error)) };
    }
  }

  async #rootOf(absolute: string, markers: readonly string[]): Promise<string> {
    const root = this.files.scope.find(absolute)?.root.path ?? this.files.scope.projectDir;
    if (markers.length === 0) return root;
    for (let directory = dirname(absolute); isInside(root, directory); directory = dirname(directory)) {
      for (const marker of markers) {
        if (await lstat(join(directory, marker)).catch(() => undefined)) return directory;
      }
      if (dirname(directory) === directory) break;
    }
    return root;
  }

  async #makeRoom(): Promise<void> {
    const free = [...this.#clients].filter(([, client]) => !client.isInUse);
    free.sort(([, a], [, b]) => a.lastUsedAt - b.lastUsedAt);
    for (const [key, client] of free) {
      if (this.#clients.size < MAX_CLIENTS) return;
      this.#clients.delete(key);
      await client.close();
    }
    if (this.#clients.size >= MAX_CLIENTS)
      throw new ToolError('BUSY', `${MAX_CLIENTS} language servers are running, which is the limit. Try again later.`);
  }

  #tell(session: LanguageSession, { at, stamps: now }: TreeSnapshot): void {
    if (at <= session.seenAt) return; // later ones were already sent
    const before = session.seen;
    const changes: { uri: string; type: number }[] = [];
    const note = (absolute: string, kind: keyof typeof FILE_CHANGE): unknown =>
      changes.push({ uri: pathToFileURL(absolute).href, type: FILE_CHANGE[kind] });
    for (const [absolute, stamp] of now) {
      const old = before.get(absolute);
      if (old === undefined) note(absolute, 'created');
      else if (old !== stamp || stamp === '') note(absolute, 'changed');
    }
    for (const absolute of before.keys()) if (!now.has(absolute)) note(absolute, 'deleted');
    session.seen = now;
    session.seenAt = at;
    if (changes.length > 0) session.notify('workspace/didChangeWatchedFiles', { changes });
  }

  async #showAgain(session: LanguageSession, absolute: string): Promise<void> {
    const language = this.languageOf(absolute);
    try {
      if (language) await this.show(session, absolute, language);
    } catch {
      session.documents.close(absolute); // deleted, too large or no longer text: use the disk
    }
  }

  /** Marks files that the tools changed, so that they are sent regardless of their stamp. */
  #forget({ absolute, from }: FileChange): void {
    for (const client of this.#clients.values()) {
      const { running } = client;
      if (!running) continue;
      for (const path of [absolute, from?.absolute]) {
        if (path === undefined || !isAbsolute(path)) continue;
        const document = running.documents.get(path);
        if (document) document.stamp = '';
        if (running.seen.has(path)) running.seen = new Map(running.seen).set(path, '');
      }
    }
  }
}

/** The text for servers; undefined for a file that is not text. Without a byte order mark, which is not part of its columns. */
export function decodeDocument(bytes: Buffer): string | undefined {
  if (bytes.length === 0) return '';
  const detected = encodingOf(bytes);
  return detected && decodeText(bytes, detected.encoding).replace(/^\ufeff/, '');
}
