// Fuses two rankings into one: how well a memory matches the query's words, and how near its meaning is.

/** A memory that was found by words, by meaning, or by both. */
export interface FusionCandidate {
  /** Its share of the best score possible for the query's words, 0 to 1; 0 if it was not found by words. */
  words: number;
  /** The cosine of its vector and the query's, -1 to 1; undefined if it has no vector. */
  meaning?: number | undefined;
}

/**
 * From this share of the best possible score on, words have their full weight. Queries that name things reach it. A query in
 * other words than the memory's shares only words like "how" and "do" with some memory and reaches a quarter of it.
 */
const FULL_WEIGHT_SHARE = 0.4;

/**
 * The fused score of each candidate, 0 to 1, in order: `(1 - weight) * trust * words / max + weight * minmax(meaning)`,
 * the convex fusion of Bruch, Gai and Ingber, "An Analysis of Fusion Functions for Hybrid Retrieval", ACM TOIS 2023.
 * `trust` is the square of the best `words` divided by `FULL_WEIGHT_SHARE`, at most 1; without it, the best match by words
 * would score as high for a query whose words match nothing well. A candidate without a vector counts as the farthest one.
 *
 * @param weight the weight of meaning, 0 to 1: the embedder's `fusionWeight`
 */
export function fuse(candidates: readonly FusionCandidate[], weight: number): number[] {
  let [maxWords, minMeaning, maxMeaning] = [0, Infinity, -Infinity];
  for (const { words, meaning } of candidates) {
    maxWords = Math.max(maxWords, words);
    if (meaning === undefined) continue;
    minMeaning = Math.min(minMeaning, meaning);
    maxMeaning = Math.max(maxMeaning, meaning);
  }
  const range = maxMeaning - minMeaning;
  const trust = Math.min(1, maxWords / FULL_WEIGHT_SHARE) ** 2;
  return candidates.map(({ words, meaning }) => {
    const byWords = maxWords > 0 ? (trust * words) / maxWords : 0;
    // With a range of 0 (one candidate, or all equally near) every candidate with a vector has the full score.
    const byMeaning = meaning === undefined ? 0 : range > 0 ? (meaning - minMeaning) / range : 1;
    return (1 - weight) * byWords + weight * byMeaning;
  });
}
