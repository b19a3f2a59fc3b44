// The HTTP listener: which requests it rejects, and that other clients are served meanwhile.

import { mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { request as httpRequest, type IncomingHttpHeaders } from 'node:http';
import { connect as connectSocket, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { InProcessToolProvider, textOf, type Logger } from '@toolwright/core';
import { MCPToolProvider } from '@toolwright/core/mcp';
import { createGateway, type GatewayOptions, type HttpListener, type ServeHttpOptions } from '@toolwright/gateway';
import { afterEach, describe, expect, it } from 'vitest';
import { soaking } from '../../../core/test/soak.js';
import { echoTools } from '../fixtures/echo-tools.js';

const TOKENS = ['canary-token-of-anne', 'canary-token-of-bert'] as const;
const ends: (() => Promise<unknown>)[] = [];
const logged: string[] = [];
const write = (message: string, fields?: object): void => void logged.push(`${message} ${JSON.stringify(fields)}`);
const logger: Logger = { debug: write, info: write, warn: write, error: write };
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
  for (const token of TOKENS) expect(logged.join('\n')).not.toContain(token);
});

async function serve(options: ServeHttpOptions = {}, given: GatewayOptions = {}): Promise<HttpListener> {
  const provider = new InProcessToolProvider({ servers: [echoTools()], logger });
  const gateway = createGateway(provider, { logger, ...given });
  ends.push(
    () => provider.disconnect(),
    () => gateway.close(),
  );
  return gateway.serveHttp({ auth: { token: TOKENS }, ...options });
}

interface Answer {
  status: number;
  headers: IncomingHttpHeaders;
  text: string;
}

/** Sends one request with the given headers unchanged: `fetch` would not send another Host. */
function send(
  listener: Pick<HttpListener, 'port'> & { socketPath?: string },
  headers: Record<string, string> = {},
  { method = 'POST', path = '/mcp', body }: { method?: string; path?: string; body?: string | Buffer } = {},
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const { port, socketPath } = listener;
    const request = httpRequest(
      {
        ...(socketPath ? { socketPath } : { port, host: '127.0.0.1' }),
        method,
        path,
        agent: false,
        headers: {
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
          authorization: `Bearer ${TOKENS[0]}`,
          ...headers,
        },
      },
      (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
        response.on('end', () => resolve({ status: response.statusCode!, headers: response.headers, text }));
        response.on('error', reject);
      },
    );
    request.on('error', reject);
    if (headers.host === '') request.removeHeader('host');
    request.end(body);
  });
}

const message = (method: string, params: object = {}, id: number | undefined = 1): string =>
  JSON.stringify({ jsonrpc: '2.0', method, params, ...(id !== undefined && { id }) });
const INITIALIZE = message('initialize', {
  protocolVersion: '2025-11-25',
  capabilities: {},
  clientInfo: { name: 'peer', version: '1' },
});
const call = (text: string, id = 1): string => message('tools/call', { name: 'echo__back', arguments: { text } }, id);

async function openSession(listener: HttpListener, token: string = TOKENS[0]): Promise<Record<string, string>> {
  const { status, headers } = await send(listener, { authorization: `Bearer ${token}` }, { body: INITIALIZE });
  expect(status).toBe(200);
  return { authorization: `Bearer ${token}`, 'mcp-session-id': headers['mcp-session-id'] as string };
}

/** That an honest client is served. */
async function expectServed(listener: HttpListener): Promise<void> {
  await using provider = new MCPToolProvider({
    name: 'e',
    url: listener.url,
    headers: { authorization: `Bearer ${TOKENS[1]}` },
  });
  expect(textOf(await provider.callTool('e.echo__back', { text: 'served' }))).toBe('served');
}

