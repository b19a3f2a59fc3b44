import { once, EventEmitter } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  defineServer,
  defineTool,
  InProcessToolProvider,
  ToolError,
  ToolHub,
  type JsonObject,
  type ToolDefinition,
  type ToolProvider,
  type ToolResult,
} from '@toolwright/core';
import { START_OUTPUT } from '@toolwright/core/internal';
import { expectNoLeaks } from '@toolwright/core/testing';
import { describe, expect, it, vi } from 'vitest';

const tool = (name: string, execute: (args: JsonObject) => unknown = () => name) =>
  defineTool({
    name,
    description: `The tool ${name}.`,
    input: { type: 'object', properties: {}, additionalProperties: true },
    execute: execute as never,
  });
const provider = (server: string, ...names: string[]) =>
  new InProcessToolProvider({
    name: `${server}-provider`,
    servers: [defineServer({ name: server, version: '1', tools: names.map((name) => tool(name)) })],
  });

/** A provider of a stranger: no prepareCall, and each member replaceable. */
function foreign(server: string, members: Partial<ToolProvider> = {}): ToolProvider {
  const listed: ToolDefinition = {
    name: `${server}.run`,
    description: 'Runs.',
    inputSchema: { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] },
    annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true },
  };
  return {
    name: `${server}-foreign`,
    kind: 'mcp',
    servers: [server],
    connect: async () => undefined,
    listTools: async () => [listed],
    callTool: async (_name, args) => ({
      content: [{ type: 'text', text: JSON.stringify(args) }],
      isError: false,
      directives: [],
      durationMs: 0,
    }),
    disconnect: async () => undefined,
    onToolsChanged: () => () => undefined,
    [Symbol.asyncDispose]: async () => undefined,
    ...members,
  };
}
const never = <T>(): Promise<T> => new Promise<T>(() => undefined);
const succeed = (more: Partial<ToolResult> = {}): ToolResult => ({
  content: [],
  isError: false,
  directives: [],
  durationMs: 0,
  ...more,
});

describe('ToolHub routing', () => {
  it('lists the tools of every provider, in the order of registration', async () => {
    await using hub = new ToolHub({ providers: [provider('b', 'two', 'one'), provider('a', 'three')] });
    expect((await hub.listTools()).map(({ name }) => name)).toEqual(['b.two', 'b.one', 'a.three']);
    expect(hub.servers).toEqual(['b', 'a']);
  });

  it('routes by prefix, and by bare name when it is unique', async () => {
    await using hub = new ToolHub({ providers: [provider('a', 'x', 'only'), provider('b', 'x')] });
    expect((await hub.callTool('b.x')).content).toEqual([{ type: 'text', text: 'x' }]);
    expect((await hub.callTool('only')).isError).toBe(false);
    expect((await hub.callTool('x')).error).toMatchObject({
      code: 'TOOL_NOT_FOUND',
      message: expect.stringContaining('a.x, b.x') as string,
    });
  });

  it.each([
    ['one name', () => [provider('a', 'x'), Object.assign(provider('b', 'x'), { name: 'a-provider' })]],
    ['one prefix', () => [provider('a', 'x'), Object.assign(provider('a', 'y'), { name: 'other' })]],
  ])('refuses two providers of %s with NAME_CONFLICT', async (_what, providers) => {
    expect(() => new ToolHub({ providers: providers() })).toThrow(
      expect.objectContaining({ code: 'NAME_CONFLICT' }) as Error,
    );
    const [first, second] = providers();
    await using hub = new ToolHub({ providers: [first!] });
    expect(() => hub.add(second!)).toThrow(expect.objectContaining({ code: 'NAME_CONFLICT' }) as Error);
    expect((await hub.listTools()).map(({ name }) => name)).toEqual(['a.x']);
  });

  it('omits a tool without a prefix of its provider, with a warning', async () => {
    const warn = vi.fn();
    const stray = { ...(await foreign('a').listTools())[0]!, name: 'b.run' };
    await using hub = new ToolHub({
      providers: [foreign('a', { listTools: async () => [stray] })],
      logger: { ...console, warn },
    });
    expect(await hub.listTools()).toEqual([]);
    expect(warn).toHaveBeenCalledWith(expect.stringContaining('b.run'));
  });

  it('fills in hints that a foreign listing lacks', async () => {
    const bare = { ...(await foreign('a').listTools())[0]!, annotations: undefined as never };
    await using hub = new ToolHub({ providers: [foreign('a', { listTools: async () => [bare] })] });
    expect((await hub.listTools())[0]?.annotations).toEqual({
      readOnlyHint: false,
      destructiveHint: true,
      idempotentHint: false,
      openWorldHint: true,
    });
  });
});

