// Limits the rows of an answer by number and by size, as a host stores the structured part of every answer.

/** The approximate limit of the rows of one answer as JSON, in UTF-16 units. */
const MAX_ROWS_SIZE = 512 * 1024;
/** The size of the braces, keys and numbers of one row. */
const ROW_SIZE = 64;

/** Collects rows until one more would exceed a limit. The first always fits. */
export class RowBudget<T> {
  rows: T[] = [];
  /** True when a row was refused. */
  full = false;
  readonly #limit: number;
  #size = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Adds a row; returns false if it does not fit. @param size the length of its texts */
  add(row: T, size: number): boolean {
    this.full ||=
      this.rows.length >= this.#limit || (this.rows.length > 0 && this.#size + size + ROW_SIZE > MAX_ROWS_SIZE);
    if (this.full) return false;
    this.#size += size + ROW_SIZE;
    this.rows.push(row);
    return true;
  }

  /** Removes rows; that frees no space for others, as those would not be the next in order. */
  keep(isKept: (row: T) => boolean): void {
    this.rows = this.rows.filter(isKept);
  }

  /** Adds to the size of the last row, which has got more context lines. */
  grow(size: number): void {
    this.#size += size;
  }
}
