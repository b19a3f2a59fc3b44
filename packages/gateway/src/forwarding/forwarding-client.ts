// A client, as far as forwarding knows it.

import type { JsonObject, McpPeer } from '@toolwright/core';
import type { Exchange } from '../mcp-server.js';
import { METHOD_NOT_FOUND, rpcError } from '../rpc-error.js';

/** What a request to a server may be given. */
export type PeerOptions = NonNullable<Parameters<McpPeer['request']>[2]>;

/** For requests that no client made: nobody answers what the server asks meanwhile. */
export const UNASKED: PeerOptions = {
  onRequest: (method) =>
    Promise.reject(rpcError(METHOD_NOT_FOUND, `Declined: no client made the request (${method}).`)),
};

/** The client whose request is forwarded, and to whom a server's notifications go. */
export interface ForwardingClient {
  readonly id: string;
  readonly clientCapabilities: JsonObject;
  notify(method: string, params?: JsonObject): void;
  /** Sends what a server logs during one of the client's requests, from the client's log level on. */
  log(exchange: Exchange, level: string, params: JsonObject): void;
}
