// The example of @toolwright/core/mcp in the API reference.

import assert from 'node:assert/strict';

import { textOf } from '@toolwright/core';
import { MCPToolProvider } from '@toolwright/core/mcp';

await using files = new MCPToolProvider({ name: 'files', command: 'mcp-server-filesystem', args: [process.cwd()] });
const result = await files.callTool('files.list_directory', { path: process.cwd() });
console.log(result.error ? `${result.error.code}: ${result.error.message}` : textOf(result));

assert.equal(result.error?.code ?? 'SPAWN_FAILED', 'SPAWN_FAILED'); // if the server is not installed
