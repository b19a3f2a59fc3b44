// What goes over the wire for the arguments of a call: paths, parameters, bodies.

import { OpenApiToolProvider } from '@toolwright/core/openapi';
import { textOf, type JsonObject, type ToolResult } from '@toolwright/core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { documentOf, documentWith, serve, SILENT, type Received, type TestServer } from '../serve.js';

type Json = Record<string, unknown>;

let api: TestServer;
beforeAll(async () => (api = await serve()));
afterAll(() => api.close());

/** Calls the tool `call` of a document. */
async function call(document: Json, args: JsonObject, path = ''): Promise<ToolResult> {
  await using provider = new OpenApiToolProvider({ name: 'api', document, server: api.origin + path, logger: SILENT });
  return await provider.callTool('api.call', args);
}

/** The request that a call sends. */
async function sent(document: Json, args: JsonObject, path = ''): Promise<Received> {
  const count = api.received.length;
  const result = await call(document, args, path);
  expect(textOf(result)).toBe('{"ok":true}');
  expect(api.received.length).toBe(count + 1);
  return api.last;
}

const parameter = (place: string, more: Json = {}): Json => ({
  parameters: [{ name: 'c', in: place, required: true, schema: {}, ...more }],
});
const LIST = ['blue', 'black', 'a b'];
const OBJECT = { R: 100, G: 200 };

describe('parameters', () => {
  // https://spec.openapis.org/oas/v3.1.1.html#style-examples
  it.each([
    ['path', {}, '5', '/5'],
    ['path', {}, LIST, '/blue,black,a%20b'],
    ['path', {}, OBJECT, '/R,100,G,200'],
    ['path', { explode: true }, OBJECT, '/R=100,G=200'],
    ['path', { style: 'label' }, 'blue', '/.blue'],
    ['path', { style: 'label' }, LIST, '/.blue,black,a%20b'],
    ['path', { style: 'label', explode: true }, LIST, '/.blue.black.a%20b'],
    ['path', { style: 'label', explode: true }, OBJECT, '/.R=100.G=200'],
    ['path', { style: 'matrix' }, 'blue', '/;c=blue'],
    ['path', { style: 'matrix' }, LIST, '/;c=blue,black,a%20b'],
    ['path', { style: 'matrix', explode: true }, LIST, '/;c=blue;c=black;c=a%20b'],
    ['path', { style: 'matrix', explode: true }, OBJECT, '/;R=100;G=200'],
    ['query', {}, 'blue', '/?c=blue'],
    ['query', {}, '', '/?c='],
    ['query', {}, LIST, '/?c=blue&c=black&c=a%20b'],
    ['query', {}, OBJECT, '/?R=100&G=200'],
    ['query', {}, [], '/'],
    ['query', { explode: false }, LIST, '/?c=blue,black,a%20b'],
    ['query', { explode: false }, OBJECT, '/?c=R,100,G,200'],
    ['query', { style: 'spaceDelimited' }, LIST, '/?c=blue%20black%20a%20b'],
    ['query', { style: 'pipeDelimited' }, LIST, '/?c=blue%7Cblack%7Ca%20b'],
    [
      'query',
      { style: 'deepObject', explode: true },
      { R: 100, n: { a: [1, 2] } },
      '/?c[R]=100&c[n][a][]=1&c[n][a][]=2',
    ],
    ['query', {}, 'a/b?c&d=e#f+g', '/?c=a%2Fb%3Fc%26d%3De%23f%2Bg'],
    ['query', { allowReserved: true }, 'a/b?c&d=e#f+g', '/?c=a/b?c%26d%3De%23f%2Bg'],
    ['query', { schema: undefined, content: { 'application/json': {} } }, { a: [1] }, '/?c=%7B%22a%22%3A%5B1%5D%7D'],
  ])('in %s with %j write %j as %s', async (place, more, value, expected) => {
    const document = documentWith(parameter(place, more), place === 'path' ? '/{c}' : '/');
    expect((await sent(document, { c: value })).url).toBe(expected);
  });

  it('in headers and cookies write values and lists', async () => {
    const header = await sent(documentWith(parameter('header', { name: 'X-Colors' })), {
      'X-Colors': ['blue', 'black'],
    });
    expect(header.headers['x-colors']).toBe('blue,black');
    const cookie = await sent(documentWith(parameter('cookie')), { c: 'a b;c' });
    expect(cookie.headers.cookie).toBe('c=a%20b%3Bc');
  });

  it('that are absent or null are not sent', async () => {
    const document = documentWith({
      parameters: [
        { name: 'a', in: 'query' },
        { name: 'b', in: 'header' },
      ],
    });
    const { url, headers } = await sent(document, { a: null });
    expect(url).toBe('/call');
    expect(headers.b).toBeUndefined();
  });

  it.each(['a\r\nx-evil: 1', 'a\nb', 'a\0b', 'ü'])('in headers refuse %j', async (value) => {
    const count = api.received.length;
    const { error } = await call(documentWith(parameter('header')), { c: value });
    expect(error).toMatchObject({ code: 'INVALID_ARGUMENT', message: expect.stringMatching(/printable ASCII/) });
    expect(api.received.length).toBe(count);
  });
});

