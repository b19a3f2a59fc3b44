// One MCP session over one transport, on the SDK's client: opened within a deadline, asked, and over when it is over.

import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import type { CallScope } from '../../call/call-scope.js';
import { ToolError } from '../../contract/errors.js';
import type { JsonObject } from '../../contract/json.js';
import type { Progress } from '../../contract/tool-provider.js';
import { MessageGate, unboxed, type NotificationListener } from '../transport/message-filter.js';
import { plainWords, withoutSecrets, withoutSecretsInside } from '../tools/sanitize.js';
import type { LinkTransport } from '../transport/transport.js';
import { markUnseen } from './unread-request.js';

/** What a session needs of the one who opens it. */
export interface SessionOptions {
  /** Names the server in errors. */
  name: string;
  clientInfo: { name: string; version: string };
  /** What is offered to the server. */
  capabilities: JsonObject;
  onNotification: NotificationListener;
  /** Answers a request of the server's; what it throws is the answer too. */
  onRequest: (method: string, params: JsonObject, signal: AbortSignal) => Promise<JsonObject>;
  /** Told once when the session is over and was not closed from here. */
  onLost: (failure: ToolError) => void;
  /** Given what to wait for when the session begins to end, for whatever reason. */
  onClosing: (closing: Promise<void>) => void;
  /** Given in confidence; a server that says them again does not have them shown. */
  secrets: readonly string[];
  /** For the words of a failure; `scope` holds the deadline itself. */
  connectTimeoutMs: number;
}

/** The longest that Node's timers take: every request has a deadline of ours already. */
const NO_TIMEOUT_MS = 2 ** 31 - 1;
const CLOSED = -32_000;

/** Takes what the gate boxed, unread. The SDK asks of a schema no more than this. */
const AS_IT_IS = { safeParse: (data: unknown) => ({ success: true, data }) };

/** A JSON-RPC error that the server answered with. */
export class RpcFailure extends Error {
  readonly rpcCode: number;
  readonly data: unknown;

  constructor(rpcCode: number, message: string, data: unknown) {
    super(message);
    this.rpcCode = rpcCode;
    this.data = data;
  }

  /** What it is for a caller who asked for something other than a tool. */
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

/** The session ended before an answer came: whether the request was acted on is not known. */
export class LostSession extends Error {
  readonly failure: ToolError;

  constructor(failure: ToolError) {
    super(failure.message);
    this.failure = failure;
  }
}

export class McpSession {
  readonly #client: Client;
  readonly #link: LinkTransport;
  readonly #gate: MessageGate;
  readonly #options: SessionOptions;
  #over = false;
  #isInitialized = false;
  #closing: Promise<void> | undefined;

  private constructor(client: Client, link: LinkTransport, gate: MessageGate, options: SessionOptions) {
    this.#client = client;
    this.#link = link;
    this.#gate = gate;
    this.#options = options;
    client.onclose = () => this.#ended();
    client.onerror = () => undefined; // what matters fails a request, or ends the session
    client.fallbackRequestHandler = (request, extra) =>
      options.onRequest(request.method, request.params ?? {}, extra.signal);
  }

  /**
   * Opens the transport and initializes. Whatever ends `scope` first ends the transport too.
   *
   * @throws {ToolError} what the transport failed with, PROCESS_EXITED, TIMED_OUT, CANCELLED, PROTOCOL_VIOLATION,
   * UNAVAILABLE when the SDK is not installed
   */
  static async open(link: LinkTransport, options: SessionOptions, scope: CallScope): Promise<McpSession> {
    const { Client } = await scope.race(loadSdk());
    const gate = new MessageGate(link, options.onNotification);
    const client = new Client(options.clientInfo, {
      capabilities: options.capabilities,
      jsonSchemaValidator: NO_VALIDATOR, // results are validated by the provider
    });
    const session = new McpSession(client, link, gate, options);
    try {
      await scope.race(client.connect(gate as never, { timeout: NO_TIMEOUT_MS }));
      session.#isInitialized = true;
      return session;
    } catch (thrown) {
      const failure = session.#startFailure(thrown, scope);
      void session.close(); // the failure does not wait for the end of a stubborn server; whoever disconnects does
      throw failure;
    }
  }

  /** False when the next request needs another session. */
  get isOpen(): boolean {
    return !this.#over && !this.#closing && !this.#link.failure;
  }

  /** What the server offers. */
  get capabilities(): JsonObject {
    return this.#gate.offers;
  }

  /** What the server was offered. */
  get offered(): JsonObject {
    return this.#options.capabilities;
  }

