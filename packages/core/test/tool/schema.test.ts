import { toStandardJsonSchema } from '@valibot/to-json-schema';
import {
  callTyped,
  defineServer,
  defineTool,
  InProcessToolProvider,
  ToolError,
  type ToolSchema,
} from '@toolwright/core';
import { runTool } from '@toolwright/core/testing';
import { type } from 'arktype';
import * as v from 'valibot';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import * as mini from 'zod/mini';
import { z as z3 } from 'zod/v3';

const literal = {
  type: 'object',
  properties: { n: { type: 'number' }, flag: { type: 'boolean' }, name: { type: 'string', default: 'anon' } },
  required: ['n'],
} as const;

/** One input in five dialects: { n: number, flag?: boolean, name: string = 'anon' }. */
const DIALECTS: Record<string, ToolSchema> = {
  'zod 4': z.object({ n: z.number(), flag: z.boolean().optional(), name: z.string().default('anon') }),
  'zod 3': z3.object({ n: z3.number(), flag: z3.boolean().optional(), name: z3.string().default('anon') }),
  ArkType: type({ n: 'number', 'flag?': 'boolean', name: "string = 'anon'" }),
  valibot: toStandardJsonSchema(
    v.object({ n: v.number(), flag: v.optional(v.boolean()), name: v.optional(v.string(), 'anon') }),
  ),
  'a JSON Schema literal': literal,
};

const probe = (input: ToolSchema) =>
  defineTool({ name: 'probe', description: 'Gives back its arguments.', input, execute: (args) => ({ args }) });
const serve = (...tools: ReturnType<typeof probe>[]) =>
  new InProcessToolProvider({ servers: [defineServer({ name: 's', version: '1', tools })] });

describe.each(Object.entries(DIALECTS))('defineTool() with %s', (_dialect, input) => {
  const tool = probe(input);

  it('lists a closed object schema with the properties', async () => {
    await using provider = serve(tool);
    const [listed] = await provider.listTools();
    expect(listed?.inputSchema).toMatchObject({ type: 'object', additionalProperties: false, required: ['n'] });
    expect(Object.keys(listed?.inputSchema.properties as object).toSorted()).toEqual(['flag', 'n', 'name']);
    expect(listed?.inputSchema.$schema).toBeUndefined();
  });

  it(`fills in defaults without changing the caller's object`, async () => {
    const args = { n: 1 };
    const result = await runTool(tool, args);
    expect(result.structuredContent).toEqual({ args: { n: 1, name: 'anon' } });
    expect(args).toEqual({ n: 1 });
  });

  it('coerces numeric and boolean strings', async () => {
    const result = await runTool(tool, { n: '1.5e1', flag: 'true' });
    expect(result.structuredContent).toEqual({ args: { n: 15, flag: true, name: 'anon' } });
  });

  it.each([
    [{}],
    [{ n: 'one' }],
    [{ n: ' 1' }],
    [{ n: '0x10' }],
    [{ n: 1, flag: 'yes' }],
    [{ n: null }],
    [{ n: 1, name: 5 }],
  ])('refuses %j naming the field', async (args) => {
    const { error } = await runTool(tool, args);
    expect(error?.code).toBe('INVALID_ARGUMENT');
    expect(error?.message).toMatch(/\b(n|flag|name)\b/);
  });

  it('rejects an unknown argument and suggests a similar one', async () => {
    const { error } = await runTool(tool, { n: 1, nam: 'x' });
    expect(error).toMatchObject({ code: 'INVALID_ARGUMENT', message: expect.stringContaining('"name"') as string });
  });

  it('rejects an own __proto__ property', async () => {
    const { error } = await runTool(tool, JSON.parse('{"n":1,"__proto__":{"flag":true}}') as object);
    expect(error?.code).toBe('INVALID_ARGUMENT');
  });
});

