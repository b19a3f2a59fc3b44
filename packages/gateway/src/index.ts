/**
 * Serves any provider as one MCP server, to any number of clients over stdio, sockets and HTTP. The MCP SDK is loaded
 * by the first listener, not by this import.
 *
 * @example
 * ```ts
 * import { InProcessToolProvider } from '@toolwright/core';
 * import { createGateway } from '@toolwright/gateway';
 *
 * await using provider = InProcessToolProvider.forProject(process.cwd(), { bash: false });
 * await using gateway = createGateway(provider);
 * const { url, token } = await gateway.serveHttp({ port: 0 }); // an MCP client connects with these
 * ```
 * @module
 */

export { createGateway, type Gateway, type GatewayOptions, type Listener, type StdioConnection } from './gateway.js';
export type { HttpAuth } from './http/http-auth.js';
export type { HttpListener, ServeHttpOptions } from './http/http-listener.js';
export type { GatewayLimits } from './gateway-limits.js';
export type { Naming } from './catalog.js';
export type { StateKey } from './session/request-state.js';
export type { ServeSocketOptions } from './stream/socket-listener.js';
export type { ServeStdioOptions } from './stream/stdio.js';
export { VERSION } from './version.js';
