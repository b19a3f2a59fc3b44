import { mkdtempSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  defineServer,
  defineTool,
  InProcessToolProvider,
  textOf,
  ToolHub,
  type ToolContext,
  type ToolProvider,
} from '@toolwright/core';
import { spawnChild } from '@toolwright/core/process';
import { expectNoLeaks } from '@toolwright/core/testing';
import { describe, expect, it, vi } from 'vitest';
import { z } from 'zod';

const tool = (name: string, execute: (args: never, ctx: ToolContext) => unknown) =>
  defineTool({ name, description: `The tool ${name}.`, execute: execute as never });
const serve = (...tools: ReturnType<typeof tool>[]) =>
  new InProcessToolProvider({ name: 'p', servers: [defineServer({ name: 's', version: '1', tools })] });

describe('callTool() never rejects', () => {
  const echo = defineTool({
    name: 'echo',
    description: 'Echoes.',
    input: z.object({ text: z.string() }),
    execute: ({ text }) => ({ text }),
  });
  const both: [string, () => ToolProvider][] = [
    [
      'in process',
      () => new InProcessToolProvider({ servers: [defineServer({ name: 's', version: '1', tools: [echo] })] }),
    ],
    [
      'through a hub',
      () =>
        new ToolHub({
          providers: [
            new InProcessToolProvider({ servers: [defineServer({ name: 's', version: '1', tools: [echo] })] }),
          ],
        }),
    ],
  ];
  const hostileNames = [
    undefined,
    null,
    7,
    '',
    '.',
    '..',
    's.',
    '.echo',
    's.echo.x',
    '__proto__',
    'constructor',
    's.__proto__',
    'x'.repeat(1_000_000),
    Symbol('s'),
    {},
    [],
  ];
  const hostileArgs = [
    null,
    7,
    'text',
    [],
    [1],
    true,
    () => 1,
    Symbol('s'),
    { text: undefined },
    { text: {} },
    { text: 'a', more: 1 },
    JSON.parse('{"__proto__":{"text":"a"}}'),
    new Date(),
    new Map(),
  ];
  const throwing = {
    get text(): string {
      throw new Error('of the getter');
    },
  };
  const revoked = Proxy.revocable({}, {});
  revoked.revoke();

  it.each(both)('%s, whatever the name is', async (_where, make) => {
    await using provider = make();
    for (const name of hostileNames) {
      const result = await provider.callTool(name as string, { text: 'x' });
      expect(result.error?.code).toBe('TOOL_NOT_FOUND');
      expect(textOf(result).length).toBeLessThan(2_000);
    }
  });

  it.each(both)('%s, whatever the arguments are', async (_where, make) => {
    await using provider = make();
    for (const args of [...hostileArgs, throwing, revoked.proxy]) {
      const result = await provider.callTool('s.echo', args as never);
      expect(result.isError).toBe(true);
    }
  });

  it.each(both)('%s, with cyclic or too deep arguments, which are INVALID_ARGUMENT', async (_where, make) => {
    await using provider = make();
    const circle: Record<string, unknown> = { text: 'x' };
    circle.text = circle;
    let deep: unknown = 'x';
    for (let level = 0; level < 100_000; level++) deep = [deep];
    for (const args of [circle, { text: deep }]) {
      expect((await provider.callTool('s.echo', args)).error?.code).toBe('INVALID_ARGUMENT');
    }
  });

  it.each(both)('%s, whatever the options are', async (_where, make) => {
    await using provider = make();
    for (const timeoutMs of [NaN, -1, '5', null, {}]) {
      expect((await provider.callTool('s.echo', { text: 'x' }, { timeoutMs: timeoutMs as number })).error?.code).toBe(
        'INVALID_ARGUMENT',
      );
    }
    for (const signal of [{}, 5, 'x']) {
      expect((await provider.callTool('s.echo', { text: 'x' }, { signal: signal as AbortSignal })).error?.code).toBe(
        'INVALID_ARGUMENT',
      );
    }
    const throwing = Object.defineProperty({}, 'signal', { get: () => { throw new Error('of the getter'); } }); // prettier-ignore
    expect((await provider.callTool('s.echo', { text: 'x' }, throwing)).isError).toBe(true);
    for (const options of [null, 5, { signal: null }, { onProgress: 5 }]) {
      expect((await provider.callTool('s.echo', { text: 'x' }, options as never)).isError).toBe(false);
    }
    expect((await provider.callTool('s.echo', { text: 'x' }, { timeoutMs: 0 })).error?.code).toBe('TIMED_OUT');
    expect(
      (await provider.callTool('s.echo', { text: 'x' }, { signal: AbortSignal.abort(new Error('why')) })).error?.code,
    ).toBe('CANCELLED');
    expect(
      (await provider.callTool('s.echo', { text: 'x' }, { signal: AbortSignal.abort(undefined) })).error?.code,
    ).toBe('CANCELLED');
  });

  it.each([
    ['an Error', new Error('boom'), 'boom'],
    ['a string', 'boom', 'boom'],
    ['a number', 7, '7'],
    ['undefined', undefined, 'undefined'],
    ['null', null, 'null'],
    ['an object without a prototype', Object.create(null), 'cannot be shown'],
    ['an Error whose message throws', Object.defineProperty(new Error(), 'message', { get: () => { throw new Error('no'); } }), 'cannot be shown'], // prettier-ignore
    ['an AbortError of its own', new DOMException('inner', 'AbortError'), 'inner'],
    ['a system error', Object.assign(new Error('gone'), { code: 'ENOENT' }), 'gone'],
  ])('when the tool throws %s, at once or later', async (_what, thrown, words) => {
    await using provider = serve(
      tool('now', () => { throw thrown; }), // prettier-ignore
      tool('later', () => Promise.reject(thrown as Error)),
    );
    for (const name of ['now', 'later']) {
      const result = await provider.callTool(name);
      expect(result.error?.code).toBe('EXECUTION_FAILED');
      expect(textOf(result)).toContain(words);
    }
  });

  it('when the tool returns a hostile thenable', async () => {
    await using provider = serve(
      tool('twice', () => ({
        then: (resolve: (value: unknown) => void, reject: (error: unknown) => void) => (
          resolve('first'),
          reject(new Error('second')),
          resolve('third')
        ),
      })),
      tool('throws', () => ({ then: () => { throw new Error('in then'); } })), // prettier-ignore
    );
    expect(textOf(await provider.callTool('twice'))).toBe('first');
    expect((await provider.callTool('throws')).error?.code).toBe('EXECUTION_FAILED');
  });
});

