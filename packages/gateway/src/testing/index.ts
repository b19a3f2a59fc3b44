/**
 * The tools of the contract suite as an MCP server, for tests of whatever connects to MCP servers.
 *
 * @example
 * ```ts
 * import { MCPToolProvider } from '@toolwright/core/mcp';
 * import { contractServerFile } from '@toolwright/gateway/testing';
 *
 * await using client = new MCPToolProvider({
 *   name: 'contract',
 *   command: process.execPath,
 *   args: [contractServerFile()],
 * });
 * const result = await client.callTool('contract.echo', { text: 'hello' });
 * ```
 * @module
 */

export { contractServerFile } from './contract-server-file.js';
