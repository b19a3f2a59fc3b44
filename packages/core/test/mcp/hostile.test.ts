// A server that does one thing wrong costs the call that it concerns, and leaves nothing behind.

import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { textOf, ToolError, type JsonObject } from '@toolwright/core';
import { MCPToolProvider, type McpServerOptions } from '@toolwright/core/mcp';
import { expectNoLeaks } from '@toolwright/core/testing';
import { describe, expect, it } from 'vitest';

const HOSTILE = fileURLToPath(new URL('fixtures/hostile.mjs', import.meta.url));

/** A provider of the server that does `mode`, with what it logged. */
function hostile(
  mode: string,
  options: Partial<McpServerOptions> & { env?: Record<string, string> } = {},
): { provider: MCPToolProvider; logged: string[] } {
  const logged: string[] = [];
  const log = (message: string): void => void logged.push(message);
  const provider = new MCPToolProvider({
    name: 'h',
    command: process.execPath,
    args: [HOSTILE, mode],
    logger: { debug: log, info: log, warn: log, error: log },
    ...options,
  });
  return { provider, logged };
}

const rejection = (promise: Promise<unknown>): Promise<ToolError> =>
  promise.then(
    () => expect.fail('it did not reject'),
    (error: unknown) => {
      expect(ToolError.isInstance(error)).toBe(true);
      return error as ToolError;
    },
  );

/** A zombie process does not count as running. */
async function isRunning(pid: number): Promise<boolean> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => ''); // there is none
  return /\) [^ZX]/.test(stat);
}

