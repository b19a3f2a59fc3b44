// Searches of int8 rows must match searches of float32 rows, with WebAssembly and without.

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  cosine,
  quantize,
  VectorIndex,
  type VectorMatch,
} from '../../../../src/servers/memory/embeddings/vector-index.js';
import { unitVector } from '../../../../src/servers/memory/embeddings/embedder.js';
import { tries } from '../../../soak.js';

/** Pseudo-random numbers in (-0.5, 0.5), the same in each run. */
function randomNumbers(seed: number): () => number {
  return () => (seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0) / 2 ** 32 - 0.5;
}

/** Vectors like those of models: in clusters, with a common component and a few dominant directions. */
function modelLikeVectors(count: number, dim: number, seed = 1): Float32Array[] {
  const random = randomNumbers(seed);
  const vector = (spread: number): Float32Array =>
    Float32Array.from({ length: dim }, (_, i) => ((random() + random() + random()) * spread) / Math.sqrt(1 + i / 8));
  const common = vector(0.5);
  const centres = Array.from({ length: 60 }, () => vector(1));
  return Array.from({ length: count }, (_, i) => {
    const centre = centres[i % centres.length]!;
    return unitVector(vector(1).map((number, j) => number + centre[j]! + common[j]!))!;
  });
}

/** The nearest rows by float32, by brute force. */
function nearest(rows: ReadonlyMap<string, Float32Array>, query: Float32Array, limit: number): VectorMatch[] {
  return [...rows]
    .map(([key, row]) => ({ key, similarity: cosine(query, row) }))
    .sort((a, b) => b.similarity - a.similarity || (a.key < b.key ? -1 : 1))
    .slice(0, limit);
}

/** Returns these rows as a database would. */
const vectorsOf = (rows: ReadonlyMap<string, Float32Array>) => (keys: readonly string[]) =>
  Promise.resolve(new Map(keys.flatMap((key) => (rows.has(key) ? [[key, rows.get(key)!]] : []))));

