// How MCPToolProvider finds out which revisions a server speaks, and what it remembers. Tasks, which need a server without an
// SDK, are here too.

import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { textOf, type JsonObject } from '@toolwright/core';
import { MCPToolProvider, type EraVerdict, type McpServerOptions } from '@toolwright/core/mcp';
import { createTestProject } from '@toolwright/core/testing';
import { describe, expect, it, vi } from 'vitest';

const SCRIPTED = fileURLToPath(new URL('fixtures/scripted.mjs', import.meta.url));

/** A provider of a scripted server; `lines` is what its processes appended to their file. */
async function scripted(mode: string, options: Partial<McpServerOptions> = {}) {
  const project = await createTestProject();
  const file = project.resolve('log');
  const create = (more: Partial<McpServerOptions> = {}): MCPToolProvider =>
    new MCPToolProvider({
      name: 's',
      command: process.execPath,
      args: [SCRIPTED, mode, file],
      ...options,
      ...more,
    });
  const lines = async (): Promise<string[]> => (await readFile(file, 'utf8')).trim().split('\n');
  return { create, lines, [Symbol.asyncDispose]: () => project[Symbol.asyncDispose]() };
}

/** A store that a test can look into. */
function storeOf(): { verdicts: Map<string, EraVerdict>; eraStore: NonNullable<McpServerOptions['eraStore']> } {
  const verdicts = new Map<string, EraVerdict>();
  const set = (key: string, verdict: EraVerdict | undefined): void => {
    if (verdict) verdicts.set(key, verdict);
    else verdicts.delete(key);
  };
  return { verdicts, eraStore: { get: (key) => verdicts.get(key), set } };
}

const isAlive = (pid: string): boolean => {
  try {
    return process.kill(Number(pid), 0);
  } catch {
    return false;
  }
};

