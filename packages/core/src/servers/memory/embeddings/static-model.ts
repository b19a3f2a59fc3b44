// The built-in model: a text's vector is the sum of the vectors of its words, of which it has about 24,000. It ignores word
// order, needs neither network nor native code, and takes 0.05 ms for a text. tools/static-model creates its file.

import { closeSync, existsSync, fstatSync, openSync, readSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ToolError } from '../../../contract/errors.js';
import type { Embedder } from './embedder.js';
import { StaticRows } from './static-rows.js';
import { wordPlaces } from './static-words.js';
import { WordTable, type WordPlaces } from './word-table.js';

/** The header of a model file. */
export interface StaticModelHeader {
  /** Differs between models, whose vectors are not comparable. */
  id: string;
  dim: number;
  words: number;
  /** What it was made from. */
  sources: string;
}

const MAGIC = 'TWSM';
const NAME = 'static-en';
/** Low, as the model is weak. Chosen by `npm run eval:memory -- --tune`, on the half of the questions reserved for tuning. */
const FUSION_WEIGHT = 0.3;

/** Opens a model file, by default the one in this package. The file stays open until the embedder is disposed of. */
export async function openStaticModel(path: string = modelFile()): Promise<Embedder> {
  const file = openSync(path, 'r');
  try {
    const { header, places, scales, rows } = readStaticModel(file);
    return {
      id: header.id,
      dim: header.dim,
      fusionWeight: FUSION_WEIGHT,
      maxTokens: 10_000,
      embed: async (texts) => texts.map((text) => vectorOf(wordPlaces(text, places), header.dim, scales, rows)),
      dispose: () => rows[Symbol.dispose](),
    };
  } catch (error) {
    closeSync(file);
    throw error;
  }
}

/** The bytes of a model file, for the script that creates it. Row `i` times scale `i` is the vector of word `i`. */
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

/** Reads everything but the rows. @throws {ToolError} OUTPUT_INVALID when the file is not a model, or truncated */
function readStaticModel(file: number): {
  header: StaticModelHeader;
  places: WordPlaces;
  scales: Float32Array;
  rows: StaticRows;
} {
  const { size } = fstatSync(file);
  const read = (start: number, end: number): Buffer => {
    if (end > size) throw damaged();
    const bytes = Buffer.alloc(end - start);
    if (readSync(file, bytes, 0, bytes.length, start) < bytes.length) throw damaged();
    return bytes;
  };
  const sizes = read(0, 12);
  if (sizes.toString('latin1', 0, 4) !== MAGIC) throw damaged();
  const jsonEnd = 12 + sizes.readUInt32LE(4);
  const textEnd = jsonEnd + sizes.readUInt32LE(8);
  const header = JSON.parse(read(12, jsonEnd).toString()) as StaticModelHeader;
  const scalesEnd = textEnd + 4 * header.words;
  if (size !== scalesEnd + header.words * header.dim) throw damaged();
  const places = new WordTable(read(jsonEnd, textEnd).toString());
  if (places.size !== header.words) throw damaged();
  const scales = new Float32Array(Uint8Array.from(read(textEnd, scalesEnd)).buffer); // copied, to be aligned
  return { header, places, scales, rows: new StaticRows(file, scalesEnd, { rows: header.words, dim: header.dim }) };
}

function damaged(): ToolError {
  return new ToolError(
    'OUTPUT_INVALID',
    `${NAME}.bin in dist/models of @toolwright/core is damaged. Install the package again.`,
  );
}

/** Each repetition of a word adds less, so that no single word dominates. All zero for a text without known words. */
function vectorOf(places: readonly number[], dim: number, scales: Float32Array, rows: StaticRows): Float32Array {
  const counts = new Map<number, number>();
  for (const place of places) counts.set(place, (counts.get(place) ?? 0) + 1);
  const vector = new Float32Array(dim);
  for (const [place, count] of counts) rows.add(place, scales[place]! * Math.sqrt(count), vector);
  return vector;
}

/** The model's file: in `models/` of some parent directory, in the built package and in the sources. */
function modelFile(): string {
  for (let directory = dirname(fileURLToPath(import.meta.url)); ; directory = dirname(directory)) {
    const file = join(directory, 'models', `${NAME}.bin`);
    if (existsSync(file)) return file;
    if (dirname(directory) === directory) {
      throw new ToolError(
        'NOT_FOUND',
        `${NAME}.bin is missing from dist/models of @toolwright/core. Install the package again.`,
      );
    }
  }
}
