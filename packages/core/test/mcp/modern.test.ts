// MCPToolProvider with servers of MCP 2026-07-28: rounds, changes, expiry, headers, cancellation, restarts.

import { textOf, type InputRound, type JsonObject } from '@toolwright/core';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { MCPToolProvider, type McpServerOptions } from '@toolwright/core/mcp';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { bundleFixture } from './bundle.js';
import { serveHttp } from './serve.js';
import { ModernState, TOOLS } from './fixtures/modern-server.js';
import { serveModern, type ModernListener } from './serve-modern.js';

const accept = (): Promise<JsonObject> => Promise.resolve({ action: 'accept', content: { yes: true } });

function providerOf({ place }: ModernListener, options: Partial<McpServerOptions> = {}): MCPToolProvider {
  return new MCPToolProvider({ name: 'm', ...place, ...options });
}

describe.each(['socket', 'http'] as const)('MCPToolProvider with a modern server over %s', (place) => {
  it('lists and calls tools without initialize', async () => {
    await using server = await serveModern(place);
    await using provider = providerOf(server);
    expect((await provider.listTools()).map(({ name }) => name)).toEqual(TOOLS.map(({ name }) => `m.${String(name)}`));
    const result = await provider.callTool('m.echo', { text: 'hi' });
    expect(textOf(result)).toBe('hi');
    expect(result._meta).not.toHaveProperty('resultType');
  });

  it('wraps structured content that is not an object', async () => {
    await using server = await serveModern(place);
    await using provider = providerOf(server);
    const result = await provider.callTool('m.value');
    expect(result.structuredContent).toEqual({ result: [1, 2, 3] });
  });

  it('declares the revision, the client and its capabilities with each request, whatever the caller puts into meta', async () => {
    await using server = await serveModern(place);
    await using provider = providerOf(server, { elicitation: accept });
    const meta = { 'io.modelcontextprotocol/protocolVersion': '1999-01-01', traceparent: '00-1-1-01', mine: 1 };
    await provider.callTool('m.echo', { text: 'a' }, { meta });
    expect(server.state.metas[0]).toMatchObject({
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientInfo': { name: 'toolwright' },
      'io.modelcontextprotocol/clientCapabilities': { elicitation: { form: {} } },
      traceparent: '00-1-1-01',
      mine: 1,
    });
  });

  it("answers the input that a server requires with the host's handler", async () => {
    await using server = await serveModern(place);
    const elicitation = vi.fn(accept);
    await using provider = providerOf(server, { elicitation });
    const result = await provider.callTool('m.confirm');
    expect(textOf(result)).toBe('{"yes":true} opaque');
    expect(elicitation).toHaveBeenCalledOnce();
    expect(server.state.runs.get('confirm')).toBe(2);
    expect(textOf(await provider.callTool('m.twice'))).toBe('two rounds');
  });

  it("answers it with the caller's onRequest, and roots with the provider's", async () => {
    await using server = await serveModern(place);
    await using provider = providerOf(server, { projectDir: '/tmp' });
    provider.mcp.offer?.({ sampling: {} });
    const asked: string[] = [];
    const result = await provider.callTool(
      'm.everything',
      {},
      {
        onRequest: (method) => {
          asked.push(method);
          return Promise.resolve({ role: 'assistant', content: { type: 'text', text: 'hi' }, model: 'x' });
        },
      },
    );
    expect(asked).toEqual(['sampling/createMessage']);
    expect(textOf(result)).toContain('file:///tmp');
  });

  it('ends the call when the server requires input that no handler gives, again and again, or too large a state', async () => {
    await using server = await serveModern(place);
    await using provider = providerOf(server, { elicitation: accept });
    const endless = await provider.callTool('m.endless');
    expect(endless.error).toMatchObject({ code: 'EXECUTION_FAILED', message: expect.stringContaining('8 times') });
    expect(server.state.runs.get('endless')).toBe(9);
    expect((await provider.callTool('m.hugeState')).error?.code).toBe('PROTOCOL_VIOLATION');
    expect(textOf(await provider.callTool('m.stateOnly'))).toBe('done');
    const failing = providerOf(server, { elicitation: () => Promise.reject(new Error('busy')) });
    await using _ = failing;
    expect((await failing.callTool('m.confirm')).error?.code).toBe('EXECUTION_FAILED');
  });

  it('pauses the deadline of the call while a person is asked', async () => {
    await using server = await serveModern(place);
    const slow = async (): Promise<JsonObject> => {
      await new Promise((resolve) => setTimeout(resolve, 400));
      return accept();
    };
    await using provider = providerOf(server, { elicitation: slow });
    await provider.connect();
    expect((await provider.callTool('m.confirm', {}, { timeoutMs: 250 })).isError).toBe(false);
  });

  it('passes rounds to a caller that relays them, and continues with its answer', async () => {
    await using server = await serveModern(place);
    await using provider = providerOf(server);
    const rounds: InputRound[] = [];
    const relay = {
      capabilities: { elicitation: { form: {} } },
      onRound: (round: InputRound) => void rounds.push(round),
    };
    const first = await provider.callTool('m.confirm', {}, { relay });
    expect(first.error?.code).toBe('CANCELLED');
    expect(rounds).toMatchObject([
      { inputRequests: { confirm: { method: 'elicitation/create' } }, requestState: 'opaque' },
    ]);
    const answer = {
      inputResponses: { confirm: { action: 'accept', content: { yes: false } } },
      requestState: rounds[0]?.requestState,
    };
    const second = await provider.callTool('m.confirm', {}, { relay: { ...relay, answer } });
    expect(textOf(second)).toBe('{"yes":false} opaque');
    expect(server.state.metas[0]).toMatchObject({
      'io.modelcontextprotocol/clientCapabilities': { elicitation: { form: {} } },
    });
  });

  it('answers rounds of prompts, and reads resources', async () => {
    await using server = await serveModern(place);
    await using provider = providerOf(server, { elicitation: accept });
    const prompt = await provider.mcp.request('prompts/get', { name: 'greet' });
    expect(JSON.stringify(prompt)).toContain('yes');
    expect(prompt).not.toHaveProperty('resultType');
    expect(await provider.mcp.request('resources/read', { uri: 'note://one' })).toMatchObject({
      contents: [{ uri: 'note://one' }],
    });
    await provider.ping();
    await provider.mcp.request('ping');
  });

  it('reports progress, and cancels a call once', async () => {
    await using server = await serveModern(place);
    await using provider = providerOf(server);
    const seen: number[] = [];
    await provider.callTool('m.progress', {}, { onProgress: ({ progress }) => void seen.push(progress) });
    expect(seen).toEqual([1, 2, 3]);
    const started = performance.now();
    const result = await provider.callTool('m.wait', { ms: 20_000 }, { timeoutMs: 200 });
    expect(result.error?.code).toBe('TIMED_OUT');
    await vi.waitUntil(() => server.state.runs.get('cancelled') === 1, { timeout: 5_000 });
    expect(performance.now() - started).toBeLessThan(10_000);
  });

  it('requests logs only while someone listens, from the level that was set', async () => {
    await using server = await serveModern(place);
    await using provider = providerOf(server);
    await provider.callTool('m.log');
    expect(server.state.metas[0]).not.toHaveProperty('io.modelcontextprotocol/logLevel');
    const logs: unknown[] = [];
    const stop = provider.mcp.onNotification(
      (method, params) => method === 'notifications/message' && logs.push(params),
    );
    await provider.callTool('m.log');
    await vi.waitUntil(() => logs.length === 1);
    await provider.mcp.request('logging/setLevel', { level: 'error' });
    await provider.callTool('m.log');
    expect(server.state.metas.at(-1)).toHaveProperty('io.modelcontextprotocol/logLevel', 'error');
    stop();
  });

  it('hears of changed tools while someone listens, also after the connection was lost', async () => {
    await using server = await serveModern(place);
    await using provider = providerOf(server);
    const changed = vi.fn();
    provider.onToolsChanged(changed);
    await provider.connect();
    await vi.waitUntil(async () => {
      server.state.tools = [...TOOLS, { name: `more${Math.random()}`, inputSchema: { type: 'object' } }];
      server.changed();
      await new Promise((resolve) => setTimeout(resolve, 20));
      return changed.mock.calls.length > 0;
    }, 5_000);
    server.drop();
    await vi.waitUntil(async () => !(await provider.callTool('m.echo', { text: 'x' })).isError);
    const before = changed.mock.calls.length;
    await vi.waitUntil(async () => {
      server.state.tools = [...TOOLS, { name: `more${Math.random()}`, inputSchema: { type: 'object' } }];
      server.changed();
      await new Promise((resolve) => setTimeout(resolve, 20));
      return changed.mock.calls.length > before;
    }, 10_000);
  });

  it('reads a list again when it has expired, unless the server reports changes', async () => {
    await using server = await serveModern(place);
    server.state.ttlMs = 60_000;
    await using provider = providerOf(server);
    await provider.listTools();
    await provider.listTools();
    expect(server.state.lists).toBe(1);
    server.state.ttlMs = 0;
    await using other = providerOf(server);
    await other.listTools();
    await other.listTools();
    expect(server.state.lists).toBe(3);
  });

  it('uses the earlier revisions with protocol legacy, if the server speaks them', async () => {
    await using server = await serveModern(place, { legacy: true });
    await using provider = providerOf(server, { protocol: 'legacy' });
    expect(textOf(await provider.callTool('m.echo', { text: 'old' }))).toBe('old');
    expect(server.state.metas[0]).not.toHaveProperty('io.modelcontextprotocol/protocolVersion');
    await using modern = await serveModern(place);
    await using refused = providerOf(modern, { protocol: 'legacy' });
    await expect(refused.connect()).rejects.toMatchObject({ code: 'PROTOCOL_VIOLATION' });
  });
});

