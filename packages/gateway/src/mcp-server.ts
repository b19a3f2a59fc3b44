// The SDK's server for one client, in plain types: the only file here that imports the SDK. Requests come to one
// handler and their results go out as they are; the SDK does the handshake, the correlation and the cancellation.

import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js';
import { ResultSchema, type JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js';
import { messageOf } from './rpc-error.js';
import type { JsonObject } from '@toolwright/core';
import type { McpTransport } from '@toolwright/core/mcp';

/** One request of a client's while it is handled; what is sent with it goes the way that its answer will go. */
export interface Exchange {
  /** Aborted when the client cancels the request, or goes. */
  readonly signal: AbortSignal;
  /** Tells this client. What cannot be delivered is dropped: the client has gone. */
  notify(method: string, params: JsonObject): void;
  /** Asks this client. Rejects with what it answered, or when nobody is there. */
  ask(method: string, params: JsonObject, options: { signal?: AbortSignal; timeoutMs: number }): Promise<JsonObject>;
}

/** What one connection is made of. */
export interface McpServerOptions {
  version: string;
  capabilities: JsonObject;
  /** Answers a request. What it throws with a whole number as `code` is told to the client as it is. */
  handle: (method: string, params: JsonObject, exchange: Exchange) => Promise<JsonObject>;
  onNotification: (method: string, params: JsonObject) => void;
  onClosed: () => void;
  onError: (message: string) => void;
}

/** What carries one client's messages. */
export interface ServerTransport extends McpTransport {
  /** Set by the server; false for the id of a request that is in flight: it must not be passed on. */
  takeId?: ((id: unknown) => boolean) | undefined;
  /** Ends the stream on which the answer to this request would be sent. */
  closeSSEStream?: (requestId: string | number) => void;
}

/** The ids of the requests in a body: one message, or a batch of them. */
export function requestIdsOf(body: unknown): unknown[] {
  return (Array.isArray(body) ? body : [body])
    .filter((message: unknown): message is JsonObject => typeof message === 'object' && message !== null)
    .filter(({ id, method }) => method !== undefined && id !== undefined)
    .map(({ id }) => id);
}

/** One client, from its handshake to its end. */
export class McpServer {
  readonly #server: Server;
  /** With whether the request came alone, so that the stream of its answer is its own. */
  readonly #idsInFlight = new Map<unknown, boolean>();
  #transport: ServerTransport | undefined;

  constructor({ version, capabilities, handle, onNotification, onClosed, onError }: McpServerOptions) {
    // The low-level server: schemas and results pass it unread.
    this.#server = new Server({ name: 'toolwright', title: 'Toolwright', version }, { capabilities });
    this.#server.removeRequestHandler('logging/setLevel'); // levels are the session's
    this.#server.fallbackRequestHandler = (
      { method, params },
      { signal, requestId, sendNotification, sendRequest },
    ) => {
      const answer = handle(method, params ?? {}, {
        signal,
        notify: (told, content) => {
          sendNotification({ method: told, params: content }).catch(() => undefined); // the client has gone
        },
        ask: (asked, content, { signal: until = signal, timeoutMs }) =>
          sendRequest({ method: asked, params: content }, ResultSchema, { signal: until, timeout: timeoutMs }),
      });
      return answer.finally(() => {
        const isAlone = this.#idsInFlight.get(requestId) === true;
        this.#idsInFlight.delete(requestId);
        if (signal.aborted && isAlone) this.#transport?.closeSSEStream?.(requestId); // no answer will end it
      });
    };
    this.#server.fallbackNotificationHandler = async ({ method, params }) => onNotification(method, params ?? {});
    this.#server.onclose = onClosed;
    this.#server.onerror = (error) => onError(messageOf(error));
  }

  /** What the client said that it offers; empty before the handshake. */
  get clientCapabilities(): JsonObject {
    return this.#server.getClientCapabilities() ?? {};
  }

  /** Notes the ids of requests that arrive together; false, noting none, where one is in flight already. */
  takeIds(ids: readonly unknown[]): boolean {
    if (new Set(ids).size < ids.length || ids.some((id) => this.#idsInFlight.has(id))) return false;
    for (const id of ids) this.#idsInFlight.set(id, ids.length === 1);
    return true;
  }

  /** The requests were refused before they were handled. */
  releaseIds(ids: readonly unknown[]): void {
    for (const id of ids) this.#idsInFlight.delete(id);
  }

  async connect(transport: ServerTransport): Promise<void> {
    this.#transport = transport;
    const send = transport.send.bind(transport);
    transport.send = (message, options) => {
      const { id, method } = message as JsonObject;
      if (method === undefined) this.#idsInFlight.delete(id); // also of what the SDK answers by itself
      return send(message, options);
    };
    transport.takeId = (id) => this.takeIds([id]);
    await this.#server.connect(transport);
  }

  /** Tells the client of something that belongs to no request of its. */
  notify(method: string, params: JsonObject = {}): void {
    this.#server.notification({ method, params }).catch(() => undefined); // the client has gone
  }

  close(): Promise<void> {
    return this.#server.close();
  }
}

/** A client that speaks HTTP: its transport takes web requests and gives web responses. */
export interface HttpTransport extends ServerTransport {
  handleRequest(request: Request, options: { parsedBody?: unknown }): Promise<Response>;
}

/** @param session the id of the session, given to the client by its first answer; undefined for a stateless request */
export function createHttpTransport(
  session: { id: string; onOpened: () => void } | undefined,
  json: boolean,
): HttpTransport {
  const transport = new WebStandardStreamableHTTPServerTransport({
    ...(session && { sessionIdGenerator: () => session.id, onsessioninitialized: session.onOpened }),
    enableJsonResponse: json,
  });
  const send = transport.send.bind(transport);
  transport.send = (message: JSONRPCMessage, options) => send(sendable(message) as JSONRPCMessage, options);
  return transport;
}

/** The message, or in place of an answer that JSON cannot say, one that says so: nobody is to wait for ever. */
export function sendable(message: object): object {
  try {
    JSON.stringify(message);
    return message;
  } catch (thrown) {
    const words = `The answer cannot be said in JSON: ${messageOf(thrown)}`;
    return { jsonrpc: '2.0', id: (message as JsonObject).id, error: { code: -32_603, message: words } };
  }
}