describe('ToolHub with broken providers', () => {
  it('connects the others when one fails, and reports why it failed', async () => {
    const broken = foreign('bad', { connect: () => Promise.reject(new ToolError('SPAWN_FAILED', 'no such program')) });
    await using hub = new ToolHub({ providers: [broken, provider('good', 'x')] });
    await hub.connect();
    expect((await hub.listTools()).map(({ name }) => name)).toEqual(['good.x']);
    expect(hub.status()).toMatchObject([
      { name: 'bad-foreign', state: 'DEAD', toolCount: 0, error: { code: 'SPAWN_FAILED' } },
      { state: 'READY', toolCount: 1 },
    ]);
    expect((await hub.callTool('bad.run', { n: 1 })).error?.code).toBe('SPAWN_FAILED');
    expect(await hub.explain('bad.run')).toMatchObject({
      available: false,
      state: 'DEAD',
      reason: expect.stringContaining('no such program') as string,
    });
  });

  it('retries a failed provider on the next call', async () => {
    let attempts = 0;
    const flaky = foreign('a', {
      connect: async () => (++attempts === 1 ? Promise.reject(new Error('first')) : undefined),
    });
    await using hub = new ToolHub({ providers: [flaky] });
    await hub.connect();
    expect((await hub.callTool('a.run', { n: 1 })).isError).toBe(false);
    expect(hub.status()[0]?.state).toBe('READY');
    expect(await hub.listTools()).toHaveLength(1);
  });

  it('does not wait in listTools() for a provider that never connects', async () => {
    await using hub = new ToolHub({
      providers: [foreign('slow', { connect: never }), provider('good', 'x')],
      limits: { connectTimeoutMs: 50 },
    });
    await hub.connect();
    const tools = await Promise.race([hub.listTools(), sleep(1_000, 'late')]);
    expect(tools).toHaveLength(1);
    expect(hub.status()[0]).toMatchObject({ state: 'INITIALIZING', error: { code: 'TIMED_OUT' } });
  });

  it('status() includes the output of a program that starts too slowly', async () => {
    const slow = foreign('slow', { connect: never });
    Object.assign(slow, { [START_OUTPUT]: () => ({ text: 'Its stderr ends: waits for a licence' }) });
    await using hub = new ToolHub({ providers: [slow], limits: { connectTimeoutMs: 20 } });
    await hub.connect();
    const { error } = hub.status()[0] ?? {};
    expect(error?.code).toBe('TIMED_OUT');
    expect(error?.message).toMatch(/not connected within 20 ms.*waits for a licence/s);
  });

  it(`ends a call to a provider that never connects at the call's deadline`, async () => {
    await using hub = new ToolHub({
      providers: [foreign('slow', { connect: never })],
      limits: { connectTimeoutMs: 20 },
    });
    expect((await hub.callTool('slow.run', { n: 1 }, { timeoutMs: 50 })).error?.code).toBe('TIMED_OUT');
  });

  it('calls one provider while another still connects', async () => {
    await using hub = new ToolHub({ providers: [foreign('slow', { connect: never }), provider('good', 'x')] });
    expect((await hub.callTool('good.x')).isError).toBe(false);
  });

  it('emits onToolsChanged when a provider connects late', async () => {
    let open = (): void => undefined;
    const late = foreign('late', { connect: () => new Promise<void>((resolve) => (open = resolve)) });
    await using hub = new ToolHub({ providers: [late], limits: { connectTimeoutMs: 20 } });
    await hub.connect();
    const events = new EventEmitter();
    hub.onToolsChanged(() => events.emit('changed'));
    const told = once(events, 'changed');
    open();
    await told;
    expect(await hub.listTools()).toHaveLength(1);
    expect(hub.status()[0]).toMatchObject({ state: 'READY', stale: false });
    expect(hub.status()[0]?.error).toBeUndefined();
  });

  it('keeps the old list, marked stale, when a refresh fails', async () => {
    let listener = (): void => undefined;
    let fails = false;
    const flaky = foreign('a', { onToolsChanged: (given) => ((listener = given), () => undefined) });
    const { listTools } = flaky;
    flaky.listTools = async () => (fails ? Promise.reject(new ToolError('UNAVAILABLE', 'gone')) : listTools());
    await using hub = new ToolHub({ providers: [flaky] });
    await hub.connect();
    fails = true;
    listener();
    await vi.waitFor(() => expect(hub.status()[0]?.stale).toBe(true));
    expect(await hub.listTools()).toHaveLength(1);
    expect(hub.status()[0]?.error?.code).toBe('UNAVAILABLE');
  });

  it.each<[string, ToolProvider['callTool']]>([
    ['rejects', () => Promise.reject(new Error('it must not'))],
    ['throws', () => { throw new Error('it must not'); }], // prettier-ignore
    ['gives nothing', async () => undefined as never],
    ['gives a text', async () => 'text' as never],
    ['gives half a result', async () => ({ content: 'x', isError: false }) as never],
  ])('fails with INTERNAL or the failure when a provider %s', async (_what, callTool) => {
    await using hub = new ToolHub({ providers: [foreign('a', { callTool })] });
    const result = await hub.callTool('a.run', { n: 1 });
    expect(result.isError).toBe(true);
    expect(result.error?.code).toBe('INTERNAL');
  });

  it.each(['callTool', 'prepareCall', 'health', 'onToolsChanged', 'listTools', 'connect', 'disconnect'] as const)(
    'continues when %s of a provider throws at once',
    async (member) => {
      const thrower = (): never => {
        throw new Error('at once');
      };
      await using hub = new ToolHub({ providers: [provider('good', 'x'), foreign('bad', { [member]: thrower })] });
      await hub.connect();
      expect((await hub.listTools()).map(({ name }) => name)).toContain('good.x');
      expect((await hub.callTool('good.x')).isError).toBe(false);
      expect((await hub.callTool('bad.run', { n: 1 }, { timeoutMs: 1_000 })).durationMs).toBeGreaterThanOrEqual(0);
      expect(hub.status()).toHaveLength(2);
    },
  );

  it.each(['servers', 'name', 'kind', 'callTimeoutMs', 'prepareCall', 'health'] as const)(
    'continues when the accessor %s throws later',
    async (member) => {
      const bad = foreign('bad');
      const hub = new ToolHub({ providers: [provider('good', 'x'), bad] });
      Object.defineProperty(bad, member, { get: () => { throw new Error('later'); } }); // prettier-ignore
      await hub.connect();
      expect((await hub.callTool('good.x')).isError).toBe(false);
      await hub.callTool('bad.run', { n: 1 });
      expect(hub.status()).toHaveLength(2);
      await hub.disconnect();
    },
  );

  it('omits malformed tools of a list, and keeps the others', async () => {
    const [good] = await foreign('a').listTools();
    const garbage = [null, 5, {}, { name: 'a.half' }, { ...good, name: 'a.title', title: 5 }, { ...good, name: 'a.text', description: 5 }, good, good, { get name() { throw new Error('no'); } }, { name: 'a.plain', inputSchema: {} }]; // prettier-ignore
    await using hub = new ToolHub({
      providers: [
        foreign('a', { listTools: async () => garbage as never }),
        foreign('b', { listTools: async () => null as never }),
      ],
    });
    expect((await hub.listTools()).map(({ name }) => name)).toEqual(['a.run', 'a.plain']);
    expect(hub.status()[1]?.error?.code).toBe('PROTOCOL_VIOLATION');
  });

  it('reports each failure with a known code in the documented shape', async () => {
    const answers = [
      { error: null },
      { error: { code: 'WAT', message: 5 } },
      {},
      { structuredContent: 'x', _meta: 3, directives: null },
    ];
    for (const answer of answers) {
      const callTool = async () =>
        ({ content: [{ type: 'text', text: 'bad luck' }], isError: true, ...answer }) as never;
      await using hub = new ToolHub({ providers: [foreign('a', { callTool })] });
      const result = await hub.callTool('a.run', { n: 1 });
      expect(result).toMatchObject({
        isError: true,
        directives: [],
        error: { code: 'EXECUTION_FAILED', message: 'bad luck' },
      });
      expect(result.structuredContent ?? result._meta).toBeUndefined();
    }
  });

  it.each<[string, unknown]>([
    [
      'gives an error of another copy of the package',
      Object.assign(new Error('of another copy'), { [Symbol.for('toolwright.ToolError')]: true, code: 'BUSY' }),
    ],
    [
      'gives a brand without a code',
      Object.assign(new Error('of another copy'), { [Symbol.for('toolwright.ToolError')]: true, code: '__proto__' }),
    ],
  ])('settles when a provider, a tool or a signal %s', async (_what, error) => {
    const thrower = tool('x', () => Promise.reject(error));
    const own = new InProcessToolProvider({
      servers: [defineServer({ name: 'good', version: '1', tools: [thrower] })],
    });
    await using hub = new ToolHub({
      providers: [own, foreign('bad', { callTool: () => Promise.reject(error) })],
    });
    expect((await hub.callTool('good.x')).error?.message).toBe('of another copy');
    expect((await hub.callTool('bad.run', { n: 1 })).error?.message).toBe('of another copy');
    expect((await own.callTool('x', {}, { signal: AbortSignal.abort(error) })).error?.code).toBe('CANCELLED');
  });

  it(`requires a provider's refusal to be an error result`, async () => {
    for (const refused of [{}, 'x', succeed()]) {
      const [listed] = await foreign('a').listTools();
      const prepareCall = async () => ({
        tool: listed!,
        args: {},
        claims: [],
        refused: refused as never,
        execute: never,
      });
      await using hub = new ToolHub({ providers: [foreign('a', { prepareCall })] });
      expect((await hub.callTool('a.run', { n: 1 })).error?.code).toBe('INTERNAL');
    }
  });

  it('survives host callbacks that throw or reject', async () => {
    const unhandled = vi.fn();
    process.on('unhandledRejection', unhandled);
    const later = (): unknown => Promise.reject(new Error('later'));
    const atOnce = () => { throw new Error('at once'); }; // prettier-ignore
    const logger = { debug: atOnce, info: atOnce, warn: atOnce, error: atOnce };
    const policy = { default: 'allow' as const, rules: [] };
    await using hub = new ToolHub({
      providers: [foreign('a', { connect: atOnce }), provider('b', 'x')],
      logger,
      policy,
      onDecision: later,
    });
    hub.onToolsChanged(later);
    const noisy = defineTool({
      name: 'noisy',
      description: 'N.',
      execute: (_args, { progress }) => progress({ progress: 1 }),
    });
    await hub.add(new InProcessToolProvider({ servers: [defineServer({ name: 'c', version: '1', tools: [noisy] })] }));
    expect((await hub.callTool('c.noisy', {}, { onProgress: later })).isError).toBe(false);
    expect((await hub.callTool('a.run', { n: 1 })).isError).toBe(true);
    await sleep(20);
    process.off('unhandledRejection', unhandled);
    expect(unhandled).not.toHaveBeenCalled();
  });

  it('ends a call when its provider hangs', async () => {
    await using hub = new ToolHub({ providers: [foreign('a', { callTool: never })] });
    expect((await hub.callTool('a.run', { n: 1 }, { timeoutMs: 30 })).error).toMatchObject({
      code: 'TIMED_OUT',
      details: { outcomeUnknown: true },
    });
  });

  it('ends a call whose prepareCall hangs', async () => {
    await using hub = new ToolHub({ providers: [foreign('a', { prepareCall: () => never() })] });
    expect((await hub.callTool('a.run', { n: 1 }, { timeoutMs: 30 })).error?.code).toBe('TIMED_OUT');
  });

  it('disconnect() resolves when a provider fails to disconnect', async () => {
    const hub = new ToolHub({ providers: [foreign('a', { disconnect: () => Promise.reject(new Error('no')) })] });
    await hub.connect();
    await hub.disconnect();
    expect((await hub.callTool('a.run', { n: 1 })).error?.code).toBe('NOT_CONNECTED');
  });
});

