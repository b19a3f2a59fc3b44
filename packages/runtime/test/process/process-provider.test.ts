// A provider in a process of its own: what it is given, how it starts, and what becomes of calls when it ends.

import { readFile, unlink } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base';
import { textOf, ToolHub, withTracing, type ToolError, type LogEntry, type Logger } from '@toolwright/core';
import { createTestProject, expectNoLeaks } from '@toolwright/core/testing';
import { ProcessToolProvider, ProviderListener, supervise, type ProcessToolProviderOptions } from '@toolwright/runtime';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bundleFixtures, type BundledFixtures } from '../bundle.js';
import { sharedListener } from '../../src/wire/listener.js';

let fixtures: BundledFixtures;
beforeAll(async () => {
  fixtures = await bundleFixtures();
}, 60_000);
afterAll(() => fixtures[Symbol.asyncDispose]());

const RAW = fileURLToPath(new URL('../fixtures/raw-provider.mjs', import.meta.url));
const lab = (options: Partial<ProcessToolProviderOptions> = {}): ProcessToolProvider =>
  new ProcessToolProvider({ name: 'lab', path: fixtures.file('lab-provider'), ...options });
const raw = (mode: string, options: Partial<ProcessToolProviderOptions> = {}): ProcessToolProvider =>
  new ProcessToolProvider({ name: 'raw', path: RAW, args: [mode], ...options });

function recorder(): Logger & { lines: [keyof Logger, string, object?][] } {
  const lines: [keyof Logger, string, object?][] = [];
  const write =
    (level: keyof Logger) =>
    (...said: [string, object?]): void =>
      void lines.push([level, ...said]);
  return { lines, debug: write('debug'), info: write('info'), warn: write('warn'), error: write('error') };
}

function circle(): object {
  const itself: Record<string, unknown> = {};
  itself.itself = itself;
  return itself;
}

async function failure(promise: Promise<unknown>): Promise<ToolError> {
  return promise.then(
    () => expect.unreachable('it did not fail'),
    (error: unknown) => error as ToolError,
  );
}

