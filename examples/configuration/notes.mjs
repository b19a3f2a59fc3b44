// A small MCP server over stdio.

import { createInterface } from 'node:readline';

const inputSchema = { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] };
const tools = ['read_note', 'delete_note'].map((name) => ({ name, inputSchema }));
for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) continue;
  const results = {
    initialize: () => ({
      protocolVersion: params.protocolVersion,
      capabilities: { tools: {} },
      serverInfo: { name: 'notes', version: '1' },
    }),
    'tools/list': () => ({ tools }),
    'tools/call': () => ({ content: [{ type: 'text', text: `The note ${params.arguments.name}.` }] }),
  };
  const result = results[method]?.();
  const message = result ? { result } : { error: { code: -32601, message: 'Method not found' } };
  console.log(JSON.stringify({ jsonrpc: '2.0', id, ...message }));
}
