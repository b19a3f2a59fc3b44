// Schemas in the form of each vendor: every one obeys the vendor's rules, every loss is listed, and nothing hangs.

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import fc from 'fast-check';
import { ToolHub, type JsonObject, type JsonSchema, type ToolProvider } from '@toolwright/core';
import { aliasOf, type SchemaLoss } from '@toolwright/core/adapters';
import { anthropicTools } from '@toolwright/core/adapters/anthropic';
import { geminiTools } from '@toolwright/core/adapters/gemini';
import { openaiTools } from '@toolwright/core/adapters/openai';
import { MCPToolProvider } from '@toolwright/core/mcp';
import { createTestProject } from '@toolwright/core/testing';
import { describe, expect, it } from 'vitest';
import { strictSchema, withoutStrictNulls } from '../../src/adapters/strict-schema.js';
import { portableSchema } from '../../src/adapters/vendor-schema.js';
import { allKinds } from './fixtures/all-kinds.js';
import { HARD } from './fixtures/hard-schemas.js';
import {
  anthropicSchemaFaults,
  geminiFaults,
  openaiSchemaFaults,
  rootFaults,
  strictFaults,
  subschemas,
} from './fixtures/schema-rules.js';

const PEERS = fileURLToPath(new URL('../../../../tools/peers/node_modules/@modelcontextprotocol/', import.meta.url));
const serverOf = (name: string): string => join(PEERS, `server-${name}`, 'dist', 'index.js');
const REAL: [server: string, args: (directory: string) => string[]][] = [
  ['filesystem', (directory) => [directory]],
  ['memory', () => []],
  ['everything', () => ['stdio']],
  ['sequential-thinking', () => []],
];
const missing = REAL.map(([name]) => name).filter((name) => !existsSync(serverOf(name)));
const skipped = missing.length === 0 ? '' : ` (skipped: server-${missing.join(', server-')} not in tools/peers)`;

const text = { type: 'string' };