describe('ProcessToolProvider', () => {
  it('runs a provider file, and leaves nothing when it is disconnected', async () => {
    await using _ = expectNoLeaks();
    await using provider = lab();
    expect([provider.kind, provider.servers, provider.callTimeoutMs]).toEqual(['process', ['lab'], 30_000]);
    const result = await provider.callTool('lab.echo', { text: 'grüße 🙂' });
    expect(result.structuredContent).toEqual({ text: 'grüße 🙂' });
    const [echo] = await provider.listTools();
    expect(echo).toMatchObject({ name: 'lab.echo', annotations: { readOnlyHint: true, destructiveHint: true } });
    expect(provider.health().state).toBe('READY');
  });

  it('receives the trace context of its call, which has one span with the outcome', async () => {
    const exporter = new InMemorySpanExporter();
    const tracer = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }).getTracer('test');
    await using hub = new ToolHub({ providers: [supervise(() => lab())], middleware: [withTracing({ tracer })] });
    const { structuredContent } = await hub.callTool('lab.about');
    await hub.callTool('lab.die');
    const spans = exporter.getFinishedSpans();
    expect(spans.map(({ attributes }) => attributes['toolwright.outcome'])).toEqual(['ok', 'OUTCOME_UNKNOWN']);
    const { traceId, spanId } = spans[0]!.spanContext();
    expect(structuredContent).toMatchObject({ meta: { traceparent: `00-${traceId}-${spanId}-01` } });
  });

  it('hands over config and variables, and ctx.state is what initialize returned', async () => {
    await using provider = lab({ config: { mode: 'x', deep: { a: [1] } }, variables: { apiKey: 'k' } });
    await provider.callTool('lab.state');
    const { structuredContent } = await provider.callTool('lab.state');
    expect(structuredContent).toEqual({
      count: 2,
      reason: 'start',
      settings: { config: { mode: 'x', deep: { a: [1] } }, variables: { apiKey: 'k' } },
      ended: [],
    });
  });

  it('starts the process with the safe environment, its arguments, its directory and a token that no other process has', async () => {
    process.env.LAB_SECRET = 'canary-of-the-host';
    const logger = recorder();
    await using provider = lab({ env: { MINE: 'yes' }, args: ['one', 'two words'], projectDir: '/', logger });
    const about = await provider.callTool('lab.about', {}, { sessionId: 's1', callId: 'c1', meta: { trace: 'm' } });
    delete process.env.LAB_SECRET;
    const { env, argv, cwd, callId, sessionId, meta, all } = about.structuredContent as Record<string, string[]>;
    expect(env).toContain('MINE');
    // The mark by which the watchdog finds what a killed host left is no secret; the rest is for the provider alone.
    expect(env!.filter((name) => name.startsWith('TOOLWRIGHT_'))).toEqual(['TOOLWRIGHT_HOST_MARK']);
    expect(all).not.toContain('canary-of-the-host');
    expect(all).not.toMatch(/[0-9a-f]{64}/);
    expect({ argv, cwd, callId, sessionId, meta }).toEqual({
      argv: ['one', 'two words'],
      cwd: '/',
      callId: 'c1',
      sessionId: 's1',
      meta: { trace: 'm' },
    });
    expect(JSON.stringify(logger.lines)).not.toMatch(/[0-9a-f]{64}/);
  });

  it('ignores call and session ids in meta of a caller', async () => {
    await using provider = lab();
    const meta = { trace: 'm', 'toolwright/call': { callId: 'other', sessionId: 'other' } };
    const about = await provider.callTool('lab.about', {}, { sessionId: 's1', callId: 'c1', meta });
    expect(about.structuredContent).toMatchObject({ callId: 'c1', sessionId: 's1', meta: { trace: 'm' } });
  });

  it('passes what the provider logs to the logger, and what a call logs to its onLog too', async () => {
    const logger = recorder();
    await using provider = lab({ logger });
    const received: LogEntry[] = [];
    await provider.callTool('lab.log', { message: 'careful' }, { onLog: (entry) => received.push(entry) });
    await provider.callTool('lab.log', { message: 'unheard' });
    expect(received).toEqual([{ level: 'warn', message: 'careful', fields: { extra: 1 } }]);
    expect(logger.lines).toEqual([
      ['info', 'initializing', { reason: 'start' }],
      ['warn', 'careful', { extra: 1 }],
      ['warn', 'unheard', { extra: 1 }],
    ]);
  });

  it('fails with OUTCOME_UNKNOWN soon after the process has ended, with the end of its output, and starts it again', async () => {
    await using _ = expectNoLeaks();
    await using provider = lab();
    await provider.connect();
    const first = provider.pid;
    const waiting = provider.callTool('lab.wait', { ms: 60_000 });
    const { error } = await provider.callTool('lab.die', {});
    expect(error).toMatchObject({
      code: 'OUTCOME_UNKNOWN',
      details: { cause: 'PROCESS_EXITED', signal: 'SIGKILL', outcomeUnknown: true, stderr: 'these are the last words' },
    });
    expect((await waiting).error?.code).toBe('OUTCOME_UNKNOWN');
    expect((await provider.callTool('lab.echo', { text: 'again' })).isError).toBe(false);
    expect(provider.pid).not.toBe(first);
    expect(provider.health().restarts).toBe(1);
  });

  it('starts one process for fifty calls at once', async () => {
    await using provider = lab();
    const results = await Promise.all(Array.from({ length: 50 }, () => provider.callTool('lab.state')));
    expect(
      results.map(({ structuredContent }) => structuredContent?.count).toSorted((a, b) => Number(a) - Number(b)),
    ).toEqual(Array.from({ length: 50 }, (_, index) => index + 1));
    expect(provider.health().restarts).toBe(0);
  });

  it('answers a fast call while slow ones run', async () => {
    await using provider = lab();
    await provider.connect();
    const slow = Array.from({ length: 100 }, () => provider.callTool('lab.wait', { ms: 60_000 }));
    expect((await provider.callTool('lab.echo', { text: 'fast' }, { timeoutMs: 10_000 })).isError).toBe(false);
    await provider.disconnect();
    for (const { error } of await Promise.all(slow)) expect(error?.code).toBe('CONNECTION_CLOSED');
  });

  it('disposes of the state once, and waits for that, when it is disconnected', async () => {
    await using project = await createTestProject({});
    const disposed = join(project.projectDir, 'disposed');
    await using provider = lab({ config: { disposed } });
    await provider.callTool('lab.state');
    await Promise.all([provider.disconnect(), provider.disconnect()]);
    expect(await readFile(disposed, 'utf8')).toBe('1 (1)\n');
  });

  it('notifies the process of an ended session, through a supervisor and a hub, and starts none for it', async () => {
    const warnings: string[] = [];
    const logger = { debug() {}, info() {}, warn: (message: string) => void warnings.push(message), error() {} };
    const provider = lab({ logger });
    const supervised = supervise(() => provider);
    await using hub = new ToolHub({ providers: [supervised] });
    await hub.endSession('before it was started');
    expect(provider.pid).toBeUndefined();
    await hub.callTool('lab.state', {}, { sessionId: 'one' });
    await hub.endSession('one');
    await hub.endSession('bad');
    expect((await hub.callTool('lab.state')).structuredContent).toMatchObject({ ended: ['one'] });
    expect(warnings).toEqual([expect.stringContaining('told to fail')]);
  });

  it('takes the deadline of a tool before its own, also in a hub', async () => {
    const provider = lab({ callTimeoutMs: 200 });
    await using hub = new ToolHub({ providers: [provider] });
    await hub.callTool('lab.wait', { ms: 0 }, { timeoutMs: 20_000 }); // compiles the schema
    for (const each of [provider, hub]) {
      const result = await each.callTool('lab.wait', { ms: 400 });
      expect(result.error?.message).toBeUndefined();
    }
    expect((await provider.callTool('lab.wait', { ms: 60_000 }, { timeoutMs: 20 })).error?.code).toBe('TIMED_OUT');
  });

  it('has the deadline of a hub around it, also under supervision, and none of its own for timeoutMs: Infinity', async () => {
    const path = fixtures.file('troubled-provider');
    const make = (): ProcessToolProvider => new ProcessToolProvider({ name: 'troubled', path, callTimeoutMs: 300_000 });
    for (const provider of [make(), supervise(make)]) {
      await using hub = new ToolHub({ providers: [provider], limits: { callTimeoutMs: 300 } });
      await hub.callTool('troubled.wait', { ms: 0 }, { timeoutMs: 20_000 });
      const { error } = await hub.callTool('troubled.wait', { ms: 60_000 });
      expect(error).toMatchObject({ code: 'TIMED_OUT', message: expect.stringContaining('300 ms') });
      expect(error?.details?.defaultDeadline).toBeUndefined();
    }
    const hasty = (): ProcessToolProvider => new ProcessToolProvider({ name: 'troubled', path, callTimeoutMs: 100 });
    for (const provider of [hasty(), supervise(hasty, { callTimeoutMs: 100 })]) {
      await using _ = provider;
      await provider.connect();
      const { error } = await provider.callTool('troubled.wait', { ms: 400 }, { timeoutMs: Infinity });
      expect(error).toBeUndefined();
    }
  });

  it.each([[{ big: 1n }], [circle()], [[1]], [7], [null]])('refuses arguments that are not JSON: %#', async (args) => {
    await using provider = lab();
    expect((await provider.callTool('lab.echo', args as never)).error?.code).toBe('INVALID_ARGUMENT');
  });

  it('refuses a result that is too large for the wire, and continues', async () => {
    await using provider = lab();
    const { error } = await provider.callTool('lab.big', { bytes: 100 * 1024 * 1024 });
    expect(error?.code).toBe('FRAME_TOO_LARGE');
    const large = await provider.callTool('lab.big', { bytes: 8 * 1024 * 1024 });
    expect(textOf(large).length).toBe(8 * 1024 * 1024);
    const sent = await provider.callTool('lab.echo', { text: 'x'.repeat(20 * 1024 * 1024) });
    expect(sent.error?.code).toBe('FRAME_TOO_LARGE');
    expect((await provider.callTool('lab.echo', { text: 'on' })).isError).toBe(false);
  });

  it.each(['stdout', 'stderr'])('is not disturbed by a flood on %s', async (stream) => {
    await using provider = lab();
    await provider.connect();
    const before = process.memoryUsage().rss;
    const flood = await provider.callTool('lab.flood', { stream, mebibytes: 64 });
    expect(flood.structuredContent).toEqual({ written: 64 });
    expect(process.memoryUsage().rss - before).toBeLessThan(100 * 1024 * 1024);
  });

  it('survives a process that throws outside of a call', async () => {
    await using provider = lab();
    expect((await provider.callTool('lab.crash_later')).isError).toBe(false);
    await expect.poll(() => provider.health().state, { timeout: 10_000 }).toBe('DEAD');
    expect(provider.health().lastError).toMatch(/exited with code 1[\s\S]*nobody catches this/);
    expect((await provider.callTool('lab.echo', { text: 'again' })).isError).toBe(false);
  });
});