async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = performance.now() + 10_000;
  while (!(await condition())) {
    if (performance.now() > deadline) throw new Error('it did not come to that');
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

const warm = hostile('plain'); // the SDK is loaded once, outside of the pictures of what is held
await warm.provider.connect();
await warm.provider.disconnect();

describe('MCPToolProvider', () => {
  it('replaces a server that has closed its stdin but still runs', async () => {
    await using provider = hostile('closes-stdin').provider;
    expect((await provider.callTool('h.do')).isError).toBe(false);
    await until(async () => !(await provider.callTool('h.do', {}, { timeoutMs: 2_000 })).isError);
    expect(provider.health().restarts).toBeGreaterThan(0);
  });

  it('disconnect() ends a server that is being replaced for more capabilities', async () => {
    await using _ = expectNoLeaks();
    for (const waits of [false, true]) {
      const { provider } = hostile('plain');
      await provider.connect();
      provider.mcp.offer!({ elicitation: { form: {} } });
      if (waits) await new Promise((resolve) => setImmediate(resolve));
      await provider.disconnect();
      expect(provider.health().state).toBe('COLD');
    }
  });
});

describe('MCPToolProvider.connect()', () => {
  it('rejects when it is disconnected while tools are listed', async () => {
    await using provider = hostile('never-lists').provider;
    const connecting = rejection(provider.connect());
    await until(() => provider.health().state === 'READY');
    await provider.disconnect();
    expect((await connecting).code).toBe('NOT_CONNECTED');
  });

  it('fails immediately with the end of stderr when the server exits, with secrets redacted', async () => {
    await using _ = expectNoLeaks();
    await using provider = hostile('exits-at-start', { env: { SECRET_KEY: 'hunter2-hunter2' } }).provider;
    const started = performance.now();
    const error = await rejection(provider.connect());
    expect(error.code).toBe('PROCESS_EXITED');
    expect(error.message).toMatch(/exited with code 3.*no licence for \[hidden\]/s);
    expect(error.message).not.toMatch(/hunter2|\u001b/);
    expect(error.details).toMatchObject({ exitCode: 3 });
    expect(JSON.stringify(error.details)).not.toContain('hunter2');
    expect(performance.now() - started).toBeLessThan(5_000); // not the deadline of 10 s
    expect(provider.health().state).toBe('DEAD');
    expect((await provider.callTool('h.do')).error?.code).toBe('PROCESS_EXITED');
  });

  it('fails with SPAWN_FAILED when the program does not exist', async () => {
    await using _ = expectNoLeaks();
    await using provider = new MCPToolProvider({ name: 'h', command: '/nowhere/at/all' });
    expect((await rejection(provider.connect())).code).toBe('SPAWN_FAILED');
  });

  it('times out when initialize is not answered, and ends the process', async () => {
    await using _ = expectNoLeaks();
    await using provider = hostile('silent', { connectTimeoutMs: 700 }).provider;
    const error = await rejection(provider.connect());
    expect(error.code).toBe('TIMED_OUT');
    expect(error.message).toMatch(/"h".*initialize.*700 ms.*connectTimeoutMs/);
  });

  it('ends the process when it is disconnected while connecting', async () => {
    await using _ = expectNoLeaks();
    const { provider } = hostile('silent');
    const connecting = rejection(provider.connect());
    await until(() => provider.health().state === 'INITIALIZING');
    await provider.disconnect();
    expect((await connecting).code).toBe('NOT_CONNECTED');
  });

  it('rejects an unknown protocol version', async () => {
    await using provider = hostile('wrong-version').provider;
    const error = await rejection(provider.connect());
    expect(error.code).toBe('PROTOCOL_VIOLATION');
    expect(error.message).toContain('1999-01-01');
  });

  it(`sends its name and the package's version`, async () => {
    await using provider = hostile('plain').provider;
    await provider.connect();
    const manifest = await readFile(new URL('../../package.json', import.meta.url), 'utf8');
    const { version } = JSON.parse(manifest) as { version: string };
    expect(provider.mcp.capabilities.client).toEqual({ name: 'toolwright', version });
  });

  it('skips lines on stdout that are not messages, with a warning', async () => {
    const { provider, logged } = hostile('prints');
    await using _ = provider;
    expect(textOf(await provider.callTool('h.do'))).toBe('ok');
    expect(logged.join('\n')).toContain('Server is starting...');
  });

  it('survives a flood on stderr', async () => {
    await using _ = expectNoLeaks();
    await using provider = hostile('floods-stderr').provider;
    expect(textOf(await provider.callTool('h.do'))).toBe('ok');
  });

  it('rejects an endless line within bounded memory', async () => {
    await using _ = expectNoLeaks();
    await using provider = hostile('one-line', { maxFrameBytes: 4 * 1024 * 1024 }).provider;
    const before = process.memoryUsage().rss;
    expect((await rejection(provider.connect())).code).toBe('FRAME_TOO_LARGE');
    expect(process.memoryUsage().rss - before).toBeLessThan(200 * 1024 * 1024);
  });
});

describe('MCPToolProvider.listTools()', () => {
  it('lists valid tools unchanged when others are malformed', async () => {
    const { provider, logged } = hostile('malformed');
    await using _ = provider;
    const tools = await provider.listTools();
    expect(tools.map(({ name }) => name)).toEqual([
      'h.good',
      'h.union',
      'h.array_out',
      'h.list_out',
      'h.odd',
      'h.rich',
    ]);
    expect(tools[0]?.description).toBe('Does good.');
    expect(tools[1]?.inputSchema).toEqual({ oneOf: [{ type: 'object' }, { type: 'string' }] });
    expect(tools[2]?.outputSchema).toEqual({
      type: 'object',
      properties: { result: { type: 'array', items: { type: 'string' } } },
      required: ['result'],
    });
    expect(tools[3]).not.toHaveProperty('outputSchema');
    expect(tools[4]).toEqual({
      name: 'h.odd',
      description: '',
      inputSchema: { type: 'object' },
      annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true },
    });
    expect(tools[5]).toEqual({
      name: 'h.rich',
      title: 'Rich',
      description: 'Does rich.',
      annotations: {
        title: 'R',
        readOnlyHint: true,
        destructiveHint: true,
        idempotentHint: false,
        openWorldHint: true,
      },
      icons: [{ src: 'data:,x', sizes: ['1x1'] }],
      _meta: { 'x/y': [1] },
      inputSchema: {
        type: 'object',
        $defs: { a: { type: 'string' } },
        'x-order': 1,
        properties: { a: { $ref: '#/$defs/a' } },
      },
    });
    expect(logged.join('\n')).toMatch(/"no_schema" was left out: its inputSchema/);
    expect(logged.join('\n')).toMatch(/"deep" was left out: it is nested/);
    expect(logged.join('\n')).toMatch(/a second tool "h\.good"/);
  });

  it.each([
    ['circular', 2],
    ['endless', 1_000],
    ['many-tools', 10_000],
  ])('comes to an end when the list is %s', async (mode, count) => {
    const { provider, logged } = hostile(mode);
    await using _ = provider;
    expect(await provider.listTools()).toHaveLength(count);
    expect(logged).toHaveLength(1);
  });

  it('times out when the list is not answered, although connect() succeeded', async () => {
    await using _ = expectNoLeaks();
    await using provider = hostile('never-lists', { listTimeoutMs: 300 }).provider;
    await provider.connect();
    const error = await rejection(provider.listTools());
    expect(error.code).toBe('TIMED_OUT');
    expect(error.message).toContain('listTimeoutMs');
    expect(provider.health().state).toBe('READY');
  });

  it('returns an empty list when the server has no tools', async () => {
    await using provider = hostile('no-tools').provider;
    expect(await provider.listTools()).toEqual([]);
  });

  it('coalesces a burst of changes, and emits onToolsChanged', async () => {
    await using provider = hostile('bursts').provider;
    await provider.connect();
    let changes = 0;
    provider.onToolsChanged(() => changes++);
    await provider.callTool('h.do');
    await until(() => changes > 0);
    const lists = Number(textOf(await provider.callTool('h.do', { what: 'lists' })));
    expect(lists).toBeLessThan(8); // of 100 notifications
    expect((await provider.listTools()).map(({ name }) => name)).not.toContain('h.v1');
  });

  it('keeps the old list when reading it again fails', async () => {
    const { provider, logged } = hostile('list-fails-later');
    await using _ = provider;
    await provider.connect();
    await provider.callTool('h.do');
    await until(() => provider.health().state === 'DEGRADED');
    expect((await provider.listTools()).map(({ name }) => name)).toEqual(['h.do']);
    expect(textOf(await provider.callTool('h.do'))).toBe('ok');
    expect(logged.join('\n')).toMatch(/the previous list is used.*no more lists/);
  });

  it('reads with increasing pauses when the list changes at every reading', async () => {
    await using provider = hostile('always-changed').provider;
    await provider.connect();
    await new Promise((resolve) => setTimeout(resolve, 500));
    const lists = Number(textOf(await provider.callTool('h.do', { what: 'lists' })));
    expect(lists).toBeLessThan(20);
  });
});

