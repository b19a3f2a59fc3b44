// What the built-in model must reach on the reporting half, and whether it does.

import { WHOLE, type Summary } from './evaluation.js';

/** One bar. */
export interface Bar {
  what: string;
  isReached: boolean;
}

/** By kind: how much more of the relevant memories must be among the first five than by words alone. */
const GAINS: Readonly<Record<string, number>> = { paraphrase: 0.08, [WHOLE]: 0.02 };

/**
 * The bars for one search, of its summaries on one half: its gains in recall at 5, and that no kind is worse than by
 * words, which is when the whole interval of the difference is below 0.
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
