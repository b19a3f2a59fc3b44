// MCP over Streamable HTTP, and over SSE for servers that know nothing newer: the SDK's transports, with bounded bodies,
// and with an end for requests whose answer broke off.

import { settledWithin } from '../../call/waiting.js';
import type { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js';
import type { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { setMaxListeners } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { ToolError, type ToolErrorCode } from '../../contract/errors.js';
import { watchedBody } from './http-body.js';
import type { Authorizer } from '../auth/oauth.js';
import { plainWords, secretsOfHeaders, withoutSecrets } from '../tools/sanitize.js';
import type { LinkTransport, McpMessage } from './transport.js';
import { markUnseen } from '../session/unread-request.js';

/** What an HTTP link talks to. */
export interface HttpLinkOptions {
  url: URL;
  headers: Readonly<Record<string, string>>;
  authorizer: Authorizer | undefined;
  maxFrameBytes: number;
}

/** How long a server may take to note that its session is over. */
const GOODBYE_MS = 1_000;
/** How long answers of a session that is over are waited for. */
const LAST_ANSWERS_MS = 1_000;
/** Between two streams that are opened by GET. */
const STREAM_GAP_MS = 50;
const MAX_TOKENS = 8;
/** Answers to `initialize` that an old server gives, which waits for a GET. */
const MAY_BE_SSE: ReadonlySet<unknown> = new Set([400, 404, 405, 406, 415, 422]);

export class HttpLink implements LinkTransport {
  onclose?: (() => void) | undefined;
  onerror?: ((error: Error) => void) | undefined;
  onmessage?: LinkTransport['onmessage'];
  failure: ToolError | undefined;
  readonly #options: HttpLinkOptions;
  #transport: StreamableHTTPClientTransport | SSEClientTransport | undefined;
  /** What ends the answers that have begun, by the ids of their requests. */
  readonly #answers = new Map<number, () => void>();
  /** Runs when none is left. */
  #onAnswered: (() => void) | undefined;
  /** The old transport while it is opened. */
  #opening: SSEClientTransport | undefined;
  /** Requests whose answers come on a stream that the SDK takes up again when it breaks. */
  readonly #resumable = new Set<number>();
  /** The tokens that requests were sent with, of late. */
  readonly #tokens = new Set<string>();
  #isSse = false;
  /** Requests whose answers have not begun, and what runs when there are none. */
  #sending = 0;
  #nextStreamAt = 0;
  #onSent: (() => void) | undefined;
  #closed = false;

  constructor(options: HttpLinkOptions) {
    this.#options = options;
  }

  secrets(): readonly string[] {
    return [...this.#tokens];
  }

  readonly setProtocolVersion = (version: string): void => this.#transport?.setProtocolVersion(version);

  async start(): Promise<void> {
    const { StreamableHTTPClientTransport } = await import('@modelcontextprotocol/sdk/client/streamableHttp.js');
    const { url, headers } = this.#options;
    const transport = new StreamableHTTPClientTransport(url, { fetch: this.#fetch, requestInit: { headers } });
    this.#listen(transport);
    await transport.start();
  }

  async send(message: McpMessage, options?: object): Promise<void> {
    const transport = this.#transport;
    if (!transport || this.#closed) throw new ToolError('CONNECTION_CLOSED', 'The connection has been closed.');
    this.#sending++;
    try {
      await (transport as StreamableHTTPClientTransport).send(message as never, options); // SSE takes no options
      this.#giveUp(message);
    } catch (thrown) {
      if (
        (message as { method?: string }).method === 'initialize' &&
        MAY_BE_SSE.has((thrown as { code?: unknown }).code)
      ) {
        return await this.#sendOverSse(message, thrown);
      }
      throw this.#sendFailure(thrown, (message as { method?: string }).method === 'tools/call');
    } finally {
      if (--this.#sending === 0) this.#onSent?.();
    }
  }

  async close(): Promise<void> {
    const transport = this.#transport;
    if (this.#closed) return;
    this.#closed = true;
    await this.#opening?.close();
    this.#onSent?.();
    if (transport && 'terminateSession' in transport && !this.failure)
      await settledWithin([transport.terminateSession()], GOODBYE_MS); // the server may be closed already
    await transport?.close();
    this.onclose?.();
  }

  #listen(transport: StreamableHTTPClientTransport | SSEClientTransport): void {
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
    const { SSEClientTransport } = await import('@modelcontextprotocol/sdk/client/sse.js');
    const { url, headers } = this.#options;
    const transport = new SSEClientTransport(url, { fetch: this.#fetch, requestInit: { headers } });
    this.#opening = transport;
    try {
      transport.onerror = () => undefined; // start() rejects
      await transport.start();
    } catch {
      await transport.close();
      throw this.#sendFailure(refusal); // the answer to the newer protocol says more
    } finally {
      this.#opening = undefined;
    }
    await this.#transport?.close();
    if (this.#closed) return transport.close();
    this.#isSse = true;
    this.#listen(transport);
    await transport.send(message as never).catch((thrown: unknown) => {
      throw this.#sendFailure(thrown);
    });
  }

  readonly #fetch = async (input: string | URL, init: RequestInit = {}): Promise<Response> => {
    const { authorizer, maxFrameBytes } = this.#options;
    // The SDK gives one signal to every request of a connection.
    if (init.signal) setMaxListeners(0, init.signal);
    if (init.method === 'GET') await this.#waitForTurn(init.signal ?? undefined);
    let response = await this.#send(input, init, await authorizer?.token());
    if (response.status === 401 && authorizer) {
      await response.body?.cancel();
      await authorizer.renew(response, signedWith.get(response));
      response = await this.#send(input, init, await authorizer.token());
    }
    const id = init.method === 'POST' && response.status === 200 ? requestIdOf(init.body) : undefined;
    return watchedBody(response, {
      maxMessageBytes: maxFrameBytes,
      onBegin: (cancel) => id !== undefined && this.#answers.set(id, cancel),
      onEnd: (failure, resumable) => this.#bodyEnded(id, failure, resumable),
    });
  };

  /** A server that ends its streams can ask for the next one at once (`retry: 0`), for ever. */
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
    signedWith.set(response, token);
    return response;
  }

  #rememberToken(token: string): void {
    this.#tokens.add(token);
    const [oldest] = this.#tokens;
    if (this.#tokens.size > MAX_TOKENS && oldest !== undefined) this.#tokens.delete(oldest);
  }

  /** An answer whose stream is over and that has not come will not come. */
  #bodyEnded(id: number | undefined, failure: ToolError | undefined, resumable: boolean): void {
    if (id !== undefined && this.#answers.delete(id) && this.#answers.size === 0) this.#onAnswered?.();
    if (id === undefined || this.#closed || this.#isSse) return;
    if (resumable && !failure) {
      this.#resumable.add(id);
      return;
    }
    // The SDK may still be reading what was in the stream: it is given the time to.
    setImmediate(() => setImmediate(() => this.#fail(id, failure ?? brokenOff())));
  }

  #fail(id: number, data: ToolError): void {
    // The gate drops it where the answer has come.
    if (!this.#closed) this.onmessage?.({ jsonrpc: '2.0', id, error: { code: -32_603, message: data.message, data } });
  }

  #onError(error: Error): void {
    if (/Maximum reconnection attempts/.test(error.message)) {
      for (const id of this.#resumable) this.#fail(id, brokenOff());
      this.#resumable.clear();
    } else if (this.#isSse && error.name === 'Error' && /^SSE error/.test(error.message)) {
      this.#lose(new ToolError('CONNECTION_CLOSED', `The stream of ${this.#options.url.origin} broke off.`));
    }
    this.onerror?.(error);
  }

  /** The session is gone: whoever waits is told, and the next call makes another. */
  #lose(failure: ToolError): void {
    this.failure ??= failure;
    void this.close();
  }

  /** The server takes no new connection, as one that is about to end: what it has begun to answer it may finish. */
  #loseWhenAnswered(failure: ToolError): void {
    if (this.#answers.size === 0) return this.#loseSoon(failure);
    this.failure ??= failure;
    this.#onAnswered = () => setImmediate(() => this.#lose(failure));
  }

  /** Nothing more is sent. Requests that are on their way get the server's own answer, where it comes soon. */
  #loseSoon(failure: ToolError): void {
    if (this.failure) return;
    this.failure = failure;
    const timer = setTimeout(() => this.#lose(failure), LAST_ANSWERS_MS).unref();
    this.#onSent = () => {
      clearTimeout(timer);
      setImmediate(() => this.#lose(failure));
    };
  }

  /** The server was told that an answer is not wanted any more: a stream that it leaves open is closed. */
  #giveUp(message: McpMessage): void {
    const { method, params } = message as { method?: string; params?: { requestId?: unknown } };
    if (method === 'notifications/cancelled') this.#answers.get(Number(params?.requestId))?.();
  }

  /** @param isCall a server that fails may have run it */
  #sendFailure(thrown: unknown, isCall = false): ToolError {
    if (ToolError.isInstance(thrown)) return ToolError.from(thrown);
    const { url, headers } = this.#options;
    const { code: status, message, cause } = thrown as { code?: unknown; message?: string; cause?: { code?: unknown } };
    const secrets = [...secretsOfHeaders(headers), ...this.#tokens];
    const words = plainWords(withoutSecrets(message ?? '', secrets), 300);
    if (typeof status === 'number' && status > 0) {
      const [code, hint] = meaningOf(status, this.#transport, isCall);
      const error = new ToolError(code, `${url.origin} answered ${status}: ${words}${hint}`, {
        cause: thrown,
        details: { status },
        ...(code === 'CONNECTION_CLOSED' && { retryable: true }), // the request was not looked at
      });
      if (code === 'CONNECTION_CLOSED') this.#loseSoon(markUnseen(error));
      return error;
    }
    const errno = cause?.code;
    if (typeof errno === 'string' && NEVER_SENT.has(errno)) {
      const error = new ToolError(
        'UNAVAILABLE',
        `${url.origin} cannot be reached (${errno}); is the server running, and the url right?`,
        { cause: thrown },
      );
      this.#loseWhenAnswered(markUnseen(error));
      return error;
    }
    return new ToolError(
      'OUTCOME_UNKNOWN',
      `The request to ${url.origin} broke off: ${words}. It may have been acted on.`,
      {
        cause: thrown,
        ...(typeof errno === 'string' && { details: { errno } }),
      },
    );
  }
}

/** The token that a request was sent with. */
const signedWith = new WeakMap<Response, string | undefined>();

const NEVER_SENT: ReadonlySet<string> = new Set([
  ...['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH', 'UND_ERR_CONNECT_TIMEOUT'],
  ...['CERT_HAS_EXPIRED', 'DEPTH_ZERO_SELF_SIGNED_CERT', 'SELF_SIGNED_CERT_IN_CHAIN', 'ERR_TLS_CERT_ALTNAME_INVALID'],
]);

function meaningOf(
  status: number,
  transport: { sessionId?: string | undefined } | undefined | object,
  isCall: boolean,
): [ToolErrorCode, string] {
  const hasSession = transport !== undefined && 'sessionId' in transport && transport.sessionId !== undefined;
  if (status === 404 && hasSession) return ['CONNECTION_CLOSED', ' The session is over; the next call opens another.'];
  if (status === 401 || status === 403) return ['PERMISSION_DENIED', ' Give auth, or headers with a valid token.'];
  if (status === 413) return ['TOO_LARGE', ''];
  if (isCall && status >= 500 && status !== 503) return ['OUTCOME_UNKNOWN', ' The tool may have run.'];
  if (status === 429 || status >= 500) return ['UNAVAILABLE', ''];
  return ['PROTOCOL_VIOLATION', ' Is this the address of an MCP server?'];
}

function brokenOff(): ToolError {
  return new ToolError('OUTCOME_UNKNOWN', 'The stream ended before the answer came; the call may have happened.');
}

/** The SDK writes a request's method first and its id last; an answer of ours to a server has no method. */
function requestIdOf(body: unknown): number | undefined {
  const isRequest = typeof body === 'string' && body.startsWith('{"method":');
  const id = isRequest ? /"id":(\d+)\}$/.exec(body.slice(-40))?.[1] : undefined;
  return id === undefined ? undefined : Number(id);
}
