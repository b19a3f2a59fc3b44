// Where the contract's MCP server is: in the package, beside its modules, as it is a program and no part of them.

import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { ToolError } from '@toolwright/core';

/**
 * The absolute path of a program for Node that serves the tools of `contractServer()` as an MCP server over stdio. It is
 * for those who connect to MCP servers in a way of their own and want to know, by `toolProviderContract`, whether the
 * contract is kept. The client is named `contract`, as the server's tools have their bare names.
 *
 * @throws {ToolError} NOT_FOUND where a bundler has left the file out
 * @example
 * ```ts
 * const options = { name: 'contract', command: process.execPath, args: [contractServerFile()] };
 * toolProviderContract('my client', () => ({ provider: new MCPToolProvider(options), dispose() {} }));
 * ```
 */
export function contractServerFile(): string {
  // Seen from the built modules, or from the sources and dist/testing.
  const places = ['../contract/', '../../contract/'].map((folder) =>
    fileURLToPath(new URL(`${folder}contract-server.mjs`, import.meta.url)),
  );
  const file = places.find((place) => existsSync(place));
  if (file !== undefined) return file;
  throw new ToolError(
    'NOT_FOUND',
    `The contract's server is in none of ${places.join(', ')}: leave this package unbundled.`,
  );
}
