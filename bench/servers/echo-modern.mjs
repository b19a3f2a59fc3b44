// The echo server of MCP 2026-07-28 on the SDK's low-level server, over stdio, or over HTTP if the first argument is `http`.

import { createServer } from 'node:http';
import { toNodeHandler } from '@modelcontextprotocol/node';
import { createMcpHandler, Server } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';

const schema = { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] };
function newServer() {
  const server = new Server({ name: 'echo', version: '1.0.0' }, { capabilities: { tools: {} } });
  server.setRequestHandler('tools/list', () => ({
    tools: [{ name: 'echo', inputSchema: schema, outputSchema: schema }],
  }));
  server.setRequestHandler('tools/call', ({ params }) => ({
    content: [{ type: 'text', text: JSON.stringify(params.arguments) }],
    structuredContent: params.arguments,
  }));
  return server;
}

if (process.argv[2] !== 'http') serveStdio(newServer);
else {
  const answer = toNodeHandler(createMcpHandler(newServer, { legacy: 'reject' }));
  const listener = createServer((request, response) => void answer(request, response));
  listener.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${listener.address().port}/mcp`));
}
