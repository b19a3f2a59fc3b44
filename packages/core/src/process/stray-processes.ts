// Finds processes that left a program's group, by a mark in their environment or by descent. Linux shows both in /proc;
// elsewhere none are found.

import { readdirSync, readFileSync } from 'node:fs';

/** The environment variable that marks the processes of one child; its value is unique to the child. */
export const MARK_VARIABLE = 'TOOLWRIGHT_MARK';

/** A process, distinguished by its start time from a later one with the same pid. */
export interface FoundProcess {
  readonly pid: number;
  readonly parent: number;
  readonly group: number;
  /** In clock ticks since boot. */
  readonly startedAt: number;
}

/**
 * Every running process, without zombies. Undefined where the system does not list them: not on Linux, without /proc, or
 * while this process cannot open files.
 */
export function runningProcesses(): FoundProcess[] | undefined {
  if (process.platform !== 'linux') return undefined;
  let entries: string[];
  try {
    entries = readdirSync('/proc');
  } catch {
    return undefined;
  }
  return entries.flatMap((entry) => (/^\d+$/.test(entry) ? (lookAt(Number(entry)) ?? []) : []));
}

/**
 * The name, which may contain anything, ends at the last `)`. A process whose first thread has ended has the state Z while
 * its other threads run. https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html
 */
function lookAt(pid: number): FoundProcess | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ', 20);
    const [state, parent, group] = fields;
    const threads = Number(fields[17]);
    if (state === 'X' || (state === 'Z' && threads <= 1)) return undefined;
    return { pid, parent: Number(parent), group: Number(group), startedAt: Number(fields[19]) };
  } catch {
    return undefined; // it ended meanwhile
  }
}

/** When a process started, in clock ticks since boot; 0 when unknown. */
export function startOf(pid: number): number {
  return process.platform === 'linux' ? (lookAt(pid)?.startedAt ?? 0) : 0;
}

/** The descendants of `root`, without itself. An orphan is no longer a descendant. */
export function descendantsOf(root: number, all: readonly FoundProcess[]): FoundProcess[] {
  const below = new Map<number, FoundProcess[]>();
  for (const found of all) below.set(found.parent, [...(below.get(found.parent) ?? []), found]);
  const descendants: FoundProcess[] = [];
  const queue = [root];
  for (const pid of queue) {
    for (const child of below.get(pid) ?? []) {
      descendants.push(child);
      queue.push(child.pid);
    }
  }
  return descendants;
}

/**
 * Processes whose environment has a mark with this prefix; a prefix that ends in NUL is the whole mark. Those that started
 * before `since` are left out.
 */
export function markedWith(prefix: string, all: readonly FoundProcess[], since = 0): FoundProcess[] {
  const needle = Buffer.from(`${MARK_VARIABLE}=${prefix}`);
  return all.filter(({ pid, startedAt }) => {
    if (startedAt < since || pid === process.pid) return false;
    try {
      return hasEntry(readFileSync(`/proc/${pid}/environ`), needle);
    } catch {
      return false; // it ended, or is another user's
    }
  });
}

function hasEntry(environment: Buffer, needle: Buffer): boolean {
  for (let at = environment.indexOf(needle); at >= 0; at = environment.indexOf(needle, at + 1)) {
    if (at === 0 || environment[at - 1] === 0) return true;
  }
  return false;
}

/** Signals this process, and not a later one with the same pid. */
export function signalProcess({ pid, startedAt }: FoundProcess, name: NodeJS.Signals): void {
  if (lookAt(pid)?.startedAt !== startedAt) return;
  try {
    process.kill(pid, name);
  } catch {
    // It ended meanwhile, or runs as another user.
  }
}
