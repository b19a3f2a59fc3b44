// Collects the rows of a search from either engine: without those of earlier pages, up to the limit, in one order.

import type { Position } from './search-cursor.js';
import { compareKeys } from './path-order.js';
import { RowBudget } from './row-budget.js';
import type { Piece } from './row-proof.js';

/** One matching line, or several lines if a match spans them. */
export interface GrepRow {
  path: string;
  line: number;
  /** Of the first match, from 1, in UTF-16 units. Absent where it is megabytes into its line. */
  column?: number;
  text: string;
  /** The lines around it, by line number. */
  context?: ContextLine[];
}

/** A line around a match. */
export interface ContextLine {
  line: number;
  text: string;
}

/** A row of the modes that return files. */
export interface FileRow {
  path: string;
  count?: number;
}

/** A row, with its sort key and the pieces of the file that it consists of. */
export interface KeyedRow {
  key: string;
  row: GrepRow | FileRow;
  /** The number of lines in it, if known. */
  pieces: readonly Piece[];
}

/** Accepts rows in any order. */
export class GrepSink {
  readonly #budget: RowBudget<KeyedRow>;
  readonly #after: Position | undefined;

  /** @param after only rows after this one */
  constructor(limit: number, after: Position | undefined) {
    this.#budget = new RowBudget(limit);
    this.#after = after;
  }

  get count(): number {
    return this.#budget.rows.length;
  }

  /** Whether a row exceeded the limit. */
  get full(): boolean {
    return this.#budget.full;
  }

  /**
   * Receives a row of a file; returns false when there are enough.
   *
   * @param pieces may grow with the context of the row
   */
  add(key: string, row: GrepRow | FileRow, pieces: readonly Piece[] = []): boolean {
    if (this.isPast(key, row)) return true;
    const context = 'context' in row ? (row.context ?? []) : [];
    const size = context.reduce((sum, { text }) => sum + text.length + 32, 0) + ('text' in row ? row.text.length : 0);
    return this.#budget.add({ key, row, pieces }, size + row.path.length);
  }

  /** Adds a context line to a row. */
  addContext(row: GrepRow, line: ContextLine): void {
    (row.context ??= []).push(line);
    this.#budget.grow(line.text.length + 32);
  }

  /** Whether an earlier page returned this row. */
  isPast(key: string, row: GrepRow | FileRow): boolean {
    if (!this.#after) return false;
    const order = compareKeys(key, this.#after.key);
    return order < 0 || (order === 0 && lineOf(row) <= (this.#after.number ?? 0));
  }

  /** Removes rows for which `check` returns false. */
  async keep(check: (rows: readonly KeyedRow[]) => Promise<(row: KeyedRow) => boolean>): Promise<void> {
    this.#budget.keep(await check(this.#sort()));
  }

  /** The rows in order. */
  sorted(): (GrepRow | FileRow)[] {
    return this.#sort().map(({ row }) => row);
  }

  /** Where the next page continues, if the rows are the first of all. */
  position(): Position | undefined {
    const last = this.#sort().at(-1);
    return last && { key: last.key, ...('line' in last.row && { number: last.row.line }) };
  }

  #sort(): KeyedRow[] {
    return this.#budget.rows.sort((a, b) => compareKeys(a.key, b.key) || lineOf(a.row) - lineOf(b.row));
  }
}

function lineOf(row: GrepRow | FileRow): number {
  return 'line' in row ? row.line : 0;
}
