import { ToolError } from '../../src/contract/errors.js';
import { defineTool, textOf } from '@toolwright/core';
import { runTool } from '@toolwright/core/testing';
import { describe, expect, it, vi } from 'vitest';
import { errorResult, isOwnFailure } from '../../src/contract/result.js';

const returning = (output: unknown) =>
  runTool(defineTool({ name: 't', description: 'T.', execute: () => output as never }), {});

describe('runTool()', () => {
  it('returns text when the tool returns a string', async () =>
    expect((await returning('hi')).content).toEqual([{ type: 'text', text: 'hi' }]));

  it('returns structuredContent and its text when the tool returns a JSON object', async () => {
    const output = { a: [1, { b: null }] };
    const result = await returning(output);
    expect(result.structuredContent).toBe(output);
    expect(textOf(result)).toBe('{"a":[1,{"b":null}]}');
  });

  it('returns content blocks unchanged', async () => {
    const blocks = [
      { type: 'text', text: 'a' },
      { type: 'image', data: 'AA==', mimeType: 'image/png' },
    ];
    expect((await returning(blocks)).content).toBe(blocks);
  });

  it.each([undefined, null])('returns no content when the tool returns %s', async (output) => {
    const result = await returning(output);
    expect(result).toMatchObject({ content: [], isError: false });
  });

  it('returns the full form unchanged, with text from structuredContent', async () => {
    const result = await returning({ structuredContent: { n: 1 }, _meta: { x: 1 } });
    expect(result).toMatchObject({
      content: [{ type: 'text', text: '{"n":1}' }],
      structuredContent: { n: 1 },
      _meta: { x: 1 },
    });
  });

  it('returns the code of an error in the full form, with content and structuredContent', async () => {
    const error = new ToolError('TIMED_OUT', 'too slow');
    const content = [{ type: 'text', text: 'half' }];
    const result = await returning({ content, structuredContent: { n: 1 }, isError: true, error });
    expect(result).toMatchObject({ isError: true, content, structuredContent: { n: 1 } });
    expect(result.error).toMatchObject({ code: 'TIMED_OUT', message: 'too slow' });
  });

  it('returns an object whose error is not a ToolError as ordinary output', async () => {
    expect(await returning({ error: 'x' })).toMatchObject({ isError: false, structuredContent: { error: 'x' } });
  });

  it('returns a code and a message when the full form has isError', async () => {
    const result = await returning({ content: [{ type: 'text', text: 'no luck' }], isError: true });
    expect(result).toMatchObject({ isError: true, error: { code: 'EXECUTION_FAILED', message: 'no luck' } });
  });

  it('returns an object that only resembles the full form as JSON', async () => {
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
  ])('fails with OUTPUT_INVALID when the tool returns %s', async (_what, output) => {
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
  ])('serializes %s as JSON, with an object as structuredContent', async (_what, output, structured, text) => {
    const result = await returning(output);
    expect(result.error).toBeUndefined();
    expect(result.structuredContent).toEqual(structured);
    expect(textOf(result)).toBe(text);
  });

  it.each<[string, unknown]>([
    ['an Error', new Error('x')],
    ['a Map', new Map([[1, 2]])],
    ['a Set', new Set([1])],
  ])('fails with OUTPUT_INVALID when the tool returns %s, which JSON would empty', async (_what, output) => {
    expect((await returning(output)).error?.code).toBe('OUTPUT_INVALID');
  });

  it('awaits a promise and any other thenable', async () => {
    expect(textOf(await returning(Promise.resolve('later')))).toBe('later');
    expect(textOf(await returning({ then: (resolve: (value: string) => void) => resolve('thenable') }))).toBe(
      'thenable',
    );
  });

  it('returns 100 MB of text', async () => {
    expect(textOf(await returning('x'.repeat(100 * 1024 * 1024))).length).toBe(104_857_600);
  });
});

it(`isOwnFailure() is true for an error of another copy of the package, false for a server's error`, async () => {
  vi.resetModules();
  const copy = await import('../../src/contract/result.js');
  expect(copy.errorResult).not.toBe(errorResult);
  const failure = copy.errorResult(new ToolError('NOT_CONNECTED', 'Gone.'), 0);
  expect(isOwnFailure(failure)).toBe(true);
  expect(isOwnFailure({ ...failure })).toBe(false);
});