  /**
   * Sends a request. The server is told, once, when `scope` ends before it has answered. No AbortSignal is made for that,
   * which would cost as much as the rest of the request.
   *
   * @throws {RpcFailure} what the server answered; {@link LostSession} when it had the request and gave no answer;
   * {@link ToolError} when it never had it, or the scope has ended
   */
  async request(
    method: string,
    params: JsonObject,
    scope: CallScope,
    onProgress: (progress: Progress) => void = ignoreProgress,
  ): Promise<JsonObject> {
    if (scope.error) throw scope.error;
    if (!this.isOpen) throw markUnseen(new ToolError(this.#lost().toInfo())); // of this request, not of the session
    const options = { timeout: NO_TIMEOUT_MS, onprogress: ignoreProgress }; // for the sake of its token
    const { sent, id } = this.#gate.watch(onProgress, () =>
      this.#client.request({ method, params }, AS_IT_IS as never, options),
    );
    const cancel = (error: ToolError): void => this.#gate.cancel(id, error);
    scope.onEnd(cancel);
    try {
      return unboxed(await sent);
    } catch (thrown) {
      throw scope.error ?? this.#requestFailure(thrown);
    } finally {
      scope.offEnd(cancel);
    }
  }

  /** Ends the session and its transport. Never rejects; resolves when the transport has ended. */
  close(): Promise<void> {
    if (!this.#closing) {
      this.#closing = this.#link.close().catch(() => undefined); // it is as closed as it can be
      this.#options.onClosing(this.#closing);
    }
    return this.#closing;
  }

  #ended(): void {
    if (this.#over) return;
    this.#over = true;
    if (!this.#closing && this.#isInitialized) this.#options.onLost(this.#lost());
    void this.close();
  }

  #lost(): ToolError {
    return (
      this.#link.failure ??
      new ToolError('CONNECTION_CLOSED', `The connection to the MCP server "${this.#options.name}" was closed.`)
    );
  }

  #startFailure(thrown: unknown, scope: CallScope): ToolError {
    const { name, connectTimeoutMs } = this.#options;
    const { failure, remarks } = this.#link;
    const why =
      failure ?? (scope.error?.code === 'TIMED_OUT' ? tooSlow(connectTimeoutMs) : scope.error) ?? fromStart(thrown);
    const hint = why.code === 'PROCESS_EXITED' ? ' Run its command by hand to see why.' : '';
    const more = remarks === undefined || why.message.includes(remarks) ? '' : ` ${remarks}`;
    const { code, message, details, retryable } = why;
    const secrets = [...this.#options.secrets, ...(this.#link.secrets?.() ?? [])];
    const words = withoutSecrets(`The MCP server "${name}" did not start: ${message}${hint}${more}`, secrets);
    return new ToolError(code, words, {
      provider: name,
      details,
      retryable,
      cause: thrown,
    });
  }

  #requestFailure(thrown: unknown): unknown {
    if (ToolError.isInstance(thrown)) return thrown;
    const { code, message, data } = thrown as { code?: unknown; message?: unknown; data?: unknown };
    if (this.#over && code === CLOSED) return new LostSession(this.#lost());
    if (ToolError.isInstance(data)) return data;
    if (typeof code === 'number' && typeof message === 'string') {
      const secrets = [...this.#options.secrets, ...(this.#link.secrets?.() ?? [])];
      const words = withoutSecrets(message.replace(`MCP error ${code}: `, ''), secrets);
      return new RpcFailure(code, plainWords(words, 8_000), withoutSecretsInside(data, secrets));
    }
    return ToolError.from(thrown, 'INTERNAL');
  }
}

const NO_VALIDATOR = {
  getValidator: () => (input: unknown) => ({ valid: true, data: input, errorMessage: undefined }),
} as never;

function ignoreProgress(): void {}

/** The SDK is installed by those who use MCP, and loaded by the first connection. */
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
    `it had not answered "initialize" after ${ms} ms; see why, or raise connectTimeoutMs.`,
  );
}

function fromStart(thrown: unknown): ToolError {
  if (ToolError.isInstance(thrown)) return ToolError.from(thrown);
  const { code, data, message } = thrown as { code?: unknown; data?: unknown; message?: unknown };
  if (ToolError.isInstance(data)) return ToolError.from(data);
  const words = plainWords(typeof message === 'string' ? message : String(thrown), 500);
  if (code === CLOSED) return new ToolError('CONNECTION_CLOSED', 'it closed the connection before it answered.');
  return new ToolError('PROTOCOL_VIOLATION', `its answer to initialize was not understood: ${words}`, {
    cause: thrown,
  });
}
