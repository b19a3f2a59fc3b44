// One MCP session over one transport, on an engine's client. Never reconnects: a lost session is replaced by its owner.

import type { CallScope } from '../../call/call-scope.js';
import { ToolError } from '../../contract/errors.js';
import { isJsonObject, type JsonObject } from '../../contract/json.js';
import type { Progress } from '../../contract/tool-provider.js';
import type { Engine, EngineClient, Era } from '../engines/engine.js';
import type { MessageFilter } from '../transport/message-filter.js';
import { unboxed, type RpcFault } from '../transport/message-filter.js';
import { plainText, withoutSecrets, withoutSecretsInside } from '../../contract/sanitize.js';
import type { SessionTransport } from '../transport/transport.js';
import { markUnread } from './unread-request.js';

/** Options of {@link McpSession.open}. */
export interface SessionOptions {
  /** The server's name, for errors. */
  name: string;
  clientInfo: { name: string; version: string };
  /** The client capabilities that are declared to the server. */
  capabilities: JsonObject;
  /** The client capabilities to declare with a request of the modern era. */
  capabilitiesFor: (scope: CallScope) => JsonObject;
  /** The log level to request with each request of the modern era; undefined for no logs. */
  logLevel: () => string | undefined;
  /** Answers a request of the server; an error that it throws is sent as the response. */
  onRequest: (method: string, params: JsonObject, signal: AbortSignal) => Promise<JsonObject>;
  /** Called once when the session is lost, but not when it is closed. */
  onLost: (failure: ToolError) => void;
  /** Receives a promise for the end of the transport when the session begins to close. */
  onClosing: (closing: Promise<void>) => void;
  /** Secrets that are redacted from the server's texts. */
  secrets: readonly string[];
}

/** Options of {@link McpSession.request}. */
export interface RequestOptions {
  onProgress?: (progress: Progress) => void;
  /** Added to the HTTP request; other transports ignore them. */
  headers?: Readonly<Record<string, string>> | undefined;
  /** Receives the id of the request, as soon as it was sent. */
  onSent?: (id: unknown) => void;
}

const LOG_LEVEL_META = 'io.modelcontextprotocol/logLevel';
const CAPABILITIES_META = 'io.modelcontextprotocol/clientCapabilities';
/** What the client declares itself: a caller's `_meta` cannot replace it. */
const ENVELOPE_KEYS: ReadonlySet<string> = new Set([
  'io.modelcontextprotocol/protocolVersion',
  'io.modelcontextprotocol/clientInfo',
  CAPABILITIES_META,
]);

/** The result types other than `complete`, by the method that may have them. */
const INTERIM_TYPES: Readonly<Record<string, readonly string[]>> = {
  'tools/call': ['input_required', 'task'],
  'prompts/get': ['input_required'],
  'resources/read': ['input_required'],
};

/** How the engines name a closed connection. */
const CLOSED_CODES: ReadonlySet<unknown> = new Set([-32_000, 'CONNECTION_CLOSED', 'NOT_CONNECTED']);

/** A JSON-RPC error response of the server. */
export class RpcError extends Error {
  readonly rpcCode: number;
  readonly data: unknown;

  constructor(rpcCode: number, message: string, data: unknown) {
    super(message);
    this.rpcCode = rpcCode;
    this.data = data;
  }

  /** The error for a request other than a tool call. */
  toToolError(what: string): ToolError {
    const code =
      this.rpcCode === -32_602 ? 'INVALID_ARGUMENT' : this.rpcCode === -32_002 ? 'NOT_FOUND' : 'EXECUTION_FAILED';
    return new ToolError(code, `${what}: ${this.message}`, { cause: this, details: this.details });
  }

  get details(): JsonObject {
    const { rpcCode, data } = this;
    return { rpcCode, ...(data !== undefined && { data }) };
  }
}

/** The session was lost before a response: the request may have been processed. */
export class SessionLostError extends Error {
  readonly failure: ToolError;

  constructor(failure: ToolError) {
    super(failure.message);
    this.failure = failure;
  }
}

export class McpSession {
  readonly era: Era;
  readonly #transport: SessionTransport;
  readonly #filter: MessageFilter;
  readonly #options: SessionOptions;
  readonly #discovered: JsonObject | undefined;
  #client: EngineClient | undefined;
  #over = false;
  #isClosing = false;
  #isRetired = false;
  /** The number of requests that wait for a response. */
  #waiting = 0;
  #closing: Promise<void> | undefined;

  private constructor(
    transport: SessionTransport,
    filter: MessageFilter,
    options: SessionOptions,
    discovered: JsonObject | undefined,
  ) {
    this.#transport = transport;
    this.#filter = filter;
    this.#options = options;
    this.#discovered = discovered;
    this.era = discovered ? 'modern' : 'legacy';
  }