describe('ToolHub and foreign tools', () => {
  it('validates against the listed schema and sends the arguments unchanged', async () => {
    const sent: unknown[] = [];
    const callTool: ToolProvider['callTool'] = async (_name, args) => (sent.push(args), succeed());
    await using hub = new ToolHub({ providers: [foreign('a', { callTool })] });
    const args = { n: 1, extra: 'as the schema allows' };
    await hub.callTool('a.run', args);
    expect(sent[0]).toEqual(args);
    expect((await hub.callTool('a.run', { n: 'one' })).error).toMatchObject({
      code: 'INVALID_ARGUMENT',
      message: expect.stringContaining('n:') as string,
    });
    expect((await hub.callTool('a.gone', {})).error?.code).toBe('TOOL_NOT_FOUND');
    expect(sent).toHaveLength(1);
    await hub.callTool('a.run', { n: '2' }); // invalid without coercion
    expect(sent[1]).toEqual({ n: 2 });
  });

  it('does not enforce a schema that does not compile, and explain() reports it', async () => {
    const odd = {
      ...(await foreign('a').listTools())[0]!,
      inputSchema: { type: 'object', properties: { n: { type: 'nothing' } } },
    };
    await using hub = new ToolHub({ providers: [foreign('a', { listTools: async () => [odd] })] });
    expect((await hub.callTool('a.run', { n: 1 })).isError).toBe(false);
    expect(await hub.explain('a.run')).toMatchObject({ available: true, schemaEnforced: false });
  });

  it('explain() reports the verdict of an inner hub when it is stricter', async () => {
    const odd = {
      ...(await foreign('a').listTools())[0]!,
      inputSchema: { type: 'object', properties: { n: { type: 'nothing' } } },
    };
    const inner = new ToolHub({
      name: 'inner',
      providers: [foreign('a', { listTools: async () => [odd] }), provider('b', 'ask', 'no')],
      policy: {
        default: 'allow',
        rules: [
          { tool: 'b.ask', action: 'ask' },
          { tool: 'b.no', pattern: 'n*', action: 'deny' },
        ],
      },
    });
    await using outer = new ToolHub({ providers: [inner] });
    await outer.connect();
    expect(await outer.explain('a.run')).toMatchObject({ available: true, schemaEnforced: false });
    expect(await outer.explain('b.ask', {})).toMatchObject({ available: true, policy: { action: 'ask' } });
    expect(await outer.explain('b.no', {})).toMatchObject({ available: false, policy: { action: 'deny' } });
    await using strict = new ToolHub({ providers: [inner], policy: { rules: [], default: 'ask' } });
    await strict.connect();
    expect(await strict.explain('b.no', {})).toMatchObject({ available: false, policy: { action: 'deny' } });
    expect(await strict.explain('a.run', {})).toMatchObject({ available: true, policy: { action: 'ask' } });
  });

  it('is not blocked by a hostile pattern or a schema that is too large', async () => {
    const hostile = {
      ...(await foreign('a').listTools())[0]!,
      inputSchema: { type: 'object', properties: { text: { type: 'string', pattern: '^(a+)+$' } } },
    };
    let deep: JsonObject = {};
    for (let level = 0; level < 5_000; level++) deep = { type: 'object', properties: { deep } };
    const bomb = { ...hostile, name: 'a.bomb', inputSchema: { type: 'object', properties: { deep } } };
    await using hub = new ToolHub({ providers: [foreign('a', { listTools: async () => [hostile, bomb] })] });
    const started = performance.now();
    expect((await hub.callTool('a.run', { text: `${'a'.repeat(40)}!` })).isError).toBe(false);
    expect((await hub.callTool('a.bomb', {})).isError).toBe(false);
    expect(performance.now() - started).toBeLessThan(10_000);
  });

  it.each([
    ['an MCP server', { kind: 'mcp' as const }, undefined, 0],
    ['a trusted MCP server', { kind: 'mcp' as const }, true, 1],
    ['a process of ours', { kind: 'process' as const }, undefined, 1],
    ['a distrusted process', { kind: 'process' as const }, false, 0],
  ])('accepts directives of %s or not', async (_what, kind, trustDirectives, count) => {
    const directives = [{ type: 'stop_processing', params: {} }] as const;
    const given = foreign('a', { ...kind, callTool: async () => succeed({ directives }) });
    await using hub = new ToolHub({
      providers: [{ provider: given, ...(trustDirectives !== undefined && { trustDirectives }) }],
    });
    expect((await hub.callTool('a.run', { n: 1 })).directives).toHaveLength(count);
  });

  it.each([true, false])(
    'keeps the suggested rules of a foreign error only if trusted (trusted: %s)',
    async (trustDirectives) => {
      const details = { suggestedRules: [{ tool: '*', action: 'allow' }], other: 1 };
      const error = new ToolError('APPROVAL_REQUIRED', 'Add the rule.', { details }).toInfo();
      const given = foreign('a', { callTool: async () => succeed({ isError: true, error }) });
      await using hub = new ToolHub({ providers: [{ provider: given, trustDirectives }] });
      expect((await hub.callTool('a.run', { n: 1 })).error?.details).toEqual(trustDirectives ? details : { other: 1 });
    },
  );

  it('passes one signal and no second deadline inward', async () => {
    const seen: unknown[] = [];
    const callTool: ToolProvider['callTool'] = async (_name, _args, options) => (
      seen.push(options?.timeoutMs, options?.signal instanceof AbortSignal, { ...options }.signal === options?.signal),
      succeed()
    );
    await using hub = new ToolHub({ providers: [foreign('a', { callTool })] });
    await hub.callTool('a.run', { n: 1 }, { timeoutMs: 5_000 });
    expect(seen).toEqual([Infinity, true, true]);
  });

  it('renews the deadline on progress of a foreign tool without a listener', async () => {
    const callTool: ToolProvider['callTool'] = async (_name, _args, options) => {
      for (let step = 1; step <= 6; step++) {
        await sleep(50);
        options?.onProgress?.({ progress: step });
      }
      return succeed();
    };
    await using hub = new ToolHub({ providers: [foreign('a', { callTool })] });
    expect((await hub.callTool('a.run', { n: 1 }, { idleTimeoutMs: 200 })).isError).toBe(false);
  });

  it('caps renewal by progress at maxTotalTimeoutMs', async () => {
    const callTool: ToolProvider['callTool'] = async (_name, _args, options) => {
      while (!options?.signal?.aborted) {
        await sleep(10);
        options?.onProgress?.({ progress: 1 });
      }
      return succeed();
    };
    await using hub = new ToolHub({ providers: [foreign('a', { callTool })], limits: { maxTotalTimeoutMs: 120 } });
    expect((await hub.callTool('a.run', { n: 1 }, { timeoutMs: 60 })).error?.code).toBe('TIMED_OUT');
  });
});

