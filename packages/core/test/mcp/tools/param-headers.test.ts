// Arguments that a tool mirrors into headers: after a change of the server's era, and of very many.

import { textOf, type JsonObject } from '@toolwright/core';
import { MCPToolProvider } from '@toolwright/core/mcp';
import { expect, it } from 'vitest';
import { paramHeadersOf } from '../../../src/mcp/tools/param-headers.js';
import { complete, json, serveScripted } from '../serve-scripted.js';

it('MCPToolProvider.callTool() mirrors arguments when the same list was read before in an earlier revision', async () => {
  const tools = [{ name: 'do', inputSchema: { type: 'object', properties: { a: { type: 'string', 'x-mcp-header': 'A' } } } }]; // prettier-ignore
  let isModern = false;
  const initialized = { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 's', version: '1' } }; // prettier-ignore
  const refusal = { code: -32022, message: 'Unsupported', data: { supported: ['2026-07-28'], requested: 'none' } };
  await using server = await serveScripted(
    {
      'server/discover': (request, response) =>
        isModern
          ? complete(response, request, { supportedVersions: ['2026-07-28'], capabilities: { tools: {} } })
          : response.writeHead(400).end(),
      initialize: ({ id }, response) => {
        if (isModern) return json(response, { jsonrpc: '2.0', id, error: refusal }, 400);
        response.setHeader('mcp-session-id', 'one');
        json(response, { jsonrpc: '2.0', id, result: initialized });
      },
      'notifications/initialized': (_, response) => response.writeHead(202).end(),
      'tools/call': (request, response) => {
        const { id, headers } = request;
        if (isModern && headers['mcp-method'] === undefined)
          return json(response, { jsonrpc: '2.0', id, error: refusal }, 400);
        return complete(response, request, {
          content: [{ type: 'text', text: String(headers['mcp-param-a']) }],
        });
      },
    },
    { tools },
  );
  await using provider = new MCPToolProvider({ name: 's', url: server.url });
  expect(textOf(await provider.callTool('s.do', { a: 'one' }))).toBe('undefined');
  isModern = true;
  expect(textOf(await provider.callTool('s.do', { a: 'two' }))).toBe('two');
});

it('paramHeadersOf() takes time in proportion to the size of the schema', () => {
  const properties: JsonObject = {};
  for (let index = 0; index < 20_000; index++)
    properties[`a${index}`] = { type: 'string', 'x-mcp-header': `H${index}` };
  const started = performance.now();
  expect(paramHeadersOf({ type: 'object', properties })).toHaveLength(20_000);
  expect(performance.now() - started).toBeLessThan(4_000);
  properties.again = { type: 'string', 'x-mcp-header': 'h0' };
  expect(paramHeadersOf({ type: 'object', properties })).toContain('used twice');
});