describe('MCPToolProvider.connect()', () => {
  it('starts a server that exits on the question again with initialize, and remembers it', async () => {
    await using server = await scripted('dies');
    const { verdicts, eraStore } = storeOf();
    await using provider = server.create({ eraStore });
    expect(textOf(await provider.callTool('s.do'))).toBe('dies');
    expect(provider.health()).toMatchObject({ state: 'READY', restarts: 0 });
    const [first = '', second] = await server.lines();
    expect(isAlive(first)).toBe(false);
    expect(second).toBeDefined();
    expect([...verdicts.values()]).toEqual([{ era: 'legacy', at: expect.any(Number) }]);
    await using other = server.create({ eraStore });
    await other.connect();
    expect(await server.lines()).toHaveLength(3); // not asked again
  });

  it('sends initialize to a server that does not answer the question within a second', async () => {
    await using server = await scripted('silent');
    const { eraStore } = storeOf();
    await using provider = server.create({ eraStore });
    const started = performance.now();
    await provider.connect();
    expect(performance.now() - started).toBeGreaterThan(900);
    expect(textOf(await provider.callTool('s.do'))).toBe('silent');
    expect(await server.lines()).toHaveLength(1);
    await using other = server.create({ eraStore });
    await other.connect();
  });

  it('opens a modern session with a server that answers the question late', async () => {
    await using server = await scripted('modern-slow');
    const { verdicts, eraStore } = storeOf();
    await using provider = server.create({ eraStore });
    expect(textOf(await provider.callTool('s.do'))).toBe('modern-slow');
    expect([...verdicts.values()]).toMatchObject([{ era: 'modern' }]);
    const pids = await server.lines();
    expect(pids.filter(isAlive)).toHaveLength(1);
  });

  it.each([
    ['never settles', () => new Promise<never>(() => undefined)],
    [
      'throws',
      () => {
        throw new Error('the store is broken');
      },
    ],
    ['rejects', () => Promise.reject(new Error('the store is broken'))],
  ])('asks the server when the store %s', async (_, method) => {
    await using server = await scripted('modern');
    await using provider = server.create({ eraStore: { get: method, set: method } });
    expect(textOf(await provider.callTool('s.do'))).toBe('modern');
  });

  it('asks again when the verdict is old, wrong, or of another configuration', async () => {
    await using server = await scripted('modern');
    const { verdicts, eraStore } = storeOf();
    await using first = server.create({ eraStore });
    await first.connect();
    const [key = ''] = verdicts.keys();
    for (const verdict of [
      { era: 'legacy' as const, at: Date.now() - 25 * 60 * 60_000 },
      { era: 'legacy' as const, at: Date.now() + 60_000 },
      { era: 'legacy' as const, at: Date.now() },
      { era: 'other', at: Date.now() } as never,
    ]) {
      verdicts.set(key, verdict);
      await using provider = server.create({ eraStore });
      expect(textOf(await provider.callTool('s.do'))).toBe('modern');
      expect(verdicts.get(key)).toMatchObject({ era: 'modern' });
    }
    await using other = server.create({ eraStore, env: { TOKEN: 'another' } } as never);
    await other.connect();
    expect(verdicts.size).toBe(2);
    const failing = { get: () => Promise.reject(new Error('no')), set: () => Promise.reject(new Error('no')) };
    await using third = server.create({ eraStore: failing });
    await third.connect();
  });

  it('starts a server again that takes long to start and exits on the question', async () => {
    await using server = await scripted('slow-dies');
    const { verdicts, eraStore } = storeOf();
    await using provider = server.create({ eraStore });
    expect(textOf(await provider.callTool('s.do'))).toBe('slow-dies');
    expect(await server.lines()).toHaveLength(2);
    expect([...verdicts.values()]).toMatchObject([{ era: 'legacy' }]);
  });

  it('gives each start of a server that answers late the whole connectTimeoutMs', async () => {
    await using server = await scripted('modern-late');
    const { verdicts, eraStore } = storeOf();
    await using provider = server.create({ eraStore, connectTimeoutMs: 4_900 });
    await provider.connect();
    expect(await server.lines()).toHaveLength(2);
    expect([...verdicts.values()]).toMatchObject([{ era: 'modern' }]);
  });

  it.each(['modern-unknown', 'modern-exits'])(
    'asks a server again when a verdict no longer holds: %s',
    async (mode) => {
      await using server = await scripted(mode);
      const { verdicts, eraStore } = storeOf();
      await using first = server.create({ eraStore });
      await first.connect();
      const [key = ''] = verdicts.keys();
      verdicts.set(key, { era: 'legacy', at: Date.now() });
      await using provider = server.create({ eraStore });
      expect(textOf(await provider.callTool('s.do'))).toBe(mode);
      expect(verdicts.get(key)).toMatchObject({ era: 'modern' });
      expect(await server.lines()).toHaveLength(3);
    },
  );

  it.each([
    ['modern-silent', 'legacy', 'modern'],
    ['silent', 'modern', 'legacy'],
  ] as const)('forgets a verdict after a timeout: %s was %s', async (mode, before, after) => {
    await using server = await scripted(mode);
    const { verdicts, eraStore } = storeOf();
    await using first = server.create({ eraStore });
    await first.connect();
    const [key = ''] = verdicts.keys();
    verdicts.set(key, { era: before, at: Date.now() });
    await using second = server.create({ eraStore, connectTimeoutMs: 500 });
    await expect(second.connect()).rejects.toMatchObject({ code: 'TIMED_OUT' });
    expect(verdicts.size).toBe(0);
    await using third = server.create({ eraStore });
    await third.connect();
    expect(verdicts.get(key)).toMatchObject({ era: after });
  });

  it('fails with what to set when the server does not speak the protocol that is required', async () => {
    await using old = await scripted('old');
    await expect(old.create({ protocol: 'modern' }).connect()).rejects.toMatchObject({
      code: 'PROTOCOL_VIOLATION',
      message: expect.stringMatching(/2026-07-28.*protocol/),
    });
    await using modern = await scripted('modern');
    await expect(modern.create({ protocol: 'legacy' }).connect()).rejects.toMatchObject({ code: 'PROTOCOL_VIOLATION' });
    await expect(modern.create({ engine: 'v1' }).connect()).rejects.toMatchObject({ code: 'PROTOCOL_VIOLATION' });
    for (const wrong of [{ protocol: 'new' }, { engine: 'v3' }, { engine: 'v1', protocol: 'modern' }, { eraStore: {} }])
      expect(() => old.create(wrong as never)).toThrow(/must be|does not speak/);
  });

  it.each(['v1', 'v2'] as const)('speaks to legacy servers with engine %s', async (engine) => {
    await using server = await scripted('old');
    await using provider = server.create({ engine });
    expect(textOf(await provider.callTool('s.do'))).toBe('old');
  });
});

