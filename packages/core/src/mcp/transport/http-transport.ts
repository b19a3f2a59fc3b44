// MCP over Streamable HTTP, or over SSE for older servers: wraps the engine's transports, limits bodies, and fails requests
// whose response breaks off.

import { settledWithin } from '../../call/waiting.js';
import { setMaxListeners } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { ToolError } from '../../contract/errors.js';
import { MODERN_VERSION, type Engine, type EngineHttpTransport } from '../engines/engine.js';
import { watchedBody } from './http-body.js';
import {
  asRpcResponse,
  CHANGED_ERA,
  MAY_BE_SSE,
  meaningOf,
  NEVER_SENT,
  statusOf,
  withoutChallenge,
} from './http-status.js';
import { lacksScope, type Authorizer } from '../auth/oauth.js';
import { plainText, secretsOfHeaders, withoutSecrets } from '../../contract/sanitize.js';
import type { SessionTransport, McpMessage } from './transport.js';
import { markUnread } from '../session/unread-request.js';

/** Options of {@link HttpTransport}. */
export interface HttpTransportOptions {
  url: URL;
  headers: Readonly<Record<string, string>>;
  authorizer: Authorizer | undefined;
  maxFrameBytes: number;
  engine: Engine;
}

/** Requests whose error decides which revision the server speaks. */
const HANDSHAKES = /^\{"method":"(server\/discover|initialize)"/;
/** How long to wait for a server to terminate its session. */
const TERMINATE_TIMEOUT_MS = 1_000;
/** How long to wait for responses in progress after a session has ended. */
const DRAIN_MS = 1_000;
/** The shortest interval between two streams that are opened by GET. */
const STREAM_GAP_MS = 50;
const MAX_TOKENS = 8;
/** How often a session asks a person for more scopes. */
const MAX_STEP_UPS = 2;
export class HttpTransport implements SessionTransport {
  onclose?: (() => void) | undefined;
  onerror?: ((error: Error) => void) | undefined;
  onmessage?: SessionTransport['onmessage'];
  failure: ToolError | undefined;
  readonly usesHeaders = true;
  readonly #options: HttpTransportOptions;
  #transport: EngineHttpTransport | undefined;
  /** Functions that cancel responses in progress, by request id. */
  readonly #responses = new Map<number, () => void>();
  /** Requests whose response has not begun, by id. */
  readonly #unanswered = new Map<number, AbortController>();
  /** Called when no request is in flight. */
  #onIdle: (() => void) | undefined;
  /** The SSE transport while it is being opened. */
  #opening: EngineHttpTransport | undefined;
  /** Requests whose response arrives on a stream that the SDK resumes. */
  readonly #resumable = new Set<number>();
  /** The latest tokens, for redaction. */
  readonly #tokens = new Set<string>();
  #isSse = false;
  /** The number of requests whose response has not begun. */
  #sending = 0;
  #nextStreamAt = 0;
  #closed = false;
  #stepUps = 0;
  /** The sign-in for more scopes that is in progress. */
  #steppingUp: Promise<void> | undefined;
  /** True once the session is one of MCP 2026-07-28. */
  #isModern = false;

  constructor(options: HttpTransportOptions) {
    this.#options = options;
  }

  secrets(): readonly string[] {
    return [...this.#tokens];
  }

  readonly setProtocolVersion = (version: string): void => {
    this.#isModern = version >= MODERN_VERSION;
    this.#transport?.setProtocolVersion?.(version);
  };

  async start(): Promise<void> {
    const { url, headers, engine } = this.#options;
    const transport = engine.streamableHttp({ url, headers, fetch: this.#fetch });
    this.#listen(transport);
    await transport.start();
  }

  async send(message: McpMessage, options?: object): Promise<void> {
    const transport = this.#transport;
    if (!transport || this.#closed) throw new ToolError('CONNECTION_CLOSED', 'The connection is closed.');
    const { method, id } = message as { method?: string; id?: unknown };
    if (this.#isModern && method === 'notifications/cancelled') return this.#cancelResponse(message);
    this.#sending++;
    // Made now: the SDK fetches later, and the request may be cancelled before that.
    if (method !== undefined && typeof id === 'number') this.#unanswered.set(id, new AbortController());
    try {
      await transport.send(message, options);
      this.#cancelResponse(message);
    } catch (thrown) {
      if (method === 'initialize' && MAY_BE_SSE.has(statusOf(thrown))) {
        return await this.#sendOverSse(message, thrown);
      }
      throw this.#sendFailure(thrown, method === 'tools/call');
    } finally {
      this.#unanswered.delete(id as number);
      this.#sending--;
      this.#checkIdle();
    }
  }

  async close(): Promise<void> {
    const transport = this.#transport;
    if (this.#closed) return;
    this.#closed = true;
    await this.#opening?.close();
    this.#onIdle?.();
    if (transport?.terminateSession && !this.failure)
      await settledWithin([transport.terminateSession()], TERMINATE_TIMEOUT_MS); // the server may have exited already
    await transport?.close();
    this.onclose?.();
  }

  #listen(transport: EngineHttpTransport): void {
    this.#transport = transport;
    transport.onmessage = (message) => {
      const { id } = message as { id?: unknown };
      this.#resumable.delete(Number(id));
      this.onmessage?.(message);
    };
    transport.onerror = (error) => this.#onError(error);
  }

  /** https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#backwards-compatibility */
  async #sendOverSse(message: McpMessage, refusal: unknown): Promise<void> {
    const { url, headers, engine } = this.#options;
    const transport = engine.sse({ url, headers, fetch: this.#fetch });
    this.#opening = transport;
    try {
      transport.onerror = () => undefined; // start() rejects
      await transport.start();
    } catch {
      await transport.close();
      throw this.#sendFailure(refusal); // the response to the newer protocol is more informative
    } finally {
      this.#opening = undefined;
    }
    await this.#transport?.close();
    if (this.#closed) return transport.close();
    this.#isSse = true;
    this.#listen(transport);
    await transport.send(message).catch((thrown: unknown) => {
      throw this.#sendFailure(thrown);
    });
  }

  readonly #fetch = async (input: string | URL, init: RequestInit = {}): Promise<Response> => {
    const id = init.method === 'POST' ? requestIdOf(init.body) : undefined;
    const controller = id === undefined ? undefined : this.#unanswered.get(id);
    if (id === undefined || !controller) return this.#fetchOnce(input, init, id);
    try {
      const signal = init.signal ? AbortSignal.any([init.signal, controller.signal]) : controller.signal;
      return await this.#fetchOnce(input, { ...init, signal }, id);
    } finally {
      this.#unanswered.delete(id);
    }
  };

  async #fetchOnce(input: string | URL, init: RequestInit, id: number | undefined): Promise<Response> {
    const { authorizer, maxFrameBytes } = this.#options;
    // The SDK uses one signal for all requests of a connection.
    if (init.signal) setMaxListeners(0, init.signal);
    if (init.method === 'GET') await this.#waitForTurn(init.signal ?? undefined);
    let response = await this.#send(input, init, await authorizer?.token());
    if (response.status === 401 && authorizer) {
      await response.body?.cancel();
      await authorizer.renew(response, sentTokens.get(response));
      response = await this.#send(input, init, await authorizer.token());
    }
    if (authorizer && lacksScope(response) && (await this.#stepUp(authorizer, response))) {
      await response.body?.cancel();
      response = await this.#send(input, init, await authorizer.token());
    }
    if (response.status === 403) response = withoutChallenge(response);
    const answered = response.status === 200 ? id : undefined;
    const watched = watchedBody(response, {
      maxMessageBytes: maxFrameBytes,
      onBegin: (cancel) => answered !== undefined && this.#responses.set(answered, cancel),
      onEnd: (failure, resumable) => this.#bodyEnded(answered, failure, resumable),
    });
    const mayBeError = this.#isModern || isHandshake(init.body);
    return id !== undefined && response.status >= 400 && mayBeError ? asRpcResponse(watched, id) : watched;
  }

  /** Signs in for the scopes that a response requires, once for all requests that wait. False when that was done too often. */
  async #stepUp(authorizer: Authorizer, refusal: Response): Promise<boolean> {
    const rejected = sentTokens.get(refusal);
    if (!this.#steppingUp && (await authorizer.token()) === rejected) {
      if (!this.#steppingUp && this.#stepUps++ >= MAX_STEP_UPS) return false;
      this.#steppingUp ??= authorizer.renew(refusal, rejected).finally(() => (this.#steppingUp = undefined));
    }
    await this.#steppingUp;
    return true;
  }

  /** Limits how often streams are opened: a server can end each and request the next immediately (`retry: 0`). */
  async #waitForTurn(signal: AbortSignal | undefined): Promise<void> {
    const now = performance.now();
    const turnAt = Math.max(now, this.#nextStreamAt);
    this.#nextStreamAt = turnAt + STREAM_GAP_MS;
    if (turnAt > now) await pause(turnAt - now, undefined, { signal, ref: false });
  }

  async #send(input: string | URL, init: RequestInit, token: string | undefined): Promise<Response> {
    const headers = new Headers(init.headers);
    if (token !== undefined) {
      headers.set('authorization', `Bearer ${token}`);
      this.#rememberToken(token);
    }
    const response = await fetch(input, { ...init, headers });
    sentTokens.set(response, token);
    return response;
  }

  #rememberToken(token: string): void {
    this.#tokens.add(token);
    const [oldest] = this.#tokens;
    if (this.#tokens.size > MAX_TOKENS && oldest !== undefined) this.#tokens.delete(oldest);
  }

  /** Fails the request of a stream that has ended without its response, unless the SDK resumes it. */
  #bodyEnded(id: number | undefined, failure: ToolError | undefined, resumable: boolean): void {
    if (id !== undefined && this.#responses.delete(id)) this.#checkIdle();
    if (id === undefined || this.#closed || this.#isSse) return;
    if (resumable && !failure) {
      this.#resumable.add(id);
      return;
    }
    // Deferred, as the SDK may still be reading the stream's last event.
    setImmediate(() => setImmediate(() => this.#fail(id, failure ?? brokenOff())));
  }

  #fail(id: number, data: ToolError): void {
    // The message filter drops it if the response has arrived.
    if (!this.#closed) this.onmessage?.({ jsonrpc: '2.0', id, error: { code: -32_603, message: data.message, data } });
  }

  #onError(error: Error): void {
    if (/Maximum reconnection attempts/.test(error.message)) {
      for (const id of this.#resumable) this.#fail(id, brokenOff());
      this.#resumable.clear();
    } else if (this.#isSse && error.name === 'Error' && /^SSE error/.test(error.message)) {
      this.#lose(new ToolError('CONNECTION_CLOSED', `The event stream of ${this.#options.url.origin} broke off.`));
    }
    this.onerror?.(error);
  }

  /** Ends the session with a failure; the next call opens a new one. */
  #lose(failure: ToolError): void {
    this.failure ??= failure;
    void this.close();
  }

  /**
   * Sends nothing more, and ends the session when no request is in flight.
   *
   * @param drainMs ends it after this time anyway
   */
  #loseWhenIdle(failure: ToolError, drainMs?: number): void {
    if (this.failure) return;
    this.failure = failure;
    const timer = drainMs === undefined ? undefined : setTimeout(() => this.#lose(failure), drainMs).unref();
    this.#onIdle = () => {
      clearTimeout(timer);
      setImmediate(() => this.#lose(failure));
    };
  }

  #checkIdle(): void {
    if (this.#sending === 0 && this.#responses.size === 0) this.#onIdle?.();
  }

  /** Closes the response stream of a cancelled request, which the server may leave open. */
  #cancelResponse(message: McpMessage): void {
    const { method, params } = message as { method?: string; params?: { requestId?: unknown } };
    if (method === 'notifications/cancelled') this.abandon(Number(params?.requestId));
  }

  abandon(id: number): void {
    this.#unanswered.get(id)?.abort();
    this.#responses.get(id)?.();
  }

  /** True when the server at the URL was replaced by one that does not read requests of this era. */
  #changedEra(status: number, message = ''): boolean {
    if (this.#isModern) return MAY_BE_SSE.has(status);
    return status === 400 && this.#transport?.sessionId !== undefined && message.includes('-32022');
  }

  /** The error for a request that could not be sent. @param isCall whether a failing server may have run a tool */
  #sendFailure(thrown: unknown, isCall = false): ToolError {
    if (ToolError.isInstance(thrown)) return ToolError.from(thrown);
    const { url, headers } = this.#options;
    const { message, cause } = thrown as { message?: string; cause?: { code?: unknown } };
    const status = statusOf(thrown);
    const secrets = [...secretsOfHeaders(headers), ...this.#tokens];
    const text = plainText(withoutSecrets(message ?? '', secrets), 300);
    if (status !== undefined) {
      const [code, hint] = this.#changedEra(status, message) ? CHANGED_ERA : meaningOf(status, this.#transport, isCall);
      const error = new ToolError(code, `${url.origin} responded with ${status}: ${text}${hint}`, {
        cause: thrown,
        details: { status },
        ...(code === 'CONNECTION_CLOSED' && { retryable: true }), // the request was not read
      });
      // A server without sessions may answer the other requests; one that forgot the session will not.
      if (code === 'CONNECTION_CLOSED') this.#loseWhenIdle(markUnread(error), this.#isModern ? undefined : DRAIN_MS);
      return error;
    }
    if (thrown instanceof SyntaxError || Array.isArray((thrown as { issues?: unknown }).issues))
      return new ToolError('PROTOCOL_VIOLATION', `The response of ${url.origin} is not a JSON-RPC message.`, {
        cause: thrown,
      });
    const errno = cause?.code;
    if (typeof errno === 'string' && NEVER_SENT.has(errno)) {
      const error = new ToolError(
        'UNAVAILABLE',
        `${url.origin} cannot be reached (${errno}); check that the server is running and the url is correct.`,
        { cause: thrown },
      );
      this.#loseWhenIdle(markUnread(error)); // it is probably shutting down, and may still answer
      return error;
    }
    return new ToolError(
      isCall ? 'OUTCOME_UNKNOWN' : 'UNAVAILABLE',
      `The request to ${url.origin} broke off: ${text}.${isCall ? ' The tool may have run.' : ''}`,
      {
        cause: thrown,
        ...(typeof errno === 'string' && { details: { errno } }),
      },
    );
  }
}

function isHandshake(body: unknown): boolean {
  return typeof body === 'string' && HANDSHAKES.test(body.slice(0, 40));
}

/** The token of each response's request. */
const sentTokens = new WeakMap<Response, string | undefined>();

function brokenOff(): ToolError {
  return new ToolError('OUTCOME_UNKNOWN', 'The stream ended before the response; the call may have run.');
}

/** The id of a request in the SDK's serialisation, which begins with the method and ends with the id; responses have no method. */
function requestIdOf(body: unknown): number | undefined {
  const isRequest = typeof body === 'string' && body.startsWith('{"method":');
  const id = isRequest ? /"id":(\d+)\}$/.exec(body.slice(-40))?.[1] : undefined;
  return id === undefined ? undefined : Number(id);
}
