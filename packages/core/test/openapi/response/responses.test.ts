// What a call returns for each response: statuses, media types, sizes, broken connections.

import { gzipSync } from 'node:zlib';
import type { ServerResponse } from 'node:http';
import { hasBrokenOutput } from '../../../src/contract/result.js';
import { textOf, type ToolResult } from '@toolwright/core';
import { OpenApiToolProvider, type OpenApiToolProviderOptions } from '@toolwright/core/openapi';
import { describe, expect, it } from 'vitest';
import { documentWith, keepingLogger, serve, SILENT, type Answer } from '../serve.js';

type Json = Record<string, unknown>;
interface Setting extends Partial<OpenApiToolProviderOptions> {
  method?: string;
  operation?: Json;
}

/** Calls an operation that the server answers so. */
async function call(answer: Answer, { method = 'get', operation = {}, ...more }: Setting = {}): Promise<ToolResult> {
  await using server = await serve(answer);
  const document = documentWith(operation, '/call', method);
  await using provider = new OpenApiToolProvider({
    name: 'api',
    document,
    server: server.origin,
    logger: SILENT,
    ...more,
  });
  return await provider.callTool('api.call');
}

/** Answers with a status, a body and headers. */
const respond =
  (status: number, body: string | Buffer = '', headers: Record<string, string> = {}): Answer =>
  (_request, response) =>
    void response.writeHead(status, headers).end(body);
const json = (text: string): Answer => respond(200, text, { 'content-type': 'application/json' });

describe('a successful response', () => {
  it('of a JSON object is structured content and its text', async () => {
    const result = await call(json('{"id": 12345678901234567890}'));
    expect(result).toMatchObject({ isError: false, structuredContent: { id: 12345678901234567000 } });
    expect(textOf(result)).toBe('{"id": 12345678901234567890}');
  });

  it.each([
    ['[1,2]', [1, 2]],
    ['"text"', 'text'],
    ['null', null],
    ['7', 7],
  ])('of the JSON %s is { result }', async (text, result) => {
    const { structuredContent } = await call(json(text));
    expect(structuredContent).toEqual({ result });
  });

  it('of JSON with the key __proto__ pollutes nothing', async () => {
    const { structuredContent } = await call(json('{"__proto__":{"polluted":1},"constructor":2}'));
    expect(({} as Json).polluted).toBeUndefined();
    expect(JSON.stringify(structuredContent)).toBe('{"__proto__":{"polluted":1},"constructor":2}');
  });

  it('that is not the JSON that it claims to be, or is very deep, is text', async () => {
    for (const text of ['{"a":', '['.repeat(50_000) + ']'.repeat(50_000)]) {
      const result = await call(json(text));
      expect(result.structuredContent).toBeUndefined();
      expect(textOf(result)).toBe(text);
    }
  });

  it('of text is text in its charset', async () => {
    const latin = await call(
      respond(200, Buffer.from('ü', 'latin1'), { 'content-type': 'text/plain; charset=iso-8859-1' }),
    );
    expect(textOf(latin)).toBe('ü');
    expect(textOf(await call(respond(200, '<a/>', { 'content-type': 'application/atom+xml' })))).toBe('<a/>');
    expect(textOf(await call(respond(200, 'plain')))).toBe('plain');
  });

  it('of an image is an image block, of audio an audio block, of other bytes a resource', async () => {
    const bytes = Buffer.from([1, 0, 255]);
    const data = bytes.toString('base64');
    const of = async (type?: string): Promise<unknown> =>
      (await call(respond(200, bytes, type === undefined ? {} : { 'content-type': type }))).content[0];
    expect(await of('image/png')).toEqual({ type: 'image', data, mimeType: 'image/png' });
    expect(await of('audio/mpeg; x=y')).toEqual({ type: 'audio', data, mimeType: 'audio/mpeg' });
    const resource = { uri: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/call$/), blob: data };
    expect(await of('application/zip')).toEqual({
      type: 'resource',
      resource: { ...resource, mimeType: 'application/zip' },
    });
    expect(await of()).toMatchObject({ resource: { mimeType: 'application/octet-stream' } });
  });

  it('without a body is its status, and where it points', async () => {
    expect(textOf(await call(respond(204), { method: 'delete' }))).toBe('204 No Content');
    const created = respond(201, '', { location: '/call/7' });
    expect(textOf(await call(created, { method: 'post' }))).toBe('201 Created\nlocation: /call/7');
    const head = respond(200, '', { 'content-type': 'image/png', etag: '"x"', 'content-encoding': 'gzip' });
    expect(textOf(await call(head, { method: 'head' }))).toBe('200 OK\ncontent-type: image/png\netag: "x"');
  });

  it('has the status and the headers that programs need in _meta', async () => {
    const headers = {
      'content-type': 'text/plain',
      link: '</call?page=2>; rel="next"',
      'set-cookie': 'session=s3cr3t-value',
    };
    const { _meta } = await call(respond(200, 'x', headers));
    const { 'set-cookie': _cookie, ...shown } = headers;
    expect(_meta).toEqual({ 'toolwright/http': { status: 200, headers: shown } });
  });

  it('is decompressed', async () => {
    const headers = { 'content-type': 'text/plain', 'content-encoding': 'gzip' };
    expect(textOf(await call(respond(200, gzipSync('unpacked'), headers)))).toBe('unpacked');
  });

  it.each(['br', 'gzip, gzip', 'deflate'])(
    'in the encoding %s, which was not asked for, is an error',
    async (encoding) => {
      const { error } = await call(respond(200, gzipSync('x'), { 'content-encoding': encoding }));
      expect(error).toMatchObject({
        code: 'PROTOCOL_VIOLATION',
        message: expect.stringMatching(/the operation has run/),
      });
    },
  );

  it('that does not match its schema is marked and logged, or refused when validateOutput is strict', async () => {
    const schema = { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] };
    const operation = { responses: { 200: { content: { 'application/json': { schema } } } } };
    const { messages, logger } = keepingLogger();
    const marked = await call(json('{"n":"x"}'), { operation, logger });
    expect(hasBrokenOutput(marked)).toBe(true);
    expect(messages.join()).toMatch(/"api\.call" ran, but its response does not match its schema: n: must be number/);
    const strict = await call(json('{"n":"x"}'), { operation, validateOutput: 'strict' });
    expect(strict.error?.code).toBe('OUTPUT_INVALID');
    expect(hasBrokenOutput(await call(json('{"n":"x"}'), { operation, validateOutput: 'off' }))).toBe(false);
    expect(hasBrokenOutput(await call(json('{"n":1}'), { operation }))).toBe(false);
  });
});

