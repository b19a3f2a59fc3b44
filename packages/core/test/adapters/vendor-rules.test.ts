// Each vendor's rule can fail: a valid request with one fault is refused for that fault, and only a valid one is accepted.

import type { JsonObject } from '@toolwright/core';
import { describe, expect, it } from 'vitest';
import { PNG } from './fixtures/all-kinds.js';
import { anthropicSchemaFaults, geminiFaults, openaiSchemaFaults, strictFaults } from './fixtures/schema-rules.js';
import { chatFaults, contentFaults, messagesFaults, responsesFaults } from './fixtures/vendor-rules.js';

/* eslint-disable @typescript-eslint/no-explicit-any -- requests with faults have no type */

const text = { type: 'string' };
const schema = (): any => ({
  type: 'object',
  properties: {
    path: { ...text, pattern: '^/' },
    kind: { type: 'string', enum: ['a'] },
    list: { type: 'array', items: { ...text } },
  },
  required: ['path', 'kind', 'list'],
  additionalProperties: false,
});
const tree = (): any => ({
  type: 'object',
  properties: { tree: { $ref: '#/$defs/tree' } },
  $defs: { tree: { type: 'object', properties: { children: { type: 'array', items: { $ref: '#/$defs/tree' } } } } },
});
const nested = (levels: number): JsonObject =>
  levels === 0
    ? { ...text }
    : { type: 'object', properties: { x: nested(levels - 1) }, required: ['x'], additionalProperties: false };
const wide = (count: number, length = 2): JsonObject => {
  const names = Array.from({ length: count }, (_, index) => `${index}`.padEnd(length, '_'));
  return Object.fromEntries(names.map((name) => [name, { ...text }]));
};

type Case = [fault: string, change: (request: any) => void];
const SCHEMA: Case[] = [
  ['the root is not an object', (root) => (root.type = 'string')],
  ['anyOf at the root', (root) => (root.anyOf = [{}])],
  ['$schema at the root', (root) => (root.$schema = 'https://json-schema.org/draft/2020-12/schema')],
  ['leads nowhere', (root) => (root.properties.path = { $ref: '#/$defs/none' })],
  ['not JSON Schema 2020-12', (root) => (root.properties.list.items = [text])],
];
const OPENAI: Case[] = [...SCHEMA, ['lookaround', (root) => (root.properties.path.pattern = '^(?!/)')]];
const STRICT: Case[] = [
  ...OPENAI,
  ['keyword minLength', (root) => (root.properties.path.minLength = 1)],
  ['no type', (root) => (root.properties.path = {})],
  ['format', (root) => (root.properties.path.format = 'uri')],
  ['open', (root) => delete root.additionalProperties],
  ['not all required', (root) => root.required.pop()],
  ['items', (root) => delete root.properties.list.items],
  ['depth', (root) => (root.properties.path = nested(10))],
  ['long enum', (root) => (root.properties.kind.enum = Object.keys(wide(251, 100)))],
  ['over 1,000 enum values', (root) => (root.properties.kind.enum = Object.keys(wide(1_001)))],
  [
    'over 5,000 properties',
    (root) => {
      root.properties = wide(5_001);
      root.required = Object.keys(root.properties);
    },
  ],
  [
    'over 120,000 characters',
    (root) => {
      root.properties = wide(1_300, 100);
      root.required = Object.keys(root.properties);
    },
  ],
];
const ANTHROPIC: Case[] = [
  ...SCHEMA,
  ['property key "filter[id]"', (root) => (root.properties['filter[id]'] = text)],
  ['property key ""', (root) => (root.properties[''] = text)],
];
const GEMINI: Case[] = [
  ...SCHEMA,
  ['keyword const', (root) => (root.properties.kind = { const: 'a' })],
  ['enum of boolean', (root) => (root.properties.kind.enum = [true])],
];
const GEMINI_TREE: Case[] = [
  ['keywords beside $ref', (root) => (root.properties.tree.description = 'A tree.')],
  ['recursive and required', (root) => (root.required = ['tree'])],
  ['recursive and required', (root) => (root.$defs.tree.required = ['children'])],
];

/** Expects that a rule accepts a request, and refuses it after each change. */
function proves(faultsOf: (request: any) => string[], valid: () => any, cases: Case[]): void {
  it('accepts a valid one', () => {
    expect(faultsOf(valid())).toEqual([]);
  });
  it.each(cases)('refuses: %s', (fault, change) => {
    const changed = valid();
    change(changed);
    expect(faultsOf(changed).join('\n')).toContain(fault);
  });
}

