// Results to the wire and back: what a gateway sends is what a provider gives.

import { TOOL_ERROR_CODES, type ToolResult } from '@toolwright/core';
import { fromWireResult, toWireResult } from '@toolwright/core/mcp';
import { expect, it } from 'vitest';

const overTheWire = (result: ToolResult): unknown => {
  const { durationMs: _, ...rest } = result;
  expect(fromWireResult(JSON.parse(JSON.stringify(toWireResult(result))) as never)).toEqual(rest);
  return rest;
};

it('fromWireResult() returns what toWireResult() received', () => {
  overTheWire({ content: [{ type: 'text', text: 'a' }], isError: false, directives: [], durationMs: 1 });
  overTheWire({
    content: [{ type: 'image', data: 'AA==', mimeType: 'image/png', _meta: { a: 1 } }],
    structuredContent: { a: [1, { b: null }] },
    isError: false,
    directives: [
      { type: 'tier_change', params: { tier: 'high' } },
      { type: 'context_anchor', params: { key: 'k', content: '' } },
    ],
    _meta: { 'x/y': { z: 1 } },
    durationMs: 1,
  });
});

it('fromWireResult() restores every code, with its details', () => {
  for (const code of TOOL_ERROR_CODES) {
    const error = { code, message: `m ${code}`, retryable: code.length % 2 === 0, details: { nearest: ['a'] } };
    overTheWire({
      content: [{ type: 'text', text: 'for the model' }],
      isError: true,
      error,
      directives: [],
      durationMs: 1,
    });
  }
});

it('fromWireResult() ignores the error of a successful result, and malformed directives', () => {
  const { error, directives, isError } = fromWireResult({
    content: [],
    isError: 'yes',
    _meta: {
      'toolwright/error': { code: 'INTERNAL', message: 'x' },
      'toolwright/directives': ['stop', { type: 'x' }, null],
    },
  });
  expect([error, directives, isError]).toEqual([undefined, [], false]);
});

it('fromWireResult() rejects content that is not an array', () => {
  expect(() => fromWireResult({ content: 'text' })).toThrow(/not an array/);
});

it.each([[['a', 1]], ['text'], [7], [0], [false], ['']])(
  'fromWireResult() wraps and marks the structuredContent %j, which is not an object',
  (value) => {
    const wire = { content: [], structuredContent: value, _meta: { 'x/y': 1 } } as never;
    const { structuredContent, content, _meta } = fromWireResult(wire);
    expect(structuredContent).toEqual({ result: value });
    expect(_meta).toEqual({ 'x/y': 1, 'toolwright/wrapped': true });
    expect(content).toEqual([{ type: 'text', text: JSON.stringify(value) }]);
  },
);

it('fromWireResult() keeps an object as structuredContent, and treats null as absent', () => {
  const { structuredContent, _meta } = fromWireResult({ structuredContent: { result: 1 } });
  expect([structuredContent, _meta]).toEqual([{ result: 1 }, undefined]);
  expect(fromWireResult({ structuredContent: null })).toEqual({ content: [], isError: false, directives: [] });
});