describe('a response of another status', () => {
  it('is an error with the status and the text', async () => {
    const result = await call(
      respond(422, '{ "detail": "no such pet" }', { 'content-type': 'application/problem+json' }),
    );
    expect(result).toMatchObject({
      isError: true,
      error: { code: 'EXECUTION_FAILED', retryable: false, details: { status: 422 } },
    });
    expect(textOf(result)).toBe(
      '[EXECUTION_FAILED] GET /call responded with 422 Unprocessable Entity: {"detail":"no such pet"}',
    );
  });

  it.each([
    [401, 'get', 'PERMISSION_DENIED', false, /set `auth` of the provider/],
    [403, 'get', 'PERMISSION_DENIED', false, /may need credentials/],
    [404, 'get', 'EXECUTION_FAILED', false, /404 Not Found/],
    [413, 'post', 'TOO_LARGE', false, /413/],
    [429, 'post', 'UNAVAILABLE', true, /429 Too Many Requests/],
    [500, 'post', 'EXECUTION_FAILED', false, /500/],
    [503, 'post', 'UNAVAILABLE', true, /503/],
    [504, 'get', 'UNAVAILABLE', true, /504/],
    [504, 'post', 'OUTCOME_UNKNOWN', false, /504/],
  ])('%i of %s has the code %s, retryable %s', async (status, method, code, retryable, message) => {
    const { error } = await call(respond(status, ''), { method });
    expect(error).toMatchObject({ code, retryable, message: expect.stringMatching(message) });
    expect(error?.details?.outcomeUnknown).toBe(code === 'OUTCOME_UNKNOWN' ? true : undefined);
  });

  it('says that credentials were refused when there is auth', async () => {
    const auth = (): Json => ({ headers: { authorization: 'Bearer t0ken-of-a-test' } });
    const { error } = await call(respond(401), { auth });
    expect(error?.message).toMatch(/credentials that `auth` returned were not accepted/);
  });

  it('notes Retry-After in seconds and as a date', async () => {
    const after = async (value: string): Promise<unknown> =>
      (await call(respond(429, '', { 'retry-after': value }))).error?.details?.retryAfterMs;
    expect(await after('7')).toBe(7_000);
    expect(await after('99999999')).toBe(24 * 60 * 60_000);
    const date = Number(await after(new Date(Date.now() + 60_000).toUTCString()));
    expect(date).toBeGreaterThan(50_000);
    expect(date).toBeLessThanOrEqual(60_000);
    expect(await after('soon')).toBeUndefined();
  });

  it('shows no more than a part of a long text, and no invisible characters', async () => {
    const { error } = await call(
      respond(400, `\u001b[31m\u200b${'x'.repeat(100_000)}`, { 'content-type': 'text/plain' }),
    );
    expect(error?.message.length).toBeLessThan(17_000);
    expect(error?.message).toMatch(/400 Bad Request: xxx/);
  });

  it.each([301, 302, 303, 307, 308])('that redirects (%i) is an error, and is not followed', async (status) => {
    await using elsewhere = await serve();
    const { error } = await call(respond(status, '', { location: `${elsewhere.origin}/call` }));
    expect(error).toMatchObject({
      code: 'EXECUTION_FAILED',
      message: expect.stringMatching(/Redirects are not followed/),
    });
    expect(elsewhere.received).toEqual([]);
  });
});

