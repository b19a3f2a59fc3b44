// The tools that a document becomes: names, hints, descriptions, schemas.

import { OpenApiToolProvider, type OpenApiToolProviderOptions } from '@toolwright/core/openapi';
import { describe, expect, it } from 'vitest';
import { documentOf, documentWith, keepingLogger, SILENT } from '../serve.js';
import type { ToolDefinition } from '../../../src/index.js';

type Json = Record<string, unknown>;
const server = 'http://127.0.0.1:9';

async function list(
  document: Json,
  more: Partial<OpenApiToolProviderOptions> = {},
): Promise<readonly ToolDefinition[]> {
  await using provider = new OpenApiToolProvider({ name: 'api', document, server, logger: SILENT, ...more });
  return await provider.listTools();
}

async function one(document: Json, more: Partial<OpenApiToolProviderOptions> = {}): Promise<ToolDefinition> {
  const [tool] = await list(document, more);
  return tool!;
}

const names = (tools: readonly ToolDefinition[]): string[] => tools.map(({ name }) => name.slice('api.'.length));
const body = (schema: unknown, more: Json = {}, type = 'application/json'): Json => ({
  requestBody: { required: true, content: { [type]: { schema } }, ...more },
});

describe('names of tools', () => {
  it('are operationIds with valid characters, else the method and the path', async () => {
    const tools = await list(
      documentOf({
        '/a': { get: { operationId: 'repos/list-for org' } },
        '/b': { get: { operationId: '日本' }, post: {} },
        '/pets/{petId}/photos': { get: {} },
      }),
    );
    expect(names(tools)).toEqual(['repos_list-for_org', 'get_b', 'post_b', 'get_pets_petId_photos']);
  });

  it('have at most 64 characters and stay distinct when long ids differ only at their end', async () => {
    const id = (end: string): string => `${'x'.repeat(80)}${end}`;
    const tools = await list(
      documentOf({ '/a': { get: { operationId: id('a') } }, '/b': { get: { operationId: id('b') } } }),
    );
    for (const name of names(tools)) expect(name).toMatch(/^x{55}_[0-9a-f]{8}$/);
    expect(new Set(names(tools)).size).toBe(2);
  });

  it('depend on the operations and not on their order when ids clash', async () => {
    const paths = { '/a': { get: { operationId: 'x.y' } }, '/b': { get: { operationId: 'x y' } } };
    const forwards = await list(documentOf(paths));
    const backwards = await list(documentOf(Object.fromEntries(Object.entries(paths).toReversed())));
    expect(names(forwards)).toEqual(names(backwards).toReversed());
    for (const name of names(forwards)) expect(name).toMatch(/^x_y_[0-9a-f]{8}$/);
  });

  it('stay distinct when an id imitates the hash of another operation', async () => {
    const [clashing] = names(
      await list(documentOf({ '/a': { get: { operationId: 'x.y' } }, '/b': { get: { operationId: 'x y' } } })),
    );
    const tools = await list(
      documentOf({
        '/a': { get: { operationId: 'x.y' } },
        '/b': { get: { operationId: 'x y' } },
        '/c': { get: { operationId: clashing } },
      }),
    );
    expect(new Set(names(tools)).size).toBe(3);
  });
});

