// Chooses the weight of meaning, using the tuning half only.

import type { Embedder } from '../../packages/core/src/servers/memory/embeddings/embedder.js';
import type { Dataset } from './dataset.js';
import { evaluate, type Scored } from './evaluation.js';
import { mean } from './metrics.js';
import { fusedBy } from './search.js';

/** The figures of one weight on the tuning half. */
export interface WeightRow {
  weight: number;
  recall5: number;
  ndcg10: number;
  /** The mean of the two, which the choice uses, as recall alone changes in steps of whole questions. */
  both: number;
  /** Recall@5 by kind. */
  byKind: Record<string, number>;
}

/** The weights of a sweep. */
const WEIGHTS = Array.from({ length: 21 }, (_, step) => step / 20);

export async function sweep(
  dataset: Dataset,
  embedder: Embedder,
  weights: readonly number[] = WEIGHTS,
): Promise<WeightRow[]> {
  const tuning = tuningHalf(dataset);
  const scored = await evaluate(
    tuning,
    weights.map((weight) => fusedBy(embedder, weight)),
  );
  return scored.map(({ scores }, index) => rowOf(weights[index]!, scores));
}

/**
 * The smallest weight within 0.005 of the best. A peak at one step is chance, and where meaning adds nothing, words are more
 * reliable for other kinds of memories.
 */
export function bestWeight(rows: readonly WeightRow[]): number {
  const best = rows.reduce((most, { both }) => Math.max(most, both), -Infinity);
  const good = rows.filter(({ both }) => both >= best - 0.005);
  return good.reduce((least, { weight }) => Math.min(least, weight), Infinity);
}

/** The dataset without the questions of the reporting half. */
function tuningHalf(dataset: Dataset): Dataset {
  let number = 0;
  const collections = dataset.collections.map((collection) => ({
    ...collection,
    questions: collection.questions.filter(() => ++number % 2 === 1),
  }));
  return { ...dataset, collections };
}

function rowOf(weight: number, scores: Scored['scores']): WeightRow {
  const recall5 = mean(scores.map((score) => score.recall5));
  const ndcg10 = mean(scores.map((score) => score.ndcg10));
  const byKind: Record<string, number> = {};
  for (const kind of new Set(scores.map((score) => score.kind))) {
    byKind[kind] = mean(scores.filter((score) => score.kind === kind).map((score) => score.recall5));
  }
  return { weight, recall5, ndcg10, both: (recall5 + ndcg10) / 2, byKind };
}