describe('MCPToolProvider.callTool()', () => {
  it('passes an unknown content type on, and replaces a malformed block by a note', async () => {
    const { provider } = hostile('unknown-block');
    await using _ = provider;
    const { content, isError } = await provider.callTool('h.do');
    expect(isError).toBe(false);
    expect(content[0]).toEqual({ type: 'hologram', depth: 3 });
    expect(content.slice(1).map((block) => block.type)).toEqual(['text', 'text', 'text']);
    expect(textOf({ content })).toMatch(/malformed content block of "image"[\s\S]*fine/);
  });

  it.each(['mismatch', 'mismatch-absent'])(
    'delivers a result that breaks its schema with a warning: %s',
    async (mode) => {
      const { provider, logged } = hostile(mode);
      await using _ = provider;
      const result = await provider.callTool('h.do');
      expect([result.isError, textOf(result)]).toEqual([false, 'ran']);
      if (mode === 'mismatch') expect(result.structuredContent).toEqual({ n: 'seven' });
      expect(logged.join('\n')).toMatch(/"h\.do" ran, but its output does not match its schema/);
    },
  );

  it('wraps an array that its schema allows, as listed, and returns it as text too', async () => {
    const { provider, logged } = hostile('array', { validateOutput: 'strict' });
    await using _ = provider;
    const result = await provider.callTool('h.do');
    expect([result.isError, textOf(result)]).toEqual([false, '["a"]']);
    expect(result.structuredContent).toEqual({ result: ['a'] });
    expect(result._meta).toEqual({ 'toolwright/wrapped': true });
    expect(logged).toEqual([]);
  });

  it("returns OUTPUT_INVALID when validateOutput is 'strict', and does not warn when it is 'off'", async () => {
    await using strict = hostile('mismatch', { validateOutput: 'strict' }).provider;
    expect((await strict.callTool('h.do')).error?.code).toBe('OUTPUT_INVALID');
    const off = hostile('mismatch', { validateOutput: 'off' });
    await using _ = off.provider;
    expect((await off.provider.callTool('h.do')).isError).toBe(false);
    expect(off.logged).toEqual([]);
  });

  it('returns OUTCOME_UNKNOWN immediately when the server dies, and reconnects on the next call', async () => {
    await using _ = expectNoLeaks();
    await using provider = hostile('dies').provider;
    await provider.connect();
    const { error, durationMs } = await provider.callTool('h.do');
    expect(error?.code).toBe('OUTCOME_UNKNOWN');
    expect(error?.message).toMatch(/exited with code 9.*out of cheese/s);
    expect(error?.details).toMatchObject({ cause: 'PROCESS_EXITED', exitCode: 9, outcomeUnknown: true });
    expect(durationMs).toBeLessThan(5_000);
    expect(textOf(await provider.callTool('h.do', { what: 'lists' }))).toMatch(/^[12]$/); // of a fresh process
    expect(provider.health()).toMatchObject({ state: 'READY', restarts: 1 });
  });

  it('returns FRAME_TOO_LARGE for a message of a gigabyte, and the next call works', async () => {
    await using provider = hostile('large', { maxFrameBytes: 1024 * 1024 }).provider;
    expect(textOf(await provider.callTool('h.do', { bytes: 1_000_000 }))).toHaveLength(1_000_000);
    const { error } = await provider.callTool('h.do', { bytes: 500_000_000 });
    expect(error?.code).toBe('FRAME_TOO_LARGE');
    expect(error?.details?.outcomeUnknown).toBe(true);
    expect((await provider.callTool('h.do', { bytes: 1 })).isError).toBe(false);
  });

  it('returns PROTOCOL_VIOLATION for JSON that is nested too deeply, and keeps working', async () => {
    await using provider = hostile('deep').provider;
    const pid = textOf(await provider.callTool('h.do', { what: 'pid' }));
    expect((await provider.callTool('h.do')).error?.code).toBe('PROTOCOL_VIOLATION');
    expect(textOf(await provider.callTool('h.do', { what: 'pid' }))).toBe(pid);
  });

  it('does not change prototypes when a result has __proto__ keys', async () => {
    await using provider = hostile('proto').provider;
    const result = await provider.callTool('h.do');
    expect(textOf(result)).toBe('ok');
    for (const each of [{}, result, result.structuredContent, result._meta] as JsonObject[]) {
      expect(each.polluted).toBeUndefined();
      expect(Object.getPrototypeOf(each)).toBe(Object.prototype);
    }
  });

  it.each([
    ['no-result', 'PROTOCOL_VIOLATION'],
    ['bad-meta', undefined],
    ['text-id', undefined],
    ['twice', undefined],
  ])('settles once when the answer is odd: %s', async (mode, code) => {
    await using provider = hostile(mode).provider;
    for (let i = 0; i < 3; i++)
      expect((await provider.callTool('h.do', {}, { timeoutMs: 5_000 })).error?.code).toBe(code);
  });

  it('sends one cancellation to the server, and drops a later response', async () => {
    await using provider = hostile('late').provider;
    await provider.connect();
    const controller = new AbortController();
    const calling = provider.callTool('h.do', {}, { signal: controller.signal });
    setTimeout(() => controller.abort(), 50);
    expect((await calling).error).toMatchObject({ code: 'CANCELLED', details: { outcomeUnknown: true } });
    expect((await provider.callTool('h.do', {}, { timeoutMs: 20 })).error?.code).toBe('TIMED_OUT');
    expect(textOf(await provider.callTool('h.do'))).toBe('too late');
    const cancelled = JSON.parse(textOf(await provider.callTool('h.do', { what: 'cancels' }))) as number[];
    expect(cancelled).toHaveLength(2);
    expect(new Set(cancelled).size).toBe(2);
  });

  it('delivers progress and notifications before the response they came with', async () => {
    await using provider = hostile('last-progress').provider;
    await provider.connect();
    const order: unknown[] = [];
    provider.mcp.onNotification((method, params) => order.push([method, params.data]));
    await provider
      .callTool('h.do', {}, { onProgress: (progress) => order.push(progress) })
      .then(() => order.push('answer'));
    expect(order).toEqual([{ progress: 1, total: 1, message: 'done' }, ['notifications/message', 'said'], 'answer']);
  });

  it('sends meta as _meta, with a progress token', async () => {
    await using provider = hostile('plain').provider;
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
    const meta = JSON.parse(
      textOf(await provider.callTool('h.do', { what: 'meta' }, { meta: { traceparent } })),
    ) as JsonObject;
    expect(meta).toEqual({ traceparent, progressToken: expect.any(Number) });
  });

  it('passes the safe part of the environment to the child, and the env option', async () => {
    process.env.TOOLWRIGHT_CANARY = 'a-secret-of-the-host';
    await using provider = hostile('plain', { env: { ADDED: 'yes' } }).provider;
    const environment = textOf(await provider.callTool('h.do', { what: 'environment' }));
    delete process.env.TOOLWRIGHT_CANARY;
    expect(environment).toContain('"ADDED":"yes"');
    expect(environment).not.toContain('CANARY');
  });

  it.each([
    [-32601, 'INVALID_ARGUMENT'],
    [-32602, 'INVALID_ARGUMENT'],
    [-32603, 'EXECUTION_FAILED'],
    [-32000, 'EXECUTION_FAILED'],
    [-32001, 'EXECUTION_FAILED'],
  ])('answers for the JSON-RPC error %i on a tool that is listed with %s', async (code, expected) => {
    await using provider = hostile('rpc-error').provider;
    const { error } = await provider.callTool('h.do', { code });
    expect(error).toMatchObject({ code: expected, details: { rpcCode: code, data: { why: 1 } } });
    expect(error?.message).toContain('because');
  });

  it('accepts an error code only from the closed list', async () => {
    await using provider = hostile('coded').provider;
    const call = async (error: unknown) => provider.callTool('h.do', { error });
    const known = await call({ code: 'FILE_CHANGED', message: 'it changed', retryable: false, details: { a: 1 } });
    expect(known.error).toEqual({ code: 'FILE_CHANGED', message: 'it changed', retryable: false, details: { a: 1 } });
    expect(known._meta).toEqual({ 'x/kept': 1 });
    for (const odd of [{ code: 'ROOT', message: 'x' }, 'FILE_CHANGED', null, []]) {
      expect((await call(odd)).error).toEqual({ code: 'EXECUTION_FAILED', message: 'words', retryable: false });
    }
  });
});

