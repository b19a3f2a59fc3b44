// Request ids that are used twice, and idle sessions: over streams and HTTP, in raw messages.

import { on } from 'node:events';
import { PassThrough } from 'node:stream';
import { createInterface } from 'node:readline';
import { InProcessToolProvider } from '@toolwright/core';
import { createGateway, type GatewayLimits } from '@toolwright/gateway';
import { afterEach, describe, expect, it } from 'vitest';
import { echoTools } from '../fixtures/echo-tools.js';

const ends: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

const INITIALIZE = {
  jsonrpc: '2.0',
  id: 0,
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'raw', version: '1' } },
};
const waiting = (id: number): object => ({
  jsonrpc: '2.0',
  id,
  method: 'tools/call',
  params: { name: 'echo__until_aborted', _meta: { progressToken: id } },
});
const cancelled = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 7 } };

interface Http {
  post: (message: unknown) => Promise<Response>;
  listen: () => Promise<Response>;
  end: () => Promise<Response>;
}

/** A session over HTTP, and what counts the calls that were started and aborted. */
async function serveHttp(
  limits: GatewayLimits = {},
): Promise<Http & { aborted: () => Promise<void>; count: () => number }> {
  let count = 0;
  const waiters: (() => void)[] = [];
  const tools = echoTools(() => {
    count++;
    for (const waiter of waiters.splice(0)) waiter();
  });
  const provider = new InProcessToolProvider({ servers: [tools] });
  const gateway = createGateway(provider, { limits });
  const { url } = await gateway.serveHttp({ auth: 'none' });
  ends.push(
    () => provider.disconnect(),
    () => gateway.close(),
  );
  const headers: Record<string, string> = {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
  };
  const send = (method: string, message?: unknown): Promise<Response> =>
    fetch(url, { method, headers, ...(message !== undefined && { body: JSON.stringify(message) }) });
  const opened = await send('POST', INITIALIZE);
  headers['mcp-session-id'] = opened.headers.get('mcp-session-id')!;
  await opened.text();
  return {
    post: (message) => send('POST', message),
    listen: () => {
      headers.accept = 'text/event-stream';
      return send('GET').finally(() => (headers.accept = 'application/json, text/event-stream'));
    },
    end: () => send('DELETE'),
    aborted: () => new Promise((resolve) => waiters.push(resolve)),
    count: () => count,
  };
}

describe('Session with a request id that is in flight', () => {
  it('is rejected over HTTP, alone and in a batch, and the first request runs until it is cancelled', async () => {
    const { post, aborted, count } = await serveHttp();
    const first = await post(waiting(7)); // its stream is open
    for (const repeated of [waiting(7), [waiting(8), waiting(8)], { jsonrpc: '2.0', id: 7, method: 'ping' }]) {
      const second = await post(repeated);
      expect(second.status).toBe(400);
      expect(await second.json()).toMatchObject({ error: { code: -32600 } });
    }
    expect(count()).toBe(0);
    const ended = aborted();
    await post(cancelled);
    await ended;
    expect(await first.text()).not.toContain('"result"'); // its stream has ended, too
    expect(count()).toBe(1);
    const again = await post(waiting(7));
    expect(again.status).toBe(200);
    await again.body?.cancel();
  });

  it('can be used again when the request was rejected or answered', async () => {
    const { post } = await serveHttp();
    const call = { jsonrpc: '2.0', id: 3, method: 'tools/call', params: { name: 'echo__session' } };
    for (const message of [call, call, { ...call, method: 'no/such' }, { ...call, method: 'ping' }, call]) {
      const response = await post(message);
      expect(response.status).toBe(200);
      expect(await response.text()).toContain('"id":3');
    }
  });

  it('is rejected over streams, and its call ends with the session', async () => {
    let aborted: () => void = () => undefined;
    const ended = new Promise<void>((resolve) => (aborted = resolve));
    const provider = new InProcessToolProvider({ servers: [echoTools(() => aborted())] });
    const gateway = createGateway(provider);
    ends.push(
      () => provider.disconnect(),
      () => gateway.close(),
    );
    const [stdin, stdout] = [new PassThrough(), new PassThrough()];
    const { closed, close } = await gateway.serveStdio({ stdin, stdout });
    const lines = on(createInterface(stdout), 'line');
    const send = (message: object): void => void stdin.write(`${JSON.stringify(message)}\n`);
    send(INITIALIZE);
    await lines.next();
    send(waiting(7));
    send(waiting(7));
    const next = async (): Promise<unknown> => JSON.parse(((await lines.next()) as { value: [string] }).value[0]);
    expect(await next()).toMatchObject({ id: 7, error: { code: -32600 } });
    expect(await next()).toMatchObject({ method: 'notifications/progress' }); // it runs
    void close();
    await Promise.all([closed, ended]);
  });

  it('belongs to a call that DELETE ends', async () => {
    const { post, end, aborted, count } = await serveHttp();
    const first = await post(waiting(7));
    const second = await post(waiting(7));
    expect(second.status).toBe(400);
    const ended = aborted();
    await end();
    await ended;
    expect(count()).toBe(1);
    await first.body?.cancel();
  });
});

describe('HttpSessions', () => {
  it('ends a session when no request arrives, even with an open stream', async () => {
    const { post, listen } = await serveHttp({ sessionIdleMs: 200 });
    const stream = await listen();
    expect(stream.status).toBe(200);
    await stream.text(); // until the gateway ends it
    expect((await post({ jsonrpc: '2.0', id: 1, method: 'ping' })).status).toBe(404);
  });

  it('keeps a session while its call runs or while it sends pings', async () => {
    const { post, aborted } = await serveHttp({ sessionIdleMs: 200 });
    const first = await post(waiting(7));
    await new Promise((resolve) => setTimeout(resolve, 700)); // several times what is idle
    const ended = aborted();
    expect((await post(cancelled)).status).toBe(202);
    await ended;
    await first.text();
    for (let index = 0; index < 8; index++) {
      expect((await post({ jsonrpc: '2.0', id: index, method: 'ping' })).status).toBe(200);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  });
});

it('StreamTransport answers a malformed request, whose id can be used again', async () => {
  const [stdin, stdout] = [new PassThrough(), new PassThrough()];
  const provider = new InProcessToolProvider({ servers: [echoTools()] });
  const gateway = createGateway(provider);
  ends.push(
    () => provider.disconnect(),
    () => gateway.close(),
  );
  await gateway.serveStdio({ stdin, stdout });
  const lines = createInterface({ input: stdout })[Symbol.asyncIterator]();
  const exchange = async (message: object): Promise<unknown> => {
    stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
    return JSON.parse((await lines.next()).value as string);
  };
  await exchange(INITIALIZE);
  const call = { method: 'tools/call', params: { name: 'echo__echo' } };
  for (const [message, code, id] of [
    [{ id: 1, method: 'tools/call', params: 'x' }, -32_602, 1],
    [{ id: 1, method: 'tools/list', params: [] }, -32_602, 1],
    [{ id: 1, ...call, params: { ...call.params, _meta: 5 } }, -32_602, 1],
    [{ id: 1, ...call, params: { ...call.params, _meta: { progressToken: {} } } }, -32_602, 1],
    [{ id: 1.5, method: 'ping' }, -32_600, 1.5],
    [{ id: null, method: 'ping' }, -32_600, null],
    [{ id: [1], method: 'ping' }, -32_600, null],
  ] as const)
    expect(await exchange(message), JSON.stringify(message)).toMatchObject({ id, error: { code } });
  expect(await exchange({ id: 1, method: 'ping' })).toMatchObject({ id: 1, result: {} });
});
