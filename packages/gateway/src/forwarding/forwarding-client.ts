// A client, as far as forwarding knows it.

import type { JsonObject } from '@toolwright/core';
import type { Exchange } from '../mcp-server.js';

/** The client whose request is forwarded, and to whom a server's notifications go. */
export interface ForwardingClient {
  readonly id: string;
  readonly clientCapabilities: JsonObject;
  notify(method: string, params?: JsonObject): void;
  /** Sends what a server logs during one of the client's requests, from the client's log level on. */
  log(exchange: Exchange, level: string, params: JsonObject): void;
}