describe('MCPToolProvider.disconnect()', () => {
  it('ends a process group that ignores SIGTERM and the end of stdin, behind a shell, within 5 s', async () => {
    await using _ = expectNoLeaks();
    const provider = new MCPToolProvider({
      name: 'h',
      command: 'sh',
      args: ['-c', '"$0" "$1" ignores-end; true', process.execPath, HOSTILE],
    });
    const pid = Number(textOf(await provider.callTool('h.do', { what: 'pid' })));
    const started = performance.now();
    await provider.disconnect();
    expect(performance.now() - started).toBeLessThan(5_000);
    expect(await isRunning(pid)).toBe(false);
  });

  it('resolves as soon as the server exits by itself', async () => {
    await using _ = expectNoLeaks();
    const { provider } = hostile('plain');
    await provider.connect();
    const started = performance.now();
    await provider.disconnect();
    expect(performance.now() - started).toBeLessThan(1_500);
  });
});

describe('MCPToolProvider on requests of a hostile server', () => {
  const ask = async (provider: MCPToolProvider, method: string, params: JsonObject = {}): Promise<JsonObject> =>
    JSON.parse(textOf(await provider.callTool('h.do', { method, params }))) as JsonObject;

  it('is declined when no capability was declared', async () => {
    await using provider = hostile('asks').provider;
    for (const method of ['roots/list', 'elicitation/create', 'sampling/createMessage', 'anything']) {
      expect(await ask(provider, method)).toMatchObject({ error: { code: -32601 } });
    }
    expect(provider.mcp.capabilities.offered).toEqual({});
    expect(await ask(provider, 'ping')).toEqual({});
  });

  it('for roots returns the project and the extra roots as file URIs', async () => {
    await using provider = hostile('asks', { projectDir: import.meta.dirname, extraRoots: ['/tmp/a b'] }).provider;
    expect(await ask(provider, 'roots/list')).toEqual({
      roots: [{ uri: `file://${import.meta.dirname}` }, { uri: 'file:///tmp/a%20b' }],
    });
    expect(provider.mcp.capabilities.offered).toEqual({ roots: {} });
  });

  it('goes to the configured handler, whose error is not disclosed to the server', async () => {
    await using provider = hostile('asks', {
      elicitation: async ({ message }) => ({ action: 'accept', content: { message } }),
      sampling: async () => {
        throw new Error('/home/me/secret is missing');
      },
    }).provider;
    expect(await ask(provider, 'elicitation/create', { message: 'Sure?' })).toEqual({
      action: 'accept',
      content: { message: 'Sure?' },
    });
    expect(await ask(provider, 'sampling/createMessage')).toEqual({
      error: { code: -32603, message: expect.not.stringContaining('secret') },
    });
  });

  it(`goes to the peer's handler when no other handler answers it`, async () => {
    await using provider = hostile('asks').provider;
    provider.mcp.setRequestHandler(async (method, params) => ({ method, params }));
    expect(await ask(provider, 'sampling/createMessage', { a: 1 })).toEqual({
      method: 'sampling/createMessage',
      params: { a: 1 },
    });
    expect(provider.mcp.capabilities.offered).toEqual({ elicitation: { form: {} }, sampling: {}, roots: {} });
  });
});

