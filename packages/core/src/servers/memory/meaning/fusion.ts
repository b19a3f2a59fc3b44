// One order out of two: how well a memory's words fit a question, and how near its meaning is.

/** A memory that was found by its words, by its meaning, or both. */
export interface FusionCandidate {
  /** Its score by words, 0 or more; on any scale, the same one for all. 0 when it was not found by words. */
  words: number;
  /** The cosine of its vector with the question's, -1 to 1; undefined when it has no vector. */
  meaning?: number | undefined;
}

/**
 * The fused score of each candidate, 0 to 1, in order: `(1 - weight) * words / max + weight * minmax(meaning)`, the convex
 * fusion of Bruch, Gai and Ingber, "An Analysis of Fusion Functions for Hybrid Retrieval", ACM TOIS 2023. A candidate
 * without a vector is taken for the least near one, so that the words it has still count.
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
  return candidates.map(({ words, meaning }) => {
    const byWords = mostWords > 0 ? words / mostWords : 0;
    // One candidate alone, or all as near as each other: then meaning tells nothing apart, and all of them have it.
    const byMeaning = meaning === undefined ? 0 : range > 0 ? (meaning - least) / range : 1;
    return (1 - weight) * byWords + weight * byMeaning;
  });
}
