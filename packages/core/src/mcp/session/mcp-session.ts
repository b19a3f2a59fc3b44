// One MCP session over one transport, on the SDK's client. Never reconnects: a lost session is replaced by its owner.

import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import type { CallScope } from '../../call/call-scope.js';
import { ToolError } from '../../contract/errors.js';
import type { JsonObject } from '../../contract/json.js';
import type { Progress } from '../../contract/tool-provider.js';
import { MessageFilter, unboxed, type NotificationListener } from '../transport/message-filter.js';
import { plainText, withoutSecrets, withoutSecretsInside } from '../tools/sanitize.js';
import type { SessionTransport } from '../transport/transport.js';
import { markUnread } from './unread-request.js';

/** Options of {@link McpSession.open}. */
export interface SessionOptions {
  /** The server's name, for errors. */
  name: string;
  clientInfo: { name: string; version: string };
  /** The client capabilities that are declared to the server. */
  capabilities: JsonObject;
  onNotification: NotificationListener;
  /** Answers a request of the server; an error that it throws is sent as the response. */
  onRequest: (method: string, params: JsonObject, signal: AbortSignal) => Promise<JsonObject>;
  /** Called once when the session is lost, but not when it is closed. */
  onLost: (failure: ToolError) => void;
  /** Receives a promise for the end of the transport when the session begins to close. */
  onClosing: (closing: Promise<void>) => void;
  /** Secrets that are redacted from the server's texts. */
  secrets: readonly string[];
  /** For the text of a failure; `scope` enforces the deadline. */
  connectTimeoutMs: number;
}

/** The longest time of a Node timer: scopes enforce the deadlines of requests. */
const NO_TIMEOUT_MS = 2 ** 31 - 1;
const CLOSED = -32_000;

