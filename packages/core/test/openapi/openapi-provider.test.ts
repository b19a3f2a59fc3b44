// OpenApiToolProvider as a provider: options, where requests go, credentials, claims, deadlines, the document's life, a hub.

import { writeFile } from 'node:fs/promises';
import { ToolHub, type Pins } from '@toolwright/core';
import {
  OpenApiToolProvider,
  type OpenApiAuthRequest,
  type OpenApiToolProviderOptions,
} from '@toolwright/core/openapi';
import { createTestProject } from '@toolwright/core/testing';
import { describe, expect, it } from 'vitest';
import { ToolError } from '../../src/index.js';
import { documentOf, documentWith, keepingLogger, serve, SILENT, type Answer } from './serve.js';

type Json = Record<string, unknown>;
const SECRET = 't0ken-of-a-test';

async function rejection(promise: Promise<unknown>): Promise<ToolError> {
  return promise.then(
    () => expect.fail('it did not reject'),
    (error: ToolError) => error,
  );
}

describe('new OpenApiToolProvider()', () => {
  const document = documentOf({});
  const server = 'https://api.example.com';
  it.each([
    [{ name: 'a.b', document, server }, /name must be/],
    [{ name: 'a', document }, /server is required, as the document is an object/],
    [{ name: 'a', document: '/api.yaml' }, /server is required, as the document is a file/],
    [{ name: 'a', document: 'api.yaml', server }, /document must be a URL, an absolute path or an object/],
    [{ name: 'a', document: 'ftp://example.com/api.json' }, /document must begin with https: or http:/],
    [{ name: 'a', document: 'https://user:password@example.com/' }, /document must not contain a user or password/],
    [{ name: 'a', document, server: 'https://example.com/?key=1' }, /server must not have a query/],
    [{ name: 'a', document, server, auth: { headers: {} } }, /auth must be a function/],
    [{ name: 'a', document, server, include: 7 }, /include must be a glob/],
    [{ name: 'a', document, server, headers: {} }, /unknown option `headers`/],
    [{ name: 'a', document, server, maxResponseBytes: 0 }, /maxResponseBytes must be a number of bytes above 0/],
    [{ name: 'a', document, server, callTimeoutMs: NaN }, /callTimeoutMs must be a number/],
    [{ name: 'a', document: { swagger: '2.0' }, server }, /Swagger 2.0; convert it/],
    [{ name: 'a', document: { openapi: '4.0.0' }, server }, /version 4.0.0; versions 3.0 and 3.1 are supported/],
    [{ name: 'a', document: {}, server }, /has no field "openapi"/],
  ])('refuses %j', (options, message) => {
    expect(() => new OpenApiToolProvider(options as unknown as OpenApiToolProviderOptions)).toThrow(message);
  });

  it('copies the document, so that later changes have no effect', async () => {
    const paths: Json = { '/a': { get: {} } };
    await using provider = new OpenApiToolProvider({ name: 'a', document: documentOf(paths), server });
    paths['/b'] = { get: {} };
    expect((await provider.listTools()).length).toBe(1);
  });
});