describe('definitions of tools', () => {
  it('have the hints of their methods', async () => {
    const methods = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch', 'trace'];
    const tools = await list(documentOf({ '/a': Object.fromEntries(methods.map((method) => [method, {}])) }));
    const hints = tools.map(({ name, annotations: { readOnlyHint, idempotentHint, destructiveHint } }) => [
      name,
      readOnlyHint,
      idempotentHint,
      destructiveHint,
    ]);
    expect(hints).toEqual([
      ['api.get_a', true, true, false],
      ['api.put_a', false, true, true],
      ['api.post_a', false, false, true],
      ['api.delete_a', false, true, true],
      ['api.options_a', true, true, false],
      ['api.head_a', true, true, false],
      ['api.patch_a', false, false, true],
    ]);
  });

  it('have the summary, the description, and the method and path', async () => {
    const tool = await one(documentWith({ summary: 'Calls.', description: 'It calls.', deprecated: true }));
    expect(tool).toMatchObject({ title: 'Calls.', description: 'Deprecated.\n\nCalls.\n\nIt calls.\n\nGET /call' });
    expect((await one(documentWith({}))).description).toBe('GET /call');
  });

  it('have parameters of the path and of the operation, which replaces the former', async () => {
    const tool = await one(
      documentOf({
        '/a/{id}': {
          parameters: [
            { name: 'id', in: 'path', required: true, schema: { type: 'integer' } },
            { name: 'limit', in: 'query', schema: { type: 'string' } },
          ],
          get: {
            operationId: 'call',
            parameters: [{ name: 'limit', in: 'query', description: 'How many.', schema: { type: 'integer' } }],
          },
        },
      }),
    );
    expect(tool.inputSchema).toEqual({
      type: 'object',
      properties: { id: { type: 'integer' }, limit: { type: 'integer', description: 'How many.' } },
      required: ['id'],
      additionalProperties: false,
    });
  });

  it('have a parameter for each name in the path, also for one that is not declared', async () => {
    const { inputSchema } = await one(documentWith({}, '/a/{b}/{c}'));
    expect(inputSchema).toMatchObject({
      properties: { b: { type: 'string' }, c: { type: 'string' } },
      required: ['b', 'c'],
    });
  });

  it('have no parameter for credentials and for headers that HTTP needs', async () => {
    const schemes = {
      key: { type: 'apiKey', in: 'header', name: 'X-Api-Key' },
      q: { type: 'apiKey', in: 'query', name: 'token' },
    };
    const header = (name: string): Json => ({ name, in: 'header', required: true, schema: { type: 'string' } });
    const { inputSchema } = await one(
      documentWith(
        {
          parameters: [
            ...['Authorization', 'host', 'Content-Length', 'Cookie', 'x-api-key', 'X-Trace'].map(header),
            ...['X-HTTP-Method-Override', 'X-Original-URL'].map(header),
            { name: 'token', in: 'query', schema: { type: 'string' } },
          ],
        },
        '/call',
        'get',
        { components: { securitySchemes: schemes } },
      ),
    );
    expect(Object.keys(inputSchema.properties as Json)).toEqual(['X-Trace']);
  });

  it('prefix arguments of one name with their place, in the order path, query, header, cookie, body', async () => {
    const place = (name: string): Json => ({ name: 'id', in: name, required: true, schema: { const: name } });
    const { inputSchema } = await one(
      documentWith(
        {
          parameters: ['cookie', 'header', 'query', 'path'].map(place),
          ...body({ type: 'object', properties: { id: { const: 'body' }, query_id: { const: 'second' } } }),
        },
        '/call/{id}',
        'post',
      ),
    );
    expect(inputSchema.properties).toEqual({
      id: { const: 'path' },
      query_id: { const: 'query' },
      header_id: { const: 'header' },
      cookie_id: { const: 'cookie' },
      body_id: { const: 'body' },
      body_query_id: { const: 'second' },
    });
  });

  it('have arguments with names that models accept', async () => {
    const query = ['filter[name]', '$top', 'page.size', '__proto__', 'constructor'].map((name) => ({
      name,
      in: 'query',
    }));
    const { inputSchema } = await one(documentWith({ parameters: query }));
    expect(Object.keys(inputSchema.properties as Json)).toEqual([
      'filter_name',
      '_top',
      'page.size',
      'argument',
      'constructor',
    ]);
  });

  it('have the properties of a plain object as arguments, without readOnly ones', async () => {
    const pet = {
      type: 'object',
      required: ['id', 'name'],
      properties: { id: { type: 'integer', readOnly: true }, name: { type: 'string' } },
    };
    const { inputSchema } = await one(
      documentWith(
        body({
          allOf: [{ $ref: '#/components/schemas/Pet' }, { type: 'object', properties: { tag: { type: 'string' } } }],
        }),
        '/pets',
        'post',
        { components: { schemas: { Pet: pet } } },
      ),
    );
    expect(inputSchema).toEqual({
      type: 'object',
      properties: { name: { type: 'string' }, tag: { type: 'string' } },
      required: ['name'],
      additionalProperties: false,
    });
  });

  it.each([
    ['a list', { type: 'array', items: { type: 'string' } }],
    [
      'a union',
      {
        oneOf: [
          { type: 'object', properties: { a: {} } },
          { type: 'object', properties: { b: {} } },
        ],
      },
    ],
    ['an object of any names', { type: 'object', additionalProperties: { type: 'string' } }],
    ['an object with further rules', { type: 'object', properties: { a: {} }, minProperties: 1 }],
  ])('have the argument "body" for %s', async (_what, schema) => {
    const { inputSchema } = await one(documentWith(body(schema, { description: 'All of it.' }), '/call', 'post'));
    expect(inputSchema).toMatchObject({
      properties: { body: { ...schema, description: 'All of it.' } },
      required: ['body'],
    });
  });

  it('require nothing of an optional body', async () => {
    const schema = { type: 'object', properties: { a: { type: 'string' } }, required: ['a'] };
    const { inputSchema } = await one(documentWith(body(schema, { required: false }), '/call', 'post'));
    expect(inputSchema.required).toBeUndefined();
  });
});

