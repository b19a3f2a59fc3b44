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

/** One client, from its handshake to its end. */
export class McpServer {
  readonly #server: Server;

  constructor({ version, capabilities, handle, onNotification, onClosed, onError }: McpServerOptions) {
    // The low-level server: schemas and results pass it unread.
    this.#server = new Server({ name: 'toolwright', title: 'Toolwright', version }, { capabilities });
    this.#server.removeRequestHandler('logging/setLevel'); // levels are the session's
    this.#server.fallbackRequestHandler = ({ method, params }, { signal, sendNotification, sendRequest }) =>
      handle(method, params ?? {}, {
        signal,
        notify: (told, content) => {
          sendNotification({ method: told, params: content }).catch(() => undefined); // the client has gone
        },
        ask: (asked, content, { signal: until = signal, timeoutMs }) =>
          sendRequest({ method: asked, params: content }, ResultSchema, { signal: until, timeout: timeoutMs }),
      });
    this.#server.fallbackNotificationHandler = async ({ method, params }) => onNotification(method, params ?? {});
    this.#server.onclose = onClosed;
    this.#server.onerror = (error) => onError(messageOf(error));
  }

  /** What the client said that it offers; empty before the handshake. */
  get clientCapabilities(): JsonObject {
    return this.#server.getClientCapabilities() ?? {};
  }

  async connect(transport: McpTransport): Promise<void> {
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
export interface HttpTransport extends McpTransport {
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
