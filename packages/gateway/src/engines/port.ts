// What the gateway needs of an engine, in its own types: v1.ts serves the revisions with a handshake, v2.ts the stateless
// one. One handler receives all requests, and its results are sent unchanged.

import type { InputRelay, JsonObject } from '@toolwright/core';
import type { McpTransport } from '@toolwright/core/mcp';

/** The stream on which a client's request is answered. */
export interface AnswerStream {
  /** Aborted when the client cancels the request or disconnects. */
  readonly signal: AbortSignal;
  /** Sends a notification to this client; dropped when the client has disconnected. */
  notify(method: string, params: JsonObject): void;
}

/** A client's request while it is handled. What is sent through it uses the same stream as its answer. */
export interface Exchange extends AnswerStream {
  /** Sends a request to this client. Rejects with its error, or when it has disconnected. */
  request(
    method: string,
    params: JsonObject,
    options: { signal?: AbortSignal; timeoutMs: number },
  ): Promise<JsonObject>;
  /** Relays the rounds of a server that requires input. Absent for a client whose requests cannot be answered so. */
  readonly relay?: InputRelay | undefined;
}

/** The parts of one connection. */
export interface McpServerOptions {
  version: string;
  capabilities: JsonObject;
  /** Answers a request. An error with an integer `code` is sent to the client unchanged. */
  handle: (method: string, params: JsonObject, exchange: Exchange) => Promise<JsonObject>;
  onNotification: (method: string, params: JsonObject) => void;
  onClosed: () => void;
  onError: (message: string) => void;
}

/** Carries one client's messages. */
export interface ServerTransport extends McpTransport {
  /** Set by the server. Returns false when a request with this id is in flight: the message must not be passed on. */
  reserveId?: ((id: unknown) => boolean) | undefined;
  /** Ends the stream on which the answer to this request would be sent. */
  closeSSEStream?: (requestId: string | number) => void;
}

/** The transport of an HTTP client: takes web requests and returns web responses. */
export interface HttpTransport extends ServerTransport {
  handleRequest(request: Request, options: { parsedBody?: unknown }): Promise<Response>;
}
