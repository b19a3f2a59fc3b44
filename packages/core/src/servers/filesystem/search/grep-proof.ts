// Verifies the rows from ripgrep: it works by path, so replacing a directory by a link leads it out of the project. Rows
// are compared with the files inside, and those that differ are omitted.

import type { FileHandle } from 'node:fs/promises';
import { errnoOf } from '../../project/open/file-failure.js';
import type { GrepQuestion } from './grep-question.js';
import type { FileRow, GrepSink, KeyedRow } from './grep-sink.js';
import { provenRows } from './row-proof.js';
import { openEntryFile, visitNames } from './verified-names.js';

/** The number of files that are held open at a time to be counted again. */
const MAX_OPEN = 500;

/** Counts in files that are held open: by the descriptor's number, as text. */
export type CountAgain = (descriptors: readonly string[]) => Promise<ReadonlyMap<string, number>>;

/**
 * Omits rows that are not, or no longer, in a file inside, and returns their number.
 *
 * @param countAgain for rows that are counts, where descriptors have paths
 */
export async function keepProven(
  question: GrepQuestion,
  sink: GrepSink,
  countAgain: CountAgain | undefined,
): Promise<number> {
  let changed = 0;
  await sink.keep(async (rows) => {
    const proven = new Set<KeyedRow>();
    if (!countAgain) await proveLines(question, rows, proven);
    else {
      for (let at = 0; at < rows.length; at += MAX_OPEN)
        await proveCounts(question, rows.slice(at, at + MAX_OPEN), proven, countAgain);
    }
    changed = rows.length - proven.size;
    return (row) => proven.has(row);
  });
  return changed;
}

async function proveLines(question: GrepQuestion, rows: readonly KeyedRow[], proven: Set<KeyedRow>): Promise<void> {
  const files = new Map<string, { key: string; rows: KeyedRow[] }>();
  for (const row of rows) {
    const file = files.get(row.key);
    if (file) file.rows.push(row);
    else files.set(row.key, { key: row.key, rows: [row] });
  }
  await visitFiles(question, [...files.values()], async (file, handle) => {
    try {
      const results = await provenRows(
        handle,
        file.rows.map(({ pieces }) => pieces),
      );
      for (const [index, row] of file.rows.entries()) if (results[index]) proven.add(row);
    } catch (error) {
      if (errnoOf(error) === undefined) throw error; // a file that cannot be read is omitted
    } finally {
      await handle.close();
    }
  });
}

async function proveCounts(
  question: GrepQuestion,
  rows: readonly KeyedRow[],
  proven: Set<KeyedRow>,
  countAgain: CountAgain,
): Promise<void> {
  const open = new Map<KeyedRow, FileHandle>();
  try {
    await visitFiles(question, rows, (row, handle) => {
      open.set(row, handle);
      return Promise.resolve();
    });
    if (open.size === 0) return;
    const counts = await countAgain([...open.values()].map(({ fd }) => String(fd)));
    for (const [row, { fd }] of open) if (counts.get(String(fd)) === (row.row as FileRow).count) proven.add(row);
  } finally {
    for (const handle of open.values()) await handle.close();
  }
}

function visitFiles<T extends { key: string }>(
  { scope, requested, place, signal }: GrepQuestion,
  items: readonly T[],
  visit: (item: T, handle: FileHandle) => Promise<void>,
): Promise<void> {
  return visitNames({ scope, requested, directory: place.directory, signal }, items, async (item, address) => {
    const handle = address === undefined ? undefined : await openEntryFile(scope, address);
    if (handle) await visit(item, handle);
  });
}
