// The interface of an embedder, which a host may implement, and the check of what it returns.

import { ToolError } from '../../../contract/errors.js';

/** Whether a text is a memory's content or a query. Some models use a different prefix for each. */
export type EmbeddingKind = 'doc' | 'query';

/** Turns texts into vectors. Pass a custom one to the memory server as `embedder`. */
export interface Embedder {
  /** The model and its version. Vectors of different IDs are never compared; a new ID embeds all memories again. */
  readonly id: string;
  /** The dimensions of a vector, 2 to 4,096. */
  readonly dim: number;
  /**
   * The weight of meaning in the ranking, 0 to 1: 0.3 for a weak model, 0.5 for a good one. With 0, only words count.
   */
  readonly fusionWeight: number;
  /** Longer texts are split into parts of about this many tokens, whose vectors are averaged. Default: 256. */
  readonly maxTokens?: number | undefined;
  /**
   * Returns one vector of {@link dim} numbers for each text, in order. It need not have unit length; a vector of zeros means
   * that the text has no meaning to the model. If this throws or rejects, or takes over a minute, memories are found by their
   * words and the result reports the error. Called with up to 64 texts, one call at a time.
   */
  embed(texts: readonly string[], kind: EmbeddingKind): Promise<readonly Float32Array[]>;
  /** Frees the model's resources. Called when the server stops; if its provider connects again, `embed` is called again too. */
  dispose?(): Promise<void> | void;
}

/** The most numbers that a vector may have. */
export const MAX_DIMENSIONS = 4096;

/**
 * Validates an embedder.
 *
 * @throws {ToolError} INVALID_ARGUMENT naming the invalid member
 */
export function checkEmbedder(value: unknown): asserts value is Embedder {
  const { id, dim, fusionWeight, maxTokens, embed } = (value ?? {}) as Partial<Embedder>;
  const refuse = (what: string): never => {
    throw new ToolError('INVALID_ARGUMENT', `embedder.${what}`);
  };
  if (typeof id !== 'string' || id === '' || id.length > 200) refuse('id must be a string of 1 to 200 characters.');
  if (!Number.isInteger(dim) || dim! < 2 || dim! > MAX_DIMENSIONS) {
    refuse(`dim must be an integer from 2 to ${MAX_DIMENSIONS}.`);
  }
  if (typeof fusionWeight !== 'number' || !(fusionWeight >= 0 && fusionWeight <= 1)) {
    refuse('fusionWeight must be a number from 0 to 1.');
  }
  if (maxTokens !== undefined && !(Number.isInteger(maxTokens) && maxTokens >= 8)) {
    refuse('maxTokens must be an integer of at least 8.');
  }
  if (typeof embed !== 'function') refuse('embed must be a function.');
}

/** The vector of unit length in the same direction; undefined if it is all zero or not finite. */
export function unitVector(vector: ArrayLike<number>): Float32Array | undefined {
  let square = 0;
  for (let i = 0; i < vector.length; i++) square += vector[i]! * vector[i]!;
  if (!(square > 0 && square < Infinity)) return undefined;
  const length = Math.sqrt(square);
  const unit = new Float32Array(vector.length); // `from` with a function takes ten times as long
  for (let i = 0; i < vector.length; i++) unit[i] = vector[i]! / length;
  return unit;
}

/**
 * Embeds texts and validates what the embedder returns.
 *
 * @returns unit vectors, undefined for a text in which the model finds no meaning
 * @throws {ToolError} OUTPUT_INVALID when it returns something else; also what the embedder throws
 */
export async function embedTexts(
  embedder: Embedder,
  texts: readonly string[],
  kind: EmbeddingKind,
): Promise<(Float32Array | undefined)[]> {
  const vectors: unknown = await embedder.embed(texts, kind);
  if (!Array.isArray(vectors) || vectors.length !== texts.length) {
    const got = Array.isArray(vectors) ? `${vectors.length} vectors` : typeof vectors;
    throw new ToolError('OUTPUT_INVALID', `embedder "${embedder.id}" returned ${got} for ${texts.length} texts.`);
  }
  return vectors.map((vector: unknown) => {
    const isVector = vector instanceof Float32Array || Array.isArray(vector);
    if (!isVector || vector.length !== embedder.dim) {
      const got = isVector ? `a vector of ${vector.length} numbers` : typeof vector;
      throw new ToolError(
        'OUTPUT_INVALID',
        `embedder "${embedder.id}" returned ${got} instead of a vector of ${embedder.dim} numbers, its dim.`,
      );
    }
    return unitVector(vector as ArrayLike<number>);
  });
}

const DEFAULT_MAX_TOKENS = 256;
/** For English text in a subword vocabulary. Code has more; what exceeds the model's window is cut by the model. */
const TOKENS_PER_WORD = 1.5;
/** Texts of one call of {@link Embedder.embed}. */
const MAX_TEXTS = 64;

/**
 * As {@link embedTexts}, in calls of at most 64 texts. A text longer than the model reads is split into parts and gets the mean
 * of their vectors, so that its end counts too.
 */
export async function embedLongTexts(
  embedder: Embedder,
  texts: readonly string[],
  kind: EmbeddingKind,
): Promise<(Float32Array | undefined)[]> {
  const wordsOfPart = Math.max(1, Math.floor((embedder.maxTokens ?? DEFAULT_MAX_TOKENS) / TOKENS_PER_WORD));
  const parts = texts.map((text) => partsOf(text, wordsOfPart));
  const flat = parts.flat();
  const vectors: (Float32Array | undefined)[] = [];
  for (let start = 0; start < flat.length; start += MAX_TEXTS) {
    for (const vector of await embedTexts(embedder, flat.slice(start, start + MAX_TEXTS), kind)) vectors.push(vector);
  }
  let next = 0;
  return parts.map(({ length }) => mean(vectors.slice(next, (next += length)), embedder.dim));
}

function partsOf(text: string, wordsOfPart: number): string[] {
  const parts: string[] = [];
  let [start, words] = [0, 0];
  for (const { index } of text.matchAll(/\S+/g)) {
    if (words++ < wordsOfPart) continue;
    parts.push(text.slice(start, index));
    [start, words] = [index, 1];
  }
  return [...parts, text.slice(start)];
}

function mean(vectors: readonly (Float32Array | undefined)[], dim: number): Float32Array | undefined {
  if (vectors.length === 1) return vectors[0];
  const sum = new Float32Array(dim);
  for (const vector of vectors) vector?.forEach((number, i) => (sum[i]! += number));
  return unitVector(sum);
}