describe('serveHttp() rejects', () => {
  it.each([
    ['a Host of another port', { host: '127.0.0.1:1' }],
    ['a Host of another name', { host: 'evil.example' }],
    ['no Host', { host: '' }],
    ['an Origin of another page', { origin: 'http://evil.example' }],
    ['an Origin without a name', { origin: 'null' }],
    ['an Origin of another port', { origin: 'http://localhost:1' }],
  ])('%s, before it checks the token and on every path', async (_, headers: Record<string, string>) => {
    const listener = await serve();
    for (const path of ['/mcp', '/healthz', '/metrics', '/nothing']) {
      expect((await send(listener, headers, { path, body: INITIALIZE })).status).toBe(403);
      expect((await send(listener, { ...headers, authorization: '' }, { path, method: 'GET' })).status).toBe(403);
    }
    await expectServed(listener);
  });

  it("no Host or Origin that is the listener's or allowed by its options", async () => {
    const listener = await serve({ allowedHosts: ['proxy.example'], allowedOrigins: ['https://app.example'] });
    const own = ['localhost', '127.0.0.1', '[::1]'].map((name) => `${name}:${listener.port}`);
    for (const host of [...own, 'proxy.example', 'LOCALHOST:' + listener.port]) {
      expect((await send(listener, { host }, { body: INITIALIZE })).status).toBe(200);
    }
    for (const origin of [...own.map((name) => `http://${name}`), 'https://app.example']) {
      expect((await send(listener, { origin }, { body: INITIALIZE })).status).toBe(200);
    }
  });

  it('preflights of origins that are not in allowedOrigins, and answers the others with CORS headers', async () => {
    const listener = await serve({ allowedOrigins: ['https://app.example'] });
    const page = { origin: 'https://app.example', 'access-control-request-method': 'POST' };
    const preflight = await send(listener, { ...page, authorization: '' }, { method: 'OPTIONS' });
    expect([preflight.status, preflight.headers]).toMatchObject([
      204,
      { 'access-control-allow-origin': 'https://app.example', vary: 'origin' },
    ]);
    expect(preflight.headers['access-control-allow-headers']).toContain('authorization');
    const answer = await send(listener, { origin: 'https://app.example' }, { body: INITIALIZE });
    expect(answer.headers).toMatchObject({ 'access-control-allow-origin': 'https://app.example' });
    expect(answer.headers['access-control-expose-headers']).toContain('mcp-session-id');
    const refused = await send(listener, { origin: 'https://app.example', authorization: '' }, { body: INITIALIZE });
    expect([refused.status, refused.headers['access-control-allow-origin']]).toEqual([401, 'https://app.example']);
    const own = { ...page, origin: `http://127.0.0.1:${listener.port}` };
    const { headers } = await send(listener, own, { method: 'OPTIONS' });
    expect(headers['access-control-allow-origin']).toBeUndefined();
  });

  it('requests without a valid token', async () => {
    const listener = await serve();
    for (const authorization of [
      '',
      'Bearer',
      'Bearer wrong',
      `Basic ${TOKENS[0]}`,
      `Bearer ${TOKENS[0]}x`,
      TOKENS[0],
    ]) {
      for (const path of ['/mcp', '/metrics', '/nothing']) {
        const { status, headers } = await send(listener, { authorization }, { path, body: INITIALIZE });
        expect([authorization, status, headers['www-authenticate']]).toEqual([authorization, 401, 'Bearer']);
      }
      expect(
        (await send(listener, { authorization }, { path: `/mcp?token=${TOKENS[0]}`, body: INITIALIZE })).status,
      ).toBe(401);
    }
    await expectServed(listener);
  });

  it("bodies that a web page's form can send, and other methods", async () => {
    const listener = await serve();
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'text/plain; application/json', '']) {
      expect((await send(listener, { 'content-type': type }, { body: INITIALIZE })).status).toBe(415);
    }
    expect((await send(listener, {}, { method: 'GET' })).status).toBe(400);
    const session = await openSession(listener);
    const preflight = await send(listener, session, { method: 'OPTIONS' });
    expect([preflight.status, preflight.headers['access-control-allow-origin']]).toEqual([405, undefined]);
  });

  it("the id of another client's session, of none, and of one that has ended", async () => {
    const listener = await serve();
    const [anne, bert] = [await openSession(listener), await openSession(listener, TOKENS[1])];
    expect(anne['mcp-session-id']).toMatch(/^[\w-]{32,}$/);
    const status = async (headers: Record<string, string>, method = 'POST'): Promise<number> =>
      (await send(listener, headers, { method, ...(method === 'POST' && { body: call('x') }) })).status;
    const stolen = { ...anne, authorization: `Bearer ${TOKENS[1]}` };
    expect(await status(stolen)).toBe(404);
    expect(await status(stolen, 'DELETE')).toBe(404);
    expect(await status(stolen, 'GET')).toBe(404);
    expect(await status({ ...anne, 'mcp-session-id': 'fixed-by-me' })).toBe(404);
    expect((await send(listener, { 'mcp-session-id': 'fixed-by-me' }, { body: INITIALIZE })).status).toBe(404);
    expect((await send(listener, {}, { body: call('x') })).status).toBe(400);
    expect(await status(anne)).toBe(200);
    expect(await status(anne, 'DELETE')).toBe(200);
    expect(await status(anne)).toBe(404);
    expect(await status(bert)).toBe(200);
  });

  it('sessions over the limit, and ends idle ones', async () => {
    const listener = await serve({}, { limits: { maxSessions: 3, sessionIdleMs: 600 } });
    const sessions = [await openSession(listener), await openSession(listener), await openSession(listener)];
    const refused = await send(listener, {}, { body: INITIALIZE });
    expect([refused.status, refused.headers['retry-after']]).toEqual([503, '60']);
    for (const session of sessions) expect((await send(listener, session, { body: call('x') })).status).toBe(200);
    let status = 503;
    for (const until = performance.now() + 10_000; status === 503 && performance.now() < until;) {
      status = (await send(listener, {}, { body: INITIALIZE })).status;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    expect(status).toBe(200);
    expect((await send(listener, sessions[0], { body: call('x') })).status).toBe(404);
  });

  it('bodies over 4 MiB, with and without a length, and bodies that are not JSON', async () => {
    const listener = await serve();
    const session = await openSession(listener);
    const body = Buffer.from(call('x'.repeat(5_000_000)));
    const counted = await send(listener, { ...session, 'content-length': String(body.length) }, { body });
    const chunked = await send(listener, { ...session, 'transfer-encoding': 'chunked' }, { body });
    expect([counted.status, chunked.status]).toEqual([413, 413]);
    expect((await send(listener, session, { body: '{' })).status).toBe(400);
    expect((await send(listener, session, { body: '{"a":1}' })).status).toBe(400);
    expect((await send(listener, session, { body: call('y') })).text).toContain('"y"');
    await expectServed(listener);
  });

  it('silent and slow connections, and serves others meanwhile', async () => {
    const listener = await serve(
      {},
      { limits: { headersTimeoutMs: 800, requestTimeoutMs: 1_000, maxConnections: 600 } },
    );
    const session = await openSession(listener);
    const sockets: Socket[] = [];
    const closed: Promise<unknown>[] = [];
    const dial = (): Socket => {
      const socket = connectSocket(listener.port!, '127.0.0.1');
      socket.on('error', () => undefined);
      sockets.push(socket);
      closed.push(new Promise((resolve) => socket.once('close', resolve)));
      socket.resume();
      return socket;
    };
    dial().write('POST /mcp HTTP/1.1\r\nHost: 127.');
    dial().write(
      `POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:${listener.port}\r\nContent-Length: 9\r\nAuthorization: Bearer ${TOKENS[0]}\r\nContent-Type: application/json\r\n\r\n{`,
    );
    for (let batch = 0; batch < (soaking ? 100 : 20); batch++) {
      for (let index = 0; index < 100; index++) dial();
      expect((await send(listener, session, { body: call('unharmed') })).text).toContain('unharmed');
    }
    await Promise.all(closed); // each of them, by a deadline
    await expectServed(listener);
  });
});

