/**
 * MCP servers as providers: over stdio, HTTP, sockets, and in containers. Needs `@modelcontextprotocol/client`, or
 * `@modelcontextprotocol/sdk` for servers of earlier revisions than 2026-07-28; the first connection loads it, not this import.
 *
 * @example
 * ```ts
 * import { textOf } from '@toolwright/core';
 * import { MCPToolProvider } from '@toolwright/core/mcp';
 *
 * await using files = new MCPToolProvider({ name: 'files', command: 'mcp-server-filesystem', args: [process.cwd()] });
 * const result = await files.callTool('files.list_directory', { path: process.cwd() });
 * console.log(result.error ? `${result.error.code}: ${result.error.message}` : textOf(result));
 * ```
 * @module
 */

import { assertNodeVersion } from '../node-version.js';

export { MCPToolProvider } from './mcp-provider.js';
export type {
  ContainerServer,
  GivenTransport,
  HttpServer,
  MCPToolProviderOptions,
  McpServerOptions,
  SocketServer,
  StdioServer,
} from './mcp-provider-options.js';
export {
  containerCommand,
  type ContainerCommand,
  type ContainerMount,
  type ContainerOptions,
} from './transport/container-command.js';
export type { OAuthOptions } from './auth/oauth.js';
export type { HostOffers, ServerRequestHandler } from './session/server-requests.js';
export type { EngineName, Era } from './engines/engine.js';
export type { EraStore, EraVerdict } from './session/era-memory.js';
export type { PeerRequestHandler } from '../contract/tool-provider.js';
export type { McpMessage, McpTransport } from './transport/transport.js';
export { DIRECTIVES_META, ERROR_META, fromWireResult, toWireResult, type WireResult } from './tools/wire-result.js';

assertNodeVersion();
