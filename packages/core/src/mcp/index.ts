// @toolwright/core/mcp: MCP servers as providers of tools. The SDK is loaded by the first connection, not by this import.

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
} from './provider-options.js';
export { containerCommand, type ContainerCommand, type ContainerOptions } from './container-command.js';
export type { OAuthOptions } from './oauth.js';
export type { HostOffers, ServerRequestHandler } from './server-requests.js';
export type { PeerRequestHandler } from '../tool-provider.js';
export type { McpMessage, McpTransport } from './transport.js';
export { DIRECTIVES_META, ERROR_META, fromWireResult, toWireResult, type WireResult } from './wire-result.js';
export { DEFAULT_MAX_FRAME_BYTES, FrameReader, frameOf } from './frames.js';
export { isDeeperThan, MAX_DEPTH } from './message-gate.js';

assertNodeVersion();
