// Which cores processes run on while they are measured. Waking another core takes longer than a whole short exchange, and
// the system may place identical children differently, so each placement is measured.

import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { pooled, type Row } from './method.js';

/** A placement on cores: its description, and the function that applies it. */
interface Placement {
  name: string;
  apply: () => void;
}

/** Both placements of this process and its children; only the system's choice if processes cannot be pinned. */
function placements(): Placement[] {
  const [first, second] = coresOf(process.pid);
  if (second === undefined) return [{ name: 'as the system places them', apply: () => undefined }];
  const place = (children: string) => () => {
    pin(process.pid, first!);
    for (const pid of childrenOf(process.pid)) pin(pid, children);
  };
  return [
    { name: 'on one core', apply: place(first!) },
    { name: 'on two cores', apply: place(second) },
  ];
}

/**
 * Measures rows in each placement, with processes that are restarted several times, because their compilers do not always
 * produce the same code.
 *
 * @param start starts the processes and returns the rows of one placement, by its name
 */
export async function inEachPlacement(
  starts: number,
  start: () => Promise<{ measure: (placement: string) => Promise<Row[]> } & AsyncDisposable>,
): Promise<Row[]> {
  const measured: Row[][] = [];
  for (let count = 0; count < starts; count++) {
    await using started = await start();
    using _ = keepPlacement();
    const rows: Row[] = [];
    for (const { name, apply } of placements()) {
      apply();
      for (const row of await started.measure(name)) rows.push(row);
    }
    measured.push(rows);
  }
  return measured[0]!.map((_, row) => pooled(measured.map((rows) => rows[row]!) as [Row, ...Row[]]));
}

/** Restores the previous cores of this process. */
function keepPlacement(): Disposable {
  const cores = coresOf(process.pid);
  return { [Symbol.dispose]: () => void (cores.length > 0 && pin(process.pid, cores.join(','))) };
}

/** The cores that a process may run on, from util-linux's taskset; empty without that command. */
function coresOf(pid: number): string[] {
  try {
    const list = execFileSync('taskset', ['-cp', String(pid)], { encoding: 'utf8' });
    return list
      .slice(list.lastIndexOf(':') + 1)
      .trim()
      .split(',')
      .flatMap((range) => {
        const [from, to = from] = range.split('-').map(Number) as [number, number?];
        return Array.from({ length: to - from + 1 }, (_, index) => String(from + index));
      });
  } catch {
    return [];
  }
}

/** Linux: those of the first thread, which starts all others. */
function childrenOf(pid: number): number[] {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').map(Number);
}

/** All threads of a process. */
function pin(pid: number, cores: string): void {
  execFileSync('taskset', ['-acp', cores, String(pid)], { stdio: 'ignore' });
}
