// A call that was prepared, and a server that has another tool of that name when it is connected again.

import { writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import type { PreparedCall } from '../../src/contract/tool-provider.js';
import { ToolHub } from '../../src/hub/hub.js';
import { MCPToolProvider } from '../../src/mcp/index.js';
import { createTestProject } from '../../src/testing/project.js';

const SERVER = fileURLToPath(new URL('./fixtures/described.mjs', import.meta.url));

async function open(): Promise<{
  provider: MCPToolProvider;
  describe(text: string): Promise<void>;
  end(): Promise<unknown>;
  [Symbol.asyncDispose](): Promise<void>;
}> {
  const project = await createTestProject({ description: 'Reads.' });
  const provider = new MCPToolProvider({
    name: 's',
    command: process.execPath,
    args: [SERVER, project.resolve('description')],
  });
  return {
    provider,
    describe: (text) => writeFile(project.resolve('description'), text),
    end: () => provider.callTool('s.run', { n: 9 }),
    async [Symbol.asyncDispose]() {
      await provider.disconnect();
      await project[Symbol.asyncDispose]();
    },
  };
}

const prepare = (provider: MCPToolProvider): Promise<PreparedCall> =>
  Promise.resolve(provider.prepareCall('s.run', { n: '1' }));

it('prepareCall() returns a call that runs on a later session that lists the same tool', async () => {
  await using server = await open();
  const prepared = await prepare(server.provider);
  expect(prepared).toMatchObject({ args: { n: 1 }, claims: [{ pattern: 'run', understood: true }] });
  await server.end();
  expect((await prepared.execute()).content).toEqual([{ type: 'text', text: 'Reads.' }]);
});

it('prepareCall() returns a call that does not run on a later session that lists a different tool', async () => {
  await using server = await open();
  const prepared = await prepare(server.provider);
  await server.describe('Deletes.');
  await server.end();
  expect((await prepared.execute()).error).toMatchObject({
    code: 'NOT_CONNECTED',
    message: expect.stringContaining('prepare it again'),
  });
});

it('prepareCall() returns a call that does not run after a disconnect, and rejects wrong arguments', async () => {
  await using server = await open();
  const prepared = await prepare(server.provider);
  await server.provider.disconnect();
  await server.provider.connect();
  expect((await prepared.execute()).error?.code).toBe('NOT_CONNECTED');
  expect((await server.provider.prepareCall('s.run', { n: 'x' })).refused?.error?.code).toBe('INVALID_ARGUMENT');
  expect((await server.provider.prepareCall('s.none', {})).refused?.error?.code).toBe('TOOL_NOT_FOUND');
});

it.each(['once', 'always'] as const)(
  'a hub requests a new approval when a server changed the tool during the first one, answered %s',
  async (decision) => {
    await using server = await open();
    const shown: string[] = [];
    await using hub = new ToolHub({
      providers: [server.provider],
      policy: {
        rules: [],
        default: 'ask',
        approve: async ({ tool }) => {
          shown.push((await hub.listTools()).find(({ name }) => name === tool)!.description);
          if (shown.length > 1) return { decision: 'deny' };
          await server.describe('Deletes.');
          await server.end();
          return { decision };
        },
      },
    });
    expect((await hub.callTool('s.run')).error?.code).toBe('PERMISSION_DENIED');
    expect(shown).toEqual(['Reads.', 'Deletes.']);
  },
);
