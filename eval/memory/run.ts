// npm run eval:memory [-- FILE…] [--tune] [--model DIRECTORY] [--embedder NAME] [--seed NUMBER]
// [--among DIRECTORY --others COUNT]: evaluates the memory server's search on the labelled set in data/, or on files of LoCoMo or
// LongMemEval. See README.md.

import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { amongOthers } from './among.js';
import { barsOf } from './bars.js';
import type { Estimate } from './bootstrap.js';
import { loadDeveloperMemories, type Dataset, type Half } from './dataset.js';
import { openEmbedders } from './embedders.js';
import { evaluate, summarize, type Scored } from './evaluation.js';
import { isLocomo, parseLocomo } from './locomo.js';
import { isLongMemEval, parseLongMemEval } from './longmemeval.js';
import { fusedBy, systemsOf, WORDS } from './search.js';
import { bestWeight, sweep } from './tuning.js';

const DEFAULT_SEED = 20_261_122;
const HALVES: Readonly<Record<Half, string>> = {
  tune: 'questions with odd numbers, used for tuning',
  report: 'questions with even numbers, not used for tuning',
};

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    tune: { type: 'boolean', default: false },
    model: { type: 'string' },
    embedder: { type: 'string' },
    seed: { type: 'string', default: String(DEFAULT_SEED) },
    among: { type: 'string' },
    others: { type: 'string', default: '1000' },
  },
});
const seed = Number(values.seed);
if (!Number.isSafeInteger(seed)) throw new Error(`--seed must be an integer, not ${values.seed}.`);
const others = Number(values.others);
if (!Number.isSafeInteger(others) || others < 1)
  throw new Error(`--others must be a positive integer, not ${values.others}.`);
const modelPath = values.model === undefined ? undefined : resolve(values.model);

const { embedders, missing } = await openEmbedders(modelPath);
const chosen = embedders.filter(({ name }) => values.embedder === undefined || name === values.embedder);
if (chosen.length === 0) {
  throw new Error(`Unknown embedder ${values.embedder}; available: ${embedders.map(({ name }) => name).join(', ')}.`);
}
const datasets = positionals.length === 0 ? [await loadDeveloperMemories()] : await Promise.all(positionals.map(load));
const { among } = values;
const searched =
  among === undefined
    ? datasets
    : await Promise.all(datasets.map((dataset) => amongOthers(dataset, resolve(among), others)));
for (const reason of missing) console.log(`Skipped ${reason}`);
for (const dataset of searched) {
  if (values.tune) await tune(dataset);
  else await report(dataset, positionals.length === 0 && among === undefined);
}

async function load(path: string): Promise<Dataset> {
  const file: unknown = JSON.parse(await readFile(path, 'utf8'));
  if (isLocomo(file)) return parseLocomo(file);
  if (isLongMemEval(file)) return parseLongMemEval(file);
  throw new Error(`${path} is neither a LoCoMo file (observation and qa) nor a LongMemEval file (haystack_sessions).`);
}

async function tune(dataset: Dataset): Promise<void> {
  for (const { name, embedder } of chosen) {
    const rows = await sweep(dataset, embedder);
    console.log(`\n${dataset.name}, ${HALVES.tune}: ${name}, current weight ${embedder.fusionWeight}`);
    console.table(
      rows.map(({ weight, recall5, ndcg10, both, byKind }) => ({
        weight: weight.toFixed(2),
        'recall@5': recall5.toFixed(3),
        'nDCG@10': ndcg10.toFixed(3),
        both: both.toFixed(4),
        ...Object.fromEntries(Object.entries(byKind).map(([kind, recall]) => [kind, recall.toFixed(3)])),
      })),
    );
    console.log(`The best weight for ${name} is ${bestWeight(rows)}.`);
  }
}

async function report(dataset: Dataset, hasBars: boolean): Promise<void> {
  const [memories, questions] = [sizeOf(dataset, 'memories'), sizeOf(dataset, 'questions')];
  console.log(`\n${dataset.name}: ${memories} memories (${dataset.granularity}), ${questions} questions.`);
  console.log(`95 % intervals: bootstrap over questions, seed ${seed}.`);
  const systems = [
    WORDS,
    ...chosen.flatMap(({ name, embedder }) =>
      systemsOf(embedder).map((system) => ({ ...system, name: `${name}: ${system.name}` })),
    ),
  ];
  const scored = await evaluate(dataset, systems, (progress) => console.error(progress));
  const words = scored[0]!;
  for (const half of ['tune', 'report'] as const) {
    console.log(`\n${HALVES[half]}`);
    print(scored, words, half);
  }
  if (!hasBars) return;
  for (const { name, embedder } of chosen.filter(({ name }) => name === 'static')) {
    const fused = scored.find(({ system }) => system === `${name}: ${fusedBy(embedder, embedder.fusionWeight).name}`)!;
    console.log(`\nBars of ${fused.system}, ${HALVES.report}`);
    for (const { what, isReached } of barsOf(summarize([fused], words, 'report', seed))) {
      console.log(`${isReached ? 'reached' : 'MISSED '}  ${what}`);
    }
  }
}

function print(scored: readonly Scored[], words: Scored, half: Half): void {
  console.table(
    summarize(scored, words, half, seed).map(({ system, kind, questions, metrics, gain }) => ({
      kind: `${kind} (${questions})`,
      search: system,
      'recall@5': interval(metrics.recall5),
      'nDCG@10': interval(metrics.ndcg10),
      MRR: interval(metrics.mrr),
      'recall@5 over words': system === words.system ? '' : interval(gain),
    })),
  );
}

function interval({ mean, low, high }: Estimate): string {
  return `${mean.toFixed(3)} [${low.toFixed(3)}, ${high.toFixed(3)}]`;
}

function sizeOf({ collections }: Dataset, what: 'memories' | 'questions'): number {
  return collections.reduce((sum, collection) => sum + collection[what].length, 0);
}