describe('openaiSchemaFaults()', () => {
  const withoutPattern = (): any => ({ ...schema(), additionalProperties: true, required: [] });
  proves(openaiSchemaFaults, withoutPattern, OPENAI);
});
describe('strictFaults()', () => proves(strictFaults, schema, STRICT));
describe('anthropicSchemaFaults()', () => proves(anthropicSchemaFaults, schema, ANTHROPIC));
describe('geminiFaults()', () => {
  const known = (): any => {
    const { properties, ...rest } = schema();
    return { ...rest, properties: { ...properties, path: { ...text } } };
  };
  proves(geminiFaults, known, GEMINI);
  describe('of a recursive schema', () => proves(geminiFaults, tree, GEMINI_TREE));
});

const tool = (): any => ({ name: 'a__b', description: 'Does it.', parameters: schema(), strict: true });
const image = { type: 'image_url', image_url: { url: `data:image/png;base64,${PNG}` } };
const TOOLS = (first: (request: any) => any): Case[] => [
  ['name a.b', (request) => (first(request).name = 'a.b')],
  ['name 1a', (request) => (first(request).name = '1a')],
  [`name ${'a'.repeat(65)}`, (request) => (first(request).name = 'a'.repeat(65))],
  ['two tools with one name', (request) => request.tools.push(request.tools[0])],
];
const OPENAI_TOOLS = (first: (request: any) => any): Case[] => [
  ...TOOLS(first),
  ['description of 1025', (request) => (first(request).description = 'x'.repeat(1_025))],
  ['array of 129 tools', (request) => (request.tools = Array(129).fill(request.tools[0]))],
  ['open', (request) => (first(request).parameters.additionalProperties = true)],
];

describe('chatFaults()', () => {
  const request = (): any => ({
    tools: [{ type: 'function', function: tool() }],
    messages: [
      { role: 'user', content: 'Go.' },
      { role: 'assistant', content: null, tool_calls: [{ id: '1' }, { id: '2' }] },
      { role: 'tool', tool_call_id: '1', content: 'one' },
      { role: 'tool', tool_call_id: '2', content: 'two' },
      { role: 'user', content: [{ type: 'text', text: 'The images:' }, { ...image }] },
    ],
  });
  proves(chatFaults, request, [
    ...OPENAI_TOOLS(({ tools }) => tools[0].function),
    ['a call without its result', ({ messages }) => messages.splice(3, 1)],
    ['a call without its result', ({ messages }) => messages.splice(3, 2)],
    ['a tool message without its call', ({ messages }) => messages.splice(1, 1)],
    ['a tool message without a text', ({ messages }) => (messages[2].content = ' ')],
    ['a tool message without a text', ({ messages }) => (messages[2].content = [image])],
    ['tool_calls is too short', ({ messages }) => messages.push({ role: 'assistant', content: 'x', tool_calls: [] })],
    ['content is null', ({ messages }) => messages.push({ role: 'assistant', content: null })],
    ['an image of the assistant', ({ messages }) => messages.push({ role: 'assistant', content: [image] })],
    ['image type image/tiff', ({ messages }) => (messages[4].content[1] = dataUrl('image/tiff', PNG))],
    ['image is not image/gif', ({ messages }) => (messages[4].content[1] = dataUrl('image/gif', PNG))],
    ['image is not base64', ({ messages }) => (messages[4].content[1] = dataUrl('image/png', `${PNG}!`))],
    ['image is not a data URL', ({ messages }) => (messages[4].content[1].image_url = { url: PNG })],
    ['part audio', ({ messages }) => (messages[4].content[0].type = 'audio')],
  ]);
});

function dataUrl(type: string, data: string): object {
  return { type: 'image_url', image_url: { url: `data:${type};base64,${data}` } };
}

describe('responsesFaults()', () => {
  const request = (): any => ({
    tools: [{ type: 'function', ...tool() }],
    input: [
      { role: 'user', content: 'Go.' },
      { type: 'function_call', call_id: '1' },
      {
        type: 'function_call_output',
        call_id: '1',
        output: [
          { type: 'input_text', text: 'x' },
          { type: 'input_image', image_url: image.image_url.url },
        ],
      },
    ],
  });
  proves(responsesFaults, request, [
    ...OPENAI_TOOLS(({ tools }) => tools[0]),
    ['a call without its output', ({ input }) => input.pop()],
    ['an output without its call', ({ input }) => input.splice(1, 1)],
    ['output input_text', ({ input }) => (input[2].output = '')],
    ['output image', ({ input }) => (input[2].output[0].type = 'image')],
    ['image is not a data URL', ({ input }) => (input[2].output[1].image_url = 'x')],
  ]);
});

