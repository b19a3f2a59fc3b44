// One session of a language server: the process, `initialize`, and the requests, which end with it.

import { settledWithin } from '../../../call/waiting.js';
import { pathToFileURL } from 'node:url';
import type { MessageConnection } from 'vscode-jsonrpc';
import type { InitializeParams, InitializeResult, ServerCapabilities } from 'vscode-languageserver-protocol';
import { messageOf, ToolError } from '../../../contract/errors.js';
import { spawnChild, type Child } from '../../../process/index.js';
import { escapeControls } from '../../project/scope/project-scope.js';
import { CLIENT_CAPABILITIES } from './client-capabilities.js';
import { Documents } from './documents.js';
import type { ServerLaunch } from './launch.js';
import { BoundedMessageReader, BoundedMessageWriter } from './message-streams.js';
import { PushedDiagnostics } from './pushed-diagnostics.js';
import { ServerRequests } from './language-server-requests.js';

/** How long a server may take to exit by itself before it is signalled. */
const SHUTDOWN_MS = 300;
const GRACE_MS = 1_000;
const MAX_TOLD_CHARACTERS = 600;

/** A running server. */
export class LanguageSession {
  readonly launch: ServerLaunch;
  /** The absolute path of its directory. */
  readonly root: string;
  readonly documents: Documents;
  readonly pushed: PushedDiagnostics;
  readonly requests: ServerRequests;
  /** Resolves with the reason when the session has ended. Never rejects. */
  readonly ended: Promise<ToolError>;
  /** The reason, once the session has ended. */
  failure: ToolError | undefined;
  /** The stamps of the project's files as last sent to the server, by path. */
  seen: ReadonlyMap<string, string> = new Map();
  /** When they were read, as a time of `performance.now()`. */
  seenAt = -Infinity;
  /** The stamp of installed packages at the start. */
  packages = '';
  capabilities: ServerCapabilities = {};
  version: string | undefined;
  /** The pending requests, which are rejected when the session ends. */
  readonly #open = new Set<(reason: ToolError) => void>();
  #child: Child | undefined;
  #connection: MessageConnection | undefined;
  #makeCancellation: (() => { token: { isCancellationRequested: boolean }; cancel(): void }) | undefined;
  #end!: (reason: ToolError) => void;
  #closing: Promise<void> | undefined;