describe('VectorIndex', () => {
  it('searchExactly() finds at least 999 of 1,000 of the ten nearest rows', async () => {
    const vectors = modelLikeVectors(tries(100_000), 384);
    const rows = new Map(vectors.map((row, key) => [`${key}`, row]));
    const index = new VectorIndex(384);
    index.reserve(rows.size);
    for (const [key, row] of rows) index.set(key, row);
    let found = 0;
    const queries = modelLikeVectors(tries(300), 384, 7);
    for (const query of queries) {
      const wanted = new Set(nearest(rows, query, 10).map(({ key }) => key));
      for (const { key } of await index.searchExactly(query, vectorsOf(rows))) if (wanted.has(key)) found++;
    }
    expect(found / (queries.length * 10)).toBeGreaterThanOrEqual(0.999);
  }, 600_000);

  it('search() and similarities() return the same with WebAssembly and without', () => {
    const vectors = modelLikeVectors(5000, 50); // more than one batch, and not a multiple of 16 dimensions
    const [wasm, js] = [new VectorIndex(50, 'wasm'), new VectorIndex(50, 'js')];
    expect([wasm.kernel, js.kernel]).toEqual(['wasm', 'js']);
    vectors.forEach((row, key) => [wasm, js].forEach((index) => index.set(`${key}`, row)));
    for (const query of modelLikeVectors(10, 50, 3)) {
      const found = wasm.search(query, { limit: 100 });
      expect(found).toHaveLength(100);
      expect(found).toEqual(js.search(query, { limit: 100 }));
      const keys = found.map(({ key }) => key).reverse();
      const similarities = wasm.similarities(query, keys);
      expect([...js.similarities(query, keys)]).toEqual([...similarities]);
      expect(found.map(({ key }) => similarities.get(key))).toEqual(found.map(({ similarity }) => similarity));
    }
  });

  it.each(['wasm', 'js'] as const)('search() with %s finds rows that were set and not deleted', async (kernel) => {
    const pool = modelLikeVectors(40, 24);
    const change = fc.record({
      key: fc.integer({ min: -3, max: 30 }).map(String),
      vector: fc.option(fc.nat(39), { nil: undefined }),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(change, { maxLength: 600 }), fc.nat(39), async (changes, asked) => {
        const index = new VectorIndex(24, kernel);
        const rows = new Map<string, Float32Array>();
        for (const { key, vector } of changes) {
          if (vector === undefined) expect(index.delete(key)).toBe(rows.delete(key));
          else {
            index.set(key, pool[vector]!);
            rows.set(key, pool[vector]!);
          }
          expect(index.size).toBe(rows.size);
        }
        expect(await index.searchExactly(pool[asked]!, vectorsOf(rows))).toEqual(nearest(rows, pool[asked]!, 10));
      }),
      { numRuns: tries(500) },
    );
  });

  it('search() calls accept only for rows among the best, and omits those that it rejects', () => {
    const index = new VectorIndex(48);
    modelLikeVectors(3000, 48).forEach((row, key) => index.set(`${key}`, row));
    const asked: string[] = [];
    const query = modelLikeVectors(1, 48, 9)[0]!;
    const found = index.search(query, { accept: (key) => asked.push(key) > 0 && Number(key) % 7 === 0 });
    expect(found.map(({ key }) => Number(key) % 7)).toEqual(Array(10).fill(0));
    expect(asked.length).toBeLessThan(1500);
    const all = index.search(query, { limit: 3000 }).filter(({ key }) => Number(key) % 7 === 0);
    expect(found).toEqual(all.slice(0, 10));
  });

  it('searchExactly() omits a row when its float32 vector is missing', async () => {
    const index = new VectorIndex(8);
    const rows = modelLikeVectors(3, 8);
    rows.forEach((row, key) => index.set(`${key}`, row));
    const left = new Map([0, 2].map((key) => [`${key}`, rows[key]!]));
    const found = await index.searchExactly(rows[1]!, vectorsOf(left));
    expect(found.map(({ key }) => key).sort()).toEqual(['0', '2']);
  });

  it('clear() removes all rows, after which the index can be filled again', () => {
    const index = new VectorIndex(8);
    const rows = modelLikeVectors(700, 8);
    rows.forEach((row, key) => index.set(`${key}`, row));
    index.clear();
    expect(index.search(rows[0]!)).toEqual([]);
    index.set('5', rows[5]!);
    expect(index.search(rows[5]!).map(({ key }) => key)).toEqual(['5']);
  });

  it('set() accepts a vector that quantize() made', () => {
    const index = new VectorIndex(8);
    const [row, query] = modelLikeVectors(2, 8) as [Float32Array, Float32Array];
    index.set('1', quantize(row));
    const quantized = index.similarities(query, ['1']).get('1');
    index.set('1', row);
    expect(index.similarities(query, ['1', '2'])).toEqual(new Map([['1', quantized]]));
    expect(quantized).toBeCloseTo(cosine(row, query), 1);
    expect(() => index.set('2', new Float32Array(9))).toThrow(RangeError);
  });

  it('similarities() compares all rows when they exceed one batch', () => {
    const index = new VectorIndex(16);
    modelLikeVectors(5000, 16).forEach((row, key) => index.set(`${key}`, row));
    const [query] = modelLikeVectors(1, 16, 5) as [Float32Array];
    const found = index.search(query, { limit: 5000 });
    const similarities = index.similarities(query, ['none', ...found.map(({ key }) => key)]);
    expect(similarities).toEqual(new Map(found.map(({ key, similarity }) => [key, similarity])));
  });

  it('search() returns similarity 0 when a vector is all zero', () => {
    const index = new VectorIndex(8);
    index.set('1', new Float32Array(8));
    index.set('2', modelLikeVectors(1, 8)[0]!);
    expect(index.search(new Float32Array(8)).map(({ similarity }) => Math.abs(similarity))).toEqual([0, 0]);
    expect(index.search(new Float32Array(8).fill(NaN)).map(({ similarity }) => Math.abs(similarity))).toEqual([0, 0]);
  });
});
