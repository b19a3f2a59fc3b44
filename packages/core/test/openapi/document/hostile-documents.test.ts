// Hostile documents: each costs at most its own tools, a bounded time and a bounded amount of memory.

import { writeFile } from 'node:fs/promises';
import { OpenApiToolProvider, type OpenApiToolProviderOptions } from '@toolwright/core/openapi';
import { createTestProject } from '@toolwright/core/testing';
import { describe, expect, it } from 'vitest';
import type { ToolDefinition, ToolError } from '../../../src/index.js';
import { readListedSchema } from '../../../src/tool/listed-schema-validator.js';
import { documentOf, documentWith, keepingLogger, serve, SILENT } from '../serve.js';

type Json = Record<string, unknown>;
const server = 'http://127.0.0.1:9';
/** Far above what is needed, for a busy machine. */
const SOON_MS = 15_000;

async function list(
  document: OpenApiToolProviderOptions['document'],
  more: Partial<OpenApiToolProviderOptions> = {},
): Promise<readonly ToolDefinition[]> {
  const startedAt = performance.now();
  await using provider = new OpenApiToolProvider({ name: 'api', document, server, logger: SILENT, ...more });
  const tools = await provider.listTools();
  expect(performance.now() - startedAt).toBeLessThan(SOON_MS);
  return tools;
}

/** The error for a document in a file with this text. */
async function refusal(text: string, more: Partial<OpenApiToolProviderOptions> = {}): Promise<ToolError> {
  await using project = await createTestProject({});
  const path = project.resolve('api.yaml');
  await writeFile(path, text);
  const startedAt = performance.now();
  const error = await list(path, more).then(
    () => expect.fail('it was accepted'),
    (thrown: ToolError) => thrown,
  );
  expect(performance.now() - startedAt).toBeLessThan(SOON_MS);
  expect(error.code).toBe('INVALID_ARGUMENT');
  return error;
}

const HEAD = 'openapi: 3.1.0\npaths: {}\nx: ';

describe('the text of a document', () => {
  it('is refused when its aliases multiply', async () => {
    const levels = Array.from({ length: 9 }, (_, level) => {
      const items = level === 0 ? Array(9).fill('x') : Array(9).fill(`*a${level - 1}`);
      return `  a${level}: &a${level} [${items.join(',')}]\n`;
    });
    expect((await refusal(`openapi: 3.1.0\npaths: {}\nx:\n${levels.join('')}`)).message).toMatch(
      /more than 5000000 values/,
    );
    const many = `a: &a 1\nlist: [${Array(2_000).fill('*a').join(',')}]`;
    expect((await refusal(many)).message).toMatch(/neither JSON nor valid YAML/);
  });

  it.each([
    ['flow sequences', '['.repeat(100_000)],
    ['block sequences', '- '.repeat(100_000)],
    ['complex keys', '? '.repeat(100_000)],
    ['JSON in YAML', `${'[{"a":'.repeat(50_000)}1${'}]'.repeat(50_000)}`],
  ])('is refused when it is nested deeply: %s', async (_what, text) => {
    expect((await refusal(`${HEAD}\n  ${text}`)).message).toMatch(/neither JSON nor valid YAML|nested deeper/);
  });

  it.each([
    [
      'deep JSON',
      `{"openapi":"3.1.0","a":${'['.repeat(100_000)}${']'.repeat(100_000)}}`,
      /nested deeper than 100 levels/,
    ],
    ['broken JSON', '{"openapi":"3.1.0"', /begins like JSON, but is not/],
    ['a YAML tag of a language', `${HEAD}!!js/function 'x'`, /valid YAML/],
    ['a duplicate key', 'openapi: 3.1.0\nopenapi: 3.0.0\n', /duplicated mapping key/],
    ['a list', '- a\n', /it is not an object/],
    ['nothing', '', /valid YAML|not an object/],
    ['a text', 'hello', /it is not an object/],
  ])('is refused when it is %s', async (_what, text, message) => {
    expect((await refusal(text)).message).toMatch(message);
  });

  it('is refused above maxDocumentBytes, also from a URL that compresses it', async () => {
    expect((await refusal(`${HEAD}${'x'.repeat(2_000)}`, { maxDocumentBytes: 1_000 })).message).toMatch(
      /larger than 1000 bytes/,
    );
    await using api = await serve((_request, response) => {
      const write = (): void => void (response.destroyed || response.write(Buffer.alloc(65_536, ' '), write));
      write();
    });
    const error = await list(api.origin, { server: undefined as never }).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({
      code: 'INVALID_ARGUMENT',
      message: expect.stringMatching(/larger than 33554432 bytes/),
    });
  });

  it('has no dates and no values but those of JSON', async () => {
    await using project = await createTestProject({
      'api.yaml': `openapi: 3.0.0\npaths:\n  /a:\n    get:\n      parameters:\n      - {name: d, in: query, schema: {enum: [2020-01-01, yes, 012]}}\n`,
    });
    const [tool] = await list(project.resolve('api.yaml'));
    expect((tool?.inputSchema.properties as Json).d).toEqual({ enum: ['2020-01-01', 'yes', 12] });
  });
});

