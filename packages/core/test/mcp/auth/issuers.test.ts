// A server that publishes another authorization server than before: which credentials each of them receives.

import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { MCPToolProvider, type OAuthOptions } from '@toolwright/core/mcp';
import { createTestProject } from '@toolwright/core/testing';
import { expect, it } from 'vitest';

interface Place extends AsyncDisposable {
  origin: string;
  /** The forms that its token endpoint received. */
  forms: string[];
}

async function listen(
  answer: (
    path: string,
    body: string,
    origin: string,
  ) => { status?: number; json?: object; headers?: Record<string, string>; bytes?: Buffer },
): Promise<Place> {
  const forms: string[] = [];
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk: Buffer) => (body += chunk.toString()));
    request.on('end', () => {
      if (request.url === '/token') forms.push(body);
      const token = request.headers.authorization ?? '';
      const {
        status = 200,
        json = {},
        headers,
        bytes,
      } = answer(`${request.method} ${request.url} ${token}`, body, origin);
      response.writeHead(status, { 'content-type': 'application/json', ...headers });
      response.end(bytes ?? JSON.stringify(json));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const origin = `http://localhost:${(server.address() as AddressInfo).port}`;
  return {
    origin,
    forms,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

const authorizationServer = (name: string, refresh?: string): Promise<Place> =>
  listen((path, body, origin) => {
    if (path.startsWith('GET /.well-known/')) {
      return {
        json: {
          issuer: origin,
          authorization_endpoint: `${origin}/authorize`,
          token_endpoint: `${origin}/token`,
          registration_endpoint: `${origin}/register`,
          response_types_supported: ['code'],
          code_challenge_methods_supported: ['S256'],
        },
      };
    }
    if (path.startsWith('POST /register'))
      return { status: 201, json: { ...(JSON.parse(body) as object), client_id: name } };
    return { json: { access_token: name, token_type: 'Bearer', ...(refresh && { refresh_token: refresh }) } };
  });

async function protectedServer(named: { origin: string; accepts: string }): Promise<Place> {
  return listen((path, body, origin) => {
    if (path.startsWith('GET /metadata'))
      return { json: { resource: `${origin}/mcp`, authorization_servers: [named.origin] } };
    if (!path.startsWith('POST /mcp')) return { status: 405 };
    if (!path.endsWith(` Bearer ${named.accepts}`))
      return { status: 401, headers: { 'www-authenticate': `Bearer resource_metadata="${origin}/metadata"` } };
    const { id, method } = JSON.parse(body) as { id?: number; method: string };
    if (id === undefined) return { status: 202 };
    const result =
      method === 'initialize'
        ? { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo: { name: 's', version: '1' } }
        : { tools: [{ name: 'do', inputSchema: { type: 'object' } }], content: [] };
    return { json: { jsonrpc: '2.0', id, result } };
  });
}

const REDIRECT = 'http://127.0.0.1:1/back';
const authorize = (url: string): Promise<string> =>
  Promise.resolve(`${REDIRECT}?code=c&state=${new URL(url).searchParams.get('state')}`);

it.each([
  ['a refresh token', {}],
  ['the secret of the operator', { clientId: 'own', clientSecret: 'OPERATOR-SECRET' }],
] as [string, Partial<OAuthOptions>][])(
  'MCPToolProvider sends %s to no other authorization server',
  async (_what, options) => {
    await using honest = await authorizationServer('honest', 'HONEST-REFRESH');
    await using other = await authorizationServer('other');
    const named = { origin: honest.origin, accepts: 'honest' };
    await using server = await protectedServer(named);
    await using project = await createTestProject();
    const file = project.resolve('tokens.json');
    const auth = { file, redirectUrl: REDIRECT, authorize, ...options };
    await using provider = new MCPToolProvider({ name: 'p', url: `${server.origin}/mcp`, auth });
    expect((await provider.callTool('p.do')).isError).toBe(false);
    expect(await readFile(file, 'utf8')).toContain('HONEST-REFRESH');
    named.origin = other.origin;
    named.accepts = 'nothing';
    for (let call = 0; call < 3; call++)
      expect((await provider.callTool('p.do')).error?.code).toBe('PERMISSION_DENIED');
    expect(other.forms.join('\n')).not.toMatch(/HONEST-REFRESH|OPERATOR-SECRET/);
  },
);

it('reads metadata up to a size limit', async () => {
  const bytes = gzipSync(Buffer.alloc(64 * 1024 * 1024, ' '));
  await using bomb = await listen(() => ({ headers: { 'content-encoding': 'gzip' }, bytes }));
  await using server = await protectedServer({ origin: bomb.origin, accepts: 'nothing' });
  await using project = await createTestProject();
  const auth = { file: project.resolve('tokens.json'), redirectUrl: REDIRECT, authorize };
  await using provider = new MCPToolProvider({ name: 'p', url: `${server.origin}/mcp`, auth });
  const before = process.memoryUsage().arrayBuffers;
  let most = 0;
  const timer = setInterval(() => (most = Math.max(most, process.memoryUsage().arrayBuffers - before)), 1);
  expect((await provider.callTool('p.do')).isError).toBe(true);
  clearInterval(timer);
  expect(most).toBeLessThan(48 * 1024 * 1024);
});

it('MCPToolProvider accepts the response of a sign-in that arrives at an app', async () => {
  await using honest = await authorizationServer('honest');
  await using server = await protectedServer({ origin: honest.origin, accepts: 'honest' });
  await using project = await createTestProject();
  const redirectUrl = 'com.example.app:/back';
  const provide = (answer: (state: string) => string): MCPToolProvider =>
    new MCPToolProvider({
      name: 'p',
      url: `${server.origin}/mcp`,
      auth: {
        file: project.resolve('tokens.json'),
        redirectUrl,
        authorize: (url) => Promise.resolve(answer(new URL(url).searchParams.get('state') ?? '')),
      },
    });
  await using wrong = provide(() => `${redirectUrl}?code=c&state=other`);
  expect((await wrong.callTool('p.do')).error?.message).toContain('a different state');
  await using right = provide((state) => `${redirectUrl}?code=c1&state=${state}`);
  expect((await right.callTool('p.do')).isError).toBe(false);
  expect(new URLSearchParams(honest.forms.at(-1)).get('code')).toBe('c1');
});