describe('MCPToolProvider.mcp.request()', () => {
  it(`connects first, and returns the server's response`, async () => {
    await using provider = hostile('plain').provider;
    expect(provider.mcp.capabilities).toEqual({});
    expect(await provider.mcp.request('resources/list')).toEqual({ resources: [{ uri: 'x:y', name: 'y' }] });
  });

  it('rejects with the code of a JSON-RPC error', async () => {
    await using provider = hostile('plain').provider;
    const error = await rejection(provider.mcp.request('resources/read', { uri: 'a:b' }));
    expect(error).toMatchObject({ code: 'NOT_FOUND', details: { rpcCode: -32002, data: { uri: 'a:b' } } });
  });

  it('rejects tools/call, which would bypass the policy', async () => {
    await using provider = hostile('plain').provider;
    for (const method of ['tools/call', 'tools/list', 'initialize', 'notifications/cancelled']) {
      expect((await rejection(provider.mcp.request(method))).code).toBe('INVALID_ARGUMENT');
    }
  });

  it('times out, and can be cancelled with its signal', async () => {
    await using provider = hostile('plain').provider;
    expect((await rejection(provider.mcp.request('never/answered', {}, { timeoutMs: 50 }))).code).toBe('TIMED_OUT');
    expect((await rejection(provider.mcp.request('x', {}, { signal: AbortSignal.abort() }))).code).toBe('CANCELLED');
  });
});
