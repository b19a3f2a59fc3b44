// hub.declarations(): what it declares, and that TypeScript accepts it whatever the tools are called and their schemas contain.

import {
  defineServer,
  defineTool,
  InProcessToolProvider,
  ToolHub,
  type JsonSchema,
  type ToolProvider,
} from '@toolwright/core';
import { createTestProject } from '@toolwright/core/testing';
import fc from 'fast-check';
import ts from 'typescript';
import { afterEach, describe, expect, it } from 'vitest';

const ends: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

interface Listed {
  name: string;
  description?: string;
  inputSchema?: JsonSchema;
  outputSchema?: JsonSchema;
}

/** A hub over a foreign provider, which may list anything. */
function hubOf(tools: readonly Listed[]): ToolHub {
  const provider: ToolProvider = {
    name: 'foreign',
    kind: 'other',
    servers: [...new Set(tools.map(({ name }) => name.slice(0, name.indexOf('.'))))],
    connect: async () => undefined,
    listTools: async () =>
      tools.map(({ description = '', inputSchema = { type: 'object' }, ...tool }) => ({
        ...tool,
        description,
        inputSchema,
        annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true },
      })),
    callTool: async () => ({ content: [], isError: false, directives: [], durationMs: 0 }),
    disconnect: async () => undefined,
    [Symbol.asyncDispose]: async () => undefined,
    onToolsChanged: () => () => undefined,
  };
  const hub = new ToolHub({ providers: [provider] });
  ends.push(() => hub.disconnect());
  return hub;
}

const FILE = '/declarations.ts';
const OPTIONS: ts.CompilerOptions = {
  strict: true,
  types: [],
  skipLibCheck: true, // only the declarations are in question
  noEmit: true,
  target: ts.ScriptTarget.ES2022,
  lib: ['lib.es2022.d.ts', 'lib.dom.d.ts'],
};
const libraries = ts.createCompilerHost(OPTIONS);
const parsed = new Map<string, ts.SourceFile | undefined>();

/** What the compiler says of a text. */
function faultsOf(text: string): string[] {
  const host: ts.CompilerHost = {
    ...libraries,
    getSourceFile: (name, target) => {
      if (name === FILE) return ts.createSourceFile(name, text, target, true);
      if (!parsed.has(name)) parsed.set(name, libraries.getSourceFile(name, target));
      return parsed.get(name);
    },
  };
  const program = ts.createProgram([FILE], OPTIONS, host);
  return ts.getPreEmitDiagnostics(program).map(({ messageText, start = 0 }) => {
    const message = ts.flattenDiagnosticMessageText(messageText, '\n');
    return `${message} at ${text.slice(Math.max(0, start - 80), start + 80)}`;
  });
}

const object = (properties: JsonSchema, more: JsonSchema = {}): JsonSchema => ({ type: 'object', properties, ...more });