describe('serveHttp()', () => {
  it('answers health checks without a token, and metrics with one', async () => {
    const listener = await serve();
    const get = (path: string, headers: Record<string, string> = { authorization: '' }): Promise<Answer> =>
      send(listener, headers, { path, method: 'GET' });
    expect((await get('/healthz')).status).toBe(200);
    expect((await get('/readyz')).status).toBe(200);
    const session = await openSession(listener);
    await send(listener, session, { body: call('x') });
    await send(listener, session, { body: message('tools/call', { name: 'echo__back', arguments: {} }) });
    const { text } = await get('/metrics', {});
    expect(text).toContain('toolwright_gateway_calls_total{outcome="ok"} 1\n');
    expect(text).toContain('toolwright_gateway_calls_total{outcome="INVALID_ARGUMENT"} 1\n');
    expect(text).toContain('toolwright_gateway_sessions{transport="http"} 1\n');
    for (const line of text.trim().split('\n'))
      expect(line).toMatch(/^(# (HELP|TYPE) \w+ .+|\w+({\w+="[^"]*"})? [\d.e+-]+)$/);
  });

  it('answers a plain POST when stateless and without auth', async () => {
    const listener = await serve({ stateless: true, auth: 'none' });
    expect(listener.token).toBeUndefined();
    const plain = await send(listener, { authorization: '', accept: '*/*' }, { body: call('plain', 7) });
    expect(JSON.parse(plain.text)).toMatchObject({ id: 7, result: { content: [{ text: 'plain' }], isError: false } });
    expect(plain.headers['mcp-session-id']).toBeUndefined();
    expect((await send(listener, {}, { method: 'GET' })).status).toBe(405);
    await using provider = new MCPToolProvider({ name: 'e', url: listener.url });
    const said: number[] = [];
    const result = await provider.callTool(
      'e.echo__back',
      { text: 't' },
      { onProgress: ({ progress }) => said.push(progress) },
    );
    expect([textOf(result), said]).toEqual(['t', [1]]);
  });

  it('generates a token when none is given, and rejects a short one', async () => {
    const provider = new InProcessToolProvider({ servers: [echoTools()] });
    await using gateway = createGateway(provider);
    const { token, url, port } = await gateway.serveHttp();
    expect(token).toMatch(/^[\w-]{43}$/);
    expect(url).toBe(`http://127.0.0.1:${port}/mcp`);
    await expect(gateway.serveHttp({ auth: { token: 'short' } })).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
    await expect(gateway.serveHttp({ auth: {} as never })).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
    await expect(gateway.serveHttp({ port: port! })).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    await provider.disconnect();
  });

  it.each(['serveHttp', 'serveSocket'] as const)(
    'and %s() create a socket that only this user can use, and remove it when closed',
    async (kind) => {
      const directory = await mkdtemp(join(tmpdir(), 'toolwright-gateway-'));
      const path = join(directory, 's');
      const provider = new InProcessToolProvider({ servers: [echoTools()] });
      const gateway = createGateway(provider);
      const open = (): Promise<unknown> =>
        kind === 'serveHttp' ? gateway.serveHttp({ socketPath: path, auth: 'none' }) : gateway.serveSocket({ path });
      const umask = process.umask();
      await open();
      expect(process.umask()).toBe(umask);
      expect((await stat(path)).mode & 0o777).toBe(0o600);
      await expect(open()).rejects.toMatchObject({ code: 'LOCKED' });
      await expect(gateway.serveSocket({ path: `/${'x'.repeat(200)}` })).rejects.toMatchObject({
        code: 'INVALID_ARGUMENT',
      });
      if (kind === 'serveHttp') {
        const at = { port: undefined, socketPath: path };
        expect((await send(at, { host: 'localhost' }, { body: INITIALIZE })).status).toBe(200);
        expect((await send(at, { host: 'evil' }, { body: INITIALIZE })).status).toBe(403);
      }
      await gateway.close();
      expect(await readdir(directory)).toEqual([]);
      expect((await provider.callTool('echo.back', { text: 'still' })).isError).toBe(false); // never the gateway's to end
      await provider.disconnect();
      await rm(directory, { recursive: true });
    },
  );

  it('sends each of many clients its own answers when their request ids are equal', async () => {
    const listener = await serve();
    const [clients, rounds] = soaking ? [64, 1_000] : [16, 100];
    const sessions = await Promise.all(
      Array.from({ length: clients }, (_, index) => openSession(listener, TOKENS[index % 2])),
    );
    await Promise.all(
      sessions.map(async (session, index) => {
        const mine = `[client ${index}]`;
        for (let id = 1; id <= rounds; id += 4) {
          const answers = await Promise.all(
            [0, 1, 2, 3].map((more) => {
              const params = {
                name: 'echo__back',
                arguments: { text: `${mine}${id + more}` },
                _meta: { progressToken: id + more },
              };
              return send(listener, session, { body: message('tools/call', params, id + more) });
            }),
          );
          for (const [more, { text }] of answers.entries()) {
            const texts = text.match(/\[client \d+\]\d+/g);
            expect(texts).toEqual(Array(3).fill(`${mine}${id + more}`)); // progress, log, result
          }
        }
      }),
    );
  }, 300_000);
});
