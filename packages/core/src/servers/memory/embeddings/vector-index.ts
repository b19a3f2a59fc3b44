// Many vectors, held in memory as int8. A search scans all of them and ranks the best by the float32 vectors in the database.
// There is no approximate index, as a scan of 100,000 rows takes about three milliseconds.

import { Best } from './best.js';
import { BATCH, createRowMatrix, queryMax, ROW_MAX, type Kernel, type RowMatrix } from './dot-products.js';

/** A vector in memory: `row[i] * scale` approximates the original number. */
export interface QuantizedVector {
  row: Int8Array;
  scale: number;
}

/** A row that a search found. */
export interface VectorMatch {
  key: string;
  /** The cosine with the query, -1 to 1. */
  similarity: number;
}

/** Options of {@link VectorIndex.search}. */
export interface VectorSearchOptions {
  /** How many rows to find. Default: 10. */
  limit?: number | undefined;
  /** Returns false to leave out a row. Called only for the few rows that would be among the best. */
  accept?: ((key: string) => boolean) | undefined;
}

/** The int8 form of a vector. */
export function quantize(vector: Float32Array): QuantizedVector {
  const { numbers, scale } = toIntegers(vector, ROW_MAX);
  return { row: Int8Array.from(numbers), scale };
}

function toIntegers(vector: Float32Array, largest: number): { numbers: Int16Array; scale: number } {
  let max = 0;
  for (const number of vector) max = Math.max(max, Math.abs(number));
  const numbers = new Int16Array(vector.length);
  if (!(max > 0 && max < Infinity)) return { numbers, scale: 0 };
  for (let i = 0; i < vector.length; i++) numbers[i] = Math.round((vector[i]! / max) * largest);
  return { numbers, scale: Math.fround(max / largest) };
}

/** Reads the float32 vectors of rows from the database, as they would take four times the memory here. */
export type ExactVectors = (keys: readonly string[]) => Promise<ReadonlyMap<string, Float32Array>>;

/** How many of the best rows are ranked by their float32 vectors: enough to make the first ten exact. */
const RERANKED = 30;

/** Unit vectors by key, all with the same dimensions. */
export class VectorIndex {
  readonly dim: number;
  readonly #requestedKernel: Kernel | undefined;
  readonly #slots = new Map<string, number>();
  #matrix: RowMatrix;
  readonly #keys: string[] = [];
  #scales = new Float32Array(0);

  /** @param kernel for tests; by default WebAssembly where it has SIMD */
  constructor(dim: number, kernel?: Kernel) {
    this.dim = dim;
    this.#requestedKernel = kernel;
    this.#matrix = createRowMatrix(dim, kernel);
  }

  /** The number of rows. */
  get size(): number {
    return this.#slots.size;
  }

  /** How the dot products are computed. */
  get kernel(): Kernel {
    return this.#matrix.kernel;
  }

  has(key: string): boolean {
    return this.#slots.has(key);
  }

  /** Adds a vector, or replaces that of the same key. */
  set(key: string, vector: Float32Array | QuantizedVector): void {
    const { row, scale } = vector instanceof Float32Array ? quantize(vector) : vector;
    if (row.length !== this.dim) throw new RangeError(`Expected a vector of ${this.dim} numbers, got ${row.length}.`);
    let slot = this.#slots.get(key);
    if (slot === undefined) {
      slot = this.size;
      this.reserve(slot + 1);
      this.#slots.set(key, slot);
      this.#keys.push(key);
    }
    this.#matrix.row(slot).set(row);
    this.#scales[slot] = scale;
  }

  /** Removes a row, and moves the last row into its slot. Returns false if the key is unknown. */
  delete(key: string): boolean {
    const slot = this.#slots.get(key);
    if (slot === undefined) return false;
    const last = this.size - 1;
    const moved = this.#keys.pop()!;
    if (slot !== last) {
      this.#matrix.row(slot).set(this.#matrix.row(last));
      this.#keys[slot] = moved;
      this.#scales[slot] = this.#scales[last]!;
      this.#slots.set(moved, slot);
    }
    this.#slots.delete(key);
    return true;
  }

