import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compileGlob } from '../../../../src/servers/filesystem/search/glob-pattern.js';

describe('compileGlob()', () => {
  it.each([
    ['*.ts', 'a/b.ts', true],
    ['*.ts', 'a.tsx', false],
    ['a/*', 'a/b/c', false],
    ['a/**', 'a/b/c', true],
    ['a/**/c', 'a/c', true],
    ['**/a/**', 'x/a/y', true],
    ['a?c', 'a😀c', true],
    ['a?c', 'a/c', false],
    ['[a-c]x', 'bx', true],
    ['[!a-c]x', 'bx', false],
    ['[]]x', ']x', true],
    ['\\*', '*', true],
    ['\\*', 'a', false],
    ['{a,b{c,d}}.{x,y}', 'bd.y', true],
    ['{a,b}', 'c', false],
    ['./a', 'a', true],
    ['/a', 'b/a', false],
    ['a**b', 'axyb', true],
  ])('compileGlob() of %s and %s is %s', (pattern, path, expected) => {
    expect(compileGlob(pattern)(path)).toBe(expected);
  });

  it('compileGlob() refuses or matches immediately when the pattern explodes', () => {
    const startedAt = performance.now();
    expect(() => compileGlob('{a,b}'.repeat(20))).toThrow(/more than 1000/);
    expect(compileGlob('**/'.repeat(300) + 'x')('a/'.repeat(1_000) + 'y')).toBe(false);
    expect(compileGlob('*a'.repeat(100) + 'b')('a'.repeat(255))).toBe(false);
    expect(performance.now() - startedAt).toBeLessThan(500);
  });

  it('compileGlob() matches or throws a ToolError when the pattern is any text', () => {
    const text = fc
      .array(fc.constantFrom('*', '**', '?', '[', ']', '{', '}', ',', '\\', '/', 'a', '!', '-', '.'), { maxLength: 14 })
      .map((parts) => parts.join(''));
    fc.assert(
      fc.property(text, text, (pattern, path) => {
        try {
          compileGlob(pattern)(path);
        } catch (error) {
          expect(error).toMatchObject({ code: 'INVALID_ARGUMENT' });
        }
      }),
    );
  });
});
