// Results without the structured form that their tool promises, as the SDK's client takes them.

import { defineServer, defineTool, InProcessToolProvider, ToolHub } from '@toolwright/core';
import { fromWireResult, MCPToolProvider } from '@toolwright/core/mcp';
import { createGateway } from '@toolwright/gateway';
import { expect, it } from 'vitest';
import { connectClient } from './fixtures/connect-client.js';

it('createGateway() returns TOO_LARGE with the shortened text when a structured result is over 1 MiB', async () => {
  let runs = 0;
  const rows = defineTool({
    name: 'rows',
    description: 'Gives rows.',
    input: { type: 'object', properties: { count: { type: 'integer' } }, required: ['count'] },
    output: { type: 'object', properties: { rows: { type: 'array', items: { type: 'string' } } }, required: ['rows'] },
    execute: ({ count }) => {
      runs++;
      return { rows: Array.from({ length: count }, (_, index) => `row ${index} ${'x'.repeat(100)}`) };
    },
  });
  const server = defineServer({ name: 'data', version: '1.0.0', tools: [rows] });
  await using hub = new ToolHub({ providers: [new InProcessToolProvider({ servers: [server] })] });
  await using gateway = createGateway(hub);
  const client = await connectClient(gateway);
  await client.listTools(); // from now on the client refuses results that lack the structure
  const call = async (count: number) =>
    fromWireResult(await client.callTool({ name: 'data__rows', arguments: { count } }));
  expect((await call(10)).structuredContent?.rows).toHaveLength(10);
  const { error, isError, content, structuredContent, _meta } = await call(20_000);
  expect([isError, structuredContent, runs]).toEqual([true, undefined, 2]);
  expect(error).toMatchObject({ code: 'TOO_LARGE', details: { ran: true } });
  expect(error?.message).toContain('data__rows ran');
  const text = content.map((block) => (block.type === 'text' ? block.text : '')).join('\n');
  expect(text).toContain('data__rows ran');
  expect(text).toContain('row 0 ');
  expect(text).toContain('row 19999 ');
  expect(_meta?.['toolwright/truncated']).toMatchObject({ structuredBytes: 'more than 1048576' });
  await client.close();
});

const quiet = (): void => undefined;
const SILENT = { debug: quiet, info: quiet, warn: quiet, error: quiet };

const FOREIGN = `
require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) return;
  const outputSchema = { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] };
  const listSchema = { type: 'array', items: { type: 'string' } };
  const inputSchema = { type: 'object' };
  const results = {
    initialize: { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'f', version: '1' } },
    'tools/list': { tools: [{ name: 'text', inputSchema, outputSchema }, { name: 'broken', inputSchema, outputSchema }, { name: 'list', inputSchema, outputSchema: listSchema }] },
    'tools/call': params.name === 'list'
      ? { content: [], structuredContent: ['a', 'b'] }
      : { content: [{ type: 'text', text: 'seven' }], ...(params.name === 'broken' && { structuredContent: { n: 'seven' } }) },
  };
  process.stdout.write(JSON.stringify({ jsonrpc: '2.0', id, result: results[method] ?? {} }) + '\\n');
});`;

it.each([
  ['has no structuredContent', 'f__text'],
  ['has structuredContent that does not match its outputSchema', 'f__broken'],
])('createGateway() returns OUTPUT_INVALID with the text when a foreign result %s', async (_what, name) => {
  const foreign = new MCPToolProvider({ name: 'f', command: process.execPath, args: ['-e', FOREIGN], logger: SILENT });
  await using hub = new ToolHub({ providers: [foreign] });
  await using gateway = createGateway(hub);
  const client = await connectClient(gateway);
  await client.listTools();
  const { isError, error, content } = fromWireResult(await client.callTool({ name, arguments: {} }));
  expect(isError).toBe(true);
  expect(error).toMatchObject({ code: 'OUTPUT_INVALID', details: { ran: true } });
  expect(content[0]).toMatchObject({ text: expect.stringContaining(`${name} ran`) as string });
  expect(content[1]).toEqual({ type: 'text', text: 'seven' });
  await client.close();
});

it("createGateway() wraps a foreign tool's array in an object, as its listed schema says", async () => {
  const foreign = new MCPToolProvider({ name: 'f', command: process.execPath, args: ['-e', FOREIGN], logger: SILENT });
  await using hub = new ToolHub({ providers: [foreign] });
  await using gateway = createGateway(hub);
  const client = await connectClient(gateway);
  const { tools } = await client.listTools();
  expect(tools.find(({ name }) => name === 'f__list')?.outputSchema?.required).toEqual(['result']);
  const { isError, structuredContent, _meta } = await client.callTool({ name: 'f__list', arguments: {} });
  expect(isError).toBe(false);
  expect(structuredContent).toEqual({ result: ['a', 'b'] });
  expect(_meta).toMatchObject({ 'toolwright/wrapped': true });
  await client.close();
});