describe('ProcessToolProvider.connect()', () => {
  it('rejects for a file that is not there, for good', async () => {
    await using _ = expectNoLeaks();
    const provider = new ProcessToolProvider({ name: 'lab', path: '/nowhere/calculator.ts' });
    const error = await failure(provider.connect());
    expect([error.code, error.message, error.details?.permanent]).toEqual([
      'SPAWN_FAILED',
      'Provider file not found: /nowhere/calculator.ts',
      true,
    ]);
    expect((await provider.callTool('lab.echo')).error?.code).toBe('SPAWN_FAILED');
  });

  it('rejects for a program that is not there, for good', async () => {
    await using _ = expectNoLeaks();
    const provider = new ProcessToolProvider({ name: 'lab', command: 'toolwright-no-such-program' });
    const error = await failure(provider.connect());
    expect([error.code, error.details?.permanent]).toEqual(['SPAWN_FAILED', true]);
    expect(error.message).toMatch(/not found on the PATH/);
  });

  it('explains a command that contains its arguments', async () => {
    const provider = new ProcessToolProvider({ name: 'lab', command: 'toolwright-no-such-program serve' });
    expect((await failure(provider.connect())).message).toContain('its arguments in args');
  });

  it.each([
    [
      'crash',
      'PROCESS_EXITED',
      /exited with code 3 before it registered\. A module .* not installed[\s\S]*left-pad/,
      undefined,
    ],
    ['exit-0', 'PROCESS_EXITED', /exited with code 0 before it registered.*startProvider/, undefined],
    ['wrong-token', 'PROCESS_EXITED', /exited with code 78/, true],
    ['wrong-name', 'PROTOCOL_VIOLATION', /"raw" registered as "other"/, true],
    ['protocol', 'PROTOCOL_VIOLATION', /version 99 .* version 1/, true],
    ['wrong-tools', 'PROTOCOL_VIOLATION', /a tool's name must be/, true],
  ])('reports why a process did not come up: %s', async (mode, code, words, permanent) => {
    await using _ = expectNoLeaks();
    await using provider = raw(mode);
    const error = await failure(provider.connect());
    expect([error.code, error.details?.permanent]).toEqual([code, permanent]);
    expect(error.message).toMatch(words);
    expect(JSON.stringify(error.toInfo())).not.toMatch(/[0-9a-f]{64}/);
  });

  it('ends a process that never registers', async () => {
    await using _ = expectNoLeaks();
    await using provider = raw('never', { startTimeoutMs: 300 });
    const error = await failure(provider.connect());
    expect([error.code, error.message]).toEqual(['TIMED_OUT', expect.stringMatching(/did not register within 300 ms/)]);
  });

  it('rejects with what initialize threw, and can be tried again', async () => {
    await using provider = lab({ config: { fail: true } });
    const error = await failure(provider.connect());
    expect(error.message).toMatch(/could not be initialized: told to fail/);
    expect(provider.health().state).toBe('DEAD');
  });

  it('ends a start that is disconnected in the middle', async () => {
    await using _ = expectNoLeaks();
    const provider = raw('never');
    const connecting = failure(provider.connect());
    await provider.disconnect();
    expect((await connecting).code).toBe('NOT_CONNECTED');
  });
});

describe('new ProcessToolProvider()', () => {
  it.each([
    [{ name: 'a.b', path: '/x' }, /name must be/],
    [{ name: 'a' }, /path or command/],
    [{ name: 'a', path: '/x', command: 'y' }, /path or command/],
    [{ name: 'a', path: '' }, /path must be a non-empty string/],
    [{ name: 'a', path: '/x', cwd: 'relative' }, /cwd must be an absolute path/],
    [{ name: 'a', path: '/x', env: { A: 1 } }, /env must be an object of strings/],
    [{ name: 'a', path: '/x', variables: ['a'] as unknown, config: 3 }, /config must be an object/],
    [{ name: 'a', path: '/x', callTimeoutMs: -1 }, /callTimeoutMs/],
    [{ name: 'a', path: '/x', runtime: 7 }, /runtime must be/],
    [{ name: 'a', command: 'x', runtime: 'node' }, /runtime applies to path only/],
    [{ name: 'a', path: '/x', args: 'x' }, /args must be strings/],
    [{ name: 'a', path: '/x', timeout: 1 }, /unknown option `timeout`/],
  ])('refuses %j', (options, words) => {
    expect(() => new ProcessToolProvider(options as never)).toThrow(words);
  });
});

describe('ProviderGeneration', () => {
  it('exports the state that JSON carries, and a second one beside it takes over', async () => {
    await using _ = expectNoLeaks();
    await using provider = lab();
    await provider.callTool('lab.state');
    const old = provider.generation!;
    const next = await provider.startGeneration();
    await next.ping(5_000);
    const release = provider.holdCalls();
    const held = provider.callTool('lab.state');
    expect(await old.drain(5_000)).toBe(true);
    const { state, dropped } = await old.exportState();
    expect(state).toMatchObject({ count: 1 });
    expect(dropped).toEqual(['map']);
    await next.initialize(provider.settings, state, 'reload');
    expect(provider.adopt(next)).toBe(old);
    release();
    expect((await held).structuredContent).toMatchObject({ count: 2, reason: 'reload' });
    await provider.retire(old, { drainMs: 1_000 });
    expect(old.isAlive).toBe(false);
    expect((await provider.callTool('lab.state')).structuredContent).toMatchObject({ count: 3 });
  });

  it('drains no further than its deadline', async () => {
    await using provider = lab();
    await provider.connect();
    const waiting = provider.callTool('lab.wait', { ms: 60_000 });
    expect(await provider.generation!.drain(50)).toBe(false);
    await provider.disconnect();
    expect((await waiting).error?.code).toBe('CONNECTION_CLOSED');
  });

  it('asks what a changed config needs, and initializes in place with the state as it is', async () => {
    await using provider = lab({ config: { mode: 'a', port: 1 } });
    await provider.callTool('lab.state');
    const generation = provider.generation!;
    const settings = (config: Record<string, unknown>) => ({ config, variables: {} });
    const before = settings({ mode: 'a', port: 1 });
    expect(await generation.decide(before, settings({ mode: 'a', port: 2 }))).toEqual({
      restart: true,
      reinitialize: false,
    });
    expect(await generation.decide(before, settings({ mode: 'b', port: 1 }))).toEqual({
      restart: false,
      reinitialize: true,
    });
    expect(await generation.decide(before, before)).toEqual({ restart: false, reinitialize: false });
    await generation.initialize(settings({ mode: 'b' }), null, 'config');
    expect((await provider.callTool('lab.state')).structuredContent).toMatchObject({ count: 2, reason: 'config' });
    await expect(generation.initialize(settings({ fail: true }), null, 'config')).rejects.toThrow('told to fail');
    expect((await provider.callTool('lab.state')).structuredContent).toMatchObject({ count: 3 });
  });
});

describe('ProviderListener under others', () => {
  it('admits a process as soon as one of the taken places is free', async () => {
    await using _ = expectNoLeaks();
    const listener = new ProviderListener({ maxUnregistered: 1, handshakeTimeoutMs: 60_000 });
    await using provider = lab({ listener });
    const place = await listener.expect('other', { config: {}, variables: {}, previousState: null });
    const squatter = connect(place.socketPath);
    await expect.poll(() => listener.unregistered).toBe(1);
    const call = provider.callTool('lab.echo', { text: 'in' });
    setTimeout(() => squatter.destroy(), 500); // while the process asks again and again
    expect((await call).isError).toBe(false);
    await place.release();
  });

  it('serves a provider whose connections were made when the file of the socket is gone', async () => {
    await using provider = lab();
    await provider.connect();
    await using second = new ProcessToolProvider({ name: 'lab', path: fixtures.file('lab-provider') });
    const place = await sharedListener().expect('other', { config: {}, variables: {}, previousState: null });
    await unlink(place.socketPath);
    expect((await second.callTool('lab.echo', { text: 'new' })).isError).toBe(false);
    expect((await provider.callTool('lab.echo', { text: 'old' })).isError).toBe(false);
    await place.release();
  });
});
