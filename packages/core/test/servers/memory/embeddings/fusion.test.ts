// Properties of the fusion of words and meaning.

import fc from 'fast-check';
import { expect, it } from 'vitest';
import { fuse } from '../../../../src/servers/memory/embeddings/fusion.js';

const number = (min: number, max: number) => fc.double({ min, max, noNaN: true });
const candidate = fc.record({
  words: fc.oneof(fc.constant(0), number(0.01, 1)),
  meaning: fc.option(number(-1, 1), { nil: undefined }),
});
const candidates = fc.array(candidate, { minLength: 1, maxLength: 120 });
const orderOf = (scores: readonly number[]): number[] =>
  scores.map((_, index) => index).sort((a, b) => scores[b]! - scores[a]! || a - b);

it('fuse() returns scores from 0 to 1', () => {
  fc.assert(
    fc.property(candidates, number(0, 1), (list, weight) => {
      for (const score of fuse(list, weight)) expect(score >= 0 && score <= 1 + 1e-12).toBe(true);
    }),
  );
});

it('fuse() ranks by words only when the weight is 0, and by meaning only when it is 1', () => {
  const separate = fc.uniqueArray(fc.integer({ min: -100, max: 100 }), { minLength: 2, maxLength: 50 });
  fc.assert(
    fc.property(separate, (values) => {
      const list = values.map((value, index) => ({
        words: (value + 100) / 200,
        meaning: -values[values.length - 1 - index]! / 100,
      }));
      expect(orderOf(fuse(list, 0))).toEqual(orderOf(list.map(({ words }) => words)));
      expect(orderOf(fuse(list, 1))).toEqual(orderOf(list.map(({ meaning }) => meaning)));
    }),
  );
});

it('fuse() never ranks a candidate below one that is worse by words and by meaning', () => {
  fc.assert(
    fc.property(candidates, number(0, 1), (list, weight) => {
      const scores = fuse(list, weight);
      list.forEach((a, i) =>
        list.forEach((b, j) => {
          if (a.words >= b.words && (a.meaning ?? -2) >= (b.meaning ?? -2)) expect(scores[i]! >= scores[j]!).toBe(true);
        }),
      );
    }),
  );
});

it('fuse() returns the same when a constant is added to all cosines', () => {
  fc.assert(
    fc.property(candidates, number(0, 1), number(-1, 1), (list, weight, shift) => {
      const moved = list.map(({ words, meaning }) => ({
        words,
        meaning: meaning === undefined ? undefined : meaning + shift,
      }));
      const apart = list.flatMap(({ meaning }) => meaning ?? []);
      fc.pre(apart.length < 2 || Math.max(...apart) - Math.min(...apart) > 1e-3);
      fuse(moved, weight).forEach((score, index) => expect(score).toBeCloseTo(fuse(list, weight)[index]!, 6));
    }),
  );
});

it('fuse() ranks candidates without a vector by words', () => {
  const list = [{ words: 1 }, { words: 3 }, { words: 2 }];
  expect(orderOf(fuse(list, 0.5))).toEqual([1, 2, 0]);
});

it('fuse() gives words a quarter of their weight when the best share is half of FULL_WEIGHT_SHARE', () => {
  const list = [
    { words: 0.2, meaning: 0.1 },
    { words: 0.1, meaning: 0.5 },
    { words: 0, meaning: 0.3 },
  ];
  const expected = [0.7 * 0.25, 0.7 * 0.125 + 0.3, 0.3 * 0.5];
  fuse(list, 0.3).forEach((score, index) => expect(score).toBeCloseTo(expected[index]!, 12));
});

it('fuse() ranks the best by words first when its share is high, and the nearest when it is low', () => {
  const best = (words: number): number =>
    orderOf(
      fuse(
        [
          { words, meaning: 0.1 },
          { words: 0, meaning: 0.5 },
        ],
        0.3,
      ),
    )[0]!;
  expect([best(0.5), best(0.4), best(0.1)]).toEqual([0, 0, 1]);
});
