// The intervals: the same for a seed, and as wide as theory says.

import { expect, it } from 'vitest';
import { estimate } from '../bootstrap.js';

const values = Array.from({ length: 100 }, (_, i) => (i % 4 === 0 ? 1 : 0));

it('estimate() returns the same interval only when the seed is the same', () => {
  expect(estimate(values, 7)).toEqual(estimate(values, 7));
  expect(estimate(values, 7)).not.toEqual(estimate(values, 8));
});

it('estimate() returns the interval of the binomial distribution', () => {
  // A quarter of 100: the deviation is sqrt(0.25 * 0.75 / 100) = 0.0433, and 95 % are within 1.96 of those.
  const { mean, low, high } = estimate(values, 1);
  expect(mean).toBe(0.25);
  expect(Math.abs(low - (0.25 - 0.085))).toBeLessThan(0.02);
  expect(Math.abs(high - (0.25 + 0.085))).toBeLessThan(0.02);
});

it('estimate() returns an interval of width 0 when all values are the same', () => {
  expect(estimate([0.4, 0.4, 0.4], 3)).toEqual({
    mean: expect.closeTo(0.4, 12) as number,
    low: expect.closeTo(0.4, 12) as number,
    high: expect.closeTo(0.4, 12) as number,
  });
});

it('estimate() accepts any integer as the seed', () => {
  for (const seed of [0, -1, 2 ** 40, Number.MAX_SAFE_INTEGER]) {
    const { low, high } = estimate(values, seed);
    expect(low).toBeLessThan(0.25);
    expect(high).toBeGreaterThan(0.25);
  }
});