describe('a document as an object', () => {
  it('is refused when it is circular, or when shared parts multiply', () => {
    const circular: Json = documentOf({});
    circular.self = circular;
    let doubling: unknown = 'x';
    for (let level = 0; level < 30; level++) doubling = [doubling, doubling];
    for (const [document, message] of [
      [circular, /circular, or nested deeper/],
      [documentOf({}, { doubling }), /more than 5000000 values/],
    ] as const)
      expect(() => new OpenApiToolProvider({ name: 'api', document, server })).toThrow(message);
  });

  it('pollutes no prototype, whatever its names are', async () => {
    const evil = JSON.parse(`{
      "openapi": "3.0.0",
      "__proto__": { "polluted": 1 },
      "paths": {
        "__proto__": { "get": {} },
        "/constructor": {
          "get": { "operationId": "__proto__", "parameters": [
            { "name": "__proto__", "in": "query", "schema": { "$ref": "#/components/schemas/__proto__" } },
            { "name": "b", "in": "query", "schema": { "$ref": "#/__proto__/polluted" } },
            { "name": "c", "in": "query", "schema": { "$ref": "#/constructor/prototype" } }
          ] },
          "post": { "operationId": "constructor" }
        }
      },
      "components": { "schemas": { "__proto__": { "type": "object", "properties": { "__proto__": { "type": "string" } } } } }
    }`) as Json;
    const tools = await list(evil);
    expect(({} as Json).polluted).toBeUndefined();
    expect(tools.map(({ name }) => name)).toEqual(['api.proto', 'api.constructor']);
    expect(tools[0]?.inputSchema.properties).toEqual({ argument: { $ref: '#/$defs/proto' }, b: {}, c: {} });
  });

  it('costs only the operations that are malformed', async () => {
    const paths: Json = {
      '/null': null,
      '/text': 'x',
      '/elsewhere': { $ref: 'https://127.0.0.1:9/paths.json' },
      '/operation': { get: 7 },
      '/parameters': { get: { parameters: 7 }, post: { parameters: [null, 7, {}, { name: 7, in: 'query' }] } },
      '/reference': { get: { parameters: [{ $ref: './parameters.yaml#/a' }] } },
      '/loop': { get: { parameters: [{ $ref: '#/components/parameters/loop' }] } },
      '/body': {
        post: { requestBody: { $ref: 'file:///etc/passwd' } },
        put: { requestBody: { required: true, content: {} } },
      },
      '/header': {
        get: {
          parameters: [
            { name: 'a b', in: 'header', required: true },
            { name: 'c\r\n', in: 'header' },
          ],
        },
      },
      '/fine': {
        get: { parameters: [{ name: 'x\r\ny', in: 'header' }], responses: 7, security: 'x', tags: 7, servers: 7 },
      },
    };
    const components = { parameters: { loop: { $ref: '#/components/parameters/loop' } } };
    const { messages, logger } = keepingLogger();
    const tools = await list(documentOf(paths, { components }), { logger });
    expect(tools.map(({ name }) => name)).toEqual(['api.get_parameters', 'api.post_parameters', 'api.get_fine']);
    expect(messages.length).toBeGreaterThan(5);
    expect(messages.length).toBeLessThanOrEqual(20);
  });

  it('has at most 10,000 tools', async () => {
    const operations = Object.fromEntries(Array.from({ length: 10_050 }, (_, at) => [`/path/${at}`, { get: {} }]));
    const { messages, logger } = keepingLogger();
    expect((await list(documentOf(operations), { logger })).length).toBe(10_000);
    expect(messages.join()).toMatch(/beyond the first 10000 were left out/);
  });
});