describe('ToolHub deadlines', () => {
  const slow = (options: { timeoutMs?: number; withArgument?: boolean }) =>
    defineTool({
      name: 'slow',
      description: 'Waits for its signal.',
      input: { type: 'object', properties: options.withArgument ? { timeout_ms: { type: 'integer' } } : {} },
      ...(options.timeoutMs !== undefined && { timeoutMs: options.timeoutMs }),
      execute: (_args, { signal }) =>
        new Promise<string>((_resolve, reject) =>
          signal.addEventListener('abort', () => reject(signal.reason as Error)),
        ),
    });
  const hubOf = (given: ReturnType<typeof slow>, callTimeoutMs?: number) =>
    new ToolHub({
      providers: [
        new InProcessToolProvider({
          ...(callTimeoutMs !== undefined && { callTimeoutMs }),
          servers: [defineServer({ name: 's', version: '1', tools: [given as never] })],
        }),
      ],
    });

  it.each([
    ['of the caller', slow({ timeoutMs: 60_000 }), undefined, { timeoutMs: 30 }],
    ['of the tool', slow({ timeoutMs: 30 }), 60_000, {}],
    ['of the provider', slow({}), 30, {}],
  ])('are those %s', async (_what, given, callTimeoutMs, options) => {
    await using hub = hubOf(given, callTimeoutMs);
    expect((await hub.callTool('s.slow', {}, options)).error?.code).toBe('TIMED_OUT');
  });

  it('give a tool with timeout_ms five more seconds, so that it can end itself', async () => {
    const provider = new InProcessToolProvider({
      servers: [defineServer({ name: 's', version: '1', tools: [slow({ withArgument: true }) as never] })],
    });
    const call = await provider.prepareCall('s.slow', { timeout_ms: 2_000 });
    expect(call.timeoutMs).toBe(7_000);
    await provider.disconnect();
  });

  it('use one timer for 1,000 calls, and clear it afterwards', async () => {
    await using hub = hubOf(slow({}));
    await hub.connect();
    await using _ = expectNoLeaks();
    const results = await Promise.all(
      Array.from({ length: 1_000 }, (_unused, index) => hub.callTool('s.slow', {}, { timeoutMs: 20 + (index % 30) })),
    );
    expect(results.every(({ error }) => error?.code === 'TIMED_OUT')).toBe(true);
  });
});