/** Accepts any result: the message filter boxes results, so that the SDK does not parse them. */
const ANY_RESULT = { safeParse: (data: unknown) => ({ success: true, data }) };

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
  readonly #client: Client;
  readonly #transport: SessionTransport;
  readonly #filter: MessageFilter;
  readonly #options: SessionOptions;
  #over = false;
  #isInitialized = false;
  #closing: Promise<void> | undefined;

  private constructor(client: Client, transport: SessionTransport, filter: MessageFilter, options: SessionOptions) {
    this.#client = client;
    this.#transport = transport;
    this.#filter = filter;
    this.#options = options;
    client.onclose = () => this.#onClose();
    client.onerror = () => undefined; // errors that matter fail a request or end the session
    client.fallbackRequestHandler = (request, extra) =>
      options.onRequest(request.method, request.params ?? {}, extra.signal);
  }

  /**
   * Opens the transport and initializes the session. The end of `scope` closes the transport.
   *
   * @throws {ToolError} the transport's failure, PROCESS_EXITED, TIMED_OUT, CANCELLED, PROTOCOL_VIOLATION; UNAVAILABLE when the
   *   SDK is not installed
   */
  static async open(transport: SessionTransport, options: SessionOptions, scope: CallScope): Promise<McpSession> {
    const { Client } = await scope.race(loadSdk());
    const filter = new MessageFilter(transport, options.onNotification);
    const client = new Client(options.clientInfo, {
      capabilities: options.capabilities,
      jsonSchemaValidator: NO_VALIDATOR, // the provider validates results
    });
    const session = new McpSession(client, transport, filter, options);
    try {
      await scope.race(client.connect(filter as never, { timeout: NO_TIMEOUT_MS }));
      session.#isInitialized = true;
      return session;
    } catch (thrown) {
      const failure = session.#startFailure(thrown, scope);
      void session.close(); // not awaited; a disconnect waits for it
      throw failure;
    }
  }

  /** False when the next request needs a new session. */
  get isOpen(): boolean {
    return !this.#over && !this.#closing && !this.#transport.failure;
  }

  /** The server's capabilities. */
  get capabilities(): JsonObject {
    return this.#filter.capabilities;
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
    onProgress: (progress: Progress) => void = ignoreProgress,
  ): Promise<JsonObject> {
    if (scope.error) throw scope.error;
    if (!this.isOpen) throw markUnread(new ToolError(this.#lost().toInfo())); // a copy, to mark this request only
    const options = { timeout: NO_TIMEOUT_MS, onprogress: ignoreProgress }; // makes the SDK send a progress token
    const { sent, id } = this.#filter.watch(onProgress, () =>
      this.#client.request({ method, params }, ANY_RESULT as never, options),
    );
    const cancel = (error: ToolError): void => this.#filter.cancel(id, error);
    scope.onEnd(cancel);
    try {
      return unboxed(await sent);
    } catch (thrown) {
      throw scope.error ?? this.#requestFailure(thrown);
    } finally {
      scope.offEnd(cancel);
    }
  }

  /** Closes the session and its transport. Never rejects; resolves when the transport is closed. */
  close(): Promise<void> {
    if (!this.#closing) {
      this.#closing = this.#transport.close().catch(() => undefined); // nothing more can be done
      this.#options.onClosing(this.#closing);
    }
    return this.#closing;
  }

  #onClose(): void {
    if (this.#over) return;
    this.#over = true;
    if (!this.#closing && this.#isInitialized) this.#options.onLost(this.#lost());
    void this.close();
  }

  #lost(): ToolError {
    return (
      this.#transport.failure ??
      new ToolError('CONNECTION_CLOSED', `The connection to the MCP server "${this.#options.name}" was closed.`)
    );
  }

  #startFailure(thrown: unknown, scope: CallScope): ToolError {
    const { name, connectTimeoutMs } = this.#options;
    const { failure, stderrNote } = this.#transport;
    const why =
      failure ?? (scope.error?.code === 'TIMED_OUT' ? tooSlow(connectTimeoutMs) : scope.error) ?? fromStart(thrown);
    const hint = why.code === 'PROCESS_EXITED' ? ' Run its command in a terminal to see why.' : '';
    const more = stderrNote === undefined || why.message.includes(stderrNote) ? '' : ` ${stderrNote}`;
    const { code, message, details, retryable } = why;
    const secrets = [...this.#options.secrets, ...(this.#transport.secrets?.() ?? [])];
    const text = withoutSecrets(`The MCP server "${name}" did not start: ${message}${hint}${more}`, secrets);
    return new ToolError(code, text, {
      provider: name,
      details,
      retryable,
      cause: thrown,
    });
  }

  #requestFailure(thrown: unknown): unknown {
    if (ToolError.isInstance(thrown)) return thrown;
    const { code, message, data } = thrown as { code?: unknown; message?: unknown; data?: unknown };
    if (this.#over && code === CLOSED) return new SessionLostError(this.#lost());
    if (ToolError.isInstance(data)) return data;
    if (typeof code === 'number' && typeof message === 'string') {
      const secrets = [...this.#options.secrets, ...(this.#transport.secrets?.() ?? [])];
      const text = withoutSecrets(message.replace(`MCP error ${code}: `, ''), secrets);
      return new RpcError(code, plainText(text, 8_000), withoutSecretsInside(data, secrets));
    }
    return ToolError.from(thrown, 'INTERNAL');
  }
}

const NO_VALIDATOR = {
  getValidator: () => (input: unknown) => ({ valid: true, data: input, errorMessage: undefined }),
} as never;

function ignoreProgress(): void {}

/** Loads the SDK, an optional peer dependency. */
async function loadSdk(): Promise<{ Client: typeof Client }> {
  try {
    return await import('@modelcontextprotocol/sdk/client/index.js');
  } catch (cause) {
    throw new ToolError(
      'UNAVAILABLE',
      'MCP servers need the package @modelcontextprotocol/sdk (1.32 or later): npm install @modelcontextprotocol/sdk',
      { cause, retryable: false },
    );
  }
}

function tooSlow(ms: number): ToolError {
  return new ToolError(
    'TIMED_OUT',
    `it did not answer "initialize" within ${ms} ms; check the server, or raise connectTimeoutMs.`,
  );
}

function fromStart(thrown: unknown): ToolError {
  if (ToolError.isInstance(thrown)) return ToolError.from(thrown);
  const { code, data, message } = thrown as { code?: unknown; data?: unknown; message?: unknown };
  if (ToolError.isInstance(data)) return ToolError.from(data);
  const text = plainText(typeof message === 'string' ? message : String(thrown), 500);
  if (code === CLOSED) return new ToolError('CONNECTION_CLOSED', 'it closed the connection before it responded.');
  return new ToolError('PROTOCOL_VIOLATION', `its response to initialize is invalid: ${text}`, {
    cause: thrown,
  });
}