describe('portableSchema()', () => {
  it('merges thousands of alternatives at the root flatly, and fast', () => {
    const kinds = Array.from({ length: 5_000 }, (_, kind) => ({ properties: { kind: { const: kind }, same: text } }));
    const startedAt = performance.now();
    const portable = portableSchema({ type: 'object', oneOf: kinds }, () => undefined);
    expect(performance.now() - startedAt).toBeLessThan(1_000); // nested, it took seconds and then the stack
    const all = kinds.map(({ properties }) => properties.kind);
    expect(portable?.properties).toEqual({ kind: { anyOf: all }, same: text });
  });

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
  const expressible = Object.entries(HARD).filter(([name]) => name !== 'patterns that look around'); // removed before
  it.each(expressible)("obeys OpenAI's rules or says why it cannot: %s", (_, schema) => {
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

/** A provider that lists these schemas as its tools, and validates arguments as foreign tools are. */
function providerOf(schemas: Record<string, JsonSchema>): ToolProvider & { received: JsonObject[] } {
  const annotations = { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true };
  const definitions = Object.entries(schemas).map(([description, inputSchema], index) => ({
    name: `hard.t${index}`,
    description,
    inputSchema,
    annotations,
  }));
  const disconnect = (): Promise<void> => Promise.resolve();
  const received: JsonObject[] = [];
  return {
    received,
    name: 'hard',
    kind: 'other',
    servers: ['hard'],
    connect: () => Promise.resolve(),
    disconnect,
    [Symbol.asyncDispose]: disconnect,
    listTools: () => Promise.resolve(definitions),
    onToolsChanged: () => () => undefined,
    callTool: (_name, args = {}) => {
      received.push(args);
      return Promise.resolve({ content: [], isError: false, directives: [], durationMs: 0 });
    },
  };
}

/** The keywords of a schema that say nothing to a model, or are said in another way. */
const SAID_OTHERWISE = new Set([
  ...['$schema', '$id', '$anchor', '$comment', '$defs', 'definitions', '$ref', 'default', 'examples', 'nullable'],
  ...['items', 'additionalItems', 'dependencies', 'deprecated', 'readOnly', 'writeOnly', 'description', 'allOf'],
  ...['additionalProperties', 'required', 'type', 'title'],
]);

/** How a form may say a keyword that it does not have. */
const INSTEAD: Readonly<Record<string, readonly string[]>> = {
  const: ['enum', 'description'],
  enum: ['description'],
  minimum: ['exclusiveMinimum'],
};

/** Keywords that the vendor's form has nowhere, and that no loss mentions. */
function unlisted(original: JsonObject, form: JsonObject, losses: readonly SchemaLoss[]): string[] {
  const sent = new Set([...subschemas(form)].flatMap(([, sub]) => Object.keys(sub)));
  const lost = losses.flatMap(({ message }) => /^([\w$]+) .*is not sent/.exec(message)?.[1] ?? []);
  const keys = [...subschemas(original)]
    .filter(([path]) => !lost.some((key) => path.split('/').includes(key))) // all of it is lost
    .flatMap(([, sub]) => Object.keys(sub));
  return [...new Set(keys)].filter(
    (key) =>
      !sent.has(key) &&
      !key.startsWith('x-') &&
      !SAID_OTHERWISE.has(key) &&
      !INSTEAD[key]?.some((other) => sent.has(other) || lost.includes(other)) &&
      !losses.some(({ path, message }) => message.includes(key) || path.includes(key)),
  );
}

/** Expects that each vendor's form of each tool of a provider obeys the vendor's rules, and that every loss is listed. */
async function expectForms(provider: ToolProvider): Promise<void> {
  const listed = new Map((await provider.listTools()).map((tool) => [aliasOf(tool.name), tool]));
  const [openai, anthropic, gemini] = await Promise.all([
    openaiTools(provider),
    anthropicTools(provider),
    geminiTools(provider),
  ]);
  const forms: [
    kit: typeof openai | typeof anthropic | typeof gemini,
    name: string,
    form: JsonObject,
    faults: string[],
  ][] = [
    ...openai.tools.map(({ function: { name, parameters, strict } }) => {
      return [openai, name, parameters, strict ? strictFaults(parameters) : openaiSchemaFaults(parameters)] as never;
    }),
    ...anthropic.tools.map(
      ({ name, input_schema: form }) => [anthropic, name, form, anthropicSchemaFaults(form)] as never,
    ),
    ...gemini.tools[0]!.functionDeclarations.map(({ name, parametersJsonSchema: form }) => {
      return [gemini, name, form, geminiFaults(form)] as never;
    }),
  ];
  expect(forms).toHaveLength(listed.size * 3);
  for (const [kit, name, form, faults] of forms) {
    const { name: tool, description, inputSchema } = listed.get(name)!;
    expect(faults, description).toEqual([]);
    const losses = kit.losses.filter((loss) => loss.tool === tool);
    expect(unlisted(inputSchema, form, losses), `${description}, ${JSON.stringify(losses)}`).toEqual([]);
  }
}

describe('the kits', () => {
  it('offer every hard schema in a form that obeys the rules, and list each loss', async () => {
    await expectForms(providerOf(HARD));
  });

  it('offer every built-in tool in a form that obeys the rules, and list each loss', async () => {
    const { hub, project } = await allKinds();
    await expectForms(hub);
    await hub.disconnect();
    await project[Symbol.asyncDispose]();
  });

  it.skipIf(missing.length > 0)(`offer the tools of real servers in forms that obey the rules${skipped}`, async () => {
    await using project = await createTestProject({ 'a.txt': 'A\n' });
    await using hub = new ToolHub({
      providers: REAL.map(([name, args]) => {
        return new MCPToolProvider({
          name,
          command: process.execPath,
          args: [serverOf(name), ...args(project.projectDir)],
          env: { MEMORY_FILE_PATH: `${project.projectDir}/memory.json` },
          cwd: project.projectDir,
        });
      }),
    });
    await hub.connect();
    expect(new Set((await hub.listTools()).map(({ name }) => name.split('.')[0]))).toEqual(
      new Set(REAL.map(([name]) => name)),
    );
    await expectForms(hub);
  });

  it('validate arguments with the original schema, by the names that it has', async () => {
    const provider = providerOf(HARD);
    await using hub = new ToolHub({ providers: [provider] });
    const alias = (schema: string): string => `hard__t${Object.keys(HARD).indexOf(schema)}`;
    const kit = await anthropicTools(hub);
    const openai = await openaiTools(hub);
    const call = async (schema: string, input: unknown): Promise<string> => {
      const { content } = await kit.dispatch({ type: 'tool_use', id: '1', name: alias(schema), input });
      return (content[0] as { text: string }).text;
    };
    const names = Object.keys(
      kit.tools.find(({ name }) => name === alias('names that Anthropic refuses'))!.input_schema.properties as object,
    );
    expect(names).toEqual(['filter_id__2', 'filter_id_', '_top', 'x'.repeat(56), '_']);
    expect(await call('names that Anthropic refuses', { filter_id__2: 'a', filter_id_: 'b', _top: 3 })).toBe(
      '(no output)',
    );
    expect(provider.received).toEqual([{ 'filter[id]': 'a', filter_id_: 'b', $top: 3 }]);
    expect(await call('names that Anthropic refuses', { _top: 3 })).toContain('filter[id]');
    expect(await call('conditions and limits', { a: 'x', b: ['y', 'y'] })).toContain('INVALID_ARGUMENT');
    expect(await call('oneOf at the root', { kind: 'a' })).toContain('INVALID_ARGUMENT');
    expect(await call('a tuple', { at: [1, 'x'] })).toContain('INVALID_ARGUMENT');
    expect(await call('the forms of older drafts', { at: ['x', 1, 2] })).toContain('INVALID_ARGUMENT');
    const strict = { name: alias('the forms of OpenAPI'), arguments: '{"name":null,"kind":null}' };
    provider.received.length = 0;
    await openai.dispatch({ id: '1', type: 'function', function: strict });
    expect(provider.received).toEqual([{}]); // JSON Schema has no `nullable`, so null is not a value
  });
});
