// A server of MCP 2026-07-28 that asks before it deploys.

import { acceptedContent, inputRequired, Server } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';

const requestedSchema = { type: 'object', properties: { sure: { type: 'boolean' } }, required: ['sure'] };

serveStdio(() => {
  const server = new Server({ name: 'deploy', version: '1.0.0' }, { capabilities: { tools: {} } });
  server.setRequestHandler('tools/list', () => ({ tools: [{ name: 'run', inputSchema: { type: 'object' } }] }));
  server.setRequestHandler('tools/call', (_request, { mcpReq }) => {
    const answer = acceptedContent(mcpReq.inputResponses, 'sure');
    if (answer === undefined)
      return inputRequired({
        inputRequests: { sure: inputRequired.elicit({ message: 'Deploy to production?', requestedSchema }) },
      });
    return { content: [{ type: 'text', text: answer.sure === true ? 'deployed' : 'not deployed' }] };
  });
  return server;
});
