// The vectors of the static model's words, read from its file on demand and cached: most processes use a few hundred kilobytes
// of its ten megabytes.

import { closeSync, readSync } from 'node:fs';

/** Rows that are read together: 6 KiB at 384 dimensions. */
const PAGE_ROWS = 16;

/** An int8 matrix at the end of an open file, which it closes. */
export class StaticRows implements Disposable {
  /** All rows in one array, as untouched memory costs nothing. */
  readonly #bytes: Int8Array;
  readonly #isLoaded: Uint8Array;
  readonly #dim: number;
  readonly #offset: number;
  #file: number | undefined;

  /** @param offset the position of the first row in the file */
  constructor(file: number, offset: number, { rows, dim }: { rows: number; dim: number }) {
    this.#file = file;
    this.#offset = offset;
    this.#dim = dim;
    this.#bytes = new Int8Array(rows * dim);
    this.#isLoaded = new Uint8Array(Math.ceil(rows / PAGE_ROWS));
  }

  /** Adds a row, times a weight, to a vector. */
  add(row: number, weight: number, vector: Float32Array): void {
    const page = Math.floor(row / PAGE_ROWS);
    if (this.#isLoaded[page] === 0) this.#read(page);
    const bytes = this.#bytes;
    const start = row * this.#dim;
    for (let i = 0; i < vector.length; i++) vector[i]! += bytes[start + i]! * weight;
  }

  [Symbol.dispose](): void {
    if (this.#file !== undefined) closeSync(this.#file);
    this.#file = undefined;
  }

  #read(page: number): void {
    if (this.#file === undefined) throw new Error('The model was closed.');
    const start = page * PAGE_ROWS * this.#dim;
    const bytes = this.#bytes.subarray(start, start + PAGE_ROWS * this.#dim);
    for (let done = 0; done < bytes.length;) {
      const count = readSync(this.#file, bytes, done, bytes.length - done, this.#offset + start + done);
      if (count === 0) throw new Error('The model file was truncated while it was in use.');
      done += count;
    }
    this.#isLoaded[page] = 1;
  }
}