describe('schemas of tools', () => {
  const converted = async (schema: unknown, openapi: string, more: Json = {}): Promise<unknown> => {
    const { inputSchema } = await one({
      ...documentWith({ parameters: [{ name: 'a', in: 'query', schema }] }, '/call', 'get', more),
      openapi,
    });
    return (inputSchema.properties as Json).a;
  };

  it.each([
    [{ type: 'string', nullable: true }, { type: ['string', 'null'] }],
    [
      { type: 'string', nullable: true, enum: ['a'] },
      { type: ['string', 'null'], enum: ['a', null] },
    ],
    [{ minimum: 1, exclusiveMinimum: true }, { exclusiveMinimum: 1 }],
    [{ maximum: 1, exclusiveMaximum: false }, { maximum: 1 }],
    [
      { type: 'string', example: 'Rex', xml: {}, 'x-internal': 1 },
      { type: 'string', examples: ['Rex'] },
    ],
    [{ allOf: [{ type: 'string' }], nullable: true }, { anyOf: [{ allOf: [{ type: 'string' }] }, { type: 'null' }] }],
    [{ oneOf: [{ type: 'string' }], discriminator: { propertyName: 'x' } }, { anyOf: [{ type: 'string' }] }],
    [{ type: 'strng', required: true, minimum: '1', items: 7 }, {}],
  ])('convert %j of OpenAPI 3.0 to %j', async (given, expected) => {
    expect(await converted(given, '3.0.3')).toEqual(expected);
  });

  it('keep the keywords beside a reference in OpenAPI 3.1, and not in 3.0', async () => {
    const components = { components: { schemas: { 'A/b': { type: 'string' } } } };
    const schema = { $ref: '#/components/schemas/A~1b', description: 'Here.' };
    expect(await converted(schema, '3.1.0', components)).toEqual({ $ref: '#/$defs/A_1b', description: 'Here.' });
    expect(await converted(schema, '3.0.0', components)).toEqual({ $ref: '#/$defs/A_1b' });
  });

  it('accept any value where a reference leads out of the document', async () => {
    const { messages, logger } = keepingLogger();
    const schema = {
      type: 'object',
      properties: { a: { $ref: 'https://127.0.0.1:9/a.json' }, b: { $ref: '/etc/passwd' } },
    };
    const tool = await one(documentWith({ parameters: [{ name: 'q', in: 'query', schema }] }), { logger });
    expect((tool.inputSchema.properties as Json).q).toEqual({ type: 'object', properties: { a: {}, b: {} } });
    expect(messages.join()).toMatch(
      /"https:\/\/127\.0\.0\.1:9\/a\.json" is not in the document.*"\/etc\/passwd" is not/s,
    );
  });

  it('list the schema of results that are always JSON objects, and wrap those of other JSON', async () => {
    const responding = (responses: Json): Json =>
      documentWith({ responses }, '/call', 'get', {
        components: { schemas: { Pet: { type: 'object', properties: { secret: { writeOnly: true }, name: {} } } } },
      });
    const json = (schema: unknown): Json => ({ content: { 'application/json; charset=utf-8': { schema } } });
    const $ref = '#/components/schemas/Pet';
    const Pet = { type: 'object', properties: { name: {} } };
    expect((await one(responding({ 200: json({ $ref }) }))).outputSchema).toEqual({ ...Pet, $defs: { Pet } });
    expect(
      (await one(responding({ 200: json({ type: 'array', items: { $ref } }), 404: json({}) }))).outputSchema,
    ).toEqual({
      type: 'object',
      properties: { result: { type: 'array', items: { $ref: '#/$defs/Pet' } } },
      required: ['result'],
      $defs: { Pet },
    });
    for (const responses of [
      { 200: json({ $ref }), 204: {} },
      { 200: json({ $ref }), 201: json({ type: 'string' }) },
      {},
    ])
      expect((await one(responding(responses))).outputSchema).toBeUndefined();
    expect((await one(responding({ 200: json({ $ref }) }), { outputSchemas: false })).outputSchema).toBeUndefined();
  });
});

describe('include and exclude', () => {
  const document = documentOf({
    '/pets': { get: { operationId: 'pets/list', tags: ['pets'] }, post: { operationId: 'pets/add', deprecated: true } },
    '/users': { get: { operationId: 'users/list' } },
  });

  it.each([
    [{ include: 'GET *' }, ['pets_list', 'users_list']],
    [{ include: ['pets_*', 'users/list'] }, ['pets_list', 'pets_add', 'users_list']],
    [{ include: 'GET *', exclude: '* /users*' }, ['pets_list']],
    [{ include: ({ tags }: { tags: readonly string[] }) => tags.includes('pets') }, ['pets_list']],
    [{ exclude: ({ deprecated }: { deprecated: boolean }) => deprecated }, ['pets_list', 'users_list']],
  ])('select with %j', async (filters, expected) => {
    expect(names(await list(document, filters))).toEqual(expected);
  });

  it('warn when no operation is left', async () => {
    const { messages, logger } = keepingLogger();
    expect(await list(document, { include: 'PUT *', logger })).toEqual([]);
    expect(messages.join()).toMatch(/No operation of the document became a tool; it has 3/);
  });
});
