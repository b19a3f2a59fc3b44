// The quality of a ranking: three figures from 0 to 1, computed from the IDs in the order of the results.

/** The figures of one question, or their means. */
export interface Metrics {
  /** The share of the relevant memories among the first five. */
  recall5: number;
  /** For the first ten: relevant memories count less the later they are, relative to the best possible order. */
  ndcg10: number;
  /** The reciprocal rank of the first relevant memory; 0 if it is not among the first ten. */
  mrr: number;
}

/** The names of {@link Metrics} in the printed order. */
export const METRICS = ['recall5', 'ndcg10', 'mrr'] as const satisfies readonly (keyof Metrics)[];

/** @param relevant at least one ID */
export function recallAt(count: number, ranking: readonly string[], relevant: ReadonlySet<string>): number {
  return ranking.slice(0, count).filter((id) => relevant.has(id)).length / relevant.size;
}

/** With gains of 0 and 1 and the discount `1 / log2(place + 1)` (Järvelin and Kekäläinen, ACM TOIS 2002). */
export function ndcgAt(count: number, ranking: readonly string[], relevant: ReadonlySet<string>): number {
  let [gained, best] = [0, 0];
  for (let place = 1; place <= count; place++) {
    const gain = 1 / Math.log2(place + 1);
    const id = ranking[place - 1];
    if (id !== undefined && relevant.has(id)) gained += gain;
    if (place <= relevant.size) best += gain;
  }
  return gained / best;
}

/** The reciprocal rank of the first relevant ID among the first `count`, or 0. */
export function reciprocalRank(count: number, ranking: readonly string[], relevant: ReadonlySet<string>): number {
  const index = ranking.slice(0, count).findIndex((id) => relevant.has(id));
  return index < 0 ? 0 : 1 / (index + 1);
}

export function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
