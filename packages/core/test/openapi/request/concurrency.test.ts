// Many calls at the same time, and what is left when a provider disconnects.

import { OpenApiToolProvider } from '@toolwright/core/openapi';
import { describe, expect, it } from 'vitest';
import { documentOf, serve } from '../serve.js';

const document = documentOf({
  '/read/{id}': { get: { operationId: 'read' } },
  '/write/{id}': { post: { operationId: 'write' } },
});

describe('OpenApiToolProvider', () => {
  it('gives each of 300 concurrent calls its own response, over at most 128 connections', async () => {
    let open = 0;
    let most = 0;
    await using api = await serve(({ url }) => ({ url }));
    api.server.on('connection', (socket) => {
      most = Math.max(most, ++open);
      socket.on('close', () => open--);
    });
    await using provider = new OpenApiToolProvider({ name: 'api', document, server: api.origin });
    const calls = Array.from({ length: 300 }, async (_, id) => {
      const tool = id % 2 === 0 ? 'read' : 'write';
      const { structuredContent } = await provider.callTool(`api.${tool}`, { id: String(id) });
      expect(structuredContent).toEqual({ url: `/${tool}/${id}` });
    });
    await Promise.all(calls);
    expect(most).toBeLessThanOrEqual(128);
  });

  it('disconnect() ends every connection', async () => {
    await using api = await serve();
    let open = 0;
    api.server.on('connection', (socket) => {
      open++;
      socket.on('close', () => open--);
    });
    const provider = new OpenApiToolProvider({ name: 'api', document, server: api.origin });
    await Promise.all(['1', '2', '3'].map((id) => provider.callTool('api.read', { id })));
    expect(open).toBeGreaterThan(0);
    await provider.disconnect();
    await expect.poll(() => open).toBe(0);
  });

  it('a call that waits for a connection and is cancelled has sent nothing', async () => {
    await using api = await serve(() => undefined);
    await using provider = new OpenApiToolProvider({ name: 'api', document, server: api.origin });
    const controller = new AbortController();
    const pending = Array.from({ length: 64 }, () =>
      provider.callTool('api.write', { id: '1' }, { signal: controller.signal }),
    );
    await expect.poll(() => api.received.length).toBe(64);
    const late = await provider.callTool('api.write', { id: '2' }, { timeoutMs: 50 });
    expect(late.error).toMatchObject({ code: 'TIMED_OUT' });
    expect(late.error?.details?.outcomeUnknown).toBeUndefined();
    controller.abort();
    for (const { error } of await Promise.all(pending)) expect(error?.details?.outcomeUnknown).toBe(true);
    expect(api.received.length).toBe(64);
  });
});
