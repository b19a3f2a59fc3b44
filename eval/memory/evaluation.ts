// The figures of a search on a dataset: question by question, then by half and kind.

import { estimate, type Estimate } from './bootstrap.js';
import { halfOf, type Dataset, type Half } from './dataset.js';
import { METRICS, ndcgAt, recallAt, reciprocalRank, type Metrics } from './metrics.js';
import { StoredCollection, type Rankings, type System } from './search.js';

/** What one search did with one question. */
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

/** `recall5` of the answer of five, as agents ask; the other two of the answer of ten. */
export function metricsOf({ five, ten }: Rankings, relevant: ReadonlySet<string>): Metrics {
  return {
    recall5: recallAt(5, five, relevant),
    ndcg10: ndcgAt(10, ten, relevant),
    mrr: reciprocalRank(10, ten, relevant),
  };
}

/** Runs every search on every question. Each collection is stored once. */
export async function evaluate(
  dataset: Dataset,
  systems: readonly System[],
  tell: (progress: string) => void = () => undefined,
): Promise<Scored[]> {
  const scored = systems.map(({ name }): Scored => ({ system: name, scores: [] }));
  let before = 0;
  for (const [place, collection] of dataset.collections.entries()) {
    tell(`${dataset.name}: ${collection.name} (${place + 1} of ${dataset.collections.length})`);
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

/** The figures of some questions, and how much better than another search. */
export interface Summary {
  system: string;
  kind: string;
  questions: number;
  metrics: Record<keyof Metrics, Estimate>;
  /** Of recall at 5: this one's less the other's, question by question. */
  gain: Estimate;
}

/** All kinds together. */
export const WHOLE = 'all';

/** @param against the search that the others are compared with */
export function summarize(scored: readonly Scored[], against: Scored, half: Half, seed: number): Summary[] {
  const inHalf = against.scores.filter((score) => score.half === half);
  const kinds = [...new Set(inHalf.map(({ kind }) => kind))];
  return [...(kinds.length > 1 ? kinds : []), WHOLE].flatMap((kind) =>
    scored.map(({ system, scores }): Summary => {
      const wanted = scores.flatMap((score, index) =>
        score.half === half && (kind === WHOLE || score.kind === kind)
          ? [{ score, other: against.scores[index]! }]
          : [],
      );
      const of = (metric: keyof Metrics): Estimate =>
        estimate(
          wanted.map(({ score }) => score[metric]),
          seed,
        );
      const gains = wanted.map(({ score, other }) => score.recall5 - other.recall5);
      return {
        system,
        kind,
        questions: wanted.length,
        metrics: Object.fromEntries(METRICS.map((metric) => [metric, of(metric)])) as Summary['metrics'],
        gain: estimate(gains, seed),
      };
    }),
  );
}
