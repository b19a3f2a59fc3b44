// One order out of two: how well a memory's words fit a question, and how near its meaning is.

/** A memory that was found by its words, by its meaning, or both. */
export interface FusionCandidate {
  /** What part of the best score that the question's words could have it has, 0 to 1; 0 when it was not found by words. */
  words: number;
  /** The cosine of its vector with the question's, -1 to 1; undefined when it has no vector. */
  meaning?: number | undefined;
}

/**
 * From this part of the best possible score on, the words are taken at their word. Questions that name things have it;
 * one that says it otherwise shares "how" and "do" with some memory, has a quarter of it, and its words say nothing.
 */
const CLEAR = 0.4;

/**
 * The fused score of each candidate, 0 to 1, in order: `(1 - weight) * clear * words / max + weight * minmax(meaning)`,
 * the convex fusion of Bruch, Gai and Ingber, "An Analysis of Fusion Functions for Hybrid Retrieval", ACM TOIS 2023, with
 * `clear` the square of how near the best by words comes to `CLEAR`, at most 1. Without it the best by words would
 * be as good in a question whose words fit nothing. A candidate without a vector is taken for the least near one, so that
 * the words it has still count.
 *
 * @param weight how much the meaning counts, 0 to 1: the embedder's `fusionWeight`
 */
export function fuse(candidates: readonly FusionCandidate[], weight: number): number[] {
  let [mostWords, least, most] = [0, Infinity, -Infinity];
  for (const { words, meaning } of candidates) {
    mostWords = Math.max(mostWords, words);
    if (meaning === undefined) continue;
    least = Math.min(least, meaning);
    most = Math.max(most, meaning);
  }
  const range = most - least;
  const clear = Math.min(1, mostWords / CLEAR) ** 2;
  return candidates.map(({ words, meaning }) => {
    const byWords = mostWords > 0 ? (clear * words) / mostWords : 0;
    // One candidate alone, or all as near as each other: then meaning tells nothing apart, and all of them have it.
    const byMeaning = meaning === undefined ? 0 : range > 0 ? (meaning - least) / range : 1;
    return (1 - weight) * byWords + weight * byMeaning;
  });
}
