// The bars that the built-in model must reach on the reporting half.

import { WHOLE, type Summary } from './evaluation.js';

export interface Bar {
  what: string;
  isReached: boolean;
}

/** The minimum gain in recall@5 over the search by words, by kind. */
const GAINS: Readonly<Record<string, number>> = { paraphrase: 0.08, [WHOLE]: 0.02 };

/**
 * Checks the summaries of one search: the gains in recall@5, and that no kind is worse than by words, which means that the whole
 * interval of the difference is below 0.
 */
export function barsOf(summaries: readonly Summary[]): Bar[] {
  return summaries.flatMap(({ kind, gain }): Bar[] => {
    const least = GAINS[kind];
    const figures = `${signed(gain.mean)} [${signed(gain.low)}, ${signed(gain.high)}]`;
    const notWorse = { what: `${kind}: not below words: ${figures}`, isReached: gain.high >= 0 };
    if (least === undefined) return [notWorse];
    return [
      { what: `${kind}: words and ${least.toFixed(2)} more recall@5: ${figures}`, isReached: gain.mean >= least },
      notWorse,
    ];
  });
}

function signed(value: number): string {
  return `${value < 0 ? '-' : '+'}${Math.abs(value).toFixed(3)}`;
}
