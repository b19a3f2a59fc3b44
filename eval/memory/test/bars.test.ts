// When a bar is reached, and which weight is chosen, on figures that are worked out by hand.

import { expect, it } from 'vitest';
import { barsOf } from '../bars.js';
import { summarize, type Score, type Scored } from '../evaluation.js';
import { bestWeight, type WeightRow } from '../tuning.js';

const SEED = 1;

/** Of 40 questions of each kind, those with even numbers report: 20 of each, of which so many are found. */
function scoredOf(found: Record<string, number>): Scored {
  const scores = Object.entries(found).flatMap(([kind, count]) =>
    Array.from({ length: 40 }, (_, index): Score => {
      const isFound = index % 2 === 1 ? Math.floor(index / 2) < count : true;
      const value = isFound ? 1 : 0;
      return {
        id: `${kind} ${index}`,
        kind,
        half: index % 2 === 0 ? 'tune' : 'report',
        recall5: value,
        ndcg10: value,
        mrr: value,
      };
    }),
  );
  return { system: 'some', scores };
}

function missed(words: Record<string, number>, fused: Record<string, number>): string[] {
  const summaries = summarize([scoredOf(fused)], scoredOf(words), 'report', SEED);
  return barsOf(summaries)
    .filter(({ isReached }) => !isReached)
    .map(({ what }) => what.replace(/: [-+].*/, ''));
}

it('summarize() summarizes the questions of one half, by kind and in total', () => {
  const words = scoredOf({ paraphrase: 5, keyword: 20 });
  const summaries = summarize([words, scoredOf({ paraphrase: 15, keyword: 20 })], words, 'report', SEED);
  expect(
    summaries.map(({ kind, questions, metrics, gain }) => [kind, questions, metrics.recall5.mean, gain.mean]),
  ).toEqual([
    ['paraphrase', 20, 0.25, 0],
    ['paraphrase', 20, 0.75, 0.5],
    ['keyword', 20, 1, 0],
    ['keyword', 20, 1, 0],
    ['all', 40, 0.625, 0],
    ['all', 40, 0.875, 0.25],
  ]);
});

it('barsOf() requires a gain of 0.08 for paraphrases and 0.02 in total', () => {
  expect(missed({ paraphrase: 2, keyword: 19 }, { paraphrase: 4, keyword: 19 })).toEqual([]);
  expect(missed({ paraphrase: 2, keyword: 19 }, { paraphrase: 3, keyword: 19 })).toEqual([
    'paraphrase: words and 0.08 more recall@5',
  ]);
  expect(missed({ paraphrase: 2, keyword: 19 }, { paraphrase: 2, keyword: 19 })).toEqual([
    'paraphrase: words and 0.08 more recall@5',
    'all: words and 0.02 more recall@5',
  ]);
});

it('barsOf() fails when the interval of a kind is below 0', () => {
  expect(missed({ paraphrase: 2, keyword: 20 }, { paraphrase: 12, keyword: 19 })).toEqual([]); // one question: chance
  expect(missed({ paraphrase: 2, keyword: 20 }, { paraphrase: 19, keyword: 12 })).toEqual(['keyword: not below words']);
});

it('bestWeight() returns the smallest weight within 0.005 of the best', () => {
  const row = (weight: number, both: number): WeightRow => ({ weight, both, recall5: both, ndcg10: both, byKind: {} });
  expect(bestWeight([row(0, 0.5), row(0.1, 0.696), row(0.2, 0.69), row(0.3, 0.7), row(0.4, 0.6)])).toBe(0.1);
  expect(bestWeight([row(0, 0.5), row(0.1, 0.694), row(0.2, 0.699), row(0.3, 0.7)])).toBe(0.2);
});
