// A matrix of int8 rows, and the dot products of a query with its rows: in WebAssembly with SIMD, or in JavaScript where that is
// not available. Both compute the same integers.

import { DOT_PRODUCTS_WASM } from './dot-products-wasm.js';

/** How the dot products are computed. */
export type Kernel = 'wasm' | 'js';

/** How many products are computed at a time: their 16 KiB fit in the processor's L1 cache. */
export const BATCH = 4096;

/** The largest number in a row. -128 is not used, so that negating a row keeps its length. */
export const ROW_MAX = 127;

/** Rows in memory, which grows by a quarter at a time. */
export interface RowMatrix {
  readonly kernel: Kernel;
  /** The bytes from one row to the next: the dimensions, rounded up to a multiple of 16. */
  readonly stride: number;
  /** Allocates memory for this many rows, keeping the existing ones. @throws {RangeError} when that fails */
  reserve(rows: number): void;
  /** The row's `dim` bytes, to read and write. Valid until the next `reserve`. */
  row(slot: number): Int8Array;
  /** The products of a query with the rows from `slot` on, at most {@link BATCH}. Valid until the next call. */
  dotProducts(query: Int16Array, slot: number, count: number): Int32Array;
  /** The products of a query with single rows, at most {@link BATCH}. Valid until the next call. */
  dotProductsAt(query: Int16Array, slots: readonly number[]): Int32Array;
}

/** The largest number in a query with which no dot product exceeds 32 bits. */
export const queryMax = (dim: number): number => Math.min(32767, Math.floor((2 ** 31 - 1) / (ROW_MAX * dim)));

const strideOf = (dim: number): number => (dim + 15) & ~15;
const grown = (rows: number, capacity: number): number => Math.max(rows, Math.ceil(capacity * 1.25), 256);

/** The used part of the global `WebAssembly`, which Node's types lack. */
interface WebAssemblyGlobal {
  Module: new (bytes: Uint8Array) => object;
  Instance: new (module: object, imports: object) => { exports: Record<string, unknown> };
  Memory: new (pages: { initial: number }) => { readonly buffer: ArrayBuffer; grow(pages: number): number };
}
const { WebAssembly } = globalThis as unknown as { WebAssembly: WebAssemblyGlobal };

let compiled: object | false | undefined;

/** The kernel, compiled once; false without WebAssembly SIMD. */
function kernelModule(): object | false {
  if (compiled !== undefined) return compiled;
  try {
    compiled = new WebAssembly.Module(Buffer.from(DOT_PRODUCTS_WASM, 'base64'));
  } catch {
    compiled = false; // JavaScript computes the same products
  }
  return compiled;
}

/** Creates a matrix for rows of `dim` numbers. @param kernel for tests; default: the fastest available */
export function createRowMatrix(dim: number, kernel?: Kernel): RowMatrix {
  const module = kernel === 'js' ? false : kernelModule();
  if (kernel === 'wasm' && !module) throw new Error('WebAssembly SIMD is not available.');
  return module ? new WasmRows(dim, module) : new PlainRows(dim);
}

const PAGE = 65_536;

type DotProducts = (query: number, rows: number, stride: number, count: number, dots: number) => void;

/** The query, then the products, then the rows, in one WebAssembly memory. */
class WasmRows implements RowMatrix {
  readonly kernel = 'wasm';
  readonly stride: number;
  readonly #dim: number;
  readonly #memory: InstanceType<WebAssemblyGlobal['Memory']>;
  readonly #dotProducts: DotProducts;
  readonly #dots: number;
  readonly #rows: number;
  #capacity = 0;

  constructor(dim: number, module: object) {
    this.#dim = dim;
    this.stride = strideOf(dim);
    this.#dots = this.stride * 2;
    this.#rows = this.#dots + BATCH * 4;
    this.#memory = new WebAssembly.Memory({ initial: Math.ceil(this.#rows / PAGE) });
    const { exports } = new WebAssembly.Instance(module, { env: { memory: this.#memory } });
    this.#dotProducts = exports['dotProducts'] as DotProducts;
  }

  reserve(rows: number): void {
    if (rows <= this.#capacity) return;
    const wanted = grown(rows, this.#capacity);
    const pages = Math.ceil((this.#rows + wanted * this.stride) / PAGE) - this.#memory.buffer.byteLength / PAGE;
    if (pages > 0) this.#memory.grow(pages);
    this.#capacity = wanted;
  }

  row(slot: number): Int8Array {
    return new Int8Array(this.#memory.buffer, this.#rows + slot * this.stride, this.#dim);
  }

  dotProducts(query: Int16Array, slot: number, count: number): Int32Array {
    new Int16Array(this.#memory.buffer, 0, this.stride).set(query); // the padding is always zero
    this.#dotProducts(0, this.#rows + slot * this.stride, this.stride, count, this.#dots);
    return new Int32Array(this.#memory.buffer, this.#dots, count);
  }

  dotProductsAt(query: Int16Array, slots: readonly number[]): Int32Array {
    new Int16Array(this.#memory.buffer, 0, this.stride).set(query);
    slots.forEach((slot, i) =>
      this.#dotProducts(0, this.#rows + slot * this.stride, this.stride, 1, this.#dots + i * 4),
    );
    return new Int32Array(this.#memory.buffer, this.#dots, slots.length);
  }
}

class PlainRows implements RowMatrix {
  readonly kernel = 'js';
  readonly stride: number;
  readonly #dim: number;
  readonly #dots = new Int32Array(BATCH);
  #rows = new Int8Array(0);
  #capacity = 0;

  constructor(dim: number) {
    this.#dim = dim;
    this.stride = strideOf(dim);
  }

  reserve(rows: number): void {
    if (rows <= this.#capacity) return;
    const wanted = grown(rows, this.#capacity);
    const larger = new Int8Array(wanted * this.stride);
    larger.set(this.#rows);
    this.#rows = larger;
    this.#capacity = wanted;
  }

  row(slot: number): Int8Array {
    return this.#rows.subarray(slot * this.stride, slot * this.stride + this.#dim);
  }

  dotProducts(query: Int16Array, slot: number, count: number): Int32Array {
    for (let i = 0; i < count; i++) this.#dots[i] = this.#dotProduct(query, slot + i);
    return this.#dots.subarray(0, count);
  }

  dotProductsAt(query: Int16Array, slots: readonly number[]): Int32Array {
    slots.forEach((slot, i) => (this.#dots[i] = this.#dotProduct(query, slot)));
    return this.#dots.subarray(0, slots.length);
  }

  #dotProduct(query: Int16Array, slot: number): number {
    const rows = this.#rows;
    const start = slot * this.stride;
    let sum = 0;
    for (let j = 0; j < query.length; j++) sum += query[j]! * rows[start + j]!;
    return sum;
  }
}
