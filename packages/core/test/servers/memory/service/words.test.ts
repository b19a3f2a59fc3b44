import { describe, expect, it } from 'vitest';
import { identifierParts, queryWords } from '../../../../src/servers/memory/service/words.js';

describe('queryWords()', () => {
  it.each([
    ['parseHTTPResponse2 now', ['parsehttpresponse2', 'parse', 'http', 'response', '2', 'now']],
    ['snake_case src/a-b.ts', ['snake', 'case', 'src', 'a', 'b', 'ts']],
    ['"quoted" AND (NEAR x*)', ['quoted', 'and', 'near', 'x']],
    ['日本語の検索', ['日本語の検索', '日本', '本語', '語の', 'の検', '検索']],
    ['👩‍💻 \0 "" -- ;', []],
    ['same Same SAME', ['same']],
  ])('returns the words of %j as %j', (text, words) => {
    expect(queryWords(text, 100)).toEqual(words);
  });

  it('identifierParts() returns nothing when words have no parts', () => {
    expect(identifierParts('plain words, and numbers 12')).toBe('');
  });
});
