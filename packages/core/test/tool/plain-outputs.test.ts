import { describe, expect, expectTypeOf, it } from 'vitest';
import { z } from 'zod';
import {
  callTyped,
  defineServer,
  defineTool,
  InProcessToolProvider,
  textOf,
  ToolHub,
  type Tool,
} from '../../src/index.js';
import { fromWireResult } from '../../src/mcp/index.js';
import { runTool } from '../../src/testing/index.js';

const providerOf = (...tools: Tool[]): InProcessToolProvider =>
  new InProcessToolProvider({ servers: [defineServer({ name: 's', version: '1', tools })] });

describe('defineTool() output schema that is not an object', () => {
  const cases: [what: string, tool: Tool, result: unknown][] = [
    ['a number', defineTool({ name: 't', description: 'T', output: z.number(), execute: () => 3 }), 3],
    ['a text', defineTool({ name: 't', description: 'T', output: z.string(), execute: () => 'hi' }), 'hi'],
    [
      'rows with a type of their own',
      defineTool({
        name: 't',
        description: 'T',
        output: z.array(z.object({ type: z.string() })),
        execute: () => [{ type: 'file' }],
      }),
      [{ type: 'file' }],
    ],
    [
      'a plain JSON Schema',
      defineTool({
        name: 't',
        description: 'T',
        output: { type: 'array', items: { $ref: '#/$defs/row' }, $defs: { row: { type: 'integer' } } },
        execute: () => [1, 2],
      }),
      [1, 2],
    ],
    [
      'an asynchronous schema',
      defineTool({
        name: 't',
        description: 'T',
        output: z.number().refine((value) => Promise.resolve(value > 0)),
        execute: () => 3,
      }),
      3,
    ],
  ];

  it.each(cases)('is listed, validated and returned as { result }: %s', async (_what, tool, result) => {
    await using provider = providerOf(tool);
    const [listed] = await provider.listTools();
    expect(listed?.outputSchema).toMatchObject({ type: 'object', required: ['result'] });
    const given = await provider.callTool('s.t');
    expect(given).toMatchObject({ isError: false, structuredContent: { result } });
    expect(textOf(given)).toBe(typeof result === 'string' ? result : JSON.stringify(result));
    expect(await callTyped(provider, tool, {})).toEqual(result);
  });

  it('rejects an output that does not match, with its path', async () => {
    const tool = defineTool({
      name: 't',
      description: 'T',
      output: z.array(z.number()),
      execute: () => ['x'],
    });
    const { error } = await runTool(tool, {});
    expect(error).toMatchObject({ code: 'OUTPUT_INVALID', message: expect.stringContaining('result[0]') as string });
  });

  it('moves references to the root', async () => {
    const output = { type: 'array', items: { $ref: '#' } } as const;
    const tool = defineTool({ name: 't', description: 'T', output, execute: () => [[], [[]]] });
    expect(await runTool(tool, {})).toMatchObject({ isError: false, structuredContent: { result: [[], [[]]] } });
  });

  it('is typed by the schema', async () => {
    const tool = defineTool({ name: 't', description: 'T', output: z.number(), execute: () => 3 });
    await using provider = providerOf(tool);
    expectTypeOf(await callTyped(provider, tool, {})).toEqualTypeOf<number>();
  });
});

it.each(['content', 'no content'])('structuredContent with empty or %s returns its text', async (which) => {
  const tool = defineTool({
    name: 't',
    description: 'T',
    execute: () => ({ ...(which === 'content' && { content: [] }), structuredContent: { a: 1 } }),
  });
  expect(textOf(await runTool(tool, {}))).toBe('{"a":1}');
  expect(textOf(fromWireResult({ content: [], structuredContent: { a: 1 } }))).toBe('{"a":1}');
});

describe('CallOptions.calledAs', () => {
  const add = defineTool({
    name: 'add',
    description: 'Add',
    input: z.object({ a: z.number() }),
    execute: () => {
      throw new Error('the tool math.add says no');
    },
  });
  const server = defineServer({ name: 'math', version: '1', tools: [add] });

  it.each([true, false])('names the tool in errors as the caller did (through a hub: %s)', async (throughHub) => {
    const inner = new InProcessToolProvider({ servers: [server] });
    await using provider = throughHub ? new ToolHub({ providers: [inner] }) : inner;
    for (const args of [{ a: 'x' }, { b: 1 }]) {
      const result = await provider.callTool('math.add', args, { calledAs: 'math__add' });
      expect(textOf(result)).toContain('"math__add"');
      expect(result.error?.message).toContain('"math__add"');
      expect(JSON.stringify(result.content)).not.toContain('"add"');
    }
    expect((await provider.callTool('math.add', { a: 'x' })).error?.message).toContain('"add"');
  });

  it("does not rename arguments, values or the tool's own texts that equal its name", async () => {
    const path = defineTool({
      name: 'path',
      description: 'P',
      input: z.object({ path: z.string(), other: z.enum(['path', 'x']).optional() }),
      execute: ({ path: at }) => {
        throw new Error(`no file "path" at ${at}`);
      },
    });
    await using provider = providerOf(path);
    const messageOf = async (args: object): Promise<string | undefined> =>
      (await provider.callTool('s.path', { ...args }, { calledAs: 's__path' })).error?.message;
    expect(await messageOf({ pth: 'x' })).toBe('"s__path" has no argument "pth" (did you mean "path"?).');
    expect(await messageOf({ path: 'a', other: 'q' })).toMatch(/"s__path": other: .*"path"/);
    expect(await messageOf({ path: 'a' })).toBe('no file "path" at a');
  });

  it('names it so in errors of the policy', async () => {
    await using hub = new ToolHub({
      providers: [new InProcessToolProvider({ servers: [server] })],
      policy: { rules: [{ tool: 'math.add', pattern: 'add', action: 'deny' }], default: 'ask' },
    });
    const { error } = await hub.callTool('math.add', { a: 1 }, { calledAs: 'math__add' });
    expect(error).toMatchObject({ code: 'PERMISSION_DENIED', message: expect.stringContaining('math__add') as string });
    // A rule is shown as the policy has it: it would not match under another name.
    expect(error?.message).toContain('{ tool: "math.add", pattern: "add", action: "deny" }');
  });
});

describe('callTyped()', () => {
  it('is OUTPUT_INVALID when a different tool of that name ran', async () => {
    const add = defineTool({
      name: 'add',
      description: 'Add',
      input: z.object({ a: z.number() }),
      output: z.object({ sum: z.number() }),
      execute: ({ a }) => ({ sum: a }),
    });
    const other = defineTool({
      name: 'add',
      description: 'Adds a user',
      input: z.looseObject({}),
      execute: () => ({ user: 'root' }),
    });
    const serve = (name: string, tool: Tool) => defineServer({ name, version: '1', tools: [tool] });
    await using users = new InProcessToolProvider({ servers: [serve('users', other)] });
    await expect(callTyped(users, add, { a: 1 })).rejects.toMatchObject({
      code: 'OUTPUT_INVALID',
      message: expect.stringContaining('set the option `server`') as string,
    });
    await using both = new InProcessToolProvider({ servers: [serve('users', other), serve('math', add)] });
    expect(await callTyped(both, add, { a: 1 }, { server: 'math' })).toEqual({ sum: 1 });
  });
});
