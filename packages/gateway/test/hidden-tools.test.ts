// A tool that the policy denies for all arguments is not listed, and calling it by its alias is denied.

import { defineServer, defineTool, InProcessToolProvider, ToolHub } from '@toolwright/core';
import { createGateway, type Naming } from '@toolwright/gateway';
import { expect, it } from 'vitest';
import { connectClient } from './fixtures/connect-client.js';

it.each<[Naming, string, string]>([
  ['alias', 's__open', 's__hidden'],
  ['qualified', 's.open', 's.hidden'],
])('createGateway() returns PERMISSION_DENIED for a hidden tool when naming is %j', async (naming, open, hidden) => {
  const tools = ['open', 'hidden'].map((name) => defineTool({ name, description: name, execute: () => name }));
  const provider = new InProcessToolProvider({ servers: [defineServer({ name: 's', version: '1', tools })] });
  await using hub = new ToolHub({
    providers: [provider],
    policy: { default: 'allow', rules: [{ tool: 's.hidden', action: 'deny' }] },
  });
  const gateway = createGateway(hub, { naming });
  const client = await connectClient(gateway);
  try {
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual([open]);
    expect((await client.callTool({ name: open })).isError).toBe(false);
    const denied = await client.callTool({ name: hidden });
    expect(denied).toMatchObject({ isError: true, _meta: { 'toolwright/error': { code: 'PERMISSION_DENIED' } } });
    await expect(client.callTool({ name: 's__nothing' })).rejects.toThrow('Unknown tool');
  } finally {
    await client.close();
    await gateway.close();
  }
});