describe('MCPToolProvider.callTool() with a server that answers with a task', () => {
  it('polls until the task is completed, and reports its changes as progress', async () => {
    await using server = await scripted('tasks');
    await using provider = server.create();
    const messages: unknown[] = [];
    const result = await provider.callTool(
      's.do',
      { polls: 4 },
      { onProgress: ({ message }) => messages.push(message) },
    );
    expect(textOf(result)).toBe('task done');
    expect(messages).toEqual([undefined, 'step 1', 'step 2', 'step 3']);
  });

  it('sends the task the input that it requires, once', async () => {
    await using server = await scripted('tasks');
    const elicitation = vi.fn((): Promise<JsonObject> => Promise.resolve({ action: 'accept', content: { who: 'me' } }));
    await using provider = server.create({ elicitation });
    expect(textOf(await provider.callTool('s.do', { ask: true }))).toContain('"who":"me"');
    expect(elicitation).toHaveBeenCalledOnce();
  });

  it('fails as the task does', async () => {
    await using server = await scripted('tasks');
    await using provider = server.create();
    const { error } = await provider.callTool('s.do', { fail: true });
    expect(error).toMatchObject({ code: 'EXECUTION_FAILED', message: expect.stringContaining('it broke') });
  });

  it('cancels the task with the call', async () => {
    await using server = await scripted('tasks');
    await using provider = server.create();
    await provider.connect();
    const { error } = await provider.callTool('s.do', { polls: 1e9 }, { timeoutMs: 200 });
    expect(error?.code).toBe('TIMED_OUT');
    await vi.waitUntil(async () => (await server.lines()).includes('cancelled'));
  });

  it('returns OUTCOME_UNKNOWN when the server exits and no longer knows the task', async () => {
    await using server = await scripted('tasks');
    await using provider = server.create({ logger: { debug() {}, info() {}, warn() {}, error() {} } });
    const { error } = await provider.callTool('s.do', { exit: true });
    expect(error).toMatchObject({ code: 'OUTCOME_UNKNOWN', retryable: false });
    expect(error?.message).toContain('no such task');
  });

  it.each([
    ['another task', { taskId: 't2', result: { content: [] } }],
    ['a task as the result of the task', { result: { resultType: 'task', taskId: 't3', status: 'working' } }],
    ['no result', {}],
    ['an unknown status', { status: 'dreaming' }],
  ])('returns PROTOCOL_VIOLATION when it reports %s', async (_, report) => {
    await using server = await scripted('tasks');
    await using provider = server.create();
    const { error } = await provider.callTool('s.do', { report });
    expect(error).toMatchObject({ code: 'PROTOCOL_VIOLATION', retryable: false });
  });
});

describe('MCPToolProvider.callTool() with a server of MCP 2026-07-28', () => {
  it.each([
    ['is unknown', { resultType: 'other', content: [] }],
    ['is not text', { resultType: 7, content: [] }],
  ])('returns PROTOCOL_VIOLATION when the resultType %s', async (_, raw) => {
    await using server = await scripted('modern');
    await using provider = server.create();
    const { error } = await provider.callTool('s.do', { raw });
    expect(error).toMatchObject({ code: 'PROTOCOL_VIOLATION', details: { outcomeUnknown: true } });
    expect(textOf(await provider.callTool('s.do', { raw: { content: [{ type: 'text', text: 'no type' }] } }))).toBe(
      'no type',
    );
  });
});
