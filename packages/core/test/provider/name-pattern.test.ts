import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { escapeGlob, matchesGlob } from '../../src/provider/name-pattern.js';

describe('matchesGlob()', () => {
  it.each([
    ['filesystem.read_*', 'filesystem.read_file', true],
    ['filesystem.*', 'filesystem.', true],
    ['*', '', true],
    ['*', 'a/b.c\nd', true],
    ['a?c', 'abc', true],
    ['a?c', 'ac', false],
    ['a*b*c', 'a123b456c', true],
    ['a*b*c', 'a123b456', false],
    ['src/*', 'src/deep/er.ts', true],
    ['\\*', '*', true],
    ['\\*', 'x', false],
    ['\\\\', '\\', true],
    ['a\\', 'a\\', true],
    ['a?b', 'a😀b', true],
    ['😀*', '😀 x', true],
    ['[ab]', 'a', false],
    ['[ab]', '[ab]', true],
    ['{a,b}', 'a', false],
    ['A', 'a', false],
    ['', '', true],
    ['', 'a', false],
  ])('matches %j against %j: %s', (pattern, text, expected) => expect(matchesGlob(pattern, text)).toBe(expected));

  it('is fast on a pattern that makes a regular expression backtrack', () => {
    expect(matchesGlob(`${'*a'.repeat(200)}*b`, 'a'.repeat(5_000))).toBe(false);
  });

  it('agrees with an equivalent regular expression on random input', () => {
    const alphabet = fc.string({ unit: fc.constantFrom('a', 'b', '*', '?', '.', '/', '\\'), maxLength: 8 });
    fc.assert(
      fc.property(alphabet, alphabet, (pattern, text) => {
        const source = pattern.replace(/\\(.)|\\$|\*|\?|[^]/g, (token: string, escaped?: string) =>
          token === '*' ? '[^]*' : token === '?' ? '[^]' : (escaped ?? token).replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&'),
        );
        expect(matchesGlob(pattern, text)).toBe(new RegExp(`^${source}$`).test(text));
      }),
      { numRuns: 2_000 },
    );
  });
});

describe('escapeGlob()', () => {
  it('matches only the text', () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), (text, other) => {
        expect(matchesGlob(escapeGlob(text), text)).toBe(true);
        if (other !== text) expect(matchesGlob(escapeGlob(text), other)).toBe(false);
      }),
    );
  });
});