describe('the origin of requests', () => {
  it('is that of the document, whose server may be relative', async () => {
    const servers = [{ url: '/{base}/v1', variables: { base: { default: 'api' } } }];
    await using api = await serve((request) =>
      request.url === '/openapi.json' ? documentWith({}, '/call', 'get', { servers }) : { ok: true },
    );
    await using provider = new OpenApiToolProvider({ name: 'api', document: `${api.origin}/openapi.json` });
    expect((await provider.callTool('api.call')).isError).toBe(false);
    expect(api.last.url).toBe('/api/v1/call');
  });

  it('is never another one that the document names', async () => {
    await using elsewhere = await serve();
    const servers = [{ url: elsewhere.origin }];
    await using api = await serve(() => documentWith({}, '/call', 'get', { servers }));
    const document = `${api.origin}/openapi.json`;
    await using provider = new OpenApiToolProvider({ name: 'api', document });
    const error = await rejection(provider.connect());
    expect(error).toMatchObject({
      code: 'INVALID_ARGUMENT',
      message: expect.stringContaining(`names ${elsewhere.origin}`),
    });
    await using allowed = new OpenApiToolProvider({ name: 'api', document, server: elsewhere.origin });
    expect((await allowed.callTool('api.call')).isError).toBe(false);
    expect(elsewhere.received.length).toBe(1);
  });

  it('is that of `server` for every operation; one with another server is left out', async () => {
    await using api = await serve();
    const { messages, logger } = keepingLogger();
    const paths = {
      '/here': { get: { servers: [{ url: '/v2' }] } },
      '/there': { servers: [{ url: 'http://127.0.0.1:9' }], get: {} },
    };
    const document = documentOf(paths, { servers: [{ url: 'https://evil.example' }] });
    await using provider = new OpenApiToolProvider({ name: 'api', document, server: api.origin, logger });
    expect((await provider.listTools()).map(({ name }) => name)).toEqual(['api.get_here']);
    expect(messages.join()).toMatch(/"GET \/there" was left out: its own server is http:\/\/127\.0\.0\.1:9/);
    await provider.callTool('api.get_here');
    expect(api.last.url).toBe('/v2/here');
  });
});