describe('schemas of a document', () => {
  const using = (schema: unknown, schemas: Json = {}): Json =>
    documentWith({ parameters: [{ name: 'a', in: 'query', schema }] }, '/call', 'get', { components: { schemas } });

  const ofBody = (schema: unknown, schemas: Json = {}): Json => {
    const requestBody = { content: { 'application/json': { schema } } };
    return documentWith({ requestBody }, '/call', 'post', { components: { schemas } });
  };

  it('may be recursive: they stay references, and arguments are validated against them', async () => {
    const node = {
      type: 'object',
      properties: { next: { $ref: '#/components/schemas/Node' }, value: { type: 'integer' } },
    };
    const [tool] = await list(using({ $ref: '#/components/schemas/Node' }, { Node: node }));
    const validate = readListedSchema(tool!.inputSchema);
    expect(validate({ a: { next: { next: { value: 1 } } } })).not.toHaveProperty('issues');
    expect(validate({ a: { next: { next: { value: 'x' } } } })).toHaveProperty('issues');
  });

  it('may refer to each other in a chain of 10,000', async () => {
    const schemas = Object.fromEntries(
      Array.from({ length: 10_000 }, (_, at) => [
        `s${at}`,
        { type: 'object', properties: { a: { $ref: `#/components/schemas/s${at + 1}` } } },
      ]),
    );
    const [tool] = await list(using({ $ref: '#/components/schemas/s0' }, schemas));
    expect(Object.keys(tool!.inputSchema.$defs as Json).length).toBe(10_000);
  });

  it('may double with each reference, as nothing is expanded', async () => {
    const schemas = Object.fromEntries(
      Array.from({ length: 30 }, (_, at) => {
        const $ref = `#/components/schemas/s${at + 1}`;
        return [`s${at}`, { type: 'object', properties: { a: { $ref }, b: { $ref } } }];
      }),
    );
    const [tool] = await list(using({ $ref: '#/components/schemas/s0' }, schemas));
    expect(JSON.stringify(tool).length).toBeLessThan(10_000);
  });

  it('may be composed of the same ones many times at each level', async () => {
    const schemas = Object.fromEntries(
      Array.from({ length: 8 }, (_, at) => {
        const next = { $ref: `#/components/schemas/A${at + 1}` };
        return [`A${at}`, at === 7 ? { type: 'object' } : { allOf: Array(60).fill(next) }];
      }),
    );
    const tools = await list(ofBody({ $ref: '#/components/schemas/A0' }, schemas));
    expect(Object.keys(tools[0]!.inputSchema.properties as Json)).toEqual(['body']);
  });

  it('may want one name many thousand times', async () => {
    const names = Array.from(
      { length: 20_000 },
      (_, at) => `é${String.fromCharCode(0x100 + (at % 200), 0x200 + at / 200)}`,
    );
    const schemas = Object.fromEntries(names.map((name) => [name, { type: 'string' }]));
    const plain = Object.fromEntries(names.slice(0, 15_000).map((name) => [name, {}]));
    const tools = await list(ofBody({ type: 'object', properties: plain }));
    const own = Object.keys(tools[0]!.inputSchema.properties as Json);
    expect(own.length).toBe(15_000);
    expect(own.every((name) => name.length <= 64)).toBe(true);
    const references = names.map((name) => ({ $ref: `#/components/schemas/${name}` }));
    expect(await list(ofBody({ anyOf: references }, schemas))).toEqual([]); // above 1 MiB
  });

  it('of more than 1 MiB cost their tool', async () => {
    const { messages, logger } = keepingLogger();
    const big = { enum: Array.from({ length: 20_000 }, (_, at) => `${at}`.padEnd(60, 'x')) };
    expect(await list(using(big), { logger })).toEqual([]);
    expect(messages.join()).toMatch(/"call" was left out: its schema has more than 1048576 characters/);
  });

  it('are always enforceable, also when they are nested deeply or malformed', async () => {
    let deep: Json = { type: 'string' };
    for (let level = 0; level < 45; level++) deep = { items: deep };
    const malformed = {
      type: 7,
      properties: [],
      required: 'a',
      allOf: {},
      minimum: 'x',
      $id: 'x',
      $anchor: 7,
      $dynamicRef: '#x',
    };
    for (const schema of [
      deep,
      malformed,
      { $ref: '#/paths' },
      { $ref: '#missing' },
      { $ref: '#/components/schemas/none' },
    ]) {
      const [tool] = await list(using(schema));
      expect(() => readListedSchema(tool!.inputSchema)).not.toThrow();
    }
  });
});
