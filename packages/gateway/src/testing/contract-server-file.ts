// The path of the contract's MCP server: a program in this package, next to its modules.

import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { ToolError } from '@toolwright/core';

/**
 * The absolute path of a Node program that serves the tools of `contractServer()` as an MCP server over stdio. Use it to run
 * `toolProviderContract` against your implementation of an MCP client. Name that provider `contract`: the server lists its
 * tools without a prefix.
 *
 * @throws {ToolError} NOT_FOUND when a bundler omitted the file
 * @example
 * ```ts
 * const options = { name: 'contract', command: process.execPath, args: [contractServerFile()] };
 * toolProviderContract('my client', () => ({ provider: new MCPToolProvider(options), dispose() {} }));
 * ```
 */
export function contractServerFile(): string {
  // Relative to the built modules, and to the sources and dist/testing.
  const places = ['../contract/', '../../contract/'].map((folder) =>
    fileURLToPath(new URL(`${folder}contract-server.mjs`, import.meta.url)),
  );
  const file = places.find((place) => existsSync(place));
  if (file !== undefined) return file;
  throw new ToolError(
    'NOT_FOUND',
    `The contract's server was not found at ${places.join(' or ')}. Do not bundle this package.`,
  );
}
