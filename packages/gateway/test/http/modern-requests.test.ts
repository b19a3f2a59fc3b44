// Requests of MCP 2026-07-28 as bytes: the checks of the listener come first, and headers that contradict the body reach
// no tool.

import { connect } from 'node:net';
import { defineServer, defineTool, InProcessToolProvider, type JsonObject } from '@toolwright/core';
import { createGateway, type GatewayOptions, type ServeHttpOptions } from '@toolwright/gateway';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { echoTools } from '../fixtures/echo-tools.js';

const ends: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

const VERSION = '2026-07-28';
const TOKEN = 'a-token-of-this-test';
const ENVELOPE = {
  'io.modelcontextprotocol/protocolVersion': VERSION,
  'io.modelcontextprotocol/clientCapabilities': {},
};

interface Answer {
  status: number;
  headers: Headers;
  message: { result?: JsonObject; error?: { code: number; message: string; data?: JsonObject } } | undefined;
}

async function serve(http: ServeHttpOptions = {}, options: GatewayOptions = {}) {
  const received: unknown[] = [];
  const region = { type: 'string', 'x-mcp-header': 'Region' } as const;
  const count = { type: 'integer', 'x-mcp-header': 'Count' } as const;
  const query = defineTool({
    name: 'query',
    description: 'Queries a region.',
    input: {
      type: 'object',
      properties: { region, text: { type: 'string' }, at: { type: 'object', properties: { count } } },
    },
    execute: (args, { meta }) => {
      received.push(args, meta);
      return 'done';
    },
  });
  const provider = new InProcessToolProvider({
    servers: [defineServer({ name: 'sql', version: '1.0.0', tools: [query] })],
  });
  const gateway = createGateway(provider, options);
  ends.push(
    () => provider.disconnect(),
    () => gateway.close(),
  );
  const { url, port } = await gateway.serveHttp({ auth: { token: TOKEN }, ...http });
  const post = async (
    body: unknown,
    headers: Record<string, string | undefined> = {},
    method = 'POST',
  ): Promise<Answer> => {
    const { method: name, params } = (body ?? {}) as { method?: string; params?: { name?: string } };
    const all = {
      authorization: `Bearer ${TOKEN}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': VERSION,
      'mcp-method': name,
      ...(params?.name !== undefined && { 'mcp-name': params.name }),
      ...headers,
    };
    const given = Object.entries(all).filter((entry): entry is [string, string] => entry[1] !== undefined);
    const response = await fetch(url, {
      method,
      headers: given,
      ...(method === 'POST' && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    const text = await response.text();
    return {
      status: response.status,
      headers: response.headers,
      message: text.startsWith('{') ? (JSON.parse(text) as Answer['message']) : undefined,
    };
  };
  return { post, received, url, port: port! };
}

const request = (method: string, params: JsonObject = {}, meta: JsonObject = ENVELOPE): JsonObject => ({
  jsonrpc: '2.0',
  id: 1,
  method,
  params: { ...params, _meta: meta },
});
const call = (args: JsonObject = {}, meta?: JsonObject): JsonObject =>
  request('tools/call', { name: 'sql__query', arguments: args }, meta);

describe('serveHttp() answers a modern request', () => {
  it('without a session, as plain JSON with the type of the result and the name of the server', async () => {
    const { post } = await serve();
    const { status, headers, message } = await post(call());
    expect([status, headers.get('content-type'), headers.get('mcp-session-id')]).toEqual([
      200,
      'application/json',
      null,
    ]);
    expect(message?.result).toMatchObject({
      resultType: 'complete',
      isError: false,
      _meta: { 'io.modelcontextprotocol/serverInfo': { name: 'toolwright' } },
    });
  });

  it('whatever session id it has, which a proxy may have added', async () => {
    const { post } = await serve();
    expect((await post(call(), { 'mcp-session-id': 'made up' })).status).toBe(200);
  });

  it('to server/discover and tools/list with how long and by whom they may be kept', async () => {
    const { post } = await serve();
    expect((await post(request('server/discover'))).message?.result).toMatchObject({
      supportedVersions: [VERSION],
      capabilities: { tools: { listChanged: true } },
      cacheScope: 'public',
    });
    const { result } = (await post(request('tools/list'))).message!;
    expect(result).toMatchObject({ cacheScope: 'private', resultType: 'complete' });
    expect(result!.ttlMs).toBeGreaterThanOrEqual(0);
  });

  it('after the checks of the listener', async () => {
    const { post } = await serve({}, { limits: { maxBodyBytes: 2_000 } });
    expect((await post(call(), { authorization: undefined })).status).toBe(401);
    expect((await post(call(), { authorization: 'Bearer another-token-of-this' })).status).toBe(401);
    expect((await post(call(), { origin: 'https://evil.example' })).status).toBe(403);
    expect((await post(call(), { 'content-type': 'text/plain' })).status).toBe(415);
    expect((await post(call({ text: 'x'.repeat(3_000) }))).status).toBe(413);
    expect((await post('{')).message?.error?.code).toBe(-32700);
    const deep = JSON.parse(`${'['.repeat(200)}${']'.repeat(200)}`) as unknown;
    const invalid = { status: 400, message: { error: { code: -32600 } } };
    expect(await post(call({ text: deep }))).toMatchObject(invalid);
    expect(await post(call({}, { ...ENVELOPE, more: deep }))).toMatchObject(invalid);
    const capabilities = { 'io.modelcontextprotocol/clientCapabilities': { extensions: deep } };
    expect(await post(call({}, { ...ENVELOPE, ...capabilities }))).toMatchObject(invalid);
  });

  it('with -32600 to a body that is not a request of JSON-RPC 2.0', async () => {
    const { post, received } = await serve();
    for (const more of [{ jsonrpc: '1.0' }, { jsonrpc: undefined }, { method: undefined }, { method: 7 }])
      expect(await post({ ...call(), ...more }, { 'mcp-method': 'tools/call' })).toMatchObject({
        status: 400,
        message: { error: { code: -32600 } },
      });
    expect(received).toEqual([]);
  });

  it('with 405 to other methods than POST, and with 202 to a notification', async () => {
    const { post } = await serve();
    for (const method of ['GET', 'DELETE']) {
      const { status, headers } = await post(undefined, {}, method);
      expect([status, headers.get('allow')]).toEqual([405, 'POST']);
    }
    const { status, message } = await post({ jsonrpc: '2.0', method: 'notifications/anything' });
    expect([status, message]).toEqual([202, undefined]);
  });

  it('with 404 and -32601 to a method that this revision does not have', async () => {
    const { post } = await serve();
    for (const method of ['ping', 'logging/setLevel', 'initialize', 'resources/subscribe', 'constructor', 'no/such'])
      expect(await post(request(method))).toMatchObject({ status: 404, message: { error: { code: -32601 } } });
    expect(await post(request('tools/call', { name: 'nothing' }))).toMatchObject({
      status: 200,
      message: { error: { code: -32602 } },
    });
  });

  it('with the versions that it serves to one that it does not', async () => {
    const { post } = await serve();
    const later = { ...ENVELOPE, 'io.modelcontextprotocol/protocolVersion': '2027-01-01' };
    const earlier = { ...ENVELOPE, 'io.modelcontextprotocol/protocolVersion': '2025-11-25' };
    for (const [version, meta] of [['2027-01-01', later] as const, ['2025-11-25', earlier] as const]) {
      expect(await post(call({}, meta), { 'mcp-protocol-version': version })).toMatchObject({
        status: 400,
        message: { error: { code: -32022, data: { supported: [VERSION], requested: version } } },
      });
    }
  });

  it('with -32602 to an envelope that is not complete', async () => {
    const { post, received } = await serve();
    const [version, capabilities] = Object.keys(ENVELOPE) as [string, string];
    for (const meta of [
      { [version]: VERSION },
      { [version]: 7, [capabilities]: {} },
      { ...ENVELOPE, [capabilities]: [] },
      { ...ENVELOPE, 'io.modelcontextprotocol/clientInfo': { name: 'x' } },
      { ...ENVELOPE, 'io.modelcontextprotocol/logLevel': 'loud' },
      { [capabilities]: {} },
      {},
    ])
      expect((await post(call({}, meta))).message?.error?.code).toBeOneOf([-32602, -32020]);
    expect(received).toEqual([]);
  });

  it('and passes on traceparent, but nothing of the envelope', async () => {
    const { post, received } = await serve();
    await post(call({ text: 'x' }, { ...ENVELOPE, traceparent: '00-1-2-01', 'io.modelcontextprotocol/x': 1 }));
    expect(received).toEqual([{ text: 'x' }, { traceparent: '00-1-2-01' }]);
  });

  it('and reads no result type from a batch or a response', async () => {
    const { post } = await serve();
    expect(await post([call()])).toMatchObject({ status: 400, message: { error: { code: -32600 } } });
    expect(await post([call()], { 'mcp-protocol-version': undefined })).toMatchObject({ status: 400 });
    expect(await post({ jsonrpc: '2.0', id: 1, result: {} })).toMatchObject({ status: 400 });
    expect(await post('null')).toMatchObject({ status: 400 });
  });
});

describe('serveHttp() ends a modern request', () => {
  const slow = (onAborted: () => void): InProcessToolProvider =>
    new InProcessToolProvider({ servers: [echoTools(onAborted)] });
  const headersOf = (method: string, name?: string): Record<string, string> => ({
    authorization: `Bearer ${TOKEN}`,
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    'mcp-protocol-version': VERSION,
    'mcp-method': method,
    ...(name !== undefined && { 'mcp-name': name }),
  });

  it.each([
    ['before its answer has begun', {}],
    ['while its answer is a stream', { progressToken: 'p' }],
  ])('when the client closes the response %s', async (_, meta) => {
    let aborted = 0;
    const provider = slow(() => aborted++);
    const gateway = createGateway(provider);
    ends.push(
      () => provider.disconnect(),
      () => gateway.close(),
    );
    const { url } = await gateway.serveHttp({ auth: { token: TOKEN } });
    const name = 'echo__until_aborted';
    const abort = new AbortController();
    const answer = fetch(url, {
      method: 'POST',
      headers: headersOf('tools/call', name),
      body: JSON.stringify(request('tools/call', { name }, { ...ENVELOPE, ...meta })),
      signal: abort.signal,
    });
    answer.catch(() => undefined);
    const metrics = new URL('/metrics', url);
    const inFlight = async (): Promise<string> => (await fetch(metrics, { headers: headersOf('') })).text();
    await vi.waitFor(async () => expect(await inFlight()).toContain('calls_in_flight 1'));
    if ('progressToken' in meta) expect((await answer).headers.get('content-type')).toBe('text/event-stream');
    abort.abort();
    await vi.waitFor(() => expect(aborted).toBe(1));
    await vi.waitFor(async () => expect(await inFlight()).toContain('calls_in_flight 0'));
  });

  it('with 406 when it listens and takes no stream', async () => {
    const { post } = await serve();
    const listen = request('subscriptions/listen', { notifications: { toolsListChanged: true } });
    expect(await post(listen, { accept: 'application/json' })).toMatchObject({ status: 406 });
  });

  it('and lets pages send the headers of parameters', async () => {
    const { url } = await serve({ allowedOrigins: ['https://app.example'] });
    const { headers } = await fetch(url, {
      method: 'OPTIONS',
      headers: {
        origin: 'https://app.example',
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'mcp-method, mcp-param-region, x-other',
      },
    });
    const allowed = headers.get('access-control-allow-headers')!.split(', ');
    expect(allowed).toEqual(expect.arrayContaining(['mcp-method', 'mcp-name', 'mcp-param-region']));
    expect(allowed).not.toContain('x-other');
  });
});

describe('serveHttp() rejects a modern request with -32020', () => {
  const rejected = { status: 400, message: { error: { code: -32020 } } };

  it('when a standard header is missing or differs from the body', async () => {
    const { post, received } = await serve();
    for (const headers of [
      { 'mcp-protocol-version': undefined },
      { 'mcp-protocol-version': '2025-11-25' },
      { 'mcp-method': undefined },
      { 'mcp-method': 'tools/list' },
      { 'mcp-method': 'Tools/Call' },
      { 'mcp-name': undefined },
      { 'mcp-name': 'harmless' },
      { 'mcp-name': 'SQL__query' },
      { 'mcp-name': `=?base64?${Buffer.from('harmless').toString('base64')}?=` },
      { 'mcp-name': '=?base64?!!!?=' },
    ])
      expect(await post(call(), headers)).toMatchObject(rejected);
    expect(received).toEqual([]);
    const sentinel = `=?base64?${Buffer.from('sql__query').toString('base64')}?=`;
    expect((await post(call(), { 'mcp-name': sentinel })).status).toBe(200);
  });

  it('when the header of a parameter is missing or differs from the argument', async () => {
    const { post, received } = await serve();
    const args = { region: 'us', at: { count: 42 } };
    const base = { 'mcp-param-region': 'us', 'mcp-param-count': '42' };
    for (const headers of [
      {},
      { ...base, 'mcp-param-region': undefined },
      { ...base, 'mcp-param-region': 'eu' },
      { ...base, 'mcp-param-count': '43' },
      { ...base, 'mcp-param-count': '0x2a' },
      { ...base, 'mcp-param-region': '=?base64?dXM?=' }, // without its padding
      { ...base, 'mcp-param-region': '=?BASE64?dXM=?=' },
    ])
      expect(await post(call(args), headers)).toMatchObject(rejected);
    expect(received).toEqual([]);
    for (const headers of [
      base,
      { ...base, 'mcp-param-count': '42.0' },
      { ...base, 'mcp-param-region': '=?base64?dXM=?=' },
    ])
      expect((await post(call(args), headers)).status).toBe(200);
    expect((await post(call({ text: 'no region' }), { 'mcp-param-region': 'anything' })).status).toBe(200);
    const text = 'Zürich ';
    const encoded = `=?base64?${Buffer.from(text).toString('base64')}?=`;
    expect((await post(call({ region: text }), { 'mcp-param-region': encoded })).status).toBe(200);
  });

  it('when a header is sent twice, which two programs may read differently', async () => {
    const { port, received } = await serve();
    const body = JSON.stringify(call({ region: 'us' }));
    const send = (lines: string[]): Promise<string> =>
      new Promise((resolve) => {
        let text = '';
        const socket = connect(port, '127.0.0.1', () =>
          socket.end(
            [
              'POST /mcp HTTP/1.1',
              `Host: 127.0.0.1:${port}`,
              `Authorization: Bearer ${TOKEN}`,
              'Content-Type: application/json',
              `Content-Length: ${Buffer.byteLength(body)}`,
              `MCP-Protocol-Version: ${VERSION}`,
              'Connection: close',
              ...lines,
              '',
              body,
            ].join('\r\n'),
          ),
        );
        socket.on('data', (chunk) => (text += String(chunk))).on('close', () => resolve(text));
      });
    const right = ['Mcp-Method: tools/call', 'Mcp-Name: sql__query', 'Mcp-Param-Region: us'];
    expect(await send(right)).toContain('200 OK');
    received.length = 0;
    for (const more of ['Mcp-Name: other', 'mcp-method: tools/list', 'MCP-PARAM-REGION: eu', 'Mcp-Param-Region: us'])
      expect(await send([more, ...right])).toContain('-32020');
    expect(await send([`Host: 127.0.0.1:${port}`, ...right])).toMatch(/^HTTP\/1.1 40[03]/);
    expect(received).toEqual([]);
  });
});
