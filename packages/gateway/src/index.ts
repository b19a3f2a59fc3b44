// @toolwright/gateway: any provider re-exposed as an MCP server. The SDK is loaded by the first serving, not by this import.

export { createGateway, type Gateway, type GatewayOptions, type Listener, type StdioConnection } from './gateway.js';
export type { HttpAuth } from './auth.js';
export type { HttpListener, ServeHttpOptions } from './http.js';
export type { GatewayLimits } from './limits.js';
export type { Naming } from './catalog.js';
export type { ServeSocketOptions } from './socket.js';
export type { ServeStdioOptions } from './stdio.js';
export { VERSION } from './version.js';