describe('InProcessToolProvider', () => {
  it(`settles a hanging call at its deadline and aborts the tool's signal`, async () => {
    let signal: AbortSignal | undefined;
    await using provider = serve(
      tool('hang', (_args, ctx) => {
        signal = ctx.signal;
        return new Promise(() => undefined);
      }),
    );
    const { error } = await provider.callTool('hang', {}, { timeoutMs: 30 });
    expect(error).toMatchObject({ code: 'TIMED_OUT', details: { outcomeUnknown: true } });
    expect(signal?.aborted).toBe(true);
    expect(signal?.reason).toMatchObject({ code: 'TIMED_OUT' });
  });

  it('distinguishes a timeout of the signal from a cancellation', async () => {
    await using provider = serve(tool('hang', () => new Promise(() => undefined)));
    expect((await provider.callTool('hang', {}, { signal: AbortSignal.timeout(20) })).error?.code).toBe('TIMED_OUT');
  });

  it(`passes the call's and the server's values in ctx`, async () => {
    const state = { rows: [] };
    const seen: ToolContext[] = [];
    const spy = defineTool({ name: 'spy', description: 'Spies.', execute: (_args, ctx) => void seen.push(ctx) });
    await using provider = new InProcessToolProvider({
      name: 'mine',
      servers: [defineServer({ name: 's', version: '1', tools: [spy], start: () => state })],
    });
    await provider.callTool('spy', {}, { callId: 'c', sessionId: 'me', meta: { traceparent: 't' } });
    expect(seen[0]).toMatchObject({ callId: 'c', sessionId: 'me', meta: { traceparent: 't' }, provider: 'mine' });
    expect(seen[0]?.state).toBe(state);
    await provider.callTool('spy');
    expect(seen[1]?.callId).toMatch(/.+/);
    expect(seen[1]?.callId).toBe(seen[1]?.callId);
  });

  it('starts each server once, and stops it after the last call', async () => {
    const order: string[] = [];
    const server = defineServer({
      name: 's',
      version: '1',
      tools: [tool('wait', async (_args, { signal }) => { await sleep(10_000, undefined, { signal }).catch(() => undefined); order.push('call'); })], // prettier-ignore
      start: () => void order.push('start'),
      stop: () => void order.push('stop'),
    });
    const provider = new InProcessToolProvider({ servers: [server] });
    await Promise.all([provider.connect(), provider.connect(), provider.listTools()]);
    const call = provider.callTool('wait');
    await provider.disconnect();
    expect((await call).error?.code).toBe('CONNECTION_CLOSED');
    expect(order).toEqual(['start', 'call', 'stop']);
  });

  it('stops the started servers when one fails, and can be connected again', async () => {
    const stopped = vi.fn();
    let broken = true;
    const provider = new InProcessToolProvider({
      servers: [
        defineServer({ name: 'good', version: '1', tools: [], start: () => 'state', stop: stopped }),
        defineServer({ name: 'bad', version: '1', tools: [tool('x', () => 'x')], start: () => { if (broken) throw new Error('no database'); } }), // prettier-ignore
      ],
    });
    await expect(provider.connect()).rejects.toMatchObject({
      message: expect.stringMatching(/"bad".*no database/) as string,
    });
    expect(stopped).toHaveBeenCalledWith('state');
    expect((await provider.callTool('bad.x')).isError).toBe(true);
    broken = false;
    await provider.connect();
    expect((await provider.callTool('bad.x')).isError).toBe(false);
    await provider.disconnect();
  });

  it('runs one server in two providers with separate states', async () => {
    let states = 0;
    const server = defineServer({
      name: 's',
      version: '1',
      tools: [tool('id', (_args, ctx) => String(ctx.state))],
      start: () => ++states,
    });
    await using one = new InProcessToolProvider({ servers: [server] });
    await using two = new InProcessToolProvider({ servers: [server] });
    expect([
      textOf(await one.callTool('id')),
      textOf(await two.callTool('id')),
      textOf(await one.callTool('id')),
    ]).toEqual(['1', '2', '1']);
  });

  it('ends in the state of the last connect() or disconnect()', async () => {
    const provider = serve(tool('x', () => 'x'));
    await provider.connect();
    const states = [provider.disconnect(), provider.connect().catch((error: unknown) => error), provider.disconnect()];
    await Promise.all(states);
    expect((await provider.callTool('x')).error?.code).toBe('NOT_CONNECTED');
    await Promise.all([provider.disconnect(), provider.connect()]);
    expect((await provider.callTool('x')).isError).toBe(false);
    await provider.disconnect();
  });

  it('connects when connect() follows a disconnect() of the previous attempt', async () => {
    let starts = 0;
    const server = defineServer({
      name: 's',
      version: '1',
      tools: [defineTool({ name: 't', description: 'T.', execute: () => 'ran' })],
      start: async () => {
        starts++;
        await new Promise((resolve) => setTimeout(resolve, 20));
        return {};
      },
    });
    const provider = new InProcessToolProvider({ servers: [server] });
    const first = provider.connect().catch((error: unknown) => error);
    const ended = provider.disconnect();
    await Promise.all([provider.connect(), provider.connect(), first, ended]);
    expect((await provider.callTool('s.t')).isError).toBe(false);
    expect(starts).toBe(2);
    await provider.disconnect();
  });

  it('returns a frozen list', async () => {
    const input = { type: 'object', properties: { a: { type: 'string' } } };
    await using provider = serve(defineTool({ name: 'x', description: 'X.', input, execute: () => 'x' }));
    const [listed] = await provider.listTools();
    input.properties.a.type = 'number'; // the author's object stays theirs
    expect(() => Object.assign(listed!.inputSchema.properties as object, { b: {} })).toThrow();
    expect(() => Object.assign(listed!.annotations, { readOnlyHint: true })).toThrow();
    expect((await provider.listTools())[0]?.inputSchema.properties).toEqual({ a: { type: 'string' } });
    expect((await provider.callTool('x', { a: 'text' })).isError).toBe(false);
  });

  it('rejects two servers of one name', () => {
    const server = defineServer({ name: 's', version: '1', tools: [] });
    expect(() => new InProcessToolProvider({ servers: [server, server] })).toThrow(
      expect.objectContaining({ code: 'NAME_CONFLICT' }) as Error,
    );
  });

  it('omits an added tool whose schema does not compile, with an error', async () => {
    const error = vi.fn();
    const server = defineServer({ name: 's', version: '1', tools: [tool('x', () => 'x')] });
    await using provider = new InProcessToolProvider({ servers: [server], logger: { ...console, error } });
    await provider.connect();
    server.addTool(
      defineTool({
        name: 'odd',
        description: 'O.',
        input: { type: 'object', properties: { a: { type: 'nothing' } } },
        execute: () => 'x',
      }),
    );
    await vi.waitFor(() => expect(error).toHaveBeenCalled());
    expect((await provider.listTools()).map(({ name }) => name)).toEqual(['s.x']);
  });

  it('calls a tool immediately after it was added', async () => {
    const server = defineServer({ name: 's', version: '1', tools: [] });
    await using provider = new InProcessToolProvider({ servers: [server] });
    await provider.connect();
    server.addTool(
      defineTool({
        name: 'late',
        description: 'L.',
        input: { type: 'object', properties: {} },
        execute: () => 'here',
      }),
    );
    expect(textOf(await provider.callTool('s.late'))).toBe('here');
  });

  it('settles 1,000 concurrent calls once each, without leaks', async () => {
    await using _ = expectNoLeaks();
    const provider = serve(
      tool('fast', () => 'fast'),
      tool('slow', async (_args, { signal }) => sleep(5_000, 'slow', { signal })),
    );
    let settled = 0;
    const calls = Array.from({ length: 1_000 }, (_unused, index) =>
      provider
        .callTool(index % 2 ? 'slow' : 'fast', {}, index % 3 ? { timeoutMs: 50 } : { signal: AbortSignal.timeout(40) })
        .then(() => settled++),
    );
    await Promise.all(calls);
    await provider.disconnect();
    expect(settled).toBe(1_000);
  });
});

