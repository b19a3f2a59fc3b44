// Tasks over HTTP, which outlive connections: they are cancelled wherever the provider is connected then.

import { MCPToolProvider } from '@toolwright/core/mcp';
import { expect, it, vi } from 'vitest';
import { complete, json, serveScripted, type Script } from '../serve-scripted.js';

const TASK = { taskId: 't', status: 'working', pollIntervalMs: 20 };
const SCRIPTS: Readonly<Record<string, Script>> = {
  'tools/call': ({ id }, response) => json(response, { jsonrpc: '2.0', id, result: { resultType: 'task', ...TASK } }),
  'tasks/get': (request, response) => complete(response, request, TASK),
  'tasks/cancel': (request, response) => complete(response, request, {}),
};
const QUIET = { debug() {}, info() {}, warn() {}, error() {} };

it('MCPToolProvider.callTool() cancels a task on the connection that replaced its own', async () => {
  const before = await serveScripted(SCRIPTS);
  await using provider = new MCPToolProvider({ name: 's', url: before.url, logger: QUIET });
  await provider.connect();
  const abort = new AbortController();
  const call = provider.callTool('s.do', {}, { signal: abort.signal });
  await vi.waitUntil(() => before.count('tasks/get') > 0);
  await before[Symbol.asyncDispose]();
  await vi.waitUntil(() => provider.health().state !== 'READY', 5_000); // a poll has found nobody
  await using after = await serveScripted(SCRIPTS, { port: before.port });
  await vi.waitUntil(() => after.count('tasks/get') > 0, 5_000);
  abort.abort();
  expect((await call).error?.code).toBe('CANCELLED');
  await vi.waitUntil(() => after.count('tasks/cancel') === 1);
});

it('MCPToolProvider.disconnect() cancels the tasks of calls in flight, and waits for the confirmation', async () => {
  let confirmed = false;
  await using server = await serveScripted({
    ...SCRIPTS,
    'tasks/cancel': (request, response) =>
      setTimeout(() => {
        confirmed = true;
        complete(response, request, {});
      }, 50),
  });
  const provider = new MCPToolProvider({ name: 's', url: server.url });
  await provider.connect();
  const call = provider.callTool('s.do');
  await vi.waitUntil(() => server.count('tasks/get') > 0);
  await provider.disconnect();
  expect(confirmed).toBe(true);
  expect((await call).error?.details).toMatchObject({ outcomeUnknown: true });
});
