import { ToolError } from '../../src/contract/errors.js';
import { defineTool, textOf } from '@toolwright/core';
import { runTool } from '@toolwright/core/testing';
import { describe, expect, it, vi } from 'vitest';
import { errorResult, isOwnFailure } from '../../src/contract/result.js';

const returning = (output: unknown) =>
  runTool(defineTool({ name: 't', description: 'T.', execute: () => output as never }), {});

describe('what execute returns', () => {
  it('a string becomes text', async () =>
    expect((await returning('hi')).content).toEqual([{ type: 'text', text: 'hi' }]));

  it('a JSON object becomes structuredContent and its text', async () => {
    const output = { a: [1, { b: null }] };
    const result = await returning(output);
    expect(result.structuredContent).toBe(output);
    expect(textOf(result)).toBe('{"a":[1,{"b":null}]}');
  });

  it('content blocks stay as they are', async () => {
    const blocks = [
      { type: 'text', text: 'a' },
      { type: 'image', data: 'AA==', mimeType: 'image/png' },
    ];
    expect((await returning(blocks)).content).toBe(blocks);
  });

  it.each([undefined, null])('%s becomes no content', async (output) => {
    const result = await returning(output);
    expect(result).toMatchObject({ content: [], isError: false });
  });

  it('the full form is used as it is, with text from structuredContent', async () => {
    const result = await returning({ structuredContent: { n: 1 }, _meta: { x: 1 } });
    expect(result).toMatchObject({
      content: [{ type: 'text', text: '{"n":1}' }],
      structuredContent: { n: 1 },
      _meta: { x: 1 },
    });
  });

  it('error in the full form sets the code, and keeps content and structuredContent', async () => {
    const error = new ToolError('TIMED_OUT', 'too slow');
    const content = [{ type: 'text', text: 'half' }];
    const result = await returning({ content, structuredContent: { n: 1 }, isError: true, error });
    expect(result).toMatchObject({ isError: true, content, structuredContent: { n: 1 } });
    expect(result.error).toMatchObject({ code: 'TIMED_OUT', message: 'too slow' });
  });

  it('an object with a foreign error is an ordinary output', async () => {
    expect(await returning({ error: 'x' })).toMatchObject({ isError: false, structuredContent: { error: 'x' } });
  });

  it('isError in the full form results in a code and a message', async () => {
    const result = await returning({ content: [{ type: 'text', text: 'no luck' }], isError: true });
    expect(result).toMatchObject({ isError: true, error: { code: 'EXECUTION_FAILED', message: 'no luck' } });
  });

  it('an object that only looks like the full form is JSON', async () => {
    expect((await returning({ content: 'a text' })).structuredContent).toEqual({ content: 'a text' });
    expect((await returning({ content: [], more: 1 })).structuredContent).toEqual({ content: [], more: 1 });
    expect((await returning({ content: [1, 2] })).structuredContent).toEqual({ content: [1, 2] });
    expect((await returning({})).structuredContent).toEqual({});
  });

  const circular: Record<string, unknown> = {};
  circular.self = circular;
  it.each([
    ['a bigint', 7n],
    ['a function', () => 1],
    ['a symbol', Symbol('s')],
    ['a circle', circular],
    ['a bigint inside', { n: 1n }],
    ['a toJSON that throws', { toJSON: () => { throw new Error('no'); } }], // prettier-ignore
    ['a toJSON of undefined', { toJSON: () => undefined }],
    ['a directive without params', { content: [], directives: [{ type: 'x' }] }],
  ])('%s is OUTPUT_INVALID', async (_what, output) => {
    expect((await returning(output)).error?.code).toBe('OUTPUT_INVALID');
  });

  it.each<[string, unknown, object | undefined, string]>([
    ['a Date', new Date(0), undefined, '1970-01-01T00:00:00.000Z'],
    ['an object with toJSON', { toJSON: () => ({ a: 1 }) }, { a: 1 }, '{"a":1}'],
    ['one whose JSON is a text', { toJSON: () => 'x' }, undefined, 'x'],
    ['one whose JSON is a list', { toJSON: () => [1] }, { result: [1] }, '[1]'],
    ['structuredContent that is a list', { structuredContent: [1] }, { result: [1] }, '{"result":[1]}'],
    [
      'structuredContent that is a Date',
      { structuredContent: new Date(0) },
      { result: '1970-01-01T00:00:00.000Z' },
      '{"result":"1970-01-01T00:00:00.000Z"}',
    ],
  ])('%s is what JSON makes of it, and structuredContent is an object', async (_what, output, structured, text) => {
    const result = await returning(output);
    expect(result.error).toBeUndefined();
    expect(result.structuredContent).toEqual(structured);
    expect(textOf(result)).toBe(text);
  });

  it.each<[string, unknown]>([
    ['an Error', new Error('x')],
    ['a Map', new Map([[1, 2]])],
    ['a Set', new Set([1])],
  ])('%s is OUTPUT_INVALID, as JSON would make nothing of it', async (_what, output) => {
    expect((await returning(output)).error?.code).toBe('OUTPUT_INVALID');
  });

  it('a promise of any of them is awaited, also a foreign thenable', async () => {
    expect(textOf(await returning(Promise.resolve('later')))).toBe('later');
    expect(textOf(await returning({ then: (resolve: (value: string) => void) => resolve('thenable') }))).toBe(
      'thenable',
    );
  });

  it('100 MB of text are returned', async () => {
    expect(textOf(await returning('x'.repeat(100 * 1024 * 1024))).length).toBe(104_857_600);
  });
});

it(`an error of another copy of the package is an own failure, and a server's error is not`, async () => {
  vi.resetModules();
  const copy = await import('../../src/contract/result.js');
  expect(copy.errorResult).not.toBe(errorResult);
  const told = copy.errorResult(new ToolError('NOT_CONNECTED', 'Gone.'), 0);
  expect(isOwnFailure(told)).toBe(true);
  expect(isOwnFailure({ ...told })).toBe(false);
});