describe('expectNoLeaks()', () => {
  it.each([
    ['a timer', () => { const timer = setTimeout(() => undefined, 60_000).unref(); return () => clearTimeout(timer); }], // prettier-ignore
    ['an interval', () => { const timer = setInterval(() => undefined, 60_000); return () => clearInterval(timer); }], // prettier-ignore
    ['a listener on process', () => { const listener = () => undefined; process.on('SIGUSR2', listener); return () => process.off('SIGUSR2', listener); }], // prettier-ignore
  ])('sees %s that was left', async (_what, leave) => {
    const leaks = expectNoLeaks({ graceMs: 30 });
    const clean = leave();
    await expect(leaks[Symbol.asyncDispose]()).rejects.toThrow(/Left behind/);
    clean();
  });

  it.each([
    ['mkdtemp', async () => mkdtemp(join(tmpdir(), 'left-'))],
    ['mkdtempSync', async () => mkdtempSync(join(tmpdir(), 'left-'))],
  ])('sees a temporary directory that %s made', async (_what, make) => {
    const leaks = expectNoLeaks({ graceMs: 30 });
    const directory = await make();
    await expect(leaks[Symbol.asyncDispose]()).rejects.toThrow(directory);
    await rm(directory, { recursive: true });
  });

  it('detects a child process that was left behind', async () => {
    const leaks = expectNoLeaks({ graceMs: 30 });
    const child = spawnChild({ command: process.execPath, args: ['-e', 'setTimeout(() => {}, 60000)'], cwd: tmpdir() });
    await expect(leaks[Symbol.asyncDispose]()).rejects.toThrow(new RegExp(`child process ${child.pid}|PROCESSWRAP`));
    await child.end({ graceMs: 100 });
  });

  it('passes when everything has ended, even a little later', async () => {
    await using _ = expectNoLeaks();
    setTimeout(() => undefined, 50);
  });
});
