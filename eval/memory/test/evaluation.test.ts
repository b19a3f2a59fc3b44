// The whole way through the tools of the memory server; and the bars that the built-in model must keep to.

import { expect, it, vi, onTestFinished } from 'vitest';
import { openStaticModel } from '../../../packages/core/src/servers/memory/embeddings/static-model.js';
import type { Embedder } from '../../../packages/core/src/servers/memory/embeddings/embedder.js';
import { barsOf } from '../bars.js';
import { loadDeveloperMemories, type Dataset } from '../dataset.js';
import { evaluate, summarize } from '../evaluation.js';
import { fusedBy, WORDS } from '../search.js';
import { sweep } from '../tuning.js';

/** Ten times what starting some servers takes, each with its thread. */
vi.setConfig({ testTimeout: 120_000 });

/** Knows of colours and of animals, and that is all. */
const embedder: Embedder = {
  id: 'test:two-things',
  dim: 2,
  fusionWeight: 0.5,
  embed: async (texts) =>
    texts.map((text) => Float32Array.of(/red|scarlet/i.test(text) ? 1 : 0.1, /dog|hound/i.test(text) ? 1 : 0.1)),
};

const dataset: Dataset = {
  name: 'small',
  granularity: 'sentences',
  collections: [
    {
      name: 'first',
      memories: [
        { id: 'paint', content: 'The door is scarlet.' },
        { id: 'pet', content: 'A hound sleeps in the hall.', importance: 9 },
        { id: 'pet', content: 'Its bed is under the stairs.' },
        { id: 'tea', content: 'Tea is at four.' },
      ],
      questions: [
        { id: 'colour', kind: 'paraphrase', question: 'which thing has red', relevant: ['paint'] },
        { id: 'bed', kind: 'keyword', question: 'whose bed', relevant: ['pet'] },
      ],
    },
    {
      name: 'second',
      memories: [{ id: 'fish', content: 'The fish are fed at six.' }],
      questions: [{ id: 'animal', kind: 'paraphrase', question: 'dog', relevant: ['fish'] }],
    },
  ],
};

it('evaluate() uses a project for each collection, and counts parts of a document as one', async () => {
  const [words, vectors] = await evaluate(dataset, [WORDS, fusedBy(embedder, 1)]);
  expect(words!.scores.map(({ id, half, recall5 }) => [id, half, recall5])).toEqual([
    ['colour', 'tune', 0],
    ['bed', 'report', 1],
    ['animal', 'tune', 0],
  ]);
  expect(vectors!.scores.map(({ mrr }) => mrr)).toEqual([1, expect.any(Number), 1]);
});

it('sweep() uses the tuning half only', async () => {
  const rows = await sweep(dataset, embedder, [0, 1]);
  expect(rows.map(({ weight, byKind }) => [weight, Object.keys(byKind)])).toEqual([
    [0, ['paraphrase']], // the one keyword question has an even number
    [1, ['paraphrase']],
  ]);
  expect(rows[0]!.ndcg10).toBeLessThan(1);
  expect(rows[1]!.ndcg10).toBe(1);
});

it('evaluate() shows that the built-in model reaches its bars on the reporting half', async () => {
  const model = await openStaticModel();
  onTestFinished(() => model.dispose?.());
  const [words, fused] = await evaluate(await loadDeveloperMemories(), [WORDS, fusedBy(model, model.fusionWeight)]);
  const bars = barsOf(summarize([fused!], words!, 'report', 1));
  expect(bars.length).toBe(6);
  expect(bars.filter(({ isReached }) => !isReached)).toEqual([]);
});
