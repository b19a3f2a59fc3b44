// Schemas in the form of each vendor: every one obeys the vendor's rules, every loss is listed, and nothing hangs.

import fc from 'fast-check';
import { defineServer, InProcessToolProvider, type JsonObject, type JsonSchema } from '@toolwright/core';
import { anthropicTools } from '@toolwright/core/adapters/anthropic';
import { geminiTools } from '@toolwright/core/adapters/gemini';
import { openaiTools } from '@toolwright/core/adapters/openai';
import { describe, expect, it } from 'vitest';
import { strictSchema, withoutStrictNulls } from '../../src/adapters/strict-schema.js';
import { portableSchema } from '../../src/adapters/vendor-schema.js';
import { allKinds } from './fixtures/all-kinds.js';
import {
  anthropicSchemaFaults,
  geminiFaults,
  openaiSchemaFaults,
  rootFaults,
  strictFaults,
} from './fixtures/schema-rules.js';

const text = { type: 'string' };
const HARD: Record<string, JsonSchema> = {
  empty: {},
  'a recursive reference': {
    type: 'object',
    properties: { tree: { $ref: '#/$defs/node' } },
    $defs: {
      node: {
        type: 'object',
        properties: { value: text, children: { type: 'array', items: { $ref: '#/$defs/node' } } },
      },
    },
  },
  'a reference to the root': { type: 'object', properties: { inner: { $ref: '#' }, name: text } },
  'references to each other': {
    type: 'object',
    properties: { a: { $ref: '#/definitions/a' } },
    definitions: {
      a: { type: 'object', properties: { b: { $ref: '#/definitions/b' } } },
      b: { type: 'object', properties: { a: { $ref: '#/definitions/a' } } },
    },
  },
  'a reference that leads nowhere': {
    type: 'object',
    properties: { a: { $ref: '#/$defs/none' }, b: { $ref: 'https://x.test/s' } },
  },
  'an anchor': {
    type: 'object',
    properties: { a: { $ref: '#here' } },
    $defs: { x: { $anchor: 'here', type: 'integer' } },
  },
  'oneOf at the root': {
    type: 'object',
    oneOf: [
      { properties: { kind: { const: 'a' }, x: text }, required: ['kind', 'x'] },
      { properties: { kind: { const: 'b' }, y: { type: 'number' } }, required: ['kind'] },
    ],
  },
  'allOf at the root': {
    allOf: [
      { properties: { a: text }, required: ['a'] },
      { properties: { b: text }, required: ['b'] },
    ],
  },
  'a tuple': { type: 'object', properties: { at: { type: 'array', prefixItems: [text, { type: 'number' }] } } },
  'constants and nulls': {
    type: 'object',
    properties: { one: { const: 1 }, maybe: { anyOf: [text, { type: 'null' }] }, some: { enum: ['a', null, 3] } },
  },
  formats: {
    type: 'object',
    properties: { at: { type: 'string', format: 'date-time' }, uri: { type: 'string', format: 'uri' } },
  },
  'a map': { type: 'object', properties: { env: { type: 'object', additionalProperties: text } } },
  'anything goes': { type: 'object', properties: { value: {}, other: true } },
  'conditions and limits': {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    type: 'object',
    properties: {
      a: { type: 'string', minLength: 2, maxLength: 3, 'x-mcp-header': 'A' },
      b: { type: 'array', items: text, uniqueItems: true },
    },
    if: { properties: { a: { const: 'x' } } },
    then: { required: ['b'] },
    dependentRequired: { a: ['b'] },
    minProperties: 1,
  },
  'names that are not names': {
    type: 'object',
    properties: { __proto__2: text, constructor: text, 'a/b~c': text, '': text },
  },
  'twelve levels': Array.from({ length: 12 }).reduce<JsonSchema>(
    (inner) => ({ type: 'object', properties: { inner } }),
    { type: 'object', properties: { x: text } },
  ),
  '5,000 properties': {
    type: 'object',
    properties: Object.fromEntries(Array.from({ length: 5_000 }, (_, index) => [`p${index}`, text])),
  },
  'references that double': {
    type: 'object',
    properties: { a: { $ref: '#/$defs/d0' } },
    $defs: Object.fromEntries(
      Array.from({ length: 40 }, (_, index) => [
        `d${index}`,
        index === 39
          ? text
          : {
              type: 'object',
              properties: { x: { $ref: `#/$defs/d${index + 1}` }, y: { $ref: `#/$defs/d${index + 1}` } },
            },
      ]),
    ),
  },
};

describe('portableSchema()', () => {
  it.each(Object.entries(HARD))('returns an object without alternatives at the root: %s', (_, schema) => {
    const losses: string[] = [];
    const before = JSON.stringify(schema);
    const portable = portableSchema(schema, (path, message) => losses.push(`${path}: ${message}`));
    expect(rootFaults(portable!)).toEqual([]);
    expect(JSON.stringify(schema)).toBe(before);
    expect(JSON.stringify(portable).length).toBeLessThan(4_000_000);
  });

  it('inlines what is not recursive, and reports what it cannot', () => {
    const losses: [string, string][] = [];
    const portable = portableSchema(HARD['a reference that leads nowhere']!, (...loss) => losses.push(loss));
    expect(portable?.properties).toEqual({ a: {}, b: {} });
    expect(losses.map(([path]) => path)).toEqual(['/properties/a', '/properties/b']);
    expect(portableSchema(HARD['an anchor']!, () => undefined)?.properties).toEqual({ a: { type: 'integer' } });
    expect(portableSchema(HARD['allOf at the root']!, () => undefined)).toEqual({
      type: 'object',
      properties: { a: text, b: text },
      required: ['a', 'b'],
    });
    expect(portableSchema({ type: 'string' }, () => undefined)).toBeUndefined();
  });
});