describe('ToolHub.add() and remove()', () => {
  it('add() connects, lists and emits once', async () => {
    await using hub = new ToolHub({ providers: [provider('a', 'x')] });
    await hub.connect();
    const changed = vi.fn();
    hub.onToolsChanged(changed);
    await hub.add(provider('b', 'y'));
    expect((await hub.listTools()).map(({ name }) => name)).toEqual(['a.x', 'b.y']);
    await sleep(20);
    expect(changed).toHaveBeenCalledTimes(1);
  });

  it('remove() hides the tools, lets calls finish, then disconnects', async () => {
    let finish = (): void => undefined;
    const slow = tool('slow', () => new Promise((resolve) => (finish = () => resolve('finished'))));
    const leaving = new InProcessToolProvider({
      name: 'leaving',
      servers: [defineServer({ name: 'b', version: '1', tools: [slow] })],
    });
    await using hub = new ToolHub({ providers: [provider('a', 'x'), leaving] });
    await hub.connect();
    const changed = vi.fn();
    hub.onToolsChanged(changed);
    const call = hub.callTool('b.slow');
    await vi.waitFor(() => expect(leaving.health().state).toBe('READY'));
    const removed = hub.remove('leaving');
    expect((await hub.listTools()).map(({ name }) => name)).toEqual(['a.x']);
    expect((await hub.callTool('b.slow')).error?.code).toBe('TOOL_NOT_FOUND');
    finish();
    expect((await call).content).toEqual([{ type: 'text', text: 'finished' }]);
    expect(await removed).toBe(true);
    expect((await leaving.callTool('b.slow')).error?.code).toBe('NOT_CONNECTED');
    expect(changed).toHaveBeenCalledTimes(1);
    expect(await hub.remove('leaving')).toBe(false);
  });

  it('remove() ends calls that do not finish within drainMs', async () => {
    const hung = new InProcessToolProvider({
      name: 'hung',
      servers: [defineServer({ name: 'b', version: '1', tools: [tool('hang', () => never())] })],
    });
    await using hub = new ToolHub({ providers: [hung] });
    await hub.connect();
    const call = hub.callTool('b.hang');
    await hub.remove('hung', { drainMs: 30 });
    expect((await call).error?.code).toBe('CONNECTION_CLOSED');
  });

  it('remove() ends calls of a provider that never answers', async () => {
    await using hub = new ToolHub({ providers: [foreign('a', { callTool: never })] });
    await hub.connect();
    const call = hub.callTool('a.run', { n: 1 });
    await hub.remove('a-foreign', { drainMs: 30 });
    expect((await call).error?.code).toBe('CONNECTION_CLOSED');
  });

  it('add() accepts a name again after remove()', async () => {
    await using hub = new ToolHub({ providers: [provider('a', 'x')] });
    await hub.connect();
    await hub.remove('a-provider');
    await hub.add(provider('a', 'y'));
    expect((await hub.callTool('a.y')).isError).toBe(false);
  });

  it('emits one event for a burst of changes', async () => {
    const server = defineServer({ name: 'a', version: '1', tools: [tool('x')] });
    await using hub = new ToolHub({ providers: [new InProcessToolProvider({ servers: [server] })] });
    await hub.connect();
    const changed = vi.fn();
    hub.onToolsChanged(changed);
    for (let index = 0; index < 50; index++) server.addTool(tool(`more-${index}`));
    await vi.waitFor(() => expect(changed).toHaveBeenCalled());
    await sleep(20);
    expect(changed).toHaveBeenCalledTimes(1);
    expect(await hub.listTools()).toHaveLength(51);
  });

  it('adopts a prefix that an inner hub gains', async () => {
    const inner = new ToolHub({ providers: [provider('a', 'x')] });
    await using hub = new ToolHub({ providers: [inner] });
    await hub.connect();
    await inner.add(provider('b', 'y'));
    await vi.waitFor(async () => expect((await hub.listTools()).map(({ name }) => name)).toEqual(['a.x', 'b.y']));
    expect((await hub.callTool('b.y')).isError).toBe(false);
  });
});

