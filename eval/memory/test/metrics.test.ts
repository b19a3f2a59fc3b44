// The figures, on rankings that are worked out by hand.

import { expect, it } from 'vitest';
import { metricsOf } from '../evaluation.js';
import { mean, ndcgAt, recallAt, reciprocalRank } from '../metrics.js';

const ids = (...names: string[]): ReadonlySet<string> => new Set(names);

it('recallAt() returns the share of the relevant IDs among the first', () => {
  expect(recallAt(5, ['a', 'x', 'b', 'y', 'z', 'c'], ids('a', 'b', 'c', 'd'))).toBe(0.5);
  expect(recallAt(5, ['x', 'y', 'z', 'w', 'v', 'a'], ids('a'))).toBe(0);
  expect(recallAt(5, [], ids('a'))).toBe(0);
});

it('ndcgAt() discounts relevant IDs by rank, relative to the best order', () => {
  // 1 / log2(3) for the second place and 1 / log2(5) for the fourth, over 1 / log2(2) + 1 / log2(3).
  expect(ndcgAt(10, ['x', 'a', 'y', 'b'], ids('a', 'b'))).toBeCloseTo((0.63093 + 0.43068) / 1.63093, 4);
  expect(ndcgAt(10, ['a', 'b', 'x'], ids('b', 'a'))).toBe(1);
  expect(ndcgAt(2, ['x', 'y', 'a'], ids('a'))).toBe(0);
});

it('ndcgAt() limits the best order to the number of ranks', () => {
  expect(ndcgAt(2, ['a', 'b'], ids('a', 'b', 'c', 'd'))).toBe(1);
});

it('reciprocalRank() returns the reciprocal of the first relevant rank', () => {
  expect(reciprocalRank(10, ['x', 'y', 'a', 'b'], ids('a', 'b'))).toBeCloseTo(1 / 3, 12);
  expect(reciprocalRank(2, ['x', 'y', 'a'], ids('a'))).toBe(0);
});

it('metricsOf() computes recall from the first five, and the rest from the first ten', () => {
  const metrics = metricsOf({ five: ['a', 'b'], ten: ['x', 'a'] }, ids('a', 'b'));
  expect(metrics).toEqual({ recall5: 1, ndcg10: expect.closeTo(0.63093 / 1.63093, 4) as number, mrr: 0.5 });
});

it('mean() returns the arithmetic mean', () => {
  expect(mean([1, 0, 0, 1, 1])).toBeCloseTo(0.6, 12);
});
