// @toolwright/core/mcp: tools of MCP servers. The MCP SDK is loaded by the first connection, not by this import.

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
export type { PeerRequestHandler } from '../contract/tool-provider.js';
export type { McpMessage, McpTransport } from './transport/transport.js';
export { DIRECTIVES_META, ERROR_META, fromWireResult, toWireResult, type WireResult } from './tools/wire-result.js';

assertNodeVersion();