describe('paths', () => {
  const HOSTILE = [
    ...['', '.', '..', '../admin', 'a/../../admin', '..\\admin', '%2e%2e', '%2e%2e%2fadmin', '%252e%252e%252fadmin'],
    ...['..%2fadmin', 'a/./b', '..;/admin', '.%2e'],
  ];
  it.each(HOSTILE)('refuse the parameter %j', async (value) => {
    const count = api.received.length;
    const { error } = await call(documentWith({}, '/files/{c}', 'delete'), { c: value });
    expect(error?.code).toBe('INVALID_ARGUMENT');
    expect(error?.message).toMatch(/part of the path/);
    expect(api.received.length).toBe(count);
  });

  it('refuse parameters that make ".." together', async () => {
    const { error } = await call(documentWith({}, '/files/{a}{b}/x'), { a: '.', b: '.' });
    expect(error?.code).toBe('INVALID_ARGUMENT');
  });

  it.each([
    ['a/b', '/files/a%2Fb'],
    ['a?b#c', '/files/a%3Fb%23c'],
    ['//evil.example', '/files/%2F%2Fevil.example'],
    ['@evil.example:80', '/files/%40evil.example%3A80'],
    ['a\r\nHost: evil', '/files/a%0D%0AHost%3A%20evil'],
    ['a%2Fb', '/files/a%252Fb'],
    ['v1.2..3', '/files/v1.2..3'],
    ['\ud800ü', '/files/%EF%BF%BD%C3%BC'],
    ["!'()*", '/files/%21%27%28%29%2A'],
  ])('keep the parameter %j in its segment', async (value, expected) => {
    const { url, headers } = await sent(documentWith({}, '/files/{c}'), { c: value });
    expect(url).toBe(expected);
    expect(headers.host).toBe(new URL(api.origin).host);
  });

  it('begin with that of the server, and keep the rest of the template', async () => {
    expect((await sent(documentWith({}, '/a:b/{c}.json'), { c: 'x' }, '/v1/')).url).toBe('/v1/a:b/x.json');
  });

  it.each(['/a/../b', '/a?b=c', '/a#b', '/a\\b', '/a b', 'http://evil.example/a', '/%2e%2e/a', '/a\nb'])(
    'of the document are left out when they are %j',
    async (path) => {
      await using provider = new OpenApiToolProvider({
        name: 'api',
        document: documentOf({ [path]: { get: {} }, '/fine': { get: {} } }),
        server: api.origin,
        logger: SILENT,
      });
      expect((await provider.listTools()).map(({ name }) => name)).toEqual(['api.get_fine']);
    },
  );
});

