// Between a transport and the SDK: what a server sends is brought into shape here, so that no message of it, however it
// is made, costs more than the request that it belongs to.

import { ToolError } from '../../contract/errors.js';
import { isDeeperThan, isJsonObject, type JsonObject } from '../../contract/json.js';
import type { Progress } from '../../contract/tool-provider.js';
import type { LinkTransport, McpMessage, McpTransport } from './transport.js';

/** Deeper than any honest answer; what reads it later does so by recursion. */
export const MAX_DEPTH = 128;

/** Told of a server's notifications, in the order in which they and the answers were sent. */
export type NotificationListener = (method: string, params: JsonObject) => void;

type RequestId = string | number;

/**
 * The transport that the SDK sees. Answers to nothing that waits are dropped (the SDK would print them whole), results
 * are boxed (the SDK would refuse what it does not know), and notifications are told in order.
 */
export class MessageGate implements McpTransport {
  onclose?: (() => void) | undefined;
  onerror?: ((error: Error) => void) | undefined;
  onmessage?: McpTransport['onmessage'];
  readonly #inner: LinkTransport;
  readonly #onNotification: NotificationListener;
  /** What waits for an answer, with its listener for progress. */
  readonly #waiting = new Map<RequestId, ((progress: Progress) => void) | undefined>();
  #nextProgress: ((progress: Progress) => void) | undefined;
  #sentId: RequestId | undefined;
  #initialize: RequestId | undefined;
  /** Lists of tools are looked at tool by tool: one that is too deep costs no other. */
  readonly #lists = new Set<RequestId>();
  #offers: JsonObject = {};

  constructor(inner: LinkTransport, onNotification: NotificationListener) {
    this.#inner = inner;
    this.#onNotification = onNotification;
  }

  /** What the server said that it offers, as it said it: the SDK keeps only what it knows. */
  get offers(): JsonObject {
    return this.#offers;
  }

  get sessionId(): string | undefined {
    return this.#inner.sessionId;
  }

  setProtocolVersion = (version: string): void => this.#inner.setProtocolVersion?.(version);

  /** Runs `send`, which sends one request, and gives what that gave with the id of the request. */
  watch<T>(onProgress: (progress: Progress) => void, send: () => T): { sent: T; id: RequestId | undefined } {
    this.#nextProgress = onProgress;
    this.#sentId = undefined;
    try {
      return { sent: send(), id: this.#sentId };
    } finally {
      this.#nextProgress = undefined;
    }
  }

  /** Fails a request that waits, and tells the server once that nobody does any more. */
  cancel(id: RequestId | undefined, error: ToolError): void {
    if (id === undefined || !this.#waiting.delete(id)) return;
    this.#lists.delete(id);
    const params = { requestId: id, reason: error.code };
    this.#inner.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params }).catch((failure: unknown) => {
      this.onerror?.(ToolError.from(failure));
    });
    this.#fail(id, error);
  }

  async start(): Promise<void> {
    const inner = this.#inner;
    inner.onmessage = (message) => this.#receive(message);
    inner.onclose = () => this.onclose?.();
    inner.onerror = (error) => this.onerror?.(error);
    await inner.start();
  }

  close(): Promise<void> {
    return this.#inner.close();
  }

  async send(message: McpMessage, options?: object): Promise<void> {
    const { id, method } = message as { id?: RequestId; method?: string };
    if (method !== undefined && id !== undefined) {
      this.#waiting.set(id, this.#nextProgress);
      this.#sentId = id;
      if (method === 'initialize') this.#initialize = id;
      else if (method === 'tools/list') this.#lists.add(id);
    }
    try {
      await this.#inner.send(message, options);
    } catch (error) {
      if (method !== undefined && id !== undefined) this.#waiting.delete(id);
      throw error;
    }
  }

  #receive(message: McpMessage): void {
    if (Array.isArray(message)) {
      for (const each of message) if (isJsonObject(each)) this.#receive(each);
      return;
    }
    const { id, method, params, result, error } = message as Record<string, unknown>;
    if (typeof method === 'string') this.#receiveCall(method, id, params);
    else if (typeof id === 'string' || typeof id === 'number') this.#receiveAnswer(id, result, error);
    // Anything else belongs to nothing that waits.
  }

  #receiveCall(method: string, id: unknown, given: unknown): void {
    const params = isJsonObject(given) ? given : {};
    const tooDeep = isDeeperThan(params, MAX_DEPTH);
    if (typeof id === 'string' || typeof id === 'number') {
      if (tooDeep) return this.#answer(id, -32_600, `The request is nested deeper than ${MAX_DEPTH} levels.`);
      this.onmessage?.({ jsonrpc: '2.0', id, method, params: withMeta(params) });
    } else if (tooDeep) {
      return; // a notification is nobody's loss
    } else if (method === 'notifications/progress') {
      this.#receiveProgress(params);
    } else if (method === 'notifications/cancelled') {
      this.onmessage?.({ jsonrpc: '2.0', method, params: withMeta(params) });
    } else this.#onNotification(method, params);
  }

  #receiveProgress({ progressToken, progress, total, message }: JsonObject): void {
    if (typeof progress !== 'number') return;
    const id = ownId(progressToken);
    this.#waiting.get(id as RequestId)?.({
      progress,
      ...(typeof total === 'number' && { total }),
      ...(typeof message === 'string' && { message }),
    });
  }

  #receiveAnswer(given: RequestId, result: unknown, error: unknown): void {
    const id = ownId(given) as RequestId;
    if (!this.#waiting.delete(id)) return; // late, twice, or never asked
    if (!this.#lists.delete(id) && isDeeperThan(result ?? error, MAX_DEPTH)) {
      this.#reject(id, `Its answer is nested deeper than ${MAX_DEPTH} levels.`);
    } else if (isJsonObject(result)) {
      if (id === this.#initialize && isJsonObject(result.capabilities)) this.#offers = result.capabilities;
      this.onmessage?.({ jsonrpc: '2.0', id, result: id === this.#initialize ? result : { boxed: result } });
    } else if (isJsonObject(error) && typeof error.message === 'string' && Number.isSafeInteger(error.code)) {
      const { code, message, data } = error;
      this.onmessage?.({ jsonrpc: '2.0', id, error: { code, message, ...(data !== undefined && { data }) } });
    } else this.#reject(id, 'Its answer has neither a result nor an error of the shape that JSON-RPC has.');
  }

  #reject(id: RequestId, message: string): void {
    this.#fail(id, new ToolError('PROTOCOL_VIOLATION', message));
  }

  /** Fails one request with an error of ours, which no server can forge: `data` is the very object. */
  #fail(id: RequestId, data: ToolError): void {
    this.onmessage?.({ jsonrpc: '2.0', id, error: { code: -32_603, message: data.message, data } });
  }

  #answer(id: RequestId, code: number, message: string): void {
    this.#inner.send({ jsonrpc: '2.0', id, error: { code, message } }).catch((error: unknown) => {
      this.onerror?.(ToolError.from(error));
    });
  }
}

/** The result as the server sent it. */
export function unboxed(result: unknown): JsonObject {
  return (result as { boxed: JsonObject }).boxed;
}

/** Our ids are numbers; a server may give one back as a text. */
function ownId(id: unknown): unknown {
  return typeof id === 'string' && /^\d{1,15}$/.test(id) ? Number(id) : id;
}

/** The SDK refuses a message whose `_meta` is no object, and answers nothing to it. */
function withMeta(params: JsonObject): JsonObject {
  if (params._meta === undefined || isJsonObject(params._meta)) return params;
  const { _meta, ...rest } = params;
  return rest;
}