  /** Removes all rows and frees their memory. */
  clear(): void {
    this.#slots.clear();
    this.#matrix = createRowMatrix(this.dim, this.#requestedKernel);
    this.#keys.length = 0;
    this.#scales = new Float32Array(0);
  }

  /** Allocates memory for this many rows. */
  reserve(rows: number): void {
    this.#matrix.reserve(rows);
    if (rows <= this.#scales.length) return;
    const scales = new Float32Array(Math.max(rows, Math.ceil(this.#scales.length * 1.25), 256));
    scales.set(this.#scales);
    this.#scales = scales;
  }

  /**
   * The rows nearest to a unit vector, nearest first, ties by key. Ranked by int8, about one in 300 of the first ten differs
   * from the exact ranking.
   */
  search(query: Float32Array, options: VectorSearchOptions = {}): VectorMatch[] {
    const { limit = 10, accept } = options;
    const best = new Best(limit, byRank);
    let worst = limit < 1 ? Infinity : -Infinity;
    const { numbers, scale } = this.#toIntegers(query);
    for (let start = 0; start < this.size; start += BATCH) {
      const count = Math.min(BATCH, this.size - start);
      const dots = this.#matrix.dotProducts(numbers, start, count);
      for (let i = 0; i < count; i++) {
        const similarity = dots[i]! * this.#scales[start + i]! * scale;
        if (similarity < worst) continue;
        const key = this.#keys[start + i]!;
        if (accept !== undefined && !accept(key)) continue;
        best.add({ key, similarity });
        worst = best.worst?.similarity ?? worst;
      }
    }
    return best.sorted();
  }

  /** As {@link search}, with the first 30 ranked by their float32 vectors. A row without one is left out. */
  async searchExactly(
    query: Float32Array,
    exact: ExactVectors,
    options: VectorSearchOptions = {},
  ): Promise<VectorMatch[]> {
    const { limit = 10, accept } = options;
    const found = this.search(query, { limit: Math.max(limit, RERANKED), accept });
    const best = found.slice(0, RERANKED);
    const vectors = await exact(best.map(({ key }) => key));
    const exactly = best.flatMap(({ key }) => {
      const vector = vectors.get(key);
      const similarity = vector?.length === this.dim ? cosine(query, vector) : NaN;
      return Number.isFinite(similarity) ? [{ key, similarity }] : []; // the database is untrusted
    });
    return [...exactly, ...found.slice(RERANKED)].sort(byRank).slice(0, limit);
  }

  /** The cosines of a unit vector with these rows, by int8; unknown keys are left out. */
  similarities(query: Float32Array, keys: readonly string[]): Map<string, number> {
    const { numbers, scale } = this.#toIntegers(query);
    const similarities = new Map<string, number>();
    for (let start = 0; start < keys.length; start += BATCH) {
      const known = keys.slice(start, start + BATCH).filter((key) => this.#slots.has(key));
      const slots = known.map((key) => this.#slots.get(key)!);
      const dots = this.#matrix.dotProductsAt(numbers, slots);
      known.forEach((key, i) => similarities.set(key, dots[i]! * this.#scales[slots[i]!]! * scale));
    }
    return similarities;
  }

  #toIntegers(query: Float32Array): { numbers: Int16Array; scale: number } {
    if (query.length !== this.dim) {
      throw new RangeError(`Expected a query of ${this.dim} numbers, got ${query.length}.`);
    }
    return toIntegers(query, queryMax(this.dim));
  }
}

/** The dot product of two vectors with the same dimensions, which for unit vectors is the cosine. */
export function cosine(a: Float32Array, b: Float32Array): number {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += a[i]! * b[i]!;
  return sum;
}

const byRank = (a: VectorMatch, b: VectorMatch): number =>
  b.similarity - a.similarity || (a.key < b.key ? -1 : a.key > b.key ? 1 : 0);