describe('auth', () => {
  const echo: Answer = (request) => ({ ...request.headers, url: request.url, body: request.body.toString() });

  it('adds credentials to each request, and sees the operation with its security schemes', async () => {
    await using api = await serve();
    const requests: OpenApiAuthRequest[] = [];
    const document = documentWith({ tags: ['t'] }, '/a/{id}', 'get', {
      security: [{ key: [] }, { oauth: ['read'] }],
      components: {
        securitySchemes: { key: { type: 'apiKey', in: 'query', name: 'k' }, oauth: { type: 'oauth2', flows: {} } },
      },
    });
    const auth = (request: OpenApiAuthRequest) => {
      requests.push(request);
      return { headers: { Authorization: `Bearer ${SECRET}-${requests.length}` }, query: { k: 'a b&c' } };
    };
    await using provider = new OpenApiToolProvider({ name: 'api', document, server: api.origin, auth });
    for (const id of ['1', '2']) await provider.callTool('api.call', { id }, { sessionId: 's' });
    expect(api.received.map(({ url, headers }) => [url, headers.authorization])).toEqual([
      ['/a/1?k=a%20b%26c', `Bearer ${SECRET}-1`],
      ['/a/2?k=a%20b%26c', `Bearer ${SECRET}-2`],
    ]);
    expect(requests[0]).toMatchObject({
      operation: { method: 'GET', path: '/a/{id}', operationId: 'call', tags: ['t'], deprecated: false },
      security: [
        { name: 'key', type: 'apiKey', in: 'query', key: 'k', scopes: [] },
        { name: 'oauth', type: 'oauth2', scopes: ['read'] },
      ],
      origin: api.origin,
      sessionId: 's',
    });
  });

  it('replaces arguments of the same name', async () => {
    await using api = await serve();
    const parameters = [
      { name: 'X-User', in: 'header' },
      { name: 'k', in: 'query' },
      { name: 'c', in: 'cookie' },
    ];
    const auth = () => ({ headers: { 'x-user': 'host-user', cookie: 's=host-session' }, query: { k: 'host-key' } });
    await using provider = new OpenApiToolProvider({
      name: 'api',
      document: documentWith({ parameters }),
      server: api.origin,
      auth,
    });
    await provider.callTool('api.call', { 'X-User': 'model', k: 'model', c: 'x' });
    expect(api.last).toMatchObject({
      url: '/call?k=host-key',
      headers: { 'x-user': 'host-user', cookie: 'c=x; s=host-session' },
    });
  });

  it('leaks into no result, error, log or event, however the server returns it', async () => {
    const basic = Buffer.from(`user:${SECRET}`).toString('base64');
    const auth = () => ({
      headers: { authorization: `Basic ${basic}`, 'x-key': `key-${SECRET}` },
      query: { q: `query "${SECRET}"` },
    });
    const escaped = [...SECRET].map((char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`).join('');
    const returning =
      (status: number, type: string, text: (request: { headers: Json; url: string }) => string): Answer =>
      (request, response) =>
        void response
          .writeHead(status, { 'content-type': type, location: `/x?${SECRET}`, link: `<${request.url}>` })
          .end(text(request));
    const answers = [200, 302, 400, 401, 500].flatMap((status) => [
      returning(status, 'application/json', ({ headers, url }) => JSON.stringify({ headers, url, [SECRET]: [SECRET] })),
      returning(status, 'application/json', () => `{"a":"${escaped}"}`),
      returning(status, 'text/plain', ({ headers, url }) => `${JSON.stringify(headers)} ${url} ${SECRET}`),
      returning(status, 'text/plain', () => [...SECRET].join('\u200b').slice(0, status === 200 ? 5 : undefined)),
      returning(status, 'application/zip', () => `\0${SECRET}`),
    ]);
    let answer = answers[0]!;
    await using api = await serve((...args) => answer(...args));
    const { messages, logger } = keepingLogger();
    const schema = { type: 'object', properties: { a: { type: 'number' } } };
    const document = documentWith({ responses: { 200: { content: { 'application/json': { schema } } } } });
    await using hub = new ToolHub({
      providers: [new OpenApiToolProvider({ name: 'api', document, server: api.origin, auth, logger })],
      logger,
    });
    hub.onEvent((event) => messages.push(JSON.stringify(event)));
    for (answer of answers) {
      const result = await hub.callTool('api.call');
      const [block] = result.content;
      const bytes = block?.type === 'resource' ? Buffer.from(block.resource.blob ?? '', 'base64').toString() : '';
      const shown = JSON.stringify(result) + bytes;
      for (const secret of [SECRET, basic]) expect(shown).not.toContain(secret);
    }
    expect(api.last.headers['x-key']).toBe(`key-${SECRET}`);
    await api.close();
    messages.push(JSON.stringify(await hub.callTool('api.call')), JSON.stringify(hub.status()));
    for (const secret of [SECRET, basic, encodeURIComponent(`"${SECRET}"`)])
      expect(messages.join()).not.toContain(secret);
  });

  it('leaks into no result beside values that change with each call, one after the other or at once', async () => {
    await using api = await serve(({ headers }) => ({ key: headers['x-key'], nonce: headers['x-nonce'] }));
    let calls = 0;
    const auth = () => ({ headers: { 'x-key': SECRET, 'x-nonce': `nonce-${1_000 + calls++}` } });
    const options = { name: 'api', document: documentWith({}), server: api.origin, auth };
    await using provider = new OpenApiToolProvider(options);
    const hidden = { key: '[hidden]', nonce: '[hidden]' };
    for (let call = 0; call < 70; call++)
      expect((await provider.callTool('api.call')).structuredContent).toEqual(hidden);
    const results = await Promise.all(Array.from({ length: 100 }, () => provider.callTool('api.call')));
    for (const { structuredContent } of results) expect(structuredContent).toEqual(hidden);
  });

  it('leaks as no number and in no encoding of addresses, and hides no word of HTTP', async () => {
    const key = "pa(ss)wo*rd'1! ~é";
    const long = '48151623420012345678';
    const urls = [encodeURIComponent(key), new URLSearchParams({ key }).toString(), `"${long}"`, long];
    let sent = '';
    await using api = await serve(({ url }, response) => {
      const body = [url, url.toLowerCase(), ...urls].map((text) => JSON.stringify(text)).join();
      response.setHeader('content-type', 'application/json');
      response.end((sent = `{"type":"Bearer","account":${long},"short":481516,"urls":[${body}]}`));
    });
    const auth = () => ({ headers: { authorization: 'Bearer 481516', 'x-account': long }, query: { key } });
    const options = { name: 'api', document: documentWith({}), server: api.origin, auth };
    await using provider = new OpenApiToolProvider(options);
    const result = await provider.callTool('api.call');
    expect(sent).toContain(long);
    expect(result.structuredContent).toMatchObject({ type: 'Bearer', account: '[hidden]', short: '[hidden]' });
    expect(JSON.stringify(result)).not.toMatch(/481516|pa\(|pa%28|wo\*|wo%2a/i);
  });

  it.each([
    [
      () => {
        throw new Error(SECRET);
      },
      'PERMISSION_DENIED',
      /`auth` threw, so nothing was sent/,
    ],
    [() => Promise.reject(new ToolError('UNAVAILABLE', 'The vault is sealed.')), 'UNAVAILABLE', /The vault is sealed/],
    [
      () => ({ headers: { authorization: `${SECRET}\r\nx: y` } }),
      'INVALID_ARGUMENT',
      /character that HTTP does not allow/,
    ],
    [() => ({ headers: { host: SECRET } }), 'INVALID_ARGUMENT', /must not be set/],
    [() => SECRET, 'INVALID_ARGUMENT', /must return/],
    [() => ({ token: SECRET }), 'INVALID_ARGUMENT', /unknown field "token"/],
  ])('that fails (%#) sends nothing and shows no secret', async (auth, code, message) => {
    await using api = await serve();
    const options = { name: 'api', document: documentWith({}), server: api.origin, auth } as unknown;
    await using provider = new OpenApiToolProvider(options as OpenApiToolProviderOptions);
    const result = await provider.callTool('api.call');
    expect(result.error).toMatchObject({ code, message: expect.stringMatching(message) });
    expect(JSON.stringify(result)).not.toContain(SECRET);
    expect(api.received).toEqual([]);
  });

  it('reads the document too where it has the origin of the calls, and nowhere else', async () => {
    const document: Answer = ({ url, headers }) =>
      url === '/openapi.json' ? documentWith({ description: String(headers.authorization) }) : { ok: true };
    await using api = await serve(document);
    await using elsewhere = await serve(echo);
    const auth = () => ({ headers: { authorization: `Bearer ${SECRET}` } });
    const address = `${api.origin}/openapi.json`;
    await using own = new OpenApiToolProvider({ name: 'api', document: address, auth });
    const [tool] = await own.listTools();
    expect(api.last.headers.authorization).toBe(`Bearer ${SECRET}`);
    expect(tool?.description).toBe('[hidden]\n\nGET /call');
    await using other = new OpenApiToolProvider({ name: 'api', document: address, server: elsewhere.origin, auth });
    await other.callTool('api.call');
    expect(api.last.headers.authorization).toBeUndefined();
    expect(elsewhere.last.headers.authorization).toBe(`Bearer ${SECRET}`);
  });
});

describe('the document', () => {
  it('from a file is read again by connect(), which reports a change', async () => {
    await using project = await createTestProject({ 'api.yaml': 'openapi: 3.0.0\npaths:\n  /a:\n    get: {}\n' });
    const path = project.resolve('api.yaml');
    await using provider = new OpenApiToolProvider({ name: 'api', document: path, server: 'http://127.0.0.1:9' });
    let changes = 0;
    provider.onToolsChanged(() => changes++);
    await provider.connect();
    await provider.connect();
    expect(changes).toBe(0);
    const prepared = await provider.prepareCall('api.get_a', {});
    await writeFile(path, JSON.stringify(documentOf({ '/b': { get: {} } })));
    await provider.listTools();
    await provider.connect({ onDemand: true });
    expect(changes).toBe(0);
    await provider.connect();
    expect(changes).toBe(1);
    expect((await provider.listTools()).map(({ name }) => name)).toEqual(['api.get_b']);
    expect((await prepared.execute()).error).toMatchObject({ code: 'NOT_CONNECTED', details: { prepareAgain: true } });
  });

  it('that cannot be read again leaves the tools as they were', async () => {
    let status = 200;
    await using api = await serve(
      (_request, response) => void response.writeHead(status).end(JSON.stringify(documentWith({}))),
    );
    await using provider = new OpenApiToolProvider({ name: 'api', document: api.origin });
    await provider.connect();
    status = 503;
    expect(await rejection(provider.connect())).toMatchObject({ code: 'UNAVAILABLE', retryable: true });
    expect((await provider.listTools()).length).toBe(1);
    expect(provider.health()).toMatchObject({ state: 'READY', lastError: expect.stringMatching(/responded with 503/) });
  });

  it('is read once by concurrent calls', async () => {
    await using api = await serve(({ url }) => (url === '/' ? documentWith({}) : { ok: true }));
    await using provider = new OpenApiToolProvider({ name: 'api', document: api.origin });
    await Promise.all([provider.connect(), provider.listTools(), provider.callTool('api.call'), provider.connect()]);
    expect(api.received.filter(({ url }) => url === '/').length).toBe(1);
  });

  it.each([
    [
      302,
      /responded with 302\. Redirects are not followed: set `document` to http:\/\/127\.0\.0\.1:\d+\/x if you trust it/,
      'UNAVAILABLE',
    ],
    [401, /responded with 401\. Set `auth`/, 'PERMISSION_DENIED'],
    [404, /responded with 404/, 'UNAVAILABLE'],
  ])('with the status %i is refused', async (status, message, code) => {
    await using elsewhere = await serve(() => documentWith({}));
    await using api = await serve(
      (_request, response) => void response.writeHead(status, { location: `${elsewhere.origin}/x?key=1` }).end(),
    );
    await using provider = new OpenApiToolProvider({ name: 'api', document: api.origin });
    expect(await rejection(provider.connect())).toMatchObject({
      code,
      message: expect.stringMatching(message),
      retryable: false,
    });
    expect(elsewhere.received).toEqual([]);
  });

  it('that takes too long is TIMED_OUT', async () => {
    await using api = await serve(() => undefined);
    await using provider = new OpenApiToolProvider({ name: 'api', document: api.origin, connectTimeoutMs: 50 });
    expect((await rejection(provider.listTools())).code).toBe('TIMED_OUT');
    expect(provider.health().state).toBe('DEAD');
  });
});

describe('a call', () => {
  it('that passes its deadline or is cancelled aborts the request, with an unknown outcome', async () => {
    let aborted = 0;
    const started: (() => void)[] = [];
    await using api = await serve((_request, response) => {
      response.on('close', () => aborted++);
      started.shift()?.();
    });
    await using provider = new OpenApiToolProvider({ name: 'api', document: documentWith({}), server: api.origin });
    await provider.connect();
    const late = await provider.callTool('api.call', {}, { timeoutMs: 100 });
    expect(late.error).toMatchObject({ code: 'TIMED_OUT', details: { outcomeUnknown: true } });
    const controller = new AbortController();
    started.push(() => controller.abort());
    const cancelled = await provider.callTool('api.call', {}, { signal: controller.signal });
    expect(cancelled.error).toMatchObject({ code: 'CANCELLED', details: { outcomeUnknown: true } });
    await expect.poll(() => aborted).toBe(2);
  });

  it('that is cancelled while auth is pending has sent nothing', async () => {
    await using api = await serve();
    const controller = new AbortController();
    const auth = (): Promise<never> => {
      controller.abort();
      return new Promise(() => undefined);
    };
    await using provider = new OpenApiToolProvider({
      name: 'api',
      document: documentWith({}),
      server: api.origin,
      auth,
    });
    const { error } = await provider.callTool('api.call', {}, { signal: controller.signal });
    expect(error?.code).toBe('CANCELLED');
    expect(error?.details?.outcomeUnknown).toBeUndefined();
    expect(api.received).toEqual([]);
  });
});

describe('in a hub', () => {
  const document = documentOf({
    '/pets/{id}': { get: { operationId: 'get_pet' }, delete: { operationId: 'delete_pet' } },
    '/orders': { post: { operationId: 'add_order' } },
  });

  it('claims the method and the path, so that rules can name them', async () => {
    await using api = await serve();
    const provider = new OpenApiToolProvider({ name: 'api', document, server: `${api.origin}/v1` });
    await using hub = new ToolHub({
      providers: [provider],
      policy: {
        default: 'deny',
        rules: [
          { tool: 'api.*', pattern: 'GET *', action: 'allow' },
          { tool: 'api.*', pattern: 'DELETE /pets/7*', action: 'allow' },
          { tool: 'api.*', pattern: 'GET /pets/secret', action: 'deny' },
        ],
      },
    });
    const code = async (tool: string, id?: string): Promise<unknown> =>
      (await hub.callTool(`api.${tool}`, id === undefined ? {} : { id })).error?.code;
    expect(await code('get_pet', '7')).toBeUndefined();
    expect(await code('delete_pet', '77')).toBeUndefined();
    expect(await code('delete_pet', '8')).toBe('PERMISSION_DENIED');
    expect(await code('get_pet', 'secret')).toBe('PERMISSION_DENIED');
    expect(await code('add_order')).toBe('PERMISSION_DENIED');
    expect(await code('delete_pet', '7/../8')).toBe('INVALID_ARGUMENT');
    expect(api.received.map(({ method, url }) => `${method} ${url}`)).toEqual(['GET /v1/pets/7', 'DELETE /v1/pets/77']);
    const explained = await hub.explain('api.get_pet', { id: "it's $HOME *" });
    const pattern = 'GET /pets/it%27s%20%24HOME%20%2A';
    expect(explained.policy?.claims).toEqual([
      { pattern, match: 'tokens', understood: true, widerPattern: 'GET /pets/*' },
    ]);
    expect(explained).toMatchObject({ available: true, provider: 'api', state: 'READY' });
  });

  it('is quarantined by pins when the method or path of a tool, or its source, changes', async () => {
    let saved: Pins = {};
    const pins = { load: () => saved, save: (all: Pins) => void (saved = structuredClone(all)) };
    const listed = async (given: Json, server: string): Promise<string[]> => {
      const provider = new OpenApiToolProvider({ name: 'api', document: given, server, logger: SILENT });
      await using hub = new ToolHub({ providers: [{ provider, pinned: true }], pins, logger: SILENT });
      await hub.connect().catch(() => undefined);
      return (await hub.listTools()).map(({ name }) => name);
    };
    const server = 'http://127.0.0.1:9';
    const all = ['api.get_pet', 'api.delete_pet', 'api.add_order'];
    expect(await listed(document, server)).toEqual(all);
    const moved = structuredClone(document);
    const paths = moved.paths as Json;
    paths['/other'] = paths['/orders'];
    delete paths['/orders'];
    expect(await listed(moved, server)).toEqual(['api.get_pet', 'api.delete_pet']);
    expect(await listed(document, 'http://127.0.0.1:8')).toEqual([]);
    expect(await listed(document, server)).toEqual(all);
  });

  it('shows models descriptions without invisible characters, and of limited length', async () => {
    const hostile = documentWith({ description: `Reads.\u200b\u{e0041}${'x'.repeat(50_000)}` });
    const provider = new OpenApiToolProvider({ name: 'api', document: hostile, server: 'http://127.0.0.1:9' });
    await using hub = new ToolHub({ providers: [provider] });
    const [tool] = await hub.listTools();
    expect(tool?.description).toMatch(/^Reads\.xxx/);
    expect(tool!.description.length).toBeLessThanOrEqual(4_096);
  });
});