describe('ToolHub middleware', () => {
  it('wraps every call, the first layer outermost', async () => {
    const order: string[] = [];
    const layer = (name: string) => async (_call: unknown, next: () => Promise<ToolResult>) => {
      order.push(`${name} in`);
      const result = await next();
      order.push(`${name} out`);
      return result;
    };
    await using hub = new ToolHub({
      providers: [provider('a', 'x'), foreign('b')],
      middleware: [layer('outer'), layer('inner')],
    });
    await hub.callTool('a.x');
    await hub.callTool('b.run', { n: 1 });
    expect(order).toEqual([
      'outer in',
      'inner in',
      'inner out',
      'outer out',
      'outer in',
      'inner in',
      'inner out',
      'outer out',
    ]);
  });

  it('sees the evaluated call and cannot change it', async () => {
    const ran: unknown[] = [];
    const watched = new InProcessToolProvider({
      servers: [defineServer({ name: 'a', version: '1', tools: [tool('x', (args) => (ran.push(args), 'ok'))] })],
    });
    await using hub = new ToolHub({
      providers: [watched],
      middleware: [
        (call, next) => {
          expect(call).toMatchObject({ name: 'a.x', sessionId: 'me', callId: 'c1', claims: [{ pattern: 'x' }] });
          (call.args as { n: number }).n = 2;
          const withArguments = next as (args: unknown) => Promise<ToolResult>;
          return withArguments({ n: 3 });
        },
      ],
    });
    await hub.callTool('a.x', { n: 1 }, { sessionId: 'me', callId: 'c1' });
    expect(ran).toEqual([{ n: 1 }]);
  });

  it('sees the arguments as they were sent, and each execution receives them, when a provider changes them', async () => {
    const received: unknown[] = [];
    const changing = foreign('b', {
      callTool: async (_name, args = {}) => {
        received.push({ ...args });
        args['path'] = '/etc/passwd';
        return succeed({ content: [] });
      },
    });
    let seen: unknown;
    await using hub = new ToolHub({
      providers: [changing],
      middleware: [
        async (call, next) => {
          await next();
          const result = await next();
          seen = call.args;
          return result;
        },
      ],
    });
    await hub.callTool('b.run', { n: 1 });
    expect(seen).toEqual({ n: 1 });
    expect(received).toEqual([{ n: 1 }, { n: 1 }]);
  });

  it('may return a result without calling next(), or call it again', async () => {
    let runs = 0;
    const counted = new InProcessToolProvider({
      servers: [defineServer({ name: 'a', version: '1', tools: [tool('x', () => String(++runs))] })],
    });
    await using hub = new ToolHub({
      providers: [counted],
      middleware: [
        async (call, next) =>
          call.callId === 'cached' ? succeed({ content: [{ type: 'text', text: 'cached' }] }) : (await next(), next()),
      ],
    });
    expect((await hub.callTool('a.x', {}, { callId: 'cached' })).content).toEqual([{ type: 'text', text: 'cached' }]);
    expect((await hub.callTool('a.x')).content).toEqual([{ type: 'text', text: '2' }]);
  });

  it('is INTERNAL when it throws or returns garbage, and ends at the deadline when it hangs', async () => {
    const hubWith = (middleware: () => unknown) =>
      new ToolHub({ providers: [provider('a', 'x')], middleware: [middleware as never] });
    expect((await hubWith(() => { throw new Error('no'); }).callTool('a.x')).error?.code).toBe('INTERNAL'); // prettier-ignore
    expect((await hubWith(() => 7).callTool('a.x')).error?.code).toBe('INTERNAL');
    expect((await hubWith(() => never()).callTool('a.x', {}, { timeoutMs: 30 })).error?.code).toBe('TIMED_OUT');
  });

  it('may keep a result: the hub does not write into it', async () => {
    const kept = Object.freeze(succeed({ content: [{ type: 'text', text: 'kept' }] }));
    await using hub = new ToolHub({ providers: [provider('a', 'x')], middleware: [async () => kept] });
    expect((await hub.callTool('a.x')).durationMs).toBeGreaterThan(0);
    expect(kept.durationMs).toBe(0);
  });
});