describe('defineTool()', () => {
  it('keeps a schema open that allows additional properties', async () => {
    const open = [
      z.looseObject({ n: z.number() }),
      z.object({ n: z.number() }).catchall(z.string()),
      z3.object({ n: z3.number() }).passthrough(),
      { ...literal, additionalProperties: true },
      { ...literal, patternProperties: { '^x-': {} } },
    ];
    for (const schema of open) {
      const { isError } = await runTool(probe(schema), { n: 1, 'x-more': 'yes' });
      expect(isError).toBe(false);
    }
  });

  it('coerces below arrays and $refs, but not below a union', async () => {
    const schema = {
      type: 'object',
      properties: {
        edits: { type: 'array', items: { $ref: '#/$defs/edit' } },
        either: { anyOf: [{ type: 'number' }, { type: 'boolean' }] },
      },
      $defs: { edit: { type: 'object', properties: { line: { type: 'integer' } } } },
    };
    const coerced = await runTool(probe(schema), { edits: [{ line: '3' }] });
    expect(coerced.structuredContent).toEqual({ args: { edits: [{ line: 3 }] } });
    const union = await runTool(probe(schema), { either: '3' });
    expect(union.error?.code).toBe('INVALID_ARGUMENT');
    const lossy = await runTool(probe(schema), { edits: [{ line: '12345678901234567890' }] });
    expect(lossy.error?.code).toBe('INVALID_ARGUMENT');
  });

  it.each(['9007199254740993', '0.1234567890123456789', '1e400', '1e-400', '0x10', ' 1', '١'])(
    'does not coerce %j, which would lose something or is not a JSON number',
    async (n) => {
      expect((await runTool(probe(z.object({ n: z.number() })), { n })).error?.code).toBe('INVALID_ARGUMENT');
    },
  );

  it.each([
    ['9007199254740991', 9007199254740991],
    ['-1.50e1', -15],
    ['1e21', 1e21],
    ['0.10', 0.1],
    ['1.0', 1],
  ])('coerces %j, which loses nothing', async (n, number) => {
    const result = await runTool(probe(z.object({ n: z.number() })), { n });
    expect(result.structuredContent).toEqual({ args: { n: number } });
  });

  it.each<[string, (type: 'number') => ToolSchema]>([
    ['zod 4', () => z.object({ n: z.number().nullish() })],
    ['zod 3', () => z3.object({ n: z3.number().nullish() })],
    ['ArkType', () => type({ 'n?': 'number | null' })],
    ['a list of types', () => ({ type: 'object', properties: { n: { type: ['number', 'null'] } } })],
  ])('coerces numbers that may be null (%s)', async (_what, schema) => {
    const tool = probe(schema('number'));
    expect((await runTool(tool, { n: '7' })).structuredContent).toEqual({ args: { n: 7 } });
    expect((await runTool(tool, { n: null })).structuredContent).toEqual({ args: { n: null } });
    expect((await runTool(tool, { n: 'null' })).isError).toBe(true);
  });

  it('coerces below a recursive zod type', async () => {
    const node = z.object({
      n: z.number(),
      get next() {
        return node.optional();
      },
    });
    const result = await runTool(probe(node), { n: '1', next: { n: '2', next: { n: '3' } } });
    expect(result.structuredContent).toEqual({ args: { n: 1, next: { n: 2, next: { n: 3 } } } });
  });

  it('compiles a schema with an $id independently of others with that $id', async () => {
    const $id = 'https://json-schema.org/draft/2020-12/schema';
    const first = probe({ $id, type: 'object', properties: { x: { $id: 'urn:x', type: 'string', pattern: '^a' } } });
    const second = probe({ type: 'object', properties: { n: { $id: 'urn:x', type: 'number', minimum: 1 } } });
    const third = probe({ type: 'object', properties: { n: { type: 'string', pattern: '^b' } } });
    expect((await runTool(first, { x: 'b' })).isError).toBe(true);
    expect((await runTool(second, { n: 0 })).isError).toBe(true);
    expect((await runTool(second, { n: 1 })).isError).toBe(false);
    expect((await runTool(third, { n: 'a' })).isError).toBe(true);
  });

  it(`lists the author's $schema`, async () => {
    const $schema = 'https://json-schema.org/draft/2020-12/schema';
    await using provider = serve(probe({ $schema, ...literal }));
    expect((await provider.listTools())[0]?.inputSchema.$schema).toBe($schema);
  });

  it('names every unknown argument', async () => {
    const { error } = await runTool(probe(z.object({ path: z.string().optional() })), { pth: 1, zzzzzzzzz: 2 });
    expect(error?.message).toContain('"pth" (did you mean "path"?)');
    expect(error?.message).toContain('"zzzzzzzzz"');
  });

  it('coerces once, then rejects what is still wrong', async () => {
    const { error } = await runTool(probe(z.object({ n: z.number().max(5) })), { n: '7' });
    expect(error?.code).toBe('INVALID_ARGUMENT');
  });

  it('reports all faults of a definition in one error', () => {
    const define = () =>
      defineTool({
        name: 'has a blank',
        description: ' ',
        input: { type: 'array' },
        output: { type: 'object', required: ['gone'] },
        execute: 'no' as never,
      });
    expect(define).toThrow(ToolError);
    try {
      define();
    } catch (error) {
      expect(ToolError.from(error).details?.faults).toHaveLength(5);
    }
  });

  it('throws immediately for a value that is not a definition', () => {
    for (const options of [null, undefined, 5, {}]) {
      expect(() => defineTool(options as never)).toThrow(
        expect.objectContaining({ code: 'INVALID_ARGUMENT' }) as Error,
      );
    }
    for (const tool of [null, undefined, {}, { name: 'x', execute: () => 'x' }]) {
      const define = () => defineServer({ name: 's', version: '1', tools: [tool as never] });
      expect(define).toThrow(expect.objectContaining({ code: 'INVALID_ARGUMENT' }) as Error);
    }
  });

  it.each([
    ['a zod union', z.union([z.object({ a: z.string() }), z.object({ b: z.string() })])],
    [
      'a discriminated union',
      z.discriminatedUnion('k', [z.object({ k: z.literal('a') }), z.object({ k: z.literal('b') })]),
    ],
    ['a root anyOf', { type: 'object', anyOf: [{ required: ['a'] }] }],
    ['a string', z.string()],
    ['zod/mini', mini.object({ a: mini.string() })],
    ['bare valibot', v.object({ a: v.string() })],
    ['a type that JSON has not', z.object({ d: z.date() })],
    ['nothing of the kind', 7 as never],
    ['a required that is not there', { type: 'object', properties: {}, required: ['x'] }],
  ])('refuses %s as input', (_what, input) => {
    expect(() => probe(input)).toThrow(expect.objectContaining({ code: 'INVALID_ARGUMENT' }) as Error);
  });

  it.each([
    ['a zod 3 union', z3.union([z3.object({ a: z3.string() }), z3.object({ b: z3.string() })])],
    ['a JSON Schema that does not compile', { type: 'object', properties: { a: { type: 'nothing' } } }],
    ['a $ref to nowhere', { type: 'object', properties: { a: { $ref: '#/$defs/gone' } } }],
  ])('leaves it to connect() to refuse %s', async (_what, input) => {
    const provider = serve(probe(input as ToolSchema));
    await expect(provider.connect()).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
      message: expect.stringContaining('"probe"') as string,
    });
  });

  it('compiles a schema that names draft-07 as draft-07', async () => {
    const schema = {
      $schema: 'http://json-schema.org/draft-07/schema#',
      type: 'object',
      properties: { pair: { type: 'array', items: [{ type: 'string' }, { type: 'number' }] } },
    };
    expect((await runTool(probe(schema), { pair: ['a', 1] })).isError).toBe(false);
    expect((await runTool(probe(schema), { pair: [1, 'a'] })).error?.code).toBe('INVALID_ARGUMENT');
  });

  it('lists tuples of zod 3 in the form of draft 2020-12', async () => {
    await using provider = serve(probe(z3.object({ pair: z3.tuple([z3.string(), z3.number()]) })));
    const [listed] = await provider.listTools();
    expect((listed?.inputSchema.properties as Record<string, object>).pair).toMatchObject({
      prefixItems: [{ type: 'string' }, { type: 'number' }],
    });
  });

  it('accepts two tools with the same $id', async () => {
    const schema = { $id: 'https://example.com/one', type: 'object', properties: {} };
    await using provider = new InProcessToolProvider({
      servers: ['a', 'b'].map((name) => defineServer({ name, version: '1', tools: [probe(schema)] })),
    });
    await provider.connect();
  });

  it('applies transforms for the function, and keeps the JSON for the policy', async () => {
    const tool = defineTool({
      name: 'upper',
      description: 'Shouts.',
      input: z.object({ text: z.string().transform((text) => text.toUpperCase()) }),
      permissionPattern: ({ text }) => text,
      execute: ({ text }) => text,
    });
    await using provider = new InProcessToolProvider({
      servers: [defineServer({ name: 's', version: '1', tools: [tool] })],
    });
    const call = await provider.prepareCall('upper', { text: 'a' });
    expect(call.args).toEqual({ text: 'a' });
    expect(call.claims[0]?.pattern).toBe('A');
    expect((await call.execute()).content).toEqual([{ type: 'text', text: 'A' }]);
  });

  it('awaits asynchronous schemas', async () => {
    const tool = probe(z.object({ n: z.number().refine(async (n) => Promise.resolve(n > 1)) }));
    expect((await runTool(tool, { n: 2 })).isError).toBe(false);
    expect((await runTool(tool, { n: 1 })).error?.code).toBe('INVALID_ARGUMENT');
    await using provider = serve(tool);
    expect((await provider.callTool('s.probe', { n: 2 })).isError).toBe(false);
    expect((await provider.callTool('s.probe', { n: 1 })).error?.code).toBe('INVALID_ARGUMENT');
  });

  it('reports a schema that throws', async () => {
    const tool = probe(z.object({ n: z.number().refine(() => { throw new Error('of the author'); }) })); // prettier-ignore
    const result = await runTool(tool, { n: 1 });
    expect(result).toMatchObject({
      isError: true,
      error: { message: expect.stringContaining('of the author') as string },
    });
  });

  it('returns the parsed output, without unknown keys of a zod object', async () => {
    const tool = defineTool({
      name: 't',
      description: 'T.',
      output: z.object({ n: z.number() }),
      execute: () => ({ n: 1, secret: 2 }),
    });
    expect((await runTool(tool, {})).structuredContent).toEqual({ n: 1 });
  });

  it('awaits an asynchronous output schema', async () => {
    const output = z.object({ n: z.number().transform(async (n) => Promise.resolve(n + 1)) });
    const listed = { type: 'object', properties: { n: { type: 'number' } } };
    const tool = defineTool({
      name: 't',
      description: 'T.',
      output: Object.assign(output, {
        '~standard': { ...output['~standard'], jsonSchema: { output: () => listed, input: () => listed } },
      }),
      execute: () => ({ n: 1 }),
    });
    expect((await runTool(tool, {})).structuredContent).toEqual({ n: 2 });
  });

  it('requires structured content of a tool with an output schema', async () => {
    const tool = defineTool({
      name: 't',
      description: 'T.',
      output: z.object({ n: z.number() }),
      execute: () => 'words',
    });
    expect((await runTool(tool, {})).error?.code).toBe('OUTPUT_INVALID');
  });
});

describe('callTyped()', () => {
  const add = defineTool({
    name: 'add',
    description: 'Adds.',
    input: z.object({ a: z.number(), b: z.number() }),
    output: z.object({ sum: z.number() }),
    execute: ({ a, b }) => ({ sum: a + b }),
  });

  it('returns the typed output', async () => {
    await using provider = new InProcessToolProvider({
      servers: [defineServer({ name: 'math', version: '1', tools: [add] })],
    });
    const { sum } = await callTyped(provider, add, { a: 1, b: 2 });
    expect(sum).toBe(3);
  });

  it('rejects with the ToolError of the result', async () => {
    await using provider = new InProcessToolProvider({
      servers: [defineServer({ name: 'math', version: '1', tools: [add] })],
    });
    await expect(callTyped(provider, add, { a: 'x' as never, b: 2 })).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
    });
    await expect(callTyped(provider, add, { a: 1, b: 2 }, { server: 'other' })).rejects.toMatchObject({
      code: 'TOOL_NOT_FOUND',
    });
  });
});
