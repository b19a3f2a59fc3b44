// A WordTable must return the same as a Map.

import fc from 'fast-check';
import { expect, it } from 'vitest';
import { WordTable } from '../../../../src/servers/memory/embeddings/word-table.js';

const WORD = fc.oneof(
  fc.string({ unit: fc.constantFrom('a', 'b'), maxLength: 6 }),
  fc.string({ unit: 'binary', maxLength: 8 }).map((text) => text.replaceAll('\n', '')),
);

it('get() returns what a Map would for known and unknown words', () => {
  fc.assert(
    fc.property(fc.uniqueArray(WORD, { minLength: 1, maxLength: 300 }), fc.array(WORD), (words, others) => {
      const table = new WordTable(words.join('\n'));
      const places = new Map(words.map((word, place) => [word, place]));
      expect(table.size).toBe(words.length);
      for (const word of [...words, ...others, words.join('\n')]) expect(table.get(word)).toBe(places.get(word));
    }),
  );
});

it('get() works when the table has one word or none', () => {
  expect(new WordTable('one').get('one')).toBe(0);
  expect(new WordTable('one').get('on')).toBeUndefined();
  expect(new WordTable('one').get('')).toBeUndefined();
});
