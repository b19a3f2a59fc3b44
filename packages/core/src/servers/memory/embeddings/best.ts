// Selects the best items of many.

/** A heap of the best items so far, whose root is the worst of them. */
export class Best<T> {
  readonly #limit: number;
  readonly #byRank: (a: T, b: T) => number;
  readonly #heap: T[] = [];

  /** @param byRank negative if the first item is better */
  constructor(limit: number, byRank: (a: T, b: T) => number) {
    this.#limit = limit;
    this.#byRank = byRank;
  }

  /** The item that a new one must beat; undefined until `limit` items were added. */
  get worst(): T | undefined {
    return this.#heap.length < this.#limit ? undefined : this.#heap[0];
  }

  /** Adds an item if it is among the best so far. */
  add(item: T): void {
    const heap = this.#heap;
    if (heap.length < this.#limit) this.#rise(heap.push(item) - 1);
    else if (heap.length > 0 && this.#byRank(item, heap[0]!) < 0) {
      heap[0] = item;
      this.#sink();
    }
  }

  /** The items, best first. Call it last: it sorts the heap itself. */
  sorted(): T[] {
    return this.#heap.sort(this.#byRank);
  }

  #rise(child: number): void {
    const heap = this.#heap;
    while (child > 0) {
      const parent = (child - 1) >> 1;
      if (this.#byRank(heap[child]!, heap[parent]!) <= 0) break;
      [heap[child], heap[parent]] = [heap[parent]!, heap[child]!];
      child = parent;
    }
  }

  #sink(): void {
    const heap = this.#heap;
    for (let parent = 0; ;) {
      let worst = parent;
      for (const child of [2 * parent + 1, 2 * parent + 2]) {
        if (child < heap.length && this.#byRank(heap[child]!, heap[worst]!) > 0) worst = child;
      }
      if (worst === parent) break;
      [heap[worst], heap[parent]] = [heap[parent]!, heap[worst]!];
      parent = worst;
    }
  }
}