  constructor(launch: ServerLaunch, root: string) {
    this.launch = launch;
    this.root = root;
    this.ended = new Promise((resolve) => (this.#end = resolve));
    this.pushed = new PushedDiagnostics(launch.name);
    this.documents = new Documents(this);
    this.requests = new ServerRequests(root, launch.settings ?? {});
  }

  get pid(): number | undefined {
    return this.#child?.pid;
  }

  /**
   * Starts the process and completes `initialize`. Ends the process when that fails.
   *
   * @throws {ToolError} SPAWN_FAILED, PROCESS_EXITED, TIMED_OUT, or why it could not start otherwise
   */
  async start(timeoutMs: number): Promise<void> {
    try {
      const initialized = this.#shakeHands();
      if (!(await settledWithin([initialized], timeoutMs)))
        throw new ToolError('TIMED_OUT', `${this.launch.name} did not answer "initialize" within ${timeoutMs} ms.`);
      await initialized;
    } catch (error) {
      this.#fail(ToolError.from(error));
      await this.close();
      throw this.failure ?? error;
    }
  }

  /**
   * Sends a request and returns its result. An abort cancels it at the server and rejects immediately.
   *
   * @throws {ToolError} EXECUTION_FAILED when the server refuses (its code is in `details.lsp_code`), CANCELLED or
   *   TIMED_OUT by the signal, and why the session ended
   */
  async request<Result>(method: string, params: unknown, signal?: AbortSignal): Promise<Result> {
    const connection = this.#connection;
    if (this.failure || !connection || !this.#makeCancellation) throw this.failure ?? this.#notRunning();
    signal?.throwIfAborted();
    const cancellation = this.#makeCancellation();
    return await new Promise<Result>((resolve, reject) => {
      const onAbort = (): void => {
        cancellation.cancel();
        reject(ToolError.from(signal?.reason));
      };
      signal?.addEventListener('abort', onAbort, { once: true });
      const answer =
        params === undefined
          ? connection.sendRequest<Result>(method, cancellation.token)
          : connection.sendRequest<Result>(method, params, cancellation.token);
      this.#open.add(reject);
      answer
        .then(resolve, (error: unknown) => reject(this.failure ?? this.#refusal(method, error)))
        .finally(() => {
          this.#open.delete(reject);
          signal?.removeEventListener('abort', onAbort);
        });
    });
  }

  /** Sends a notification; does nothing once the session has ended. */
  notify(method: string, params?: unknown): void {
    if (this.failure || !this.#connection) return;
    const sent =
      params === undefined
        ? this.#connection.sendNotification(method)
        : this.#connection.sendNotification(method, params);
    sent.catch(() => undefined); // its exit is more informative
  }

  /** Stops the server and everything it started. Idempotent, never rejects. */
  close(): Promise<void> {
    return (this.#closing ??= this.#close());
  }

  async #shakeHands(): Promise<void> {
    const { CancellationTokenSource, createMessageConnection, NullLogger, ResponseError } =
      await import('vscode-jsonrpc/node');
    if (this.failure) throw this.failure;
    const { command, args, cwd, env } = this.launch;
    const child = (this.#child = spawnChild({ command, args, cwd, env, stdin: 'pipe' }));
    if (!child.stdin) throw await child.exited.then(() => this.#notRunning()); // rejects with the reason
    const reader = new BoundedMessageReader(child.stdout, (reason) => this.#fail(reason));
    const writer = new BoundedMessageWriter(child.stdin, (reason) => this.#fail(reason));
    const connection = (this.#connection = createMessageConnection(reader, writer, NullLogger, {
      messageStrategy: {
        handleMessage: (message, next) => {
          reader.done();
          return next(message);
        },
      },
    }));
    this.#makeCancellation = () => new CancellationTokenSource();
    this.requests.listen(connection, this.pushed, (code, message) => new ResponseError(code, message));
    connection.listen();
    void child.exited.then(
      ({ code, signal }) => this.#fail(this.#exited(signal ? `was ended by ${signal}` : `exited with code ${code}`)),
      (error: unknown) => this.#fail(ToolError.from(error)),
    );
    const { capabilities, serverInfo } = await this.request<InitializeResult>('initialize', this.#initializeParams());
    if (typeof capabilities !== 'object' || (capabilities as unknown) === null)
      throw new ToolError('PROTOCOL_VIOLATION', `${this.launch.name} answered "initialize" without capabilities.`);
    if ((capabilities.positionEncoding ?? 'utf-16') !== 'utf-16')
      throw new ToolError(
        'PROTOCOL_VIOLATION',
        `${this.launch.name} uses the position encoding ${String(capabilities.positionEncoding)}, which was not offered.`,
      );
    this.capabilities = capabilities;
    this.version = this.launch.version ?? textOr(serverInfo?.version);
    this.notify('initialized', {});
    if (this.launch.settings) this.notify('workspace/didChangeConfiguration', { settings: this.launch.settings });
  }

  #initializeParams(): InitializeParams {
    const uri = pathToFileURL(this.root).href;
    return {
      processId: process.pid,
      clientInfo: { name: 'toolwright' },
      locale: 'en',
      rootUri: uri,
      rootPath: this.root,
      workspaceFolders: this.requests.folders,
      capabilities: CLIENT_CAPABILITIES,
      ...(this.launch.initializationOptions && { initializationOptions: this.launch.initializationOptions }),
    };
  }

  #fail(reason: ToolError): void {
    if (this.failure) return;
    this.failure = reason;
    this.#tellEnded(reason);
    void this.close();
  }

  async #close(): Promise<void> {
    const child = this.#child;
    if (!this.failure && child) await this.#shutDown();
    this.failure ??= this.#notRunning();
    this.#tellEnded(this.failure);
    await child?.end({ graceMs: GRACE_MS });
    this.#connection?.dispose();
  }

  #tellEnded(reason: ToolError): void {
    this.#end(reason);
    for (const reject of this.#open) reject(reason);
    this.#open.clear();
    this.pushed.wake();
  }

  async #shutDown(): Promise<void> {
    const abort = new AbortController();
    const timer = setTimeout(() => abort.abort(), SHUTDOWN_MS);
    try {
      await this.request('shutdown', undefined, abort.signal);
      this.notify('exit');
    } catch {
      // The following signals end it anyway.
    } finally {
      clearTimeout(timer);
    }
  }

  #notRunning(): ToolError {
    return new ToolError('NOT_CONNECTED', `${this.launch.name} was stopped.`);
  }

  #exited(how: string): ToolError {
    const words = lastWords(this.#child?.stderrTail() ?? '');
    return new ToolError(
      'PROCESS_EXITED',
      `${this.launch.name} ${how}.${words === '' ? ' It wrote nothing to stderr.' : ` Its stderr ends: ${words}`}`,
    );
  }

  #refusal(method: string, error: unknown): ToolError {
    const { code } = error as { code?: unknown };
    return new ToolError(
      'EXECUTION_FAILED',
      `${this.launch.name} did not answer ${method}: ${lastWords(messageOf(error))}`,
      { cause: error, details: { lsp_code: typeof code === 'number' ? code : 0 } },
    );
  }
}

function textOr(value: unknown): string | undefined {
  return typeof value === 'string' ? value.slice(0, 100) : undefined;
}

/** The end of a server's text, sanitised. */
function lastWords(text: string): string {
  return text.trim().slice(-MAX_TOLD_CHARACTERS).split(/\r?\n/).map(escapeControls).join('\n');
}
