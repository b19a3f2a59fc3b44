// Signing in to HTTP servers, with a small authorization server that rotates refresh tokens and accepts each once.

import { createHash, randomUUID } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { textOf, ToolError } from '@toolwright/core';
import { MCPToolProvider, type OAuthOptions } from '@toolwright/core/mcp';
import { expect, it } from 'vitest';

interface AuthServer extends AsyncDisposable {
  url: string;
  /** The grant types that the token endpoint received. */
  grants: string[];
  /** Makes the server forget every access token. */
  expire(): void;
  /** Published instead of the server's own authorization endpoint. */
  authorizationEndpoint: string | undefined;
  /** Does what a person does in the browser: opens the URL and follows the redirect back. */
  visit(url: string): Promise<string>;
}

async function serveProtected(): Promise<AuthServer> {
  const codes = new Map<string, string>();
  const access = new Set<string>();
  let refresh: string | undefined;
  const grants: string[] = [];
  const self = { authorizationEndpoint: undefined as string | undefined };
  const server = createServer((request, response) => {
    handle(request, response).catch((error: unknown) => response.writeHead(500).end(String(error)));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let body = '';
    for await (const chunk of request) body += String(chunk);
    const url = new URL(request.url ?? '/', origin);
    const json = (value: object, status = 200): void =>
      void response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
    switch (url.pathname) {
      case '/.well-known/oauth-protected-resource/mcp':
        return json({ resource: `${origin}/mcp`, authorization_servers: [origin] });
      case '/.well-known/oauth-authorization-server':
        return json({
          issuer: origin,
          authorization_endpoint: self.authorizationEndpoint ?? `${origin}/authorize`,
          token_endpoint: `${origin}/token`,
          registration_endpoint: `${origin}/register`,
          response_types_supported: ['code'],
          code_challenge_methods_supported: ['S256'],
        });
      case '/register':
        return json({ ...(JSON.parse(body) as object), client_id: 'client-1' }, 201);
      case '/authorize': {
        const code = randomUUID();
        codes.set(code, url.searchParams.get('code_challenge') ?? '');
        const back = new URL(url.searchParams.get('redirect_uri') ?? '');
        back.search = new URLSearchParams({ code, state: url.searchParams.get('state') ?? '' }).toString();
        return void response.writeHead(302, { location: back.href }).end();
      }
      case '/token': {
        const form = new URLSearchParams(body);
        grants.push(form.get('grant_type') ?? '');
        const challenge = createHash('sha256')
          .update(form.get('code_verifier') ?? '')
          .digest('base64url');
        const right =
          form.get('grant_type') === 'refresh_token'
            ? refresh !== undefined && form.get('refresh_token') === refresh
            : codes.get(form.get('code') ?? '') === challenge;
        if (!right) return json({ error: 'invalid_grant' }, 400);
        codes.delete(form.get('code') ?? '');
        const token = randomUUID();
        access.add(token);
        refresh = randomUUID();
        return json({ access_token: token, token_type: 'Bearer', refresh_token: refresh });
      }
    }
    if (url.pathname !== '/mcp') return void response.writeHead(404).end();
    if (!access.has((request.headers.authorization ?? '').replace('Bearer ', ''))) {
      const metadata = `${origin}/.well-known/oauth-protected-resource/mcp`;
      return void response.writeHead(401, { 'www-authenticate': `Bearer resource_metadata="${metadata}"` }).end();
    }
    if (request.method !== 'POST') return void response.writeHead(405).end();
    const { id, method, params } = JSON.parse(body) as { id?: number; method: string; params?: object };
    if (id === undefined) return void response.writeHead(202).end();
    const capabilities = { tools: {} };
    const initialized = { protocolVersion: '2025-06-18', capabilities, serverInfo: { name: 'p', version: '1' } };
    if ((params as { name?: string } | undefined)?.name === 'tell')
      return json({
        jsonrpc: '2.0',
        id,
        error: { code: -32_000, message: `you sent ${request.headers.authorization}` },
      });
    const result =
      method === 'initialize'
        ? initialized
        : method === 'tools/list'
          ? { tools: ['do', 'tell'].map((name) => ({ name, inputSchema: { type: 'object' } })) }
          : { content: [{ type: 'text', text: 'signed in' }] };
    json({ jsonrpc: '2.0', id, result });
  }

  return Object.assign(self, {
    url: `${origin}/mcp`,
    grants,
    expire: () => access.clear(),
    visit: async (address: string) => {
      const response = await fetch(address, { redirect: 'manual' });
      await response.body?.cancel();
      return response.headers.get('location') ?? '';
    },
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  });
}

async function temporary(): Promise<{ file: string; directory: string } & AsyncDisposable> {
  const directory = await mkdtemp(join(tmpdir(), 'toolwright-oauth-'));
  return {
    directory,
    file: join(directory, 'deep', 'tokens.json'),
    [Symbol.asyncDispose]: () => rm(directory, { recursive: true, force: true }),
  };
}

const REDIRECT = 'http://127.0.0.1:1/back';

function provide(server: AuthServer, file: string, auth: Partial<OAuthOptions> = {}): MCPToolProvider {
  return new MCPToolProvider({
    name: 'p',
    url: server.url,
    auth: { file, redirectUrl: REDIRECT, ...auth },
  });
}

it('a person signs in once, and the tokens are readable only by this user', async () => {
  await using server = await serveProtected();
  await using place = await temporary();
  let visits = 0;
  const authorize = (url: string): Promise<string> => {
    visits++;
    return server.visit(url);
  };
  await using first = provide(server, place.file, { authorize });
  expect((await first.callTool('p.do')).isError).toBe(false);
  expect((await stat(place.file)).mode & 0o777).toBe(0o600);
  expect((await stat(join(place.directory, 'deep'))).mode & 0o777).toBe(0o700);
  await using second = provide(server, place.file); // no person can sign in: the stored tokens are used
  expect((await second.callTool('p.do')).isError).toBe(false);
  expect([visits, server.grants]).toEqual([1, ['authorization_code']]);
  expect(await readdir(join(place.directory, 'deep'))).toEqual(['tokens.json']);
});

it('does not show a token that the server echoes', async () => {
  await using place = await temporary();
  await using server = await serveProtected();
  await using provider = provide(server, place.file, { authorize: (url) => server.visit(url) });
  const echoed = JSON.stringify(await provider.callTool('p.tell'));
  expect(echoed).toContain('you sent Bearer [hidden]');
  const stored = await readFile(place.file, 'utf8');
  const tokens = Array.from(stored.matchAll(/"(?:access|refresh)_token":\s*"([^"]+)"/g), ([, token]) => token!);
  expect(tokens).toHaveLength(2);
  for (const token of tokens) expect(echoed).not.toContain(token);
});

it('MCPToolProvider renews an expired token once for twelve clients', async () => {
  await using server = await serveProtected();
  await using place = await temporary();
  await using first = provide(server, place.file, { authorize: (url) => server.visit(url) });
  await first.connect();
  const providers = Array.from({ length: 12 }, () => provide(server, place.file));
  await Promise.all(providers.map((provider) => provider.connect()));
  server.expire();
  const results = await Promise.all(providers.map((provider) => provider.callTool('p.do')));
  expect(results.map(({ error }) => error?.message)).toEqual(Array.from({ length: 12 }, () => undefined));
  expect(server.grants).toEqual(['authorization_code', 'refresh_token']);
  await Promise.all(providers.map((provider) => provider.disconnect()));
});

it('is PERMISSION_DENIED when a sign-in is needed and no person can do it', async () => {
  await using server = await serveProtected();
  await using place = await temporary();
  await using provider = provide(server, place.file);
  const { error } = await provider.callTool('p.do');
  expect(error?.code).toBe('PERMISSION_DENIED');
  expect(error?.message).toMatch(/auth\.authorize/);
});

it('callTool() does not count the time of a sign-in', async () => {
  await using server = await serveProtected();
  await using place = await temporary();
  let markAuthorizing: () => void = () => undefined;
  const isAuthorizing = new Promise<void>((resolve) => (markAuthorizing = resolve));
  await using provider = provide(server, place.file, {
    authorize: async (url) => {
      markAuthorizing();
      await new Promise((resolve) => setTimeout(resolve, 1_500));
      return server.visit(url);
    },
  });
  const first = provider.callTool('p.do', {}, { timeoutMs: 1_200 });
  await isAuthorizing;
  const second = provider.callTool('p.do', {}, { timeoutMs: 1_200 });
  expect(textOf(await first)).not.toContain('TIMED_OUT');
  expect([(await first).isError, (await second).isError]).toEqual([false, false]);
});

it.each(['file:///bin/sh', 'javascript:alert(1)', 'http://example.com/authorize', 'http://169.254.169.254/'])(
  'does not send a person to %s when the server publishes it',
  async (endpoint) => {
    await using server = await serveProtected();
    await using place = await temporary();
    server.authorizationEndpoint = endpoint;
    const visited: string[] = [];
    await using provider = provide(server, place.file, {
      authorize: (url) => {
        visited.push(url);
        return Promise.resolve('code');
      },
    });
    expect((await provider.callTool('p.do')).error?.code).toBe('PERMISSION_DENIED');
    expect(visited).toEqual([]);
  },
);

it('rejects a response with a different state', async () => {
  await using server = await serveProtected();
  await using place = await temporary();
  await using provider = provide(server, place.file, {
    authorize: async (url) => (await server.visit(url)).replace(/state=[^&]*/, 'state=forged'),
  });
  expect((await provider.callTool('p.do')).error?.message).toMatch(/different state/);
  expect(server.grants).toEqual([]);
});

it('MCPToolProvider pauses the deadline during a sign-in', async () => {
  await using server = await serveProtected();
  await using place = await temporary();
  await using provider = new MCPToolProvider({
    name: 'p',
    url: server.url,
    connectTimeoutMs: 1_500,
    auth: {
      file: place.file,
      redirectUrl: REDIRECT,
      authorize: async (url) => {
        await new Promise((resolve) => setTimeout(resolve, 2_000));
        return server.visit(url);
      },
    },
  });
  await provider.connect();
});

it('takes over a lock only when its holder has died', async () => {
  await using server = await serveProtected();
  await using place = await temporary();
  await using first = provide(server, place.file, { authorize: (url) => server.visit(url) });
  await first.connect();
  server.expire();
  await writeFile(`${place.file}.lock`, '999999999 abc'); // no such process
  expect((await first.callTool('p.do')).isError).toBe(false);
  server.expire();
  await writeFile(`${place.file}.lock`, `${process.pid} abc`); // this one runs
  const waiting = await first.callTool('p.do', {}, { timeoutMs: 500 });
  expect(waiting.error?.code).toBe('TIMED_OUT');
  expect(await readFile(`${place.file}.lock`, 'utf8')).toBe(`${process.pid} abc`);
  const old = new Date(Date.now() - 60_000);
  await utimes(`${place.file}.lock`, old, old); // and hangs
  expect((await first.callTool('p.do')).isError).toBe(false);
});

it('rejects a file with other content, and does not change it', async () => {
  await using server = await serveProtected();
  await using place = await temporary();
  const file = join(place.directory, 'notes.txt');
  await writeFile(file, 'my notes');
  await using provider = provide(server, file, { authorize: (url) => server.visit(url) });
  const error = await provider.connect().catch((thrown: unknown) => thrown);
  expect(ToolError.isInstance(error) && error.code).toBe('INVALID_ARGUMENT');
  expect(await readFile(file, 'utf8')).toBe('my notes');
});
