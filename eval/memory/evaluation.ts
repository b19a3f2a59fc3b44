// Evaluates searches on a dataset: question by question, then by half and kind.

import { estimate, type Estimate } from './bootstrap.js';
import { halfOf, type Dataset, type Half } from './dataset.js';
import { METRICS, ndcgAt, recallAt, reciprocalRank, type Metrics } from './metrics.js';
import { StoredCollection, type Rankings, type System } from './search.js';

/** The figures of one search for one question. */
export interface Score extends Metrics {
  id: string;
  kind: string;
  half: Half;
}

/** The scores of a search, in the order of the questions. */
export interface Scored {
  system: string;
  scores: Score[];
}

/** `recall5` is of the call with limit 5, as agents make it; the other two are of the call with limit 10. */
export function metricsOf({ five, ten }: Rankings, relevant: ReadonlySet<string>): Metrics {
  return {
    recall5: recallAt(5, five, relevant),
    ndcg10: ndcgAt(10, ten, relevant),
    mrr: reciprocalRank(10, ten, relevant),
  };
}

/** Runs every search for every question. Stores each collection once. */
export async function evaluate(
  dataset: Dataset,
  systems: readonly System[],
  onProgress: (progress: string) => void = () => undefined,
): Promise<Scored[]> {
  const scored = systems.map(({ name }): Scored => ({ system: name, scores: [] }));
  let before = 0;
  for (const [place, collection] of dataset.collections.entries()) {
    onProgress(`${dataset.name}: ${collection.name} (${place + 1} of ${dataset.collections.length})`);
    await using stored = await StoredCollection.create(collection);
    for (const [index, system] of systems.entries()) {
      const rankings = await stored.answer(system);
      collection.questions.forEach(({ id, kind, relevant }, number) => {
        const metrics = metricsOf(rankings[number]!, new Set(relevant));
        scored[index]!.scores.push({ id, kind, half: halfOf(before + number + 1), ...metrics });
      });
    }
    before += collection.questions.length;
  }
  return scored;
}

/** The mean figures of a search, and its gain over another search. */
export interface Summary {
  system: string;
  kind: string;
  questions: number;
  metrics: Record<keyof Metrics, Estimate>;
  /** The difference in recall@5 to the other search, question by question. */
  gain: Estimate;
}

/** The kind that stands for all kinds. */
export const WHOLE = 'all';

/** @param against the search with which the others are compared */
export function summarize(scored: readonly Scored[], against: Scored, half: Half, seed: number): Summary[] {
  const inHalf = against.scores.filter((score) => score.half === half);
  const kinds = [...new Set(inHalf.map(({ kind }) => kind))];
  return [...(kinds.length > 1 ? kinds : []), WHOLE].flatMap((kind) =>
    scored.map(({ system, scores }): Summary => {
      const selected = scores.flatMap((score, index) =>
        score.half === half && (kind === WHOLE || score.kind === kind)
          ? [{ score, other: against.scores[index]! }]
          : [],
      );
      const of = (metric: keyof Metrics): Estimate =>
        estimate(
          selected.map(({ score }) => score[metric]),
          seed,
        );
      const gains = selected.map(({ score, other }) => score.recall5 - other.recall5);
      return {
        system,
        kind,
        questions: selected.length,
        metrics: Object.fromEntries(METRICS.map((metric) => [metric, of(metric)])) as Summary['metrics'],
        gain: estimate(gains, seed),
      };
    }),
  );
}