describe('ToolHub output limit', () => {
  const limited = async (result: Partial<ToolResult>, maxTextBytes = 1_000) => {
    await using hub = new ToolHub({
      providers: [foreign('a', { callTool: async () => succeed(result) })],
      limits: { maxTextBytes },
    });
    return await hub.callTool('a.run', { n: 1 });
  };

  it('keeps the head and tail of a text, cut between characters, with a note', async () => {
    const text = `HEAD${'👩‍💻é'.repeat(10_000)}TAIL`;
    const { content, _meta } = await limited({ content: [{ type: 'text', text }] });
    const cut = (content[0] as { text: string }).text;
    expect(cut.startsWith('HEAD')).toBe(true);
    expect(cut.endsWith('TAIL')).toBe(true);
    expect(cut).not.toContain('\ufffd');
    expect(Buffer.byteLength(cut)).toBeLessThan(1_100);
    expect(_meta).toMatchObject({ 'toolwright/truncated': { textBytes: expect.any(Number) as number } });
  });

  it('shares the limit among blocks, including embedded resources', async () => {
    const { content } = await limited({
      content: [
        { type: 'text', text: 'small' },
        { type: 'text', text: 'x'.repeat(100_000) },
        { type: 'resource', resource: { uri: 'a:b', text: 'y'.repeat(100_000) } },
      ],
    });
    expect(content[0]).toEqual({ type: 'text', text: 'small' });
    expect(JSON.stringify(content).length).toBeLessThan(1_500);
  });

  it('does not change a result within the limit', async () => {
    const content = [{ type: 'text' as const, text: 'é'.repeat(500) }];
    const result = await limited({ content });
    expect(result.content).toBe(content);
    expect(result._meta).toBeUndefined();
  });

  it('drops structured content over 1 MiB, with a note', async () => {
    const result = await limited({
      structuredContent: { rows: Array.from({ length: 200_000 }, (_, index) => `row ${index}`) },
    });
    expect(result.structuredContent).toBeUndefined();
    expect(JSON.stringify(result.content)).toContain('structuredContent');
  });

  it('is quick with very many blocks, and drops _meta over 1 MiB', async () => {
    const content = Array.from({ length: 200_000 }, () => ({ type: 'text' as const, text: 'some words' }));
    const result = await limited({ content, _meta: { big: 'x'.repeat(2_000_000) } });
    expect(JSON.stringify(result._meta).length).toBeLessThan(1_000);
    expect(result.durationMs).toBeLessThan(20_000);
  });

  it('limits what is neither text nor media, and the message of an error', async () => {
    const link = { type: 'resource_link' as const, uri: 'a:b', name: 'x'.repeat(3_000_000) };
    const strange = { type: 'later', blob: 'x'.repeat(3_000_000) } as never;
    expect(JSON.stringify(await limited({ content: [link, strange] })).length).toBeLessThan(2_000);
    const loud = tool('loud', () => Promise.reject(new Error('x'.repeat(10_000_000))));
    await using hub = new ToolHub({
      providers: [new InProcessToolProvider({ servers: [defineServer({ name: 's', version: '1', tools: [loud] })] })],
    });
    expect(JSON.stringify(await hub.callTool('s.loud')).length).toBeLessThan(400_000);
  });

  it('survives cyclic structured content', async () => {
    const circle: JsonObject = {};
    circle.self = circle;
    expect((await limited({ structuredContent: circle })).structuredContent).toBeUndefined();
  });

  it('keeps binary blocks of up to 8 MiB', async () => {
    const block = (mib: number) => ({
      type: 'image' as const,
      mimeType: 'image/png',
      data: 'A'.repeat((mib * 1024 * 1024 * 4) / 3),
    });
    const { content } = await limited({ content: [block(7), block(9)] });
    expect(content.map(({ type }) => type)).toEqual(['image', 'text']);
  });
});

describe('ToolHub lifecycle', () => {
  it('disconnect() settles calls in flight, even if their tools ignore the signal', async () => {
    const hub = new ToolHub({ providers: [foreign('a', { callTool: never })] });
    await hub.connect();
    const calls = Array.from({ length: 10 }, () => hub.callTool('a.run', { n: 1 }));
    await sleep(10);
    await hub.disconnect();
    for (const { error } of await Promise.all(calls)) expect(error?.code).toBe('CONNECTION_CLOSED');
  });

  it('disconnect() does not wait for a provider that hangs, and disconnects one that connects late', async () => {
    let open = (): void => undefined;
    const disconnect = vi.fn(async () => undefined);
    const late = foreign('late', { connect: () => new Promise<void>((resolve) => (open = resolve)), disconnect });
    const hub = new ToolHub({
      providers: [foreign('a', { connect: never }), foreign('b', { listTools: never }), late],
    });
    const connecting = hub.connect().catch((error: unknown) => error);
    const call = hub.callTool('a.run', { n: 1 });
    await sleep(10);
    const started = performance.now();
    await hub.disconnect();
    expect(performance.now() - started).toBeLessThan(5_000);
    expect(await connecting).toMatchObject({ code: 'NOT_CONNECTED' });
    expect((await call).error?.code).toBe('CONNECTION_CLOSED');
    open();
    await vi.waitFor(() => expect(disconnect).toHaveBeenCalledTimes(2));
  });

  it('disconnect() disconnects all providers', async () => {
    const disconnect = vi.fn(async () => undefined);
    const hub = new ToolHub({ providers: [foreign('a', { disconnect }), foreign('b', { disconnect })] });
    await hub.connect();
    await Promise.all([hub.disconnect(), hub.disconnect()]);
    expect(disconnect).toHaveBeenCalledTimes(2);
  });

  it('leaves no listener on a signal that many calls share', async () => {
    await using hub = new ToolHub({ providers: [provider('a', 'x')] });
    await hub.connect();
    const { signal } = new AbortController();
    await using _ = expectNoLeaks({ targets: [signal] });
    const warned = vi.fn();
    process.once('warning', warned);
    await Promise.all(Array.from({ length: 200 }, () => hub.callTool('a.x', {}, { signal })));
    await sleep(5);
    process.removeListener('warning', warned);
    expect(warned).not.toHaveBeenCalled();
  });

  it('counts calls and failures, and measures durations', async () => {
    await using hub = new ToolHub({ providers: [provider('a', 'x')] });
    await hub.callTool('a.x');
    await hub.callTool('a.nothing');
    expect(hub.status()[0]).toMatchObject({
      calls: 2,
      failures: 1,
      p50Ms: expect.any(Number) as number,
      since: expect.any(Number) as number,
    });
    expect(hub.health()).toMatchObject({ state: 'READY', totalInvocations: 2, totalFailures: 1 });
  });
});

