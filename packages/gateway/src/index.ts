// @toolwright/gateway: any provider re-exposed as an MCP server. The SDK is loaded by the first serving, not by this import.

export { createGateway, type Gateway, type GatewayOptions, type Listener, type StdioConnection } from './gateway.js';
export type { HttpAuth } from './http/http-auth.js';
export type { HttpListener, ServeHttpOptions } from './http/http-listener.js';
export type { GatewayLimits } from './gateway-limits.js';
export type { Naming } from './catalog.js';
export type { ServeSocketOptions } from './stream/socket-listener.js';
export type { ServeStdioOptions } from './stream/stdio.js';
export { VERSION } from './version.js';