  /**
   * Opens the session: without a handshake where the server was discovered, else with `initialize`. The end of `scope` closes
   * the transport.
   *
   * @param filter of the transport; started already if the server was discovered
   * @param discovered the server's answer to `server/discover`
   * @throws {ToolError} the transport's failure, PROCESS_EXITED, TIMED_OUT, CANCELLED, PROTOCOL_VIOLATION
   */
  static async open(
    engine: Engine,
    transport: SessionTransport,
    filter: MessageFilter,
    options: SessionOptions,
    scope: CallScope,
    discovered?: JsonObject,
  ): Promise<McpSession> {
    const session = new McpSession(transport, filter, options, discovered);
    const { clientInfo, capabilities, onRequest } = options;
    const onClosed = (): void => session.#onClose();
    try {
      session.#client = await scope.race(
        engine.connect(filter, { clientInfo, capabilities, era: session.era, onRequest, onClosed }),
      );
      return session;
    } catch (thrown) {
      void session.close(); // not awaited; a disconnect waits for it
      throw thrown;
    }
  }

  /** False when the next request needs a new session. */
  get isOpen(): boolean {
    return !this.#over && !this.#isClosing && !this.#isRetired && !this.#transport.failure;
  }

  /** The server's capabilities. */
  get capabilities(): JsonObject {
    const { capabilities } = this.#discovered ?? this.#filter;
    return isJsonObject(capabilities) ? capabilities : {};
  }

  /** True where requests of the modern era have HTTP headers. */
  get usesHeaders(): boolean {
    return this.era === 'modern' && this.#transport.usesHeaders === true;
  }

  /** The client capabilities that were declared. */
  get offered(): JsonObject {
    return this.#options.capabilities;
  }

  /**
   * Sends a request. When `scope` ends before the response, one cancellation is sent, without an AbortSignal, which would cost as
   * much as the rest of the request.
   *
   * @throws {RpcError} an error response; {@link SessionLostError} when the session was lost after sending; {@link ToolError}
   *   when the request was not sent, or the scope has ended
   */
  async request(
    method: string,
    params: JsonObject,
    scope: CallScope,
    { onProgress = ignoreProgress, headers, onSent }: RequestOptions = {},
  ): Promise<JsonObject> {
    if (scope.error) throw scope.error;
    const client = this.#client;
    if (!this.isOpen || !client) throw markUnread(new ToolError(this.#lost().toInfo())); // a copy, to mark this request only
    const message = this.era === 'modern' ? this.#withEnvelope(params, scope) : params;
    const { sent, id } = this.#filter.watch(onProgress, () => client.request(method, message, headers));
    onSent?.(id);
    const cancel = (error: ToolError): void => this.#filter.cancel(id, error);
    scope.onEnd(cancel);
    this.#waiting++;
    try {
      const outcome = unboxed(await sent);
      if ('result' in outcome) return this.#accepted(method, outcome.result);
      throw 'failure' in outcome ? outcome.failure : this.#rpcError(outcome.error);
    } catch (thrown) {
      throw scope.error ?? this.#requestFailure(thrown);
    } finally {
      scope.offEnd(cancel);
      this.#waiting--;
      this.#closeIfRetired();
    }
  }

  /** Adds what a request of the modern era declares; the engine adds the revision and who the client is. */
  #withEnvelope(params: JsonObject, scope: CallScope): JsonObject {
    const { _meta } = params;
    const level = this.#options.logLevel();
    return {
      ...params,
      _meta: {
        ...(level !== undefined && { [LOG_LEVEL_META]: level }),
        ...withoutEnvelope(_meta),
        [CAPABILITIES_META]: this.#options.capabilitiesFor(scope),
      },
    };
  }

  /** The result, with `resultType` only if it is one of the modern era that is not the final result. */
  #accepted(method: string, result: JsonObject): JsonObject {
    const { resultType, ...rest } = result;
    if (resultType === undefined) return result;
    if (resultType === 'complete' || this.era === 'legacy') return rest;
    const name = typeof resultType === 'string' ? resultType : typeof resultType;
    if (Object.hasOwn(INTERIM_TYPES, method) && INTERIM_TYPES[method]?.includes(name)) return result;
    const shown = plainText(name, 40);
    throw new ToolError('PROTOCOL_VIOLATION', `The server answered ${method} with the unknown resultType "${shown}".`);
  }

  /** Sends no further request, and closes when those in flight are answered. */
  retire(): void {
    this.#isRetired = true;
    this.#closeIfRetired();
  }

  #closeIfRetired(): void {
    if (this.#isRetired && this.#waiting === 0) void this.close();
  }

  /** Closes the session and its transport. Never rejects; resolves when the transport is closed. */
  close(): Promise<void> {
    if (!this.#closing) {
      this.#isClosing = true; // a transport may call `onclose` before `close` returns
      this.#closing = this.#transport.close().catch(() => undefined); // nothing more can be done
      this.#options.onClosing(this.#closing);
    }
    return this.#closing;
  }

  #onClose(): void {
    if (this.#over) return;
    this.#over = true;
    if (!this.#isClosing && this.#client) this.#options.onLost(this.#lost());
    void this.close();
  }

  #lost(): ToolError {
    return (
      this.#transport.failure ??
      new ToolError('CONNECTION_CLOSED', `The connection to the MCP server "${this.#options.name}" was closed.`)
    );
  }

  #requestFailure(thrown: unknown): unknown {
    if (ToolError.isInstance(thrown) || thrown instanceof RpcError) return thrown;
    const { code } = thrown as { code?: unknown };
    if (this.#over && CLOSED_CODES.has(code)) return new SessionLostError(this.#lost());
    return ToolError.from(thrown, 'INTERNAL');
  }

  #rpcError({ code, message, data }: RpcFault): RpcError {
    const secrets = [...this.#options.secrets, ...(this.#transport.secrets?.() ?? [])];
    const text = plainText(withoutSecrets(message, secrets), 8_000);
    return new RpcError(code, text, withoutSecretsInside(data, secrets));
  }
}

function withoutEnvelope(meta: unknown): JsonObject {
  if (!isJsonObject(meta)) return {};
  return Object.fromEntries(Object.entries(meta).filter(([key]) => !ENVELOPE_KEYS.has(key)));
}

function ignoreProgress(): void {}
