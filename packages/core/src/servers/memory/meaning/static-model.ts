// The built-in model: a vector for each of some 24,000 words, added up. It knows nothing of word order, needs no
// network and no native code, and takes 0.05 ms a text. Made by tools/static-model.

import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ToolError } from '../../../errors.js';
import type { Embedder } from './embedder.js';
import { wordPlaces, type WordPlaces } from './static-words.js';

/** What a model file says of itself. */
export interface StaticModelHeader {
  /** Another one for each content: vectors of two models are not comparable. */
  id: string;
  dim: number;
  words: number;
  /** What it was made from. */
  sources: string;
}

const MAGIC = 'TWSM';
const NAME = 'static-en';
/** Weak, so words count more. Chosen by `npm run eval:memory -- --tune`, on the half of the questions that is for that. */
const FUSION_WEIGHT = 0.3;

/** Opens a model file; by default the one that is published with this package. */
export async function openStaticModel(file: string = modelFile()): Promise<Embedder> {
  const { header, places, scales, rows } = parseStaticModel(await readFile(file));
  return {
    id: header.id,
    dim: header.dim,
    fusionWeight: FUSION_WEIGHT,
    maxTokens: 10_000,
    embed: (texts) =>
      Promise.resolve(texts.map((text) => vectorOf(wordPlaces(text, places), header.dim, scales, rows))),
  };
}

/** The bytes of a model file, for the script that makes one. Row `i` times its scale is the vector of word `i`. */
export function serializeStaticModel(
  header: StaticModelHeader,
  words: readonly string[],
  scales: Float32Array,
  rows: Int8Array,
): Uint8Array {
  const json = Buffer.from(JSON.stringify(header));
  const text = Buffer.from(words.join('\n'));
  const sizes = Buffer.from(new Uint32Array([json.length, text.length]).buffer);
  const scaleBytes = Buffer.from(scales.buffer, scales.byteOffset, scales.byteLength);
  return Buffer.concat([Buffer.from(MAGIC), sizes, json, text, scaleBytes, Buffer.from(rows.buffer)]);
}

/** @throws {ToolError} OUTPUT_INVALID when the bytes are no model, or cut off */
function parseStaticModel(bytes: Buffer): {
  header: StaticModelHeader;
  places: WordPlaces;
  scales: Float32Array;
  rows: Int8Array;
} {
  const invalid = (): ToolError =>
    new ToolError(
      'OUTPUT_INVALID',
      `${NAME}.bin is damaged: it is in dist/models of @toolwright/core. Install it again.`,
    );
  if (bytes.length < 12 || bytes.toString('latin1', 0, 4) !== MAGIC) throw invalid();
  const jsonEnd = 12 + bytes.readUInt32LE(4);
  const textEnd = jsonEnd + bytes.readUInt32LE(8);
  if (textEnd > bytes.length) throw invalid();
  const header = JSON.parse(bytes.toString('utf8', 12, jsonEnd)) as StaticModelHeader;
  const words = bytes.toString('utf8', jsonEnd, textEnd).split('\n');
  const scalesEnd = textEnd + 4 * words.length;
  if (words.length !== header.words || bytes.length !== scalesEnd + words.length * header.dim) throw invalid();
  return {
    header,
    places: new Map(words.map((word, place) => [word, place])),
    scales: new Float32Array(Uint8Array.from(bytes.subarray(textEnd, scalesEnd)).buffer), // copied, to be aligned
    rows: new Int8Array(bytes.buffer, bytes.byteOffset + scalesEnd, words.length * header.dim),
  };
}

/** A word that occurs again adds less each time, so that no text is all about one word. All zero without any word. */
function vectorOf(places: readonly number[], dim: number, scales: Float32Array, rows: Int8Array): Float32Array {
  const counts = new Map<number, number>();
  for (const place of places) counts.set(place, (counts.get(place) ?? 0) + 1);
  const vector = new Float32Array(dim);
  for (const [place, count] of counts) {
    const weight = scales[place]! * Math.sqrt(count);
    const start = place * dim;
    for (let i = 0; i < dim; i++) vector[i]! += rows[start + i]! * weight;
  }
  return vector;
}

/** In the built package the model lies in `models/`, some directories up; in the sources it is a file of the package. */
function modelFile(): string {
  for (let directory = dirname(fileURLToPath(import.meta.url)); ; directory = dirname(directory)) {
    const file = join(directory, 'models', `${NAME}.bin`);
    if (existsSync(file)) return file;
    if (dirname(directory) === directory) {
      throw new ToolError(
        'NOT_FOUND',
        `${NAME}.bin is missing: it is in dist/models of @toolwright/core. Install it again.`,
      );
    }
  }
}