describe('hub.prepareCall()', () => {
  const directive = { type: 'stop_processing', params: {} } as const;
  /** A provider of a stranger that refuses each call as `refused` says. */
  const refusing = (refused: Partial<ToolResult>): ToolProvider =>
    foreign('a', {
      kind: 'other',
      prepareCall: (name, args) => ({
        tool: { name, description: '', inputSchema: { type: 'object' }, annotations: {} as never },
        args,
        claims: [],
        refused: { content: [], isError: true, directives: [], durationMs: 0, ...refused },
        execute: () => Promise.reject(new Error('It must not be asked.')),
      }),
    });

  it('removes directives of an untrusted provider, and rejects a refusal that is not an error', async () => {
    const hostile = refusing({ directives: [directive], _meta: { 'toolwright/directives': [directive] } });
    const inner = new ToolHub({ name: 'inner', providers: [hostile] });
    await using outer = new ToolHub({ providers: [inner] });
    for (const hub of [inner, outer]) {
      const prepared = await hub.prepareCall('a.run', { n: 1 });
      for (const result of [prepared.refused, await prepared.execute(), await hub.callTool('a.run', { n: 1 })])
        expect(result).toMatchObject({ isError: true, directives: [] });
      expect(JSON.stringify(prepared.refused)).not.toContain('stop_processing');
    }
    await using fooled = new ToolHub({ providers: [refusing({ isError: false })] });
    expect((await fooled.prepareCall('a.run', { n: 1 })).refused?.error?.code).toBe('INTERNAL');
  });

  it('does not suggest hidden tools', async () => {
    await using hub = new ToolHub({
      providers: [provider('s', 'secret_thing', 'open')],
      policy: { rules: [{ tool: 's.secret_*', action: 'deny' }], default: 'allow' },
    });
    expect((await hub.prepareCall('s.secret_thin', {})).refused?.error?.message).not.toContain('secret_thing');
  });

  it('ends at the default deadline', async () => {
    await using hub = new ToolHub({
      providers: [foreign('a', { connect: () => new Promise(() => undefined) })],
      limits: { callTimeoutMs: 100 },
    });
    expect((await hub.prepareCall('a.run', { n: 1 })).refused?.error?.code).toBe('TIMED_OUT');
  });
});

describe('ToolHub limits.maxTextBytes', () => {
  const large = 'x'.repeat(900_000);
  it.each<[string, unknown[]]>([
    ['links with long names', Array.from({ length: 20 }, () => ({ type: 'resource_link', uri: 'a:b', name: large }))],
    ['blocks of an unknown kind', Array.from({ length: 20 }, () => ({ type: 'odd', data: large }))],
    ['a text with large annotations', [{ type: 'text', text: 'a', annotations: { a: 'x'.repeat(20_000_000) } }]],
    ['an image with a long kind', [{ type: 'image', data: 'AA==', mimeType: 'x'.repeat(20_000_000) }]],
    ['a file with a long address', [{ type: 'resource', resource: { uri: 'x'.repeat(20_000_000), text: 'a' } }]],
    ['a million of nothing', Array.from({ length: 1_000_000 }, () => ({ type: 'text', text: '' }))],
  ])('limits what a foreign provider returns besides text: %s', async (_what, content) => {
    const callTool = async (): Promise<ToolResult> => ({
      content: content as ToolResult['content'],
      isError: false,
      directives: [],
      durationMs: 0,
    });
    await using hub = new ToolHub({ providers: [foreign('a', { callTool })] });
    const result = await hub.callTool('a.run', { n: 1 });
    expect(JSON.stringify(result).length).toBeLessThan(2_000_000);
    expect(JSON.stringify(result.content)).toContain('left out');
  });

  it('limits the total size of images, and the details of an error', async () => {
    const image = { type: 'image' as const, data: 'A'.repeat(8_000_000), mimeType: 'image/png' };
    const error = {
      code: 'EXECUTION_FAILED' as const,
      message: 'no',
      retryable: false,
      details: { a: 'x'.repeat(20_000_000) },
    };
    const callTool = async (): Promise<ToolResult> => ({
      content: Array.from({ length: 10 }, () => image),
      isError: true,
      error,
      directives: [],
      durationMs: 0,
    });
    await using hub = new ToolHub({ providers: [foreign('a', { callTool })] });
    const result = await hub.callTool('a.run', { n: 1 });
    expect(result.content.filter(({ type }) => type === 'image')).toHaveLength(5);
    expect(result.error).toMatchObject({ code: 'EXECUTION_FAILED', message: 'no' });
    expect(result.error?.details).toBeUndefined();
  });
});
