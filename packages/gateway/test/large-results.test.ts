// Results that are too large, as the SDK's client takes them.

import { defineServer, defineTool, InProcessToolProvider, ToolHub } from '@toolwright/core';
import { fromWireResult } from '@toolwright/core/mcp';
import { createGateway } from '@toolwright/gateway';
import { expect, it } from 'vitest';
import { connectClient } from './fixtures/connect-client.js';

it('a structured result over 1 MiB is TOO_LARGE for a client, says that the tool ran, and has the cut text', async () => {
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
