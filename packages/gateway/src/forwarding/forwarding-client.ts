// What forwarding needs of a client.

import type { JsonObject, McpPeer } from '@toolwright/core';
import type { Exchange } from '../engines/port.js';
import { METHOD_NOT_FOUND, rpcError } from '../rpc-error.js';

/** The options of a request to a server. */
export type PeerOptions = NonNullable<Parameters<McpPeer['request']>[2]>;

/** For the gateway's own requests: no client can answer what the server requests meanwhile. */
export const DECLINE_REQUESTS: PeerOptions = {
  onRequest: (method) =>
    Promise.reject(rpcError(METHOD_NOT_FOUND, `Declined ${method}: it belongs to no client's request.`)),
};

/** A client whose requests are forwarded and which receives the servers' notifications. */
export interface ForwardingClient {
  readonly id: string;
  readonly clientCapabilities: JsonObject;
  notify(method: string, params?: JsonObject): void;
  /** Sends a server's log message of one of the client's requests, unless it is below the client's log level. */
  log(exchange: Exchange, level: string, params: JsonObject): void;
}
