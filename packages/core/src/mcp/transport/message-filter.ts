// Filters messages between a transport and the SDK: a malformed message of a server fails at most the request that it belongs
// to.

import { ToolError } from '../../contract/errors.js';
import { isDeeperThan, isJsonObject, type JsonObject } from '../../contract/json.js';
import type { Progress } from '../../contract/tool-provider.js';
import type { SessionTransport, McpMessage, McpTransport } from './transport.js';

/** The deepest nesting of a message, as later readers are recursive. */
export const MAX_DEPTH = 128;

/** A JSON-RPC error of the server, as it was sent. */
export interface RpcFault {
  code: number;
  message: string;
  data?: unknown;
}

/** The outcome of a request: the server's result or error, or why there is neither. */
export type Outcome = { result: JsonObject } | { error: RpcFault } | { failure: ToolError };

/** Receives a server's notifications, in order with its responses. */
export type NotificationListener = (method: string, params: JsonObject) => void;

type RequestId = string | number;

/**
 * The transport that an SDK's client uses. Drops responses without a pending request (the SDK would print them), boxes the
 * outcomes of requests (the SDK would reject unknown fields and change errors), and passes notifications on in order.
 */
export class MessageFilter implements McpTransport {
  onclose?: (() => void) | undefined;
  onerror?: ((error: Error) => void) | undefined;
  onmessage?: McpTransport['onmessage'];
  readonly #inner: SessionTransport;
  readonly #onNotification: NotificationListener;
  /** The pending requests, with their progress listeners. */
  readonly #pending = new Map<RequestId, ((progress: Progress) => void) | undefined>();
  #nextProgress: ((progress: Progress) => void) | undefined;
  #sentId: RequestId | undefined;
  #initialize: RequestId | undefined;
  /** Pending `tools/list` requests: the depth is checked for each tool, so that one does not affect the others. */
  readonly #lists = new Set<RequestId>();
  /** Pending `subscriptions/listen` requests, which a server ends with `notifications/cancelled`. */
  readonly #streams = new Set<RequestId>();
  #capabilities: JsonObject = {};
  #started: Promise<void> | undefined;
  #isClosed = false;
  /** Receive the outcome of a request that was sent by `exchange`, or undefined when the transport has closed. */
  readonly #exchanges = new Map<RequestId, (outcome: Outcome | undefined) => void>();

  constructor(inner: SessionTransport, onNotification: NotificationListener) {
    this.#inner = inner;
    this.#onNotification = onNotification;
  }

  /** The server's capabilities, unparsed: the SDK keeps only those it knows. */
  get capabilities(): JsonObject {
    return this.#capabilities;
  }

  get sessionId(): string | undefined {
    return this.#inner.sessionId;
  }

  setProtocolVersion = (version: string): void => this.#inner.setProtocolVersion?.(version);

  /** Runs `send`, which sends one request; returns its value with the request's id. */
  watch<T>(onProgress: (progress: Progress) => void, send: () => T): { sent: T; id: RequestId | undefined } {
    this.#nextProgress = onProgress;
    this.#sentId = undefined;
    try {
      return { sent: send(), id: this.#sentId };
    } finally {
      this.#nextProgress = undefined;
    }
  }

  /** Fails a pending request, and sends one cancellation to the server. */
  cancel(id: RequestId | undefined, error: ToolError): void {
    if (id === undefined || !this.#pending.delete(id)) return;
    this.#lists.delete(id);
    this.#streams.delete(id);
    const params = { requestId: id, reason: error.code };
    this.#inner.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params }).catch((failure: unknown) => {
      this.onerror?.(ToolError.from(failure));
    });
    this.#fail(id, error);
  }