describe('bodies', () => {
  const posting = (type: string, schema: unknown, media: Json = {}, required = true): Json =>
    documentWith({ requestBody: { required, content: { [type]: { schema, ...media } } } }, '/call', 'post');
  const object = (properties: Json): Json => ({ type: 'object', properties });

  it('are JSON, with the names of the document', async () => {
    const schema = object({ 'a b': {}, __proto__x: {}, n: { type: ['integer', 'null'] } });
    const { headers, body } = await sent(posting('application/merge-patch+json', schema), {
      a_b: [1, { x: 'ü' }],
      n: null,
    });
    expect(headers['content-type']).toBe('application/merge-patch+json');
    expect(headers['content-length']).toBe(String(body.length));
    expect(JSON.parse(body.toString())).toEqual({ 'a b': [1, { x: 'ü' }], n: null });
  });

  it('keep a property named __proto__ a property', async () => {
    const schema = JSON.parse('{"type":"object","properties":{"__proto__":{"type":"object"}}}') as Json;
    const { body } = await sent(posting('application/json', schema), { argument: { polluted: true } });
    expect(body.toString()).toBe('{"__proto__":{"polluted":true}}');
    expect(({} as Json).polluted).toBeUndefined();
  });

  it('are empty objects when they are required and have no arguments, and absent when they are optional', async () => {
    expect((await sent(posting('application/json', object({ a: {} })), {})).body.toString()).toBe('{}');
    const optional = await sent(posting('application/json', object({ a: {} }), {}, false), {});
    expect(optional.body.length).toBe(0);
    expect(optional.headers['content-type']).toBeUndefined();
    expect(optional.headers['content-length']).toBe('0');
  });

  it('are a list or a text as the argument "body"', async () => {
    expect((await sent(posting('application/json', { type: 'array' }), { body: [1, 'x'] })).body.toString()).toBe(
      '[1,"x"]',
    );
    const text = await sent(posting('text/markdown', { type: 'string' }), { body: '# ü\r\n' });
    expect(text.headers['content-type']).toBe('text/markdown; charset=utf-8');
    expect(text.body.toString()).toBe('# ü\r\n');
  });

  it('are forms in the encoding of URLs', async () => {
    const document = posting(
      'application/x-www-form-urlencoded',
      object({ a: {}, list: {}, csv: {}, object: {}, deep: {} }),
      { encoding: { csv: { explode: false }, deep: { style: 'deepObject' } } },
    );
    const args = { a: 'x y&b=c', list: [1, 2], csv: [1, 2], object: { p: 1 }, deep: { p: { q: 1 } } };
    const { headers, body } = await sent(document, args);
    expect(headers['content-type']).toBe('application/x-www-form-urlencoded');
    expect(body.toString()).toBe('a=x+y%26b%3Dc&list=1&list=2&csv=1,2&object=%7B%22p%22%3A1%7D&deep[p][q]=1');
  });

  it('are multipart forms with files, which a real parser reads', async () => {
    const document = posting(
      'multipart/form-data',
      object({
        name: { type: 'string' },
        meta: { type: 'object' },
        file: { type: 'string', format: 'binary' },
        files: { type: 'array', items: { type: 'string', contentMediaType: 'image/png' } },
      }),
    );
    const bytes = Buffer.from([0, 255, 13, 10, 45, 45]);
    const { headers, body } = await sent(document, {
      name: 'a"b\r\nc',
      meta: { x: [1] },
      file: { data: bytes.toString('base64'), filename: 'a"\r\nX-Evil: 1.png', content_type: 'image/png' },
      files: [{ data: 'aGk=' }, { data: 'aG8' }],
    });
    expect(body.toString('latin1')).not.toMatch(/\r\nX-Evil/);
    const form = await new Response(body, { headers: { 'content-type': headers['content-type']! } }).formData();
    expect(form.get('name')).toBe('a"b\r\nc');
    expect(form.get('meta')).toBe('{"x":[1]}');
    const file = form.get('file') as unknown as File;
    expect(Buffer.from(await file.arrayBuffer())).toEqual(bytes);
    expect([file.type, file.name]).toEqual(['image/png', 'a"\r\nX-Evil: 1.png']);
    const texts = (form.getAll('files') as unknown as File[]).map((one) => one.text());
    expect(await Promise.all(texts)).toEqual(['hi', 'ho']);
  });

  it('are binary data from base64, and refuse anything else', async () => {
    const document = posting('application/octet-stream', { type: 'string', format: 'binary' });
    const { headers, body } = await sent(document, { body: '//8A' });
    expect(headers['content-type']).toBe('application/octet-stream');
    expect(body).toEqual(Buffer.from([255, 255, 0]));
    expect((await call(document, { body: 'not base64!' })).error?.message).toMatch(
      /"body" must be binary data in base64/,
    );
  });

  it('prefer JSON when the document offers several types', async () => {
    const schema = object({ a: {} });
    const content = {
      'application/xml': { schema },
      'multipart/form-data': { schema },
      'application/json': { schema },
    };
    const { headers } = await sent(documentWith({ requestBody: { content } }, '/call', 'post'), { a: 1 });
    expect(headers['content-type']).toBe('application/json');
  });

  it('validate arguments before anything is sent', async () => {
    const count = api.received.length;
    const document = posting('application/json', { ...object({ a: { type: 'integer' } }), required: ['a'] });
    for (const args of [{}, { a: 'x' }, { a: 1, b: 2 }])
      expect((await call(document, args)).error?.code).toBe('INVALID_ARGUMENT');
    expect(api.received.length).toBe(count);
    expect((await sent(document, { a: '7' })).body.toString()).toBe('{"a":7}');
  });
});

describe('the header accept', () => {
  it('names the media types of the document, JSON first', async () => {
    const content = { 'text/csv': {}, 'application/vnd.x+json; version=1': {} };
    const { headers } = await sent(documentWith({ responses: { 200: { content } } }), {});
    expect(headers.accept).toBe('application/vnd.x+json, text/csv, */*;q=0.1');
    expect((await sent(documentWith({}), {})).headers.accept).toBe('*/*');
  });
});