describe('MCPToolProvider with a modern server over HTTP', () => {
  it('mirrors arguments into headers, encoded where they must be', async () => {
    await using server = await serveModern('http');
    await using provider = providerOf(server);
    await provider.callTool('m.query', { region: 'Zürich', place: { floor: 4 } });
    const headers = server.headers.at(-1);
    expect(headers).toMatchObject({
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': 'tools/call',
      'mcp-name': 'query',
      'mcp-param-floor': '4',
      'mcp-param-region': `=?base64?${Buffer.from('Zürich').toString('base64')}?=`,
    });
  });

  it('omits a tool with a malformed header, with a warning', async () => {
    const state = new ModernState();
    state.tools = [
      { name: 'bad', inputSchema: { type: 'object', properties: { a: { type: 'number', 'x-mcp-header': 'A' } } } },
      { name: 'echo', inputSchema: { type: 'object' } },
    ];
    await using server = await serveModern('http', { state });
    const warn = vi.fn();
    await using provider = providerOf(server, { logger: { debug() {}, info() {}, warn, error() {} } });
    expect((await provider.listTools()).map(({ name }) => name)).toEqual(['m.echo']);
    expect(warn.mock.calls.flat().join()).toContain('x-mcp-header');
  });

  it.each(['modern', 'legacy', 'modern'] as const)(
    'calls a server that was restarted between calls as a %s one',
    async (era) => {
      await using before = await serveModern('http');
      const port = Number(new URL((before.place as { url: string }).url).port);
      await using provider = providerOf(before);
      provider.onToolsChanged(() => undefined);
      expect((await provider.callTool('m.echo', { text: 'one' })).isError).toBe(false);
      await before[Symbol.asyncDispose]();
      if (era === 'modern') {
        await using after = await serveModern('http', { port });
        expect(await untilRead(provider, 'echo', { text: 'two' })).toBe('two');
        expect(after.state.runs.get('echo')).toBe(1);
      } else {
        const after = await serveHttp('events', undefined, port);
        expect(await untilRead(provider, 'echo', { text: 'two' })).toContain('two');
        await after.close();
      }
    },
  );

  it('opens a modern session where a legacy server was replaced', async () => {
    const before = await serveHttp('events');
    await using provider = new MCPToolProvider({ name: 'm', url: before.url });
    expect((await provider.callTool('m.echo', { text: 'one' })).isError).toBe(false);
    const port = Number(new URL(before.url).port);
    await before.close();
    await using after = await serveModern('http', { port });
    expect(await untilRead(provider, 'echo', { text: 'two' })).toBe('two');
    expect(after.state.runs.get('echo')).toBe(1);
  });
});

