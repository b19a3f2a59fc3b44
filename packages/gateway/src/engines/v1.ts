// The server of one client of the revisions with a handshake (2024-10-07 to 2025-11-25), on SDK v1: the only file of the
// gateway that imports an SDK. The SDK does `initialize`, correlation and cancellation.

import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js';
import { ResultSchema, type JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js';
import { INTERNAL_ERROR, messageOf } from '../rpc-error.js';
import type { JsonObject } from '@toolwright/core';
import type { HttpTransport, McpServerOptions, ServerTransport } from './port.js';

/** The ids of the requests in a body: one message, or a batch of them. */
export function requestIdsOf(body: unknown): unknown[] {
  return (Array.isArray(body) ? body : [body])
    .filter((message: unknown): message is JsonObject => typeof message === 'object' && message !== null)
    .filter(({ id, method }) => method !== undefined && id !== undefined)
    .map(({ id }) => id);
}

/** The protocol of one client, from `initialize` to the end of its connection. */
export class McpServer {
  readonly #server: Server;
  /** True for a request that arrived outside a batch, so that no other answer uses its stream. */
  readonly #idsInFlight = new Map<unknown, boolean>();
  #transport: ServerTransport | undefined;

  constructor({ version, capabilities, handle, onNotification, onClosed, onError }: McpServerOptions) {
    // The low-level server neither reads nor changes schemas and results.
    this.#server = new Server({ name: 'toolwright', title: 'Toolwright', version }, { capabilities });
    this.#server.removeRequestHandler('logging/setLevel'); // the session handles it
    this.#server.fallbackRequestHandler = (
      { method, params },
      { signal, requestId, sendNotification, sendRequest },
    ) => {
      const answer = handle(method, params ?? {}, {
        signal,
        notify: (sentMethod, sentParams) => {
          sendNotification({ method: sentMethod, params: sentParams }).catch(() => undefined); // disconnected
        },
        request: (sentMethod, sentParams, { signal: until = signal, timeoutMs }) =>
          sendRequest({ method: sentMethod, params: sentParams }, ResultSchema, { signal: until, timeout: timeoutMs }),
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

  /** The client's capabilities; empty before `initialize`. */
  get clientCapabilities(): JsonObject {
    return this.#server.getClientCapabilities() ?? {};
  }

  /** True once the client has sent `initialize`. */
  get isInitialized(): boolean {
    return this.#server.getClientCapabilities() !== undefined;
  }

  /** Reserves the ids of requests that arrived together. Returns false, reserving none, when one is in flight already. */
  reserveIds(ids: readonly unknown[]): boolean {
    if (new Set(ids).size < ids.length || ids.some((id) => this.#idsInFlight.has(id))) return false;
    for (const id of ids) this.#idsInFlight.set(id, ids.length === 1);
    return true;
  }

  /** Releases the ids of requests that were rejected before they were handled. */
  releaseIds(ids: readonly unknown[]): void {
    for (const id of ids) this.#idsInFlight.delete(id);
  }

  async connect(transport: ServerTransport): Promise<void> {
    this.#transport = transport;
    const send = transport.send.bind(transport);
    transport.send = (message, options) => {
      const { id, method } = message as JsonObject;
      if (method === undefined) this.#idsInFlight.delete(id); // also for requests that the SDK answers itself
      return send(message, options);
    };
    transport.reserveId = (id) => this.reserveIds([id]);
    await this.#server.connect(transport);
  }

  /** Sends a notification that belongs to none of the client's requests. */
  notify(method: string, params: JsonObject = {}): void {
    this.#server.notification({ method, params }).catch(() => undefined); // disconnected
  }

  close(): Promise<void> {
    return this.#server.close();
  }
}

/** @param session its id is sent to the client with the first answer; undefined for a stateless request */
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

/** The message; or, when JSON cannot represent it, an error answer with the same id, so that its sender stops waiting. */
export function sendable(message: object): object {
  try {
    JSON.stringify(message);
    return message;
  } catch (thrown) {
    const error = { code: INTERNAL_ERROR, message: `The answer is not serializable as JSON: ${messageOf(thrown)}` };
    return { jsonrpc: '2.0', id: (message as JsonObject).id, error };
  }
}
