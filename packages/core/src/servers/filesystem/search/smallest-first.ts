// Selects the smallest items of a sequence, in order, with bounded memory.

/** Keeps the `limit` smallest items that were added. */
export class SmallestFirst<T> {
  readonly #limit: number;
  readonly #compare: (a: T, b: T) => number;
  #items: T[] = [];
  /** True when items were dropped. */
  dropped = false;

  constructor(limit: number, compare: (a: T, b: T) => number) {
    this.#limit = limit;
    this.#compare = compare;
  }

  add(item: T): void {
    this.#items.push(item);
    // Sorted only after `limit` more items, so that each item costs the logarithm of the limit.
    if (this.#items.length >= 2 * this.#limit + 256) this.#trim();
  }

  sorted(): T[] {
    this.#trim();
    return this.#items;
  }

  #trim(): void {
    this.#items.sort(this.#compare);
    if (this.#items.length <= this.#limit) return;
    this.#items.length = this.#limit;
    this.dropped = true;
  }
}
