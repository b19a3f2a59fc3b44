// Requests over HTTP next to each other: what ends one of them, and what that means for the others.

import { textOf } from '@toolwright/core';
import { MCPToolProvider } from '@toolwright/core/mcp';
import { createTestProject } from '@toolwright/core/testing';
import { describe, expect, it, vi } from 'vitest';
import { complete, json, serveScripted } from '../serve-scripted.js';

const text = (value: string): object => ({ content: [{ type: 'text', text: value }] });

describe('MCPToolProvider.callTool() over HTTP', () => {
  it('sends nothing when it is cancelled in the same turn', async () => {
    await using server = await serveScripted({ 'tools/call': () => undefined });
    await using provider = new MCPToolProvider({ name: 's', url: server.url });
    await provider.connect();
    const abort = new AbortController();
    const calls = Array.from({ length: 5 }, () => provider.callTool('s.do', {}, { signal: abort.signal }));
    abort.abort();
    for (const { error } of await Promise.all(calls)) expect(error?.code).toBe('CANCELLED');
    await provider.ping(); // on a connection that is opened later
    expect(server.count('tools/call')).toBe(0);
  });

  it.each(['modern', 'legacy'] as const)(
    'closes the connection when it is cancelled before the response of a %s server',
    async (protocol) => {
      const initialized = { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 's', version: '1' } }; // prettier-ignore
      await using server = await serveScripted({
        initialize: ({ id }, response) => json(response, { jsonrpc: '2.0', id, result: initialized }),
        'notifications/initialized': (_, response) => response.writeHead(202).end(),
        'notifications/cancelled': (_, response) => response.writeHead(202).end(),
        'tools/call': () => undefined,
      });
      await using provider = new MCPToolProvider({ name: 's', url: server.url, protocol });
      await provider.connect();
      const abort = new AbortController();
      const call = provider.callTool('s.do', {}, { signal: abort.signal });
      await vi.waitUntil(() => server.count('tools/call') === 1);
      abort.abort();
      expect((await call).error?.code).toBe('CANCELLED');
      await vi.waitUntil(() => server.closed.includes('tools/call'));
    },
  );

  it.each([
    ['a status that the protocol does not have', undefined, 'CONNECTION_CLOSED'],
    ['an unsupported revision', { code: -32022, message: 'Unsupported' }, 'EXECUTION_FAILED'],
  ])('returns the result when another call is answered with %s', async (_, error, code) => {
    const answers: (() => void)[] = [];
    await using server = await serveScripted(
      {
        'tools/call': (request, response) => {
          if (request.params.name === 'do') return answers.push(() => complete(response, request, text('done')));
          if (error) return json(response, { jsonrpc: '2.0', id: request.id, error }, 400);
          return response.writeHead(400, { 'content-type': 'text/html' }).end('<h1>Bad Request</h1>');
        },
      },
      { tools: ['do', 'bad'].map((name) => ({ name, inputSchema: { type: 'object' } })) },
    );
    await using provider = new MCPToolProvider({ name: 's', url: server.url });
    await provider.connect();
    const slow = provider.callTool('s.do');
    await vi.waitUntil(() => answers.length === 1);
    expect((await provider.callTool('s.bad')).error?.code).toBe(code);
    await new Promise((resolve) => setTimeout(resolve, 1_200)); // longer than an ended session is kept
    answers[0]?.();
    expect(textOf(await slow)).toBe('done');
  });

  it.each(['v1', 'v2'] as const)('is PERMISSION_DENIED with engine %s when the token lacks a scope', async (engine) => {
    await using server = await serveScripted({
      initialize: ({ id }, response) =>
        json(response, { jsonrpc: '2.0', id, result: { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 's', version: '1' } } }), // prettier-ignore
      'notifications/initialized': (_, response) => response.writeHead(202).end(),
      'tools/call': (_, response) =>
        response.writeHead(403, { 'www-authenticate': 'Bearer error="insufficient_scope", scope="more"' }).end(),
    });
    await using provider = new MCPToolProvider({ name: 's', url: server.url, engine });
    const { error } = await provider.callTool('s.do');
    expect(error).toMatchObject({ code: 'PERMISSION_DENIED' });
    expect(error?.details?.outcomeUnknown).toBeUndefined();
  });

  it('asks a person once for the scope that calls at once lack', async () => {
    await using project = await createTestProject();
    const scopes: string[] = [];
    const pages = ({ origin, pathname }: URL): object | undefined => {
      if (pathname.includes('oauth-protected-resource'))
        return { resource: `${origin}/mcp`, authorization_servers: [origin] };
      if (pathname === '/token') return { access_token: 'wide', token_type: 'Bearer', scope: 'more' };
      if (!pathname.includes('oauth-authorization-server')) return undefined;
      return {
        issuer: origin,
        authorization_endpoint: `${origin}/authorize`,
        token_endpoint: `${origin}/token`,
        response_types_supported: ['code'],
        code_challenge_methods_supported: ['S256'],
      };
    };
    await using server = await serveScripted(
      {
        'tools/call': (request, response) => {
          if (request.headers.authorization === 'Bearer wide') return complete(response, request, text('ran'));
          const challenge = 'Bearer error="insufficient_scope", scope="more"';
          return response.writeHead(403, { 'www-authenticate': challenge }).end();
        },
      },
      { pages },
    );
    await using provider = new MCPToolProvider({
      name: 's',
      url: server.url,
      auth: {
        file: project.resolve('tokens.json'),
        redirectUrl: 'http://127.0.0.1:9/back',
        clientId: 'client',
        authorize: (url) => {
          scopes.push(new URL(url).searchParams.get('scope') ?? '');
          return Promise.resolve('the-code');
        },
      },
    });
    await provider.connect();
    const results = await Promise.all(Array.from({ length: 10 }, () => provider.callTool('s.do')));
    expect(results.map((result) => result.error?.code ?? textOf(result))).toEqual(Array(10).fill('ran'));
    expect(scopes).toEqual(['more']);
  });
});
