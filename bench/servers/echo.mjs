// An MCP server with one tool, on the SDK's low-level server, over stdio or on the socket in the first argument.

import { createServer } from 'node:net';
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { CallToolRequestSchema, ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js';

const schema = { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] };
function serve(transport) {
  const server = new Server({ name: 'bench', version: '1.0.0' }, { capabilities: { tools: {} } });
  server.setRequestHandler(ListToolsRequestSchema, () => ({
    tools: [{ name: 'echo', inputSchema: schema, outputSchema: schema }],
  }));
  server.setRequestHandler(CallToolRequestSchema, ({ params }) => ({
    content: [{ type: 'text', text: JSON.stringify(params.arguments) }],
    structuredContent: params.arguments,
  }));
  return server.connect(transport);
}

const path = process.argv[2];
if (path === undefined) await serve(new StdioServerTransport());
else
  createServer((socket) => void serve(new StdioServerTransport(socket, socket))).listen(path, () =>
    console.log('listening'),
  );
