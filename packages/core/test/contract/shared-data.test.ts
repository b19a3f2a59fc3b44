import {
  defineServer,
  defineTool,
  InProcessToolProvider,
  ToolHub,
  type Directive,
  type JsonObject,
  type ToolDefinition,
  type ToolProvider,
} from '@toolwright/core';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';

type Execute = (args: never, ctx: { state: JsonObject; meta: JsonObject | undefined }) => unknown;

const serve = (execute: Execute, more: object = {}) =>
  new InProcessToolProvider({
    name: 'p',
    servers: [
      defineServer({
        name: 's',
        version: '1',
        start: () => ({ rows: [{ id: 1 }], at: new Date(0) }),
        tools: [
          defineTool({
            name: 'run',
            description: 'Runs.',
            input: { type: 'object', properties: { list: { type: 'array' } } },
            execute: execute as never,
            ...more,
          }),
        ],
      }),
    ],
  });

/** A provider of a stranger, which goes on holding what it listed and what it answered. */
function stranger(tool: ToolDefinition, answer: JsonObject = {}): ToolProvider {
  return {
    name: 'f',
    kind: 'other',
    servers: ['f'],
    connect: async () => undefined,
    listTools: async () => [tool],
    callTool: async () => ({
      content: [],
      structuredContent: answer,
      isError: false,
      directives: [],
      durationMs: 0,
    }),
    disconnect: async () => undefined,
    onToolsChanged: () => () => undefined,
    [Symbol.asyncDispose]: async () => undefined,
  };
}

const strangersTool = () => ({
  name: 'f.run',
  description: 'Runs.',
  inputSchema: { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] },
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true },
});

describe('callTool()', () => {
  for (const [what, execute] of [
    ['an object', (_args: never, { state }: { state: JsonObject }) => state],
    ['the full form', (_args: never, { state }: { state: JsonObject }) => ({ content: [], structuredContent: state })],
    ['a promise', async (_args: never, { state }: { state: JsonObject }) => state],
  ] as [string, Execute][]) {
    it(`returns a copy of the tool's state when the tool returns ${what}`, async () => {
      for (const isHub of [false, true]) {
        const provider = serve(execute);
        await using callee = isHub ? new ToolHub({ providers: [provider] }) : provider;
        const { structuredContent } = await callee.callTool('s.run');
        expect(structuredContent).toEqual({ rows: [{ id: 1 }], at: '1970-01-01T00:00:00.000Z' });
        (structuredContent as { rows: unknown[] }).rows.push('changed');
        const again = await callee.callTool('s.run');
        expect(again.structuredContent?.rows).toEqual([{ id: 1 }]);
      }
    });
  }

  it('returns a plain copy when the tool returns a class instance', async () => {
    class Account {
      owner = { name: 'a' };
    }
    const account = new Account();
    await using provider = serve(() => account);
    const { structuredContent } = await provider.callTool('s.run');
    expect(structuredContent).toEqual({ owner: { name: 'a' } });
    expect(structuredContent).not.toBe(account);
    expect(structuredContent?.owner).not.toBe(account.owner);
  });

  it('fails with OUTPUT_INVALID when the output is cyclic, even from a promise', async () => {
    const circle: JsonObject = {};
    circle.self = circle;
    for (const execute of [
      () => ({ content: [], structuredContent: circle }),
      async () => ({ content: [], structuredContent: circle }),
    ]) {
      await using provider = serve(execute);
      expect((await provider.callTool('s.run')).error?.code).toBe('OUTPUT_INVALID');
    }
  });

  it('returns a copy of what a foreign provider or a middleware retains', async () => {
    const kept = { rows: [1] };
    await using hub = new ToolHub({ providers: [stranger(strangersTool(), kept)] });
    const { structuredContent } = await hub.callTool('f.run', { n: 1 });
    (structuredContent as { rows: number[] }).rows.push(2);
    expect(kept.rows).toEqual([1]);
  });

  it('does not copy directives and content blocks', async () => {
    const directive: Directive = { type: 'stop_processing', params: {} };
    const block = { type: 'text' as const, text: 'x' };
    const blocks = [block];
    await using provider = serve(() => ({ content: blocks, directives: [directive] }));
    const result = await provider.callTool('s.run');
    expect(result.directives[0]).toBe(directive);
    expect(result.content[0]).toBe(block);
    result.content.push(block);
    expect(blocks).toHaveLength(1);
  });
});