/** Calls until the answer is certain: a request on a connection that the server has just closed may have been read. */
async function untilRead(provider: MCPToolProvider, tool: string, args: JsonObject): Promise<string> {
  for (;;) {
    const result = await provider.callTool(`m.${tool}`, args);
    if (result.error?.code !== 'OUTCOME_UNKNOWN') return textOf(result);
  }
}

describe('MCPToolProvider.disconnect()', () => {
  it('reports no loss when a transport calls onclose before its close returns', async () => {
    await using server = await serveModern('http');
    const { url } = server.place as { url: string };
    const warn = vi.fn();
    const provider = new MCPToolProvider({
      name: 'm',
      transport: () => new StreamableHTTPClientTransport(new URL(url)),
      logger: { debug() {}, info() {}, warn, error() {} },
    });
    const lost = vi.fn();
    provider.onLost(lost);
    await provider.connect();
    await provider.disconnect();
    expect(lost).not.toHaveBeenCalled();
    expect(warn).not.toHaveBeenCalled();
  });
});

describe('MCPToolProvider with a modern server over stdio', () => {
  let program: Awaited<ReturnType<typeof bundleFixture>>;
  beforeAll(async () => {
    program = await bundleFixture('modern-stdio');
  }, 60_000);
  afterAll(() => program[Symbol.asyncDispose]());

  it('calls tools, and lists again after the server was killed', async () => {
    await using provider = new MCPToolProvider({ name: 'm', command: process.execPath, args: [program.file] });
    expect(textOf(await provider.callTool('m.echo', { text: 'hi' }))).toBe('hi');
    expect(provider.health().state).toBe('READY');
  });

  it('uses one process for a server that speaks both eras', async () => {
    await using provider = new MCPToolProvider({ name: 'm', command: process.execPath, args: [program.file, 'both'] });
    expect(textOf(await provider.callTool('m.echo', { text: 'hi' }))).toBe('hi');
  });
});
