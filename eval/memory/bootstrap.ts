// Confidence intervals of means: the percentile bootstrap over questions (Efron and Tibshirani, 1993, chapter 13).

import { mean } from './metrics.js';

/** A mean with its 95 % confidence interval. */
export interface Estimate {
  mean: number;
  low: number;
  high: number;
}

const RESAMPLES = 2_000;

/**
 * Estimates the mean of one value per question. To compare two searches, pass the differences question by question: most of what
 * makes a question hard is hard for both.
 *
 * @param seed any integer; the same seed gives the same interval
 */
export function estimate(values: readonly number[], seed: number): Estimate {
  const random = randomNumbers(seed);
  const means = Float64Array.from({ length: RESAMPLES }, () => {
    let sum = 0;
    for (let i = 0; i < values.length; i++) sum += values[Math.floor(random() * values.length)]!;
    return sum / values.length;
  }).sort();
  return {
    mean: mean(values),
    low: means[Math.floor(0.025 * RESAMPLES)]!,
    high: means[Math.ceil(0.975 * RESAMPLES) - 1]!,
  };
}

/** Pseudo-random numbers from 0 to 1, the same on every machine: the 32-bit generator "mulberry32". */
function randomNumbers(seed: number): () => number {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
