// Processes that a program started and that left its group: found by a mark in their environment, or by descent. Linux
// tells both in /proc; elsewhere nothing is found, and the group is all there is.

import { readdirSync, readFileSync } from 'node:fs';

/** The variable that marks what was started for one child; its value is the child's own. */
export const MARK_VARIABLE = 'TOOLWRIGHT_MARK';

/** A process, told apart from a later one of the same number by when it started. */
export interface FoundProcess {
  readonly pid: number;
  readonly parent: number;
  readonly group: number;
  /** In clock ticks since boot. */
  readonly startedAt: number;
}

/**
 * Every process that runs. A dead one that nobody has reaped does not count. Undefined where the system does not tell:
 * elsewhere than on Linux, without a /proc, and while this process can open no more files.
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
 * https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html: the name, which may hold anything, ends at the last `)`. A
 * process whose first thread has ended is Z while its others run on.
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
    return undefined; // it ended between the listing and the look
  }
}

/** When a process started, in clock ticks since boot; 0 where the system does not tell. */
export function startOf(pid: number): number {
  return process.platform === 'linux' ? (lookAt(pid)?.startedAt ?? 0) : 0;
}

/** Those below `root` in the tree of processes, without itself. An orphan is no longer anybody's descendant. */
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
 * Those that were started, not before `since`, with a mark that begins so (with a NUL at its end: that is so), and have
 * not cleared their environment.
 */
export function markedWith(prefix: string, all: readonly FoundProcess[], since = 0): FoundProcess[] {
  const needle = Buffer.from(`${MARK_VARIABLE}=${prefix}`);
  return all.filter(({ pid, startedAt }) => {
    if (startedAt < since || pid === process.pid) return false;
    try {
      return hasEntry(readFileSync(`/proc/${pid}/environ`), needle);
    } catch {
      return false; // it ended, or is somebody else's
    }
  });
}

function hasEntry(environment: Buffer, needle: Buffer): boolean {
  for (let at = environment.indexOf(needle); at >= 0; at = environment.indexOf(needle, at + 1)) {
    if (at === 0 || environment[at - 1] === 0) return true;
  }
  return false;
}

/** Signals that very process: not a later one that was given its number. */
export function signalProcess({ pid, startedAt }: FoundProcess, name: NodeJS.Signals): void {
  if (lookAt(pid)?.startedAt !== startedAt) return;
  try {
    process.kill(pid, name);
  } catch {
    // It ended meanwhile, or runs as somebody else and is not ours to end.
  }
}
