// An MCP server without an SDK that exits when its first request is not `initialize`, as some do.

import { createInterface } from 'node:readline';

const send = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);

createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line);
  if (method === 'server/discover') process.exit(1);
  const { protocolVersion } = params ?? {};
  const result =
    method === 'initialize'
      ? { protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'old', version: '1.0.0' } }
      : { tools: [] };
  if (id !== undefined) send({ id, result });
});
