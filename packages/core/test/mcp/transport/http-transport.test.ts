// MCPToolProvider over HTTP: sessions that are lost, answers that break off, bodies that are too large, servers that have
// gone. The contract over HTTP is in contract.test.ts.

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { textOf, ToolError, type ToolProvider } from '@toolwright/core';
import { MCPToolProvider } from '@toolwright/core/mcp';
import { supervise } from '@toolwright/runtime';
import { describe, expect, it, vi } from 'vitest';
import { serveHttp, serveInMemory } from '../serve.js';

type Answer = (message: { id?: number; method: string }, request: IncomingMessage, response: ServerResponse) => void;

/** An MCP server that answers `initialize` and `tools/list` itself, and leaves calls to `answer`. */
async function serveRaw(
  answer: Answer,
  stream = (response: ServerResponse): unknown => response.writeHead(405).end(),
  initializeStatus = 200,
  initialize?: Answer,
): Promise<{ url: string; seen: IncomingMessage[]; refuse(): void } & AsyncDisposable> {
  const seen: IncomingMessage[] = [];
  const server = createServer((request, response) => {
    seen.push(request);
    if (request.method !== 'POST') return void stream(response);
    let body = '';
    request.on('data', (chunk: Buffer) => (body += chunk.toString()));
    request.on('end', () => {
      const message = JSON.parse(body) as { id?: number; method: string };
      const { id, method } = message;
      const give = (result: object): void => {
        response.writeHead(200, { 'content-type': 'application/json', 'mcp-session-id': 's1' });
        response.end(JSON.stringify({ jsonrpc: '2.0', id, result }));
      };
      if (method === 'server/discover') return void response.writeHead(400).end(); // as servers with sessions do
      if (method === 'initialize' && initialize) return initialize(message, request, response);
      if (method === 'initialize' && initializeStatus !== 200) return void response.writeHead(initializeStatus).end();
      if (method === 'initialize') {
        return give({
          protocolVersion: '2025-06-18',
          capabilities: { tools: {} },
          serverInfo: { name: 'r', version: '1' },
        });
      }
      if (method === 'tools/list') return give({ tools: [{ name: 'do', inputSchema: { type: 'object' } }] });
      if (id === undefined) return void response.writeHead(202).end();
      if (method === undefined) return void response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
      answer(message, request, response);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`,
    seen,
    refuse: () => {
      server.close();
      server.closeIdleConnections();
    },
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

const events = (response: ServerResponse): ServerResponse =>
  response.writeHead(200, { 'content-type': 'text/event-stream' });

describe('MCPToolProvider over HTTP', () => {
  it('works with plain JSON responses', async () => {
    const { url, close } = await serveHttp('json');
    const provider = new MCPToolProvider({ name: 'contract', url });
    try {
      expect(await provider.listTools()).toHaveLength(9);
      expect((await provider.callTool('contract.add', { a: 1, b: 2 })).structuredContent).toEqual({ sum: 3 });
      const waiting = await provider.callTool('contract.wait', { ms: 5_000 }, { timeoutMs: 50 });
      expect(waiting.error?.code).toBe('TIMED_OUT');
    } finally {
      await provider.disconnect();
      await close();
    }
  });

  it('counts a line that ends in CR and LF once, wherever chunks are split', async () => {
    await using server = await serveRaw((_message, _request, response) => {
      events(response);
      let sent = 0;
      const more = (): void => {
        if (response.destroyed || ++sent > 60) return void response.end();
        response.write(`data: ${'x'.repeat(60_000)}\r`, () =>
          setTimeout(() => response.write('\n', () => setImmediate(more)), 2),
        );
      };
      more();
    });
    await using provider = new MCPToolProvider({ name: 'raw', url: server.url, maxFrameBytes: 1024 * 1024 });
    expect((await provider.callTool('raw.do')).error?.code).toBe('FRAME_TOO_LARGE');
  });

  it.each([
    [500, 'OUTCOME_UNKNOWN', true],
    [502, 'OUTCOME_UNKNOWN', true],
    [504, 'OUTCOME_UNKNOWN', true],
    [503, 'UNAVAILABLE', undefined],
    [429, 'UNAVAILABLE', undefined],
  ])('answers a call that the server answered with %i with %s', async (status, code, outcomeUnknown) => {
    await using server = await serveRaw((_message, _request, response) => response.writeHead(status).end('no'));
    await using provider = new MCPToolProvider({ name: 'raw', url: server.url });
    const { error } = await provider.callTool('raw.do');
    expect(error?.code).toBe(code);
    expect(error?.details?.outcomeUnknown).toBe(outcomeUnknown);
    expect(error?.retryable).toBe(code === 'UNAVAILABLE');
  });

  it('returns the result of a call during which the server sent a request with the same id', async () => {
    await using server = await serveRaw(({ id }, _request, response) => {
      if (id === undefined) return;
      events(response).write(`data: ${JSON.stringify({ jsonrpc: '2.0', id, method: 'ping' })}\n\n`);
      const result = { content: [{ type: 'text', text: 'done' }] };
      setTimeout(() => response.end(`data: ${JSON.stringify({ jsonrpc: '2.0', id, result })}\n\n`), 100);
    });
    await using provider = new MCPToolProvider({ name: 'raw', url: server.url });
    expect(textOf(await provider.callTool('raw.do'))).toBe('done');
  });

  it('closes the response of an abandoned call', async () => {
    const open = new Set<ServerResponse>();
    await using server = await serveRaw((_message, _request, response) => {
      open.add(events(response));
      response.write(': working\n\n');
      response.on('close', () => open.delete(response));
    });
    await using provider = new MCPToolProvider({ name: 'raw', url: server.url });
    const calls = Array.from({ length: 10 }, () => provider.callTool('raw.do', {}, { timeoutMs: 300 }));
    for (const { error } of await Promise.all(calls)) expect(error?.code).toBe('TIMED_OUT');
    await vi.waitUntil(() => open.size === 0, { timeout: 5_000 });
    expect(server.seen.filter(({ method }) => method === 'POST').length).toBeGreaterThan(20); // the server received the cancellations
  });

  it('returns the response of a running call when the server accepts no new connection', async () => {
    let finish = (): unknown => undefined;
    await using server = await serveRaw(({ id }, _request, response) => {
      events(response).write(': working\n\n');
      const result = { content: [{ type: 'text', text: 'deployed' }] };
      finish = () => response.end(`data: ${JSON.stringify({ jsonrpc: '2.0', id, result })}\n\n`);
    });
    await using provider = new MCPToolProvider({ name: 'raw', url: server.url });
    const long = provider.callTool('raw.do', {}, { timeoutMs: 20_000 });
    await vi.waitUntil(() => String(finish).includes('response.end'));
    server.refuse();
    // The first of them may have been on a connection that was closed at that moment.
    await vi.waitUntil(async () => (await provider.callTool('raw.do')).error?.code === 'UNAVAILABLE');
    // Longer than answers of a session that is over are waited for.
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    finish();
    expect(textOf(await long)).toBe('deployed');
  });

  it('closes the stream of an old server that never sends its endpoint', async () => {
    const streams = new Set<ServerResponse>();
    await using server = await serveRaw(
      () => undefined,
      (response) => {
        streams.add(events(response));
        response.write(': hello\n\n');
        return response.on('close', () => streams.delete(response));
      },
      405,
    );
    const provider = new MCPToolProvider({ name: 'raw', url: server.url, connectTimeoutMs: 300 });
    for (let attempt = 0; attempt < 2; attempt++)
      await expect(provider.connect()).rejects.toMatchObject({ code: 'TIMED_OUT' });
    await provider.disconnect();
    await vi.waitUntil(() => streams.size === 0, { timeout: 5_000 });
  });

  it('reopens a stream at most twenty times a second, whatever the server requests', async () => {
    const again = (response: ServerResponse): unknown => events(response).end('retry: 0\nid: 1\ndata: \n\n');
    await using server = await serveRaw((_message, _request, response) => again(response), again);
    await using provider = new MCPToolProvider({ name: 'raw', url: server.url });
    const startedAt = performance.now();
    expect((await provider.callTool('raw.do', {}, { timeoutMs: 1_000 })).error?.code).toBe('TIMED_OUT');
    const streams = server.seen.filter(({ method }) => method === 'GET').length;
    expect(streams).toBeGreaterThan(2);
    expect(streams).toBeLessThan((performance.now() - startedAt) / 50 + 3);
  });

  it('ends its session on disconnect()', async () => {
    const { url, sessions, close } = await serveHttp('events');
    const provider = new MCPToolProvider({ name: 'contract', url });
    try {
      await provider.connect();
      expect(sessions.size).toBe(1);
      await provider.disconnect();
      expect(sessions.size).toBe(0);
    } finally {
      await close();
    }
  });

  it('runs a call whose session has expired once, on a new session', async () => {
    const { url, sessions, close } = await serveHttp('events');
    const warned: string[] = [];
    const debugged: string[] = [];
    const log = (to: string[]) => (message: string) => void to.push(message);
    const logger = { debug: log(debugged), info: log([]), warn: log(warned), error: log(warned) };
    const provider = new MCPToolProvider({ name: 'contract', url, logger });
    try {
      await provider.callTool('contract.count');
      sessions.clear();
      const lost: unknown[] = [];
      provider.onLost((failure) => lost.push(failure));
      const many = await Promise.all([1, 2, 3].map(() => provider.callTool('contract.count')));
      expect(many.map(({ structuredContent }) => structuredContent?.executions)).toEqual([2, 3, 4]);
      expect(provider.health().restarts).toBe(1);
      expect([lost, warned]).toEqual([[], []]); // no loss was reported
      expect(debugged.join()).toContain('was lost');
      sessions.clear();
      expect(await provider.mcp.request('ping')).toEqual({});
    } finally {
      await provider.disconnect();
      await close();
    }
  });

  it.each([false, true])(
    'completes the first call after a restart of the server; supervised: %s',
    async (supervised) => {
      const first = await serveHttp('events');
      const make = (): ToolProvider => new MCPToolProvider({ name: 'contract', url: first.url });
      const provider = supervised ? supervise(make) : make();
      try {
        await provider.callTool('contract.add', { a: 1, b: 2 });
        await first.close();
        const second = await serveHttp('events', undefined, Number(new URL(first.url).port));
        try {
          // Until its connections are seen to have closed, whether a request was read is not known.
          while (!(await fetch(first.url, { method: 'PUT' }).catch(() => undefined)));
          const { error, structuredContent } = await provider.callTool('contract.add', { a: 1, b: 2 });
          expect(error).toBeUndefined();
          expect(structuredContent).toEqual({ sum: 3 });
        } finally {
          await provider.disconnect();
          await second.close();
        }
      } finally {
        await provider.disconnect();
        await first.close();
      }
    },
  );

  it('returns UNAVAILABLE when no server listens, and connects once one does', async () => {
    const first = await serveHttp('events');
    await first.close();
    await using provider = new MCPToolProvider({ name: 'contract', url: first.url });
    const { error } = await provider.callTool('contract.count');
    expect(error).toMatchObject({ code: 'UNAVAILABLE', retryable: true });
    expect(error?.message).toContain('ECONNREFUSED');
    expect(provider.health().state).toBe('DEAD');
  });

  it.each<[string, Answer]>([
    ['the connection breaks', (_message, request) => request.socket.destroy()],
    ['the event stream ends', (_message, _request, response) => events(response).end(': hello\n\n')],
    [
      'half of a response arrives',
      (_message, request, response) => {
        response.writeHead(200, { 'content-type': 'application/json', 'content-length': '100' });
        response.write('{', () => request.socket.destroy());
      },
    ],
  ])('returns UNAVAILABLE when %s before the handshake is done, as nothing has run', async (_, initialize) => {
    await using server = await serveRaw(() => undefined, undefined, 200, initialize);
    await using provider = new MCPToolProvider({ name: 'r', url: server.url });
    const { error } = await provider.callTool('r.do');
    expect(error).toMatchObject({ code: 'UNAVAILABLE', retryable: true });
    expect(error?.message).not.toContain('may have run');
  });

  it('returns OUTCOME_UNKNOWN immediately when an event stream ends without the response', async () => {
    await using server = await serveRaw((_message, _request, response) => {
      events(response).write(': hello\n\n');
      response.end();
    });
    await using provider = new MCPToolProvider({ name: 'r', url: server.url });
    const { error, durationMs } = await provider.callTool('r.do');
    expect(error).toMatchObject({ code: 'OUTCOME_UNKNOWN', details: { outcomeUnknown: true } });
    expect(durationMs).toBeLessThan(5_000);
  });

  it.each(['{"jsonrpc":"2.0","id":ID,"result":null}', '{"jsonrpc":"2.0","id":ID}', '[', '"text"'])(
    'returns PROTOCOL_VIOLATION when a response is %s',
    async (body) => {
      await using server = await serveRaw(({ id }, _request, response) => {
        response.writeHead(200, { 'content-type': 'application/json' }).end(body.replace('ID', String(id)));
      });
      await using provider = new MCPToolProvider({ name: 'r', url: server.url });
      const { error } = await provider.callTool('r.do');
      expect(error).toMatchObject({ code: 'PROTOCOL_VIOLATION', details: { outcomeUnknown: true } });
      expect(error?.message).not.toContain('invalid_union');
    },
  );

  it('returns OUTCOME_UNKNOWN when the connection breaks', async () => {
    await using server = await serveRaw((_message, request) => request.socket.destroy());
    await using provider = new MCPToolProvider({ name: 'r', url: server.url });
    expect((await provider.callTool('r.do')).error?.code).toBe('OUTCOME_UNKNOWN');
  });

  it.each(['events', 'json'])(
    'fails with FRAME_TOO_LARGE within bounded memory when the answer has no end: %s',
    async (form) => {
      await using server = await serveRaw((_message, _request, response) => {
        if (form === 'events') events(response).write('data: ');
        else response.writeHead(200, { 'content-type': 'application/json' });
        const part = 'x'.repeat(1 << 16);
        const pour = (): void => {
          if (response.destroyed) return;
          while (response.write(part));
          response.once('drain', pour);
        };
        pour();
      });
      await using provider = new MCPToolProvider({ name: 'r', url: server.url, maxFrameBytes: 2 * 1024 * 1024 });
      expect((await provider.callTool('r.do')).error).toMatchObject({
        code: 'FRAME_TOO_LARGE',
        details: { outcomeUnknown: true },
      });
    },
  );

  it.each([
    [401, 'PERMISSION_DENIED'],
    [403, 'PERMISSION_DENIED'],
    [413, 'TOO_LARGE'],
    [503, 'UNAVAILABLE'],
    [418, 'PROTOCOL_VIOLATION'],
  ])('answers for the status %i with %s, and shows no header', async (status, code) => {
    await using server = await serveRaw((_message, request, response) => {
      response.writeHead(status).end(`refused ${request.headers.authorization?.split(' ')[1] ?? ''}`);
    });
    const headers = { authorization: 'Bearer canary-canary-canary' };
    await using provider = new MCPToolProvider({ name: 'r', url: server.url, headers });
    const result = await provider.callTool('r.do');
    expect(result.error?.code).toBe(code);
    expect(JSON.stringify(result)).not.toContain('canary');
    expect(server.seen.every(({ headers: sent }) => sent.authorization === headers.authorization)).toBe(true);
  });

  it('does not follow a redirect to another origin', async () => {
    const reached: string[] = [];
    await using other = await serveRaw(() => reached.push('call'));
    await using server = await serveRaw((_message, _request, response) => {
      response.writeHead(307, { location: other.url }).end();
    });
    await using provider = new MCPToolProvider({ name: 'r', url: server.url, headers: { 'x-key': 'canary-canary' } });
    expect((await provider.callTool('r.do')).isError).toBe(true);
    expect([reached, other.seen]).toEqual([[], []]);
  });

  it('makes many concurrent calls without a warning of Node', async () => {
    const warnings: string[] = [];
    const onWarning = (warning: Error): void => void warnings.push(warning.name);
    process.on('warning', onWarning);
    await using server = await serveRaw(({ id }, _request, response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ jsonrpc: '2.0', id, result: { content: [{ type: 'text', text: String(id) }] } }));
    });
    await using provider = new MCPToolProvider({ name: 'r', url: server.url });
    await provider.connect();
    const texts = await Promise.all(Array.from({ length: 100 }, async () => textOf(await provider.callTool('r.do'))));
    expect(new Set(texts).size).toBe(100);
    process.off('warning', onWarning);
    expect(warnings).toEqual([]);
  });
});

describe('MCPToolProvider over a given transport', () => {
  it('rejects with advice when the transport was already used', async () => {
    const { connect, close } = await serveInMemory();
    await using provider = new MCPToolProvider({ name: 'contract', transport: await connect() });
    expect((await provider.callTool('contract.echo', { text: 'x' })).isError).toBe(false);
    await provider.disconnect();
    const error = await provider.connect().catch((thrown: unknown) => thrown);
    expect(ToolError.isInstance(error) && error.message).toMatch(/set transport to a function/);
    await close();
  });
});

describe('MCPToolProvider over a transport that never opens', () => {
  it('times out, and can be disconnected meanwhile', async () => {
    const transport = (): Promise<never> => new Promise(() => undefined);
    const slow = new MCPToolProvider({ name: 'x', transport, connectTimeoutMs: 100 });
    expect((await slow.callTool('x.do')).error?.code).toBe('TIMED_OUT');
    await slow.disconnect();
    const provider = new MCPToolProvider({ name: 'x', transport });
    const connecting = provider.connect().catch((error: unknown) => error);
    await provider.disconnect();
    expect(await connecting).toMatchObject({ code: 'NOT_CONNECTED' });
  });
});

describe('new MCPToolProvider()', () => {
  it.each([
    [{}, /set exactly one of command, container, socketPath, url, transport; got none/],
    [{ command: 'a', url: 'https://b' }, /got command and url/],
    [{ url: 'file:///etc/passwd' }, /https: or http:/],
    [{ url: 'https://me:secret@host/' }, /not contain a user or password/],
    [{ command: 'a', args: 'b' }, /args must be an array/],
    [{ command: 'a', env: { A: 1 } }, /env must be an object of strings/],
    [{ command: 'a', timeoutMs: 5 }, /unknown option `timeoutMs`; did you mean `callTimeoutMs`\?/],

    [{ command: 'a', headers: {} }, /headers cannot be combined with command/],
    [{ url: 'https://host', args: [] }, /args cannot be combined with url/],
    [{ socketPath: '/s', env: {} }, /env cannot be combined with socketPath/],
    [{ command: 'a', cwd: 5 }, /cwd must be an absolute path, not 5/],
    [{ command: 'a', cwd: 'here' }, /cwd must be an absolute path, not "here"/],
    [{ url: 'https://host', headers: { 'a\nb': 'c' } }, /headers: the name "a\\nb" has a character/],
    [{ url: 'https://host', headers: { a: 'secret\nb' } }, /headers: a value has a line end/],
    [{ url: 'https://host', auth: { file: '/f', redirectURL: 'http://x' } }, /did you mean `auth\.redirectUrl`/],
    [{ container: { image: 'a', mount: [] } }, /did you mean `container\.mounts`/],
    [{ command: 'a', callTimeoutMs: 0 }, /callTimeoutMs must be a number above 0/],
    [{ command: 'a', projectDir: 'relative' }, /absolute path/],
    [{ command: 'a', extraRoots: ['/x'] }, /extraRoots needs projectDir/],
    [{ command: 'a', name: 'a.b' }, /name must be/],
    [{ container: { image: '--privileged' } }, /without white space or a leading dash/],
    [{ url: 'https://host', auth: { file: 'here' } }, /auth requires file/],
  ])('refuses %j and reports why', (options, why) => {
    const make = (): unknown => new MCPToolProvider({ name: 'x', ...options } as never);
    expect(make).toThrow(why);
    expect(make).toThrow(ToolError);
  });
});