describe('callTool() arguments', () => {
  it('passes a copy to the tool, whose changes have no effect outside', async () => {
    const provider = serve(({ list }: { list: unknown[] }) => void list.push('changed'));
    await using hub = new ToolHub({ providers: [provider] });
    const args = { list: ['x'] };
    await hub.callTool('s.run', args);
    await provider.callTool('s.run', args);
    const prepared = await provider.prepareCall('s.run', args);
    await prepared.execute();
    expect([args, prepared.args]).toEqual([{ list: ['x'] }, { list: ['x'] }]);
  });

  it('runs the arguments that were evaluated when prepared.args is changed', async () => {
    const seen: unknown[] = [];
    const execute = (args: { list: unknown[] }) => void seen.push(args.list);
    for (const input of [{ type: 'object', properties: { list: {} } }, z.object({ list: z.unknown() })]) {
      const provider = serve(execute, { input });
      for (const callee of [provider, new ToolHub({ providers: [provider] })]) {
        const prepared = await callee.prepareCall('s.run', { list: ['judged'] });
        (prepared.args.list as unknown[])[0] = 'another';
        await prepared.execute();
        await callee.disconnect();
      }
    }
    expect(seen).toEqual(Array.from({ length: 4 }, () => ['judged']));
  });

  it('runs the arguments that were evaluated when args of a foreign prepared call is changed', async () => {
    const sent: unknown[] = [];
    const provider = stranger(strangersTool());
    provider.callTool = async (_name, args) => {
      sent.push(args);
      return { content: [], isError: false, directives: [], durationMs: 0 };
    };
    await using hub = new ToolHub({ providers: [provider] });
    const prepared = await hub.prepareCall('f.run', { n: 1 });
    prepared.args.n = 2;
    await prepared.execute();
    expect(sent).toEqual([{ n: 1 }]);
  });

  it('leaves the arguments unchanged when a tool changes its own or meta', async () => {
    const meta = { trace: { id: 1 } };
    await using provider = serve((_args, ctx) => void ((ctx.meta?.trace as JsonObject).id = 2));
    await provider.callTool('s.run', {}, { meta });
    expect(meta).toEqual({ trace: { id: 1 } });
  });
});

describe('listTools()', () => {
  it('returns a copy, so that a foreign provider cannot change what the hub enforces', async () => {
    const tool = strangersTool();
    await using hub = new ToolHub({ providers: [stranger(tool)] });
    const [listed] = await hub.listTools();
    expect(() => ((listed?.inputSchema as JsonObject).required = [])).toThrow(TypeError);
    tool.inputSchema.required = [];
    tool.inputSchema.properties.n.type = 'string';
    expect((await hub.callTool('f.run', {})).error?.code).toBe('INVALID_ARGUMENT');
    expect(await hub.callTool('f.run', { n: 1 })).toMatchObject({ isError: false });
  });

  it("lists the author's values, and does not freeze the author's objects", async () => {
    const icons = [{ src: 'data:,' }];
    const _meta = { nested: { list: [1] } };
    const input = { type: 'object', properties: { list: { type: 'array' } } };
    await using provider = serve(() => 'ran', { icons, _meta, input });
    const [listed] = await provider.listTools();
    expect(listed).toMatchObject({ icons, _meta });
    for (const part of [icons, icons[0], _meta, _meta.nested, input, input.properties.list])
      expect(Object.isFrozen(part)).toBe(false);
    expect(() => ((listed?._meta?.nested as JsonObject).list = [])).toThrow(TypeError);
    expect(() => (listed?.icons as unknown[]).push('x')).toThrow(TypeError);
  });
});

it("callTool() does not change the caller's meta when a foreign provider changes it", async () => {
  const provider: ToolProvider = {
    name: 'foreign',
    kind: 'other',
    servers: ['ext'],
    connect: async () => undefined,
    listTools: async () => [],
    callTool: async (_name, _args, options) => {
      (options?.meta?.k as { v: string }).v = 'changed';
      return { content: [], isError: false, directives: [], durationMs: 0 };
    },
    prepareCall: (name, args) => ({
      tool: {
        name,
        description: '',
        inputSchema: { type: 'object' },
        annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
      },
      args,
      claims: [{ pattern: 'run', match: 'glob', understood: true }],
      execute: (options) => provider.callTool(name, args, options),
    }),
    disconnect: async () => undefined,
    onToolsChanged: () => () => undefined,
    [Symbol.asyncDispose]: async () => undefined,
  };
  await using hub = new ToolHub({ providers: [provider] });
  const meta = { k: { v: 'mine' } };
  expect((await hub.callTool('ext.run', {}, { meta })).isError).toBe(false);
  expect(meta).toEqual({ k: { v: 'mine' } });
});