describe('declarations()', () => {
  it('declares a constant for each server, and a function for each tool', async () => {
    const tool = defineTool({
      name: 'read',
      description: 'Read a file.\nOr a part of it.',
      input: object(
        { path: { type: 'string', description: 'The file.' }, limit: { type: 'integer', default: 10 } },
        { required: ['path'] },
      ),
      output: object({ text: { type: 'string' } }, { required: ['text'] }),
      execute: () => ({ text: '' }),
    });
    const list = defineTool({ name: 'list', description: 'List.', execute: () => 'x' });
    const server = defineServer({ name: 'files', version: '1.0.0', tools: [tool, list] });
    const hub = new ToolHub({ providers: [new InProcessToolProvider({ servers: [server] })] });
    ends.push(() => hub.disconnect());
    expect(await hub.declarations()).toBe(`declare const files: {
  /**
   * Read a file.
   * Or a part of it.
   */
  read(args: {
    /** The file. */
    path: string;
    /** Default: 10. */
    limit?: number;
  }): Promise<{
    text: string;
  }>;
  /** List. */
  list(args?: { [key: string]: never }): Promise<unknown>;
};

export {};
`);
    expect(await hub.declarations({ include: ['files.list'] })).not.toContain('read');
    expect(await hub.declarations({ exclude: ['files'] })).toBe('export {};\n');
    await expect(hub.declarations({ only: [] } as object)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
  });

  it('has types that programs can use', async () => {
    const text = await hubOf([
      {
        name: 'a.kinds',
        inputSchema: object(
          {
            either: { anyOf: [{ type: 'string' }, { type: 'number' }] },
            mode: { enum: ['fast', 'slow', 3, null] },
            only: { const: 'this' },
            maybe: { type: ['string', 'null'] },
            old: { type: 'string', nullable: true },
            pair: { type: 'array', prefixItems: [{ type: 'string' }, { type: 'number' }], items: false, minItems: 2 },
            former: { type: 'array', items: [{ type: 'string' }, { type: 'number' }], minItems: 1 },
            list: { type: 'array', items: { enum: ['a', 'b'] } },
            map: { type: 'object', additionalProperties: { type: 'number' } },
            both: {
              allOf: [object({ x: { type: 'number' } }), object({ y: { type: 'number' } }, { required: ['y'] })],
            },
            tree: { $ref: '#/$defs/Tree' },
          },
          {
            required: ['either'],
            $defs: {
              Tree: object(
                { value: { type: 'string' }, children: { type: 'array', items: { $ref: '#/$defs/Tree' } } },
                { required: ['value'] },
              ),
            },
          },
        ),
        outputSchema: object({ count: { type: 'integer' } }, { required: ['count'] }),
      },
    ]).declarations();
    const uses = `
      const ok: Promise<{ count: number }> = a.kinds({
        either: 1, mode: 3, only: 'this', maybe: null, old: null, pair: ['x', 1], former: ['x'], list: ['a'], map: { k: 1 },
        both: { x: 1, y: 2 }, tree: { value: 'r', children: [{ value: 'c', children: [] }] },
      });
      void ok;
      // @ts-expect-error either is required
      void a.kinds({});
      // @ts-expect-error not one of the literals
      void a.kinds({ either: 1, mode: 'other' });
      // @ts-expect-error a pair has two
      void a.kinds({ either: 1, pair: ['x'] });
      // @ts-expect-error y is required
      void a.kinds({ either: 1, both: { x: 1 } });
      // @ts-expect-error no value
      void a.kinds({ either: 1, tree: { value: 'r', children: [{}] } });`;
    expect(faultsOf(text + uses)).toEqual([]);
  });

  it('is valid for hostile names and texts', async () => {
    const names = [
      'delete',
      'new',
      'constructor',
      '__proto__',
      'then',
      'a b',
      '1st',
      'x.y',
      'quote"',
      'back\\slash',
      "it's",
      '',
      '*/',
      '\u2028',
      '漢字',
      'a\nb',
      '${x}',
      '`',
    ];
    const servers = [
      'my-server',
      'my_server',
      'my_server_',
      'delete',
      '1password',
      'undefined',
      'Promise',
      'console',
      'name',
      'type',
      'arguments',
      '-',
    ];
    const texts = [
      '*/ export const hacked = 1; /*',
      '/** **/ */',
      'a\u2028*/b',
      '*\u200b/ declare const x: 1;',
      '@deprecated {@link x}',
      '*\\/',
      '"`${',
    ];
    const tools = servers.flatMap((server, index) =>
      names.map((name, at) => {
        const text = texts[(index + at) % texts.length]!;
        return {
          name: `${server}.${name}`,
          description: text,
          inputSchema: object(
            Object.fromEntries(names.map((key) => [key, { description: text, enum: [...names, text] }])),
            {
              required: [...names, 'absent'],
              $defs: { 'a b/*': { type: 'string' } },
              patternProperties: { '.*': { $ref: '#/$defs/a b~1*' } },
            },
          ),
        };
      }),
    );
    const text = await hubOf(tools).declarations();
    expect(faultsOf(text)).toEqual([]);
    expect(text).toContain('/** The server "my-server". */\ndeclare const my_server__: {');
    const source = ts.createSourceFile(FILE, text, ts.ScriptTarget.ES2022);
    expect(source.statements.every((one) => ts.isVariableStatement(one) || ts.isExportDeclaration(one))).toBe(true);
    expect(source.statements).toHaveLength(servers.length + 1);
  });

  it('names thousands of types alike soon, and hides no character', async () => {
    const texts = Array.from({ length: 9_000 }, (_, at) => String.fromCharCode(0x100 + (at % 200), 0x200 + at / 200));
    const $defs = Object.fromEntries(texts.map((text) => [text, { type: 'string' }]));
    const properties = Object.fromEntries(texts.map((text, at) => [`p${at}`, { $ref: `#/$defs/${text}` }]));
    const hidden = { type: 'object', properties: { 'a\u2028': { enum: ['\u202e', '\u200b'] } } };
    const tools = texts.slice(0, 4_000).map((text) => ({ name: `a.${text}`, inputSchema: hidden }));
    const hub = hubOf([...tools, { name: 'a.types', inputSchema: { type: 'object', properties, $defs } }]);
    await hub.connect();
    const startedAt = performance.now();
    const text = await hub.declarations();
    expect(performance.now() - startedAt).toBeLessThan(3_000);
    expect(text).not.toMatch(/[\u2028\u202e\u200b]/);
    expect(text).toContain(String.raw`"a\u{2028}"?: "\u{202e}" | "\u{200b}"`);
  });

  it('is valid for hard schemas', async () => {
    const union = { anyOf: Array.from({ length: 50 }, (_one, index) => object({ [`k${index}`]: { type: 'string' } })) };
    const deep = (depth: number): JsonSchema => (depth === 0 ? { type: 'string' } : object({ next: deep(depth - 1) }));
    const schemas: Record<string, JsonSchema> = {
      itself: { $ref: '#' },
      root: object({ child: { $ref: '#' }, list: { type: 'array', items: { $ref: '#' } } }),
      circle: object(
        { a: { $ref: '#/$defs/a' } },
        { $defs: { a: { $ref: '#/$defs/b' }, b: { anyOf: [{ $ref: '#/$defs/a' }, { type: 'string' }] } } },
      ),
      alias: object({ a: { $ref: '#/$defs/a' } }, { $defs: { a: { type: 'array', items: { $ref: '#/$defs/a' } } } }),
      map: object(
        { a: { $ref: '#/$defs/a' } },
        { $defs: { a: { type: 'object', additionalProperties: { $ref: '#/$defs/a' } } } },
      ),
      tuple: object(
        { a: { $ref: '#/$defs/a' } },
        { $defs: { a: { prefixItems: [{ $ref: '#/$defs/a' }, { type: ['null', 'object'] }], items: { $ref: '#' } } } },
      ),
      both: object(
        { a: { $ref: '#/$defs/a' } },
        { $defs: { a: { allOf: [{ $ref: '#/$defs/a' }, object({ x: { $ref: '#/$defs/a' } })] } } },
      ),
      crossed: {
        type: 'object',
        allOf: [union, union, { ...union, properties: { z: { type: 'number' } } }, { oneOf: union.anyOf }],
      },
      property: object({ a: object({ b: { type: 'string' } }), c: { $ref: '#/properties/a/properties/b' } }),
      lost: object({
        a: { $ref: '#/$defs/none' },
        b: { $ref: 'https://example.com/x' },
        c: { $ref: '#/%' },
        d: true,
        e: false,
        f: {},
      }),
      wide: object(
        Object.fromEntries(
          Array.from({ length: 5_000 }, (_one, index) => [
            `property_${index}`,
            { type: 'integer', description: `Number ${index}.` },
          ]),
        ),
      ),
      literals: object({
        a: { enum: Array.from({ length: 3_000 }, (_one, index) => `v${index}`) },
        b: { const: { x: [1] } },
        c: { enum: [-1, 1e300, 0.5] },
        d: { enum: [] },
      }),
      deep: deep(300),
      odd: {
        type: 'object',
        properties: [] as unknown,
        required: 'x',
        anyOf: {},
        items: 3,
        enum: 'x',
      },
      typeless: { properties: { a: { items: { type: 'nonsense' } } }, required: ['a'] },
      closed: { type: 'object', additionalProperties: false },
      mixed: object({ a: { type: 'string' } }, { additionalProperties: { type: 'number' } }),
    };
    const tools = Object.entries(schemas).map(([name, schema]) => ({
      name: `hard.${name}`,
      inputSchema: schema,
      outputSchema: schema,
    }));
    const text = await hubOf(tools).declarations();
    expect(faultsOf(text)).toEqual([]);
    expect(text).toContain('property_4999?: number;');
  });

  it('is valid for arbitrary schemas', { timeout: 120_000 }, async () => {
    const { schema } = fc.letrec<{ schema: JsonSchema; list: JsonSchema[] }>((tie) => ({
      schema: fc.oneof(
        { depthSize: 'small', withCrossShrink: true },
        fc.constantFrom<JsonSchema>(
          { type: 'string' },
          { type: ['null', 'integer'] },
          {},
          { enum: ['a', 1, null] },
          { const: '*/' },
        ),
        fc.constantFrom('#', '#/$defs/a', '#/$defs/b', '#/$defs/c', '#/properties/x').map(($ref) => ({ $ref })),
        fc.record(
          { anyOf: tie('list'), allOf: tie('list'), type: fc.constantFrom('object', 'array', 'string') },
          { requiredKeys: [] },
        ),
        fc.record(
          { type: fc.constant('array'), items: tie('schema'), prefixItems: tie('list'), minItems: fc.nat(3) },
          { requiredKeys: ['type'] },
        ),
        fc.record(
          {
            type: fc.constant('object'),
            properties: fc.dictionary(fc.constantFrom('x', 'y', 'new', '*/'), tie('schema')),
            additionalProperties: fc.oneof(fc.boolean(), tie('schema')),
          },
          { requiredKeys: ['type'] },
        ),
      ),
      list: fc.array(tie('schema'), { maxLength: 3 }),
    }));
    const root = fc.record({
      type: fc.constant('object'),
      properties: fc.dictionary(fc.constantFrom('x', 'y', 'z'), schema),
      $defs: fc.record({ a: schema, b: schema, c: schema }),
    });
    const seed = Date.now() % 2 ** 31;
    const samples = fc.sample(root, { numRuns: 300, seed }) as JsonSchema[];
    const text = await hubOf(
      samples.map((inputSchema, index) => ({ name: `a.t${index}`, inputSchema })),
    ).declarations();
    expect(faultsOf(text), `seed ${seed}`).toEqual([]);
  });

  it('is valid for the built-in tools', async () => {
    await using project = await createTestProject({});
    const provider = InProcessToolProvider.forProject(project.projectDir, {
      agent: {},
      git: { groups: ['merge', 'rewrite', 'tag', 'network'] },
    });
    const hub = new ToolHub({ providers: [provider] });
    ends.push(() => hub.disconnect());
    const text = await hub.declarations();
    expect(
      faultsOf(`${text}
      void filesystem.read_file({ path: 'a' }).then(({ etag }) => etag.length);
      // @ts-expect-error no path
      void filesystem.read_file({});`),
    ).toEqual([]);
  });
});
