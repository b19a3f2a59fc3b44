// The vectors of many memories, held in memory as int8 and searched by looking at all of them; the best are ordered by
// the float32 vectors that the database has. No graph and no tree: at 100,000 rows a scan takes some three milliseconds.

import { Best } from '../service/best.js';
import { BATCH, createRowMatrix, queryMax, ROW_MAX, type Kernel, type RowMatrix } from './dot-products.js';

/** A vector as it is held: `row[i] * scale` is about the number that it stands for. */
export interface QuantizedVector {
  row: Int8Array;
  scale: number;
}

/** A row that was found. */
export interface VectorMatch {
  key: string;
  /** The cosine of the angle to the query, -1 to 1. */
  similarity: number;
}

/** How {@link VectorIndex.search} looks. */
export interface VectorSearchOptions {
  /** How many rows to find. Default: 10. */
  limit?: number | undefined;
  /** False for a row that is not to be found. Asked only of rows that would be among the best, which are few. */
  accept?: ((key: string) => boolean) | undefined;
}

/** The int8 form of a vector. */
export function quantize(vector: Float32Array): QuantizedVector {
  const { numbers, scale } = toWholeNumbers(vector, ROW_MAX);
  return { row: Int8Array.from(numbers), scale };
}

function toWholeNumbers(vector: Float32Array, largest: number): { numbers: Int16Array; scale: number } {
  let max = 0;
  for (const number of vector) max = Math.max(max, Math.abs(number));
  const numbers = new Int16Array(vector.length);
  if (!(max > 0 && max < Infinity)) return { numbers, scale: 0 };
  for (let i = 0; i < vector.length; i++) numbers[i] = Math.round((vector[i]! / max) * largest);
  return { numbers, scale: Math.fround(max / largest) };
}

/**
 * The float32 vectors of these rows; one that is gone is left out. They lie in a database, as they would take four times
 * the memory here.
 */
export type ExactVectors = (keys: readonly string[]) => Promise<ReadonlyMap<string, Float32Array>>;

/** How many of the best are ordered by their float32 vectors: enough that the ten best of them are the ten best of all. */
const RERANKED = 30;

/** Unit vectors by id, all of the same length. */
export class VectorIndex {
  readonly dim: number;
  readonly #wanted: Kernel | undefined;
  readonly #slots = new Map<string, number>();
  #matrix: RowMatrix;
  readonly #keys: string[] = [];
  #scales = new Float32Array(0);

  /** @param kernel for tests; by default WebAssembly where it has SIMD */
  constructor(dim: number, kernel?: Kernel) {
    this.dim = dim;
    this.#wanted = kernel;
    this.#matrix = createRowMatrix(dim, kernel);
  }

  /** How many rows there are. */
  get size(): number {
    return this.#slots.size;
  }

  /** Which way the products are computed. */
  get kernel(): Kernel {
    return this.#matrix.kernel;
  }

  has(key: string): boolean {
    return this.#slots.has(key);
  }

  /** Adds a vector, or puts it in the place of the one that the key had. */
  set(key: string, vector: Float32Array | QuantizedVector): void {
    const { row, scale } = vector instanceof Float32Array ? quantize(vector) : vector;
    if (row.length !== this.dim) throw new RangeError(`A vector of ${row.length} numbers in an index of ${this.dim}.`);
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

  /** Takes a row away; the last one moves into its place. False when there was none. */
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

  /** Takes all rows away and gives their memory back. */
  clear(): void {
    this.#slots.clear();
    this.#matrix = createRowMatrix(this.dim, this.#wanted);
    this.#keys.length = 0;
    this.#scales = new Float32Array(0);
  }

  /** Makes room for so many rows at once. */
  reserve(rows: number): void {
    this.#matrix.reserve(rows);
    if (rows <= this.#scales.length) return;
    const scales = new Float32Array(Math.max(rows, Math.ceil(this.#scales.length * 1.25), 256));
    scales.set(this.#scales);
    this.#scales = scales;
  }

  /**
   * The rows nearest to a unit vector, best first; of two that are as near, the one with the smaller key. The order is
   * the int8 rows': about one in 300 of the ten best is another than it should be.
   */
  search(query: Float32Array, options: VectorSearchOptions = {}): VectorMatch[] {
    const { limit = 10, accept } = options;
    const best = new Best(limit, byRank);
    let worst = limit < 1 ? Infinity : -Infinity;
    const { numbers, scale } = this.#wholeNumbers(query);
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

  /** As {@link search}, with the best thirty ordered by their float32 vectors. One that has none any more is left out. */
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
      return Number.isFinite(similarity) ? [{ key, similarity }] : []; // the file may be anybody's
    });
    return [...exactly, ...found.slice(RERANKED)].sort(byRank).slice(0, limit);
  }

  /** The cosines of a unit vector with some rows, by int8; those that are not there are left out. */
  similarities(query: Float32Array, keys: readonly string[]): Map<string, number> {
    const { numbers, scale } = this.#wholeNumbers(query);
    const similarities = new Map<string, number>();
    for (let start = 0; start < keys.length; start += BATCH) {
      const there = keys.slice(start, start + BATCH).filter((key) => this.#slots.has(key));
      const slots = there.map((key) => this.#slots.get(key)!);
      const dots = this.#matrix.dotProductsAt(numbers, slots);
      there.forEach((key, i) => similarities.set(key, dots[i]! * this.#scales[slots[i]!]! * scale));
    }
    return similarities;
  }

  #wholeNumbers(query: Float32Array): { numbers: Int16Array; scale: number } {
    if (query.length !== this.dim) {
      throw new RangeError(`A query of ${query.length} numbers to an index of ${this.dim}.`);
    }
    return toWholeNumbers(query, queryMax(this.dim));
  }
}

/** The dot product of two vectors of the same length: the cosine, when both are of unit length. */
export function cosine(a: Float32Array, b: Float32Array): number {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += a[i]! * b[i]!;
  return sum;
}

const byRank = (a: VectorMatch, b: VectorMatch): number =>
  b.similarity - a.similarity || (a.key < b.key ? -1 : a.key > b.key ? 1 : 0);
