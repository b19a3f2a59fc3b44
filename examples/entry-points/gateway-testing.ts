// The example of @toolwright/gateway/testing in the API reference.

import assert from 'node:assert/strict';

import { MCPToolProvider } from '@toolwright/core/mcp';
import { contractServerFile } from '@toolwright/gateway/testing';

await using client = new MCPToolProvider({
  name: 'contract',
  command: process.execPath,
  args: [contractServerFile()],
});
const result = await client.callTool('contract.echo', { text: 'hello' });

assert.equal(result.isError, false, result.error?.message);