describe('strictSchema()', () => {
  it.each(Object.entries(HARD))("obeys OpenAI's rules or says why it cannot: %s", (_, schema) => {
    const portable = portableSchema(schema, () => undefined)!;
    const strict = strictSchema(portable, () => undefined);
    if (typeof strict.reason === 'string') expect(strict.reason).not.toBe('');
    else expect(strictFaults(strict)).toEqual([]);
  });

  it('lists what it does not say', () => {
    const losses: string[] = [];
    const portable = portableSchema(HARD['conditions and limits']!, () => undefined)!;
    strictSchema(portable, (path, message) => losses.push(`${path}: ${message}`));
    for (const keyword of ['minLength', 'maxLength', 'uniqueItems', 'if', 'then', 'dependentRequired', 'minProperties'])
      expect(losses.join('\n')).toContain(`${keyword} is not sent`);
    expect(losses.join('\n')).not.toContain('x-mcp-header');
  });
});

describe('withoutStrictNulls()', () => {
  it('removes exactly the nulls that the strict form added', () => {
    const leaf = fc.constantFrom<JsonSchema>(
      text,
      { type: 'integer' },
      { type: ['string', 'null'] },
      { enum: ['a', null] },
      { const: 5 },
    );
    const schema = fc.letrec<{ object: JsonSchema; any: JsonSchema }>((tie) => ({
      any: fc.oneof(
        { maxDepth: 3 },
        leaf,
        tie('object'),
        tie('any').map((items) => ({ type: 'array', items })),
      ),
      object: fc
        .dictionary(fc.constantFrom('a', 'b', 'c'), fc.tuple(tie('any'), fc.boolean()), { minKeys: 1 })
        .map((entries) => ({
          type: 'object',
          properties: Object.fromEntries(Object.entries(entries).map(([name, [sub]]) => [name, sub])),
          required: Object.entries(entries).flatMap(([name, [, required]]) => (required ? [name] : [])),
        })),
    })).object;
    fc.assert(
      fc.property(schema, fc.infiniteStream(fc.boolean()), (original, coins) => {
        const flip = (): boolean => coins.next().value === true;
        const sample = (sub: JsonSchema): unknown => {
          if (sub.const !== undefined) return sub.const;
          if (Array.isArray(sub.enum)) return sub.enum[flip() ? 0 : 1];
          if (Array.isArray(sub.type)) return flip() ? null : 'x';
          if (sub.type === 'integer') return 1;
          if (sub.type === 'string') return 's';
          if (sub.type === 'array') return flip() ? [] : [sample(sub.items as JsonSchema)];
          const given: JsonObject = {};
          for (const [name, inner] of Object.entries(sub.properties as Record<string, JsonSchema>))
            if ((sub.required as string[]).includes(name) || flip()) given[name] = sample(inner);
          return given;
        };
        const padded = (sub: JsonSchema, value: unknown): unknown => {
          if (Array.isArray(value)) return value.map((item) => padded(sub.items as JsonSchema, item));
          if (typeof value !== 'object' || value === null) return value;
          const all: JsonObject = {};
          for (const [name, inner] of Object.entries(sub.properties as Record<string, JsonSchema>)) {
            const accepts = Array.isArray(inner.type) || Array.isArray(inner.enum);
            if (name in value) all[name] = padded(inner, (value as JsonObject)[name]);
            else if (!accepts) all[name] = null; // what a model must send in the strict form
          }
          return all;
        };
        const args = sample(original);
        expect(withoutStrictNulls(original, padded(original, args))).toEqual(args);
      }),
      { numRuns: 300 },
    );
  });
});

describe('ToolKit schemas', () => {
  it('offer every hard schema that has a form, and every built-in tool', async () => {
    const listed = Object.entries(HARD).map(([name, inputSchema], index) => ({
      name: `t${index}`,
      description: name,
      inputSchema,
    }));
    await using foreign = new InProcessToolProvider({
      servers: [defineServer({ name: 'none', version: '1.0.0', tools: [] })],
    });
    const annotations = { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true };
    const definitions = listed.map((tool) => ({ ...tool, name: `hard.${tool.name}`, annotations }));
    const provider = Object.assign(Object.create(foreign) as InProcessToolProvider, {
      listTools: () => Promise.resolve(definitions),
      onToolsChanged: () => () => undefined,
    });
    const { hub, project } = await allKinds();
    try {
      for (const from of [provider, hub]) {
        const count = (await from.listTools()).length;
        const [openai, anthropic, gemini] = await Promise.all([
          openaiTools(from),
          anthropicTools(from),
          geminiTools(from),
        ]);
        expect([openai.tools.length, anthropic.tools.length]).toEqual([count, count]);
        for (const { function: tool } of openai.tools)
          expect(tool.strict ? strictFaults(tool.parameters) : openaiSchemaFaults(tool.parameters), tool.name).toEqual(
            [],
          );
        for (const tool of anthropic.tools) expect(anthropicSchemaFaults(tool.input_schema), tool.name).toEqual([]);
        for (const tool of gemini.tools[0]!.functionDeclarations)
          expect(geminiFaults(tool.parametersJsonSchema), tool.name).toEqual([]);
      }
    } finally {
      await hub.disconnect();
      await project[Symbol.asyncDispose]();
    }
  });
});
