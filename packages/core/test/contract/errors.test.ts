import { TOOL_ERROR_CODES, ToolError } from '@toolwright/core';
import { describe, expect, it } from 'vitest';

describe('ToolError', () => {
  it('from() returns a ToolError unchanged', () => {
    const error = new ToolError('BUSY', 'full');
    expect(ToolError.from(error)).toBe(error);
  });

  it.each([
    [Object.assign(new Error('x'), { name: 'AbortError' }), 'CANCELLED'],
    [AbortSignal.timeout(0), 'EXECUTION_FAILED'],
    [new DOMException('late', 'TimeoutError'), 'TIMED_OUT'],
    [Object.assign(new Error('x'), { code: 'ENOENT' }), 'NOT_FOUND'],
    [Object.assign(new Error('x'), { code: 'ENOSPC' }), 'NO_SPACE'],
    [Object.assign(new Error('x'), { code: 'Unknown system error -122', errno: -122 }), 'NO_SPACE'],
    [Object.assign(new Error('x'), { code: 'toString' }), 'EXECUTION_FAILED'],
    [new Error('plain'), 'EXECUTION_FAILED'],
    ['text', 'EXECUTION_FAILED'],
    [undefined, 'EXECUTION_FAILED'],
    [null, 'EXECUTION_FAILED'],
    [Object.create(null), 'EXECUTION_FAILED'],
    [Symbol('s'), 'EXECUTION_FAILED'],
  ])('from() turns %s into its code', (thrown, code) => {
    const error = ToolError.from(thrown);
    expect(error.code).toBe(code);
    expect(error.message.length).toBeGreaterThan(0);
    expect(error.cause).toBe(thrown);
  });

  it('from() uses the fallback when nothing is known', () =>
    expect(ToolError.from('x', 'INTERNAL').code).toBe('INTERNAL'));

  it('from() does not throw when the message accessor does', () => {
    const hostile = {
      get message(): string {
        throw new Error('no');
      },
    };
    expect(ToolError.from(hostile).code).toBe('EXECUTION_FAILED');
  });

  it('isInstance() accepts an error of another copy of the package', () => {
    const foreign = Object.assign(new Error('x'), { [Symbol.for('toolwright.ToolError')]: true, code: 'BUSY' });
    expect(ToolError.isInstance(foreign)).toBe(true);
    expect(ToolError.isInstance(new Error('x'))).toBe(false);
    expect(ToolError.isInstance(null)).toBe(false);
  });

  it('isCode() accepts only the closed list, not names from Object.prototype', () => {
    for (const code of TOOL_ERROR_CODES) expect(ToolError.isCode(code)).toBe(true);
    for (const value of ['NOPE', 'toString', 1, null, undefined]) expect(ToolError.isCode(value)).toBe(false);
  });

  it('has retryable true by default for BUSY, LOCKED and UNAVAILABLE', () => {
    expect(TOOL_ERROR_CODES.filter((code) => new ToolError(code, 'x').retryable)).toEqual([
      'LOCKED',
      'BUSY',
      'UNAVAILABLE',
    ]);
    expect(new ToolError('INTERNAL', 'x', { retryable: true }).retryable).toBe(true);
  });

  it('constructor accepts the plain form', () => {
    const info = { code: 'NO_MATCH', message: 'none', retryable: true, details: { lines: [1] } } as const;
    const error = new ToolError(info);
    expect(error.toInfo()).toEqual(info);
    expect(error).toMatchObject({ code: 'NO_MATCH', message: 'none' });
  });

  it('toInfo() returns plain JSON', () => {
    const info = new ToolError('NO_MATCH', 'none', { details: { lines: [1] } }).toInfo();
    expect(info).toEqual({ code: 'NO_MATCH', message: 'none', retryable: false, details: { lines: [1] } });
    expect(JSON.parse(JSON.stringify(info))).toEqual(info);
  });
});
