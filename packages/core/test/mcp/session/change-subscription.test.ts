// The stream of changes: how it ends, when it is opened again, and what a server refuses.

import { MCPToolProvider } from '@toolwright/core/mcp';
import { createTestProject } from '@toolwright/core/testing';
import { describe, expect, it, vi } from 'vitest';
import { acknowledge, serveScripted, stream } from '../serve-scripted.js';

const QUIET = { debug() {}, info() {}, warn() {}, error() {} };

describe('MCPToolProvider.onToolsChanged() with a server of MCP 2026-07-28', () => {
  it('listens again after the server has ended the stream with notifications/cancelled', async () => {
    await using server = await serveScripted({
      'subscriptions/listen': (request, response) => {
        const send = acknowledge(response, request);
        if (server.count('subscriptions/listen') === 1)
          send({ method: 'notifications/cancelled', params: { requestId: request.id } });
      },
    });
    await using provider = new MCPToolProvider({ name: 's', url: server.url });
    provider.onToolsChanged(() => undefined);
    await provider.connect();
    await vi.waitUntil(() => server.count('subscriptions/listen') === 2, 3_000);
  });

  it('listens again to an HTTP server that was down, and reports what has changed meanwhile', async () => {
    const listen = (request: Parameters<typeof acknowledge>[1], response: Parameters<typeof acknowledge>[0]): unknown =>
      acknowledge(response, request);
    const before = await serveScripted({ 'subscriptions/listen': listen });
    await using provider = new MCPToolProvider({ name: 's', url: before.url, logger: QUIET });
    const changed = vi.fn();
    provider.onToolsChanged(changed);
    await provider.connect();
    await vi.waitUntil(() => before.count('subscriptions/listen') === 1);
    await before[Symbol.asyncDispose]();
    await vi.waitUntil(() => provider.health().state !== 'READY', 5_000);
    const tools = [{ name: 'new', inputSchema: { type: 'object' } }];
    await using after = await serveScripted({ 'subscriptions/listen': listen }, { port: before.port, tools });
    await vi.waitUntil(() => changed.mock.calls.length > 0, 10_000);
    expect(after.count('subscriptions/listen')).toBe(1);
  });

  it('asks no person again and again to sign in for it', async () => {
    await using project = await createTestProject();
    const authorize = vi.fn(() => Promise.reject(new Error('closed')));
    await using server = await serveScripted({
      'subscriptions/listen': (_, response) => response.writeHead(401, { 'www-authenticate': 'Bearer' }).end(),
    });
    const auth = { file: project.resolve('tokens.json'), redirectUrl: 'http://127.0.0.1:9/back', authorize };
    await using provider = new MCPToolProvider({ name: 's', url: server.url, auth });
    provider.onToolsChanged(() => undefined);
    await provider.connect();
    await vi.waitUntil(() => server.count('subscriptions/listen') > 0);
    await new Promise((resolve) => setTimeout(resolve, 1_500)); // twice the first pauses
    expect(server.count('subscriptions/listen')).toBe(1);
  });
});

describe('McpPeer.request("resources/subscribe")', () => {
  it.each([
    ['has no subscriptions', -32601],
    ['refuses this one', -32602],
  ])('fails at once when the server %s, which is not asked again', async (_, code) => {
    await using server = await serveScripted({
      'subscriptions/listen': ({ id }, response) =>
        response
          .writeHead(400, { 'content-type': 'application/json' })
          .end(JSON.stringify({ jsonrpc: '2.0', id, error: { code, message: 'no' } })),
    });
    await using provider = new MCPToolProvider({ name: 's', url: server.url });
    await provider.connect();
    const subscribing = provider.mcp.request('resources/subscribe', { uri: 'a://b' }, { timeoutMs: 5_000 });
    await expect(subscribing).rejects.toMatchObject({ code: 'EXECUTION_FAILED' });
    await new Promise((resolve) => setTimeout(resolve, 600)); // longer than the first pause
    expect(server.count('subscriptions/listen')).toBe(1);
  });

  it('ends with the deadline when the server does not answer, and does not stay in the stream', async () => {
    await using server = await serveScripted({ 'subscriptions/listen': (_, response) => stream(response) });
    await using provider = new MCPToolProvider({ name: 's', url: server.url });
    await provider.connect();
    const subscribing = provider.mcp.request('resources/subscribe', { uri: 'a://b' }, { timeoutMs: 200 });
    await expect(subscribing).rejects.toMatchObject({ code: 'TIMED_OUT' });
    await vi.waitUntil(() => server.closed.includes('subscriptions/listen'));
    expect(server.count('subscriptions/listen')).toBe(1);
  });
});