  /** Starts the transport, once: `exchange` starts it before the client does. Rejects when it has closed meanwhile. */
  async start(): Promise<void> {
    await (this.#started ??= this.#start());
    if (this.#isClosed)
      throw this.#inner.failure ?? new ToolError('CONNECTION_CLOSED', 'The server closed the connection.');
  }

  async #start(): Promise<void> {
    const inner = this.#inner;
    inner.onmessage = (message) => this.#receive(message);
    inner.onclose = () => {
      this.#isClosed = true;
      for (const settle of this.#exchanges.values()) settle(undefined);
      this.#exchanges.clear();
      this.onclose?.();
    };
    inner.onerror = (error) => this.onerror?.(error);
    await inner.start();
  }

  /**
   * Sends a request without a client, and resolves with its outcome; with undefined when the transport closes first.
   *
   * @throws what `send` throws
   */
  async exchange(id: number, method: string, params: JsonObject): Promise<Outcome | undefined> {
    const outcome = new Promise<Outcome | undefined>((resolve) => this.#exchanges.set(id, resolve));
    try {
      await this.start();
      await this.send({ method, params, jsonrpc: '2.0', id }); // the order in which the SDKs write, see http-transport.ts
    } catch (thrown) {
      this.#exchanges.delete(id);
      throw thrown;
    }
    return outcome;
  }

  close(): Promise<void> {
    return this.#inner.close();
  }

  async send(message: McpMessage, options?: object): Promise<void> {
    const { id, method } = message as { id?: RequestId; method?: string };
    if (method !== undefined && id !== undefined) {
      this.#pending.set(id, this.#nextProgress);
      this.#sentId = id;
      if (method === 'initialize') this.#initialize = id;
      else if (method === 'tools/list') this.#lists.add(id);
      else if (method === 'subscriptions/listen') this.#streams.add(id);
    }
    try {
      await this.#inner.send(message, options);
    } catch (error) {
      if (method !== undefined && id !== undefined) {
        this.#pending.delete(id);
        this.#streams.delete(id);
      }
      throw error;
    }
  }

  #receive(message: McpMessage): void {
    if (Array.isArray(message)) {
      for (const item of message) if (isJsonObject(item)) this.#receive(item);
      return;
    }
    const { id, method, params, result, error } = message as Record<string, unknown>;
    if (typeof method === 'string') this.#receiveCall(method, id, params);
    else if (typeof id === 'string' || typeof id === 'number') this.#receiveResponse(id, result, error);
    // Anything else belongs to no pending request.
  }

  #receiveCall(method: string, id: unknown, given: unknown): void {
    const params = isJsonObject(given) ? given : {};
    const tooDeep = isDeeperThan(params, MAX_DEPTH);
    if (typeof id === 'string' || typeof id === 'number') {
      if (tooDeep) return this.#respond(id, -32_600, `The request is nested deeper than ${MAX_DEPTH} levels.`);
      this.onmessage?.({ jsonrpc: '2.0', id, method, params: withMeta(params) });
    } else if (tooDeep) {
      return; // dropping a notification fails no request
    } else if (method === 'notifications/progress') {
      this.#receiveProgress(params);
    } else if (method === 'notifications/cancelled') {
      const stream = requestIdOf(params.requestId) as RequestId;
      if (this.#streams.delete(stream) && this.#pending.delete(stream)) return this.#settle(stream, { result: {} });
      this.onmessage?.({ jsonrpc: '2.0', method, params: withMeta(params) });
    } else this.#onNotification(method, params);
  }

  #receiveProgress({ progressToken, progress, total, message }: JsonObject): void {
    if (typeof progress !== 'number') return;
    const id = requestIdOf(progressToken);
    this.#pending.get(id as RequestId)?.({
      progress,
      ...(typeof total === 'number' && { total }),
      ...(typeof message === 'string' && { message }),
    });
  }

  #receiveResponse(given: RequestId, result: unknown, error: unknown): void {
    const id = requestIdOf(given) as RequestId;
    if (!this.#pending.delete(id)) return; // late, repeated, or never requested
    this.#streams.delete(id);
    if (!this.#lists.delete(id) && isDeeperThan(result ?? error, MAX_DEPTH)) {
      this.#reject(id, `Its response is nested deeper than ${MAX_DEPTH} levels.`);
    } else if (isJsonObject(result)) {
      if (id !== this.#initialize) return this.#settle(id, { result });
      if (isJsonObject(result.capabilities)) this.#capabilities = result.capabilities;
      this.onmessage?.({ jsonrpc: '2.0', id, result });
    } else if (isJsonObject(error) && typeof error.message === 'string' && Number.isSafeInteger(error.code)) {
      const { code, message, data } = error as unknown as RpcFault;
      // A transport's own failure, which a server cannot forge: JSON has no such object.
      this.#settle(id, ToolError.isInstance(data) ? { failure: data } : { error: { code, message, data } });
    } else this.#reject(id, 'Its response has neither a result nor a valid JSON-RPC error.');
  }

  #reject(id: RequestId, message: string): void {
    this.#fail(id, new ToolError('PROTOCOL_VIOLATION', message));
  }

  #fail(id: RequestId, failure: ToolError): void {
    this.#settle(id, { failure });
  }

  #settle(id: RequestId, outcome: Outcome): void {
    const settle = this.#exchanges.get(id);
    if (settle) {
      this.#exchanges.delete(id);
      settle(outcome);
    } else if (id !== this.#initialize) {
      // MCP 2026-07-28 requires the type; for the SDK the result is complete, whatever it says.
      this.onmessage?.({ jsonrpc: '2.0', id, result: { resultType: 'complete', boxed: outcome } });
    } else if ('failure' in outcome) {
      const { failure } = outcome;
      this.onmessage?.({ jsonrpc: '2.0', id, error: { code: -32_603, message: failure.message, data: failure } });
    } else if ('error' in outcome) {
      const { code, message, data } = outcome.error;
      this.onmessage?.({ jsonrpc: '2.0', id, error: { code, message, ...(data !== undefined && { data }) } });
    }
  }

  #respond(id: RequestId, code: number, message: string): void {
    this.#inner.send({ jsonrpc: '2.0', id, error: { code, message } }).catch((error: unknown) => {
      this.onerror?.(ToolError.from(error));
    });
  }
}

/** The outcome that was boxed. */
export function unboxed(result: unknown): Outcome {
  return (result as { boxed: Outcome }).boxed;
}

/** The id of a request: ids are numbers, but a server may return one as a string. */
function requestIdOf(id: unknown): unknown {
  return typeof id === 'string' && /^\d{1,15}$/.test(id) ? Number(id) : id;
}

/** Removes a malformed `_meta`: the SDK would reject the message without a response. */
function withMeta(params: JsonObject): JsonObject {
  if (params._meta === undefined || isJsonObject(params._meta)) return params;
  const { _meta, ...rest } = params;
  return rest;
}