describe('messagesFaults()', () => {
  const shown = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: PNG } };
  const request = (): any => ({
    tools: [{ name: 'a__b', input_schema: schema() }],
    messages: [
      { role: 'user', content: 'Go.' },
      {
        role: 'assistant',
        content: [
          { type: 'tool_use', id: '1' },
          { type: 'tool_use', id: '2' },
        ],
      },
      {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: '1', content: [{ type: 'text', text: 'x' }, structuredClone(shown)] },
          { type: 'tool_result', tool_use_id: '2', is_error: true, content: [{ type: 'text', text: 'x' }] },
        ],
      },
      { role: 'assistant', content: [{ type: 'text', text: 'Done.' }] },
    ],
  });
  proves(messagesFaults, request, [
    ...TOOLS(({ tools }) => tools[0]),
    ['property key', ({ tools }) => (tools[0].input_schema.properties['a b'] = text)],
    ['extra inputs stop_reason', ({ messages }) => (messages[1].stop_reason = 'tool_use')],
    ['non-empty content', ({ messages }) => messages.push({ role: 'assistant', content: [] }, messages[0])],
    ['results are not in the next message', ({ messages }) => messages[2].content.pop()],
    ['results are not in the next message', ({ messages }) => messages.splice(2, 0, messages[0])],
    ['a result without its call', ({ messages }) => messages.splice(1, 1)],
    ['results are not first', ({ messages }) => messages[2].content.unshift({ type: 'text', text: 'x' })],
    ['ids must be unique', ({ messages }) => messages[1].content.push({ type: 'tool_use', id: '1' })],
    ['blank text', ({ messages }) => (messages[3].content[0].text = '\n')],
    ['blank text', ({ messages }) => (messages[2].content[0].content[0].text = '')],
    ['result of audio', ({ messages }) => messages[2].content[0].content.push({ type: 'audio' })],
    ['text if is_error', ({ messages }) => messages[2].content[1].content.push(shown)],
    ['image is not image/gif', ({ messages }) => (messages[2].content[0].content[1].source.media_type = 'image/gif')],
    [
      'image exceeds 5 MB',
      ({ messages }) => (messages[2].content[0].content[1].source.data = PNG.slice(0, 12).repeat(500_000)),
    ],
  ]);
});

describe('contentFaults()', () => {
  const request = (): any => ({
    tools: [{ functionDeclarations: [{ name: 'a__b', parametersJsonSchema: tree() }] }],
    contents: [
      { role: 'user', parts: [{ text: 'Go.' }] },
      { role: 'model', parts: [{ functionCall: { id: '1', name: 'a' } }, { functionCall: { name: 'b' } }] },
      {
        role: 'user',
        parts: [
          { functionResponse: { id: '1', name: 'a', response: {} } },
          { functionResponse: { name: 'b', response: {} } },
          { inlineData: { mimeType: 'image/png', data: PNG } },
        ],
      },
    ],
  });
  proves(contentFaults, request, [
    ...TOOLS(({ tools }) => tools[0].functionDeclarations[0]).slice(0, 3),
    ['two tools with one name', ({ tools }) => tools.push(tools[0])],
    ['parameters beside', ({ tools }) => (tools[0].functionDeclarations[0].parameters = {})],
    [
      'recursive and required',
      ({ tools }) => (tools[0].functionDeclarations[0].parametersJsonSchema.required = ['tree']),
    ],
    ['parts must not be empty', ({ contents }) => contents.push({ role: 'model' })],
    ['role tool', ({ contents }) => (contents[2].role = 'tool')],
    ['responses of the model', ({ contents }) => (contents[2].role = 'model')],
    ['do not match the calls', ({ contents }) => contents[2].parts.reverse()],
    ['do not match the calls', ({ contents }) => delete contents[2].parts[0].functionResponse.id],
    ['do not match the calls', ({ contents }) => contents.pop()],
    ['response is not an object', ({ contents }) => (contents[2].parts[0].functionResponse.response = 'x')],
    ['image is not image/gif', ({ contents }) => (contents[2].parts[2].inlineData.mimeType = 'image/gif')],
  ]);
});