describe('the size of a response', () => {
  const endless = (response: ServerResponse, chunk: Buffer): void => {
    const write = (): void => void (response.destroyed || response.write(chunk, write));
    write();
  };

  it('is limited, with and without a length', async () => {
    const message = expect.stringMatching(/larger than 1000 bytes.*the operation has run/);
    for (const answer of [
      respond(200, 'x'.repeat(1_001)),
      (_: unknown, response: ServerResponse) => endless(response, Buffer.alloc(64)),
    ])
      expect((await call(answer, { maxResponseBytes: 1_000 })).error).toMatchObject({
        code: 'TOO_LARGE',
        message,
      });
    expect((await call(respond(200, 'x'.repeat(1_000)), { maxResponseBytes: 1_000 })).isError).toBe(false);
  });

  it('is limited after decompression', async () => {
    const bomb = gzipSync(Buffer.alloc(200 * 1024 * 1024)); // 200 KB
    const before = process.memoryUsage().rss;
    const { error } = await call(respond(200, bomb, { 'content-encoding': 'gzip' }));
    expect(error?.code).toBe('TOO_LARGE');
    expect(process.memoryUsage().rss - before).toBeLessThan(150 * 1024 * 1024);
  });
});

describe('a broken connection', () => {
  it('is UNAVAILABLE and may be repeated when nothing listens', async () => {
    const server = await serve();
    await server.close();
    const document = documentWith({}, '/call', 'post');
    await using provider = new OpenApiToolProvider({ name: 'api', document, server: server.origin, logger: SILENT });
    const { error } = await provider.callTool('api.call');
    expect(error).toMatchObject({
      code: 'UNAVAILABLE',
      retryable: true,
      message: expect.stringMatching(/cannot be reached \(ECONNREFUSED\).*Nothing was sent/),
    });
  });

  it('is OUTCOME_UNKNOWN after the request was sent', async () => {
    for (const method of ['get', 'post']) {
      const { error } = await call((_request, response) => void response.destroy(), { method });
      expect(error).toMatchObject({ code: 'OUTCOME_UNKNOWN', retryable: false, details: { outcomeUnknown: true } });
    }
  });

  it('is OUTCOME_UNKNOWN in the middle of the body, compressed or not', async () => {
    for (const headers of [{ 'content-length': '100' }, { 'content-encoding': 'gzip' }] as Record<string, string>[]) {
      const { error } = await call((_request, response) => {
        response.writeHead(200, headers).write(gzipSync('x'.repeat(1_000)).subarray(0, 12), () => response.destroy());
      });
      expect(error?.code).toBe('OUTCOME_UNKNOWN');
    }
  });

  it('is PROTOCOL_VIOLATION for a response that is not HTTP, or not gzip', async () => {
    const raw = await call((_request, response) => void response.socket!.end('no HTTP\r\n\r\n'));
    expect(raw.error).toMatchObject({ code: 'PROTOCOL_VIOLATION', details: { outcomeUnknown: true } });
    const gzip = await call(respond(200, 'not gzip', { 'content-encoding': 'gzip' }));
    expect(gzip.error?.code).toBe('PROTOCOL_VIOLATION');
  });

  it('that the server closed while it was idle is replaced for a request that changes nothing', async () => {
    let connections = 0;
    const used = new WeakSet<object>();
    await using server = await serve((_request, { socket }) => {
      if (used.has(socket!)) return void socket!.destroy(); // as a server does whose idle time is over
      used.add(socket!);
      return { ok: true };
    });
    server.server.on('connection', () => connections++);
    await using provider = new OpenApiToolProvider({ name: 'api', document: documentWith({}), server: server.origin });
    for (let count = 0; count < 5; count++) expect((await provider.callTool('api.call')).isError).toBe(false);
    expect(connections).toBe(5);
  });

  it('is kept for the next request that changes nothing, and new for each other one', async () => {
    for (const [method, expected] of [
      ['get', 1],
      ['post', 3],
    ] as const) {
      let connections = 0;
      await using server = await serve();
      server.server.on('connection', () => connections++);
      const document = documentWith({}, '/call', method);
      await using provider = new OpenApiToolProvider({ name: 'api', document, server: server.origin });
      for (let count = 0; count < 3; count++) expect((await provider.callTool('api.call')).isError).toBe(false);
      expect(connections).toBe(expected);
    }
  });
});
