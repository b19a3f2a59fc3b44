// Verifies the names from ripgrep: it works by path, which a short-lived link may have led outside. Each name is checked
// inside the project before it is returned.

import { lstat } from 'node:fs/promises';
import { visitNames, type NamesBelow } from './verified-names.js';

/** A name that a search found, not yet verified. */
export interface FoundName {
  /** Its path below the directory, as `orderKey` has it. */
  key: string;
  /** In milliseconds since 1970; 0 if not needed. */
  mtime: number;
}

/** The rows of the result, and the last one that the next page can continue after. */
export interface ProvenNames<T> {
  rows: readonly T[];
  last: T | undefined;
  /** The number of omitted rows. */
  changed: number;
}

/**
 * Keeps only regular files inside the project, and reads their times again.
 *
 * @param rows in order
 * @param order set if the rows are ordered by time
 */
export async function provenNames<T extends FoundName>(
  below: NamesBelow,
  rows: readonly T[],
  order: ((a: T, b: T) => number) | undefined,
): Promise<ProvenNames<T>> {
  const times = new Map<T, number>();
  await visitNames(below, rows, async (row, address) => {
    const stats = address === undefined ? undefined : await lstat(address).catch(() => undefined);
    if (stats?.isFile()) times.set(row, order ? stats.mtimeMs : 0);
  });
  // The time of a row when it was found decided which rows are included; a different time has no place in that order.
  const last = rows.findLast((row) => times.get(row) === row.mtime);
  const kept = rows.flatMap((row) => {
    const mtime = times.get(row);
    return mtime === undefined ? [] : [{ ...row, mtime }];
  });
  return { rows: order ? kept.sort(order) : kept, last, changed: rows.length - kept.length };
}
