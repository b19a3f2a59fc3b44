// Inspects processes from outside: which have a text in their environment, and which is a host's watchdog.

import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';

/** The running processes, without zombies, that have a text in their environment. */
export function carrying(text: string): number[] {
  return processes().filter((pid) => isRunning(pid) && contentOf(pid, 'environ').includes(text));
}

/** The watchdogs of a process. */
export function watchdogsOf(host: number): number[] {
  return processes().filter(
    (pid) =>
      contentOf(pid, 'cmdline').includes('toolwright-watchdog') &&
      new RegExp(`\\0HOST=\\S+ \\S+ ${host} \\d+\\0`).test(contentOf(pid, 'environ')),
  );
}

export function isRunning(pid: number): boolean {
  const stat = contentOf(pid, 'stat');
  return stat !== '' && !/^[ZX]/.test(stat.slice(stat.lastIndexOf(')') + 2));
}

/** How many threads a process has. A zombie has one. */
export function threadsOf(pid: number): number {
  const stat = contentOf(pid, 'stat');
  return stat === '' ? 0 : Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[17]);
}

/** A Python program that ignores SIGTERM, ends its first thread and continues in another, which prints its pid. */
export const WITHOUT_FIRST_THREAD = [
  'import ctypes, os, signal, threading, time',
  'signal.signal(signal.SIGTERM, signal.SIG_IGN)',
  'threading.Thread(target=lambda: (time.sleep(0.2), print(os.getpid(), flush=True), time.sleep(60))).start()',
  'ctypes.CDLL(None).pthread_exit(None)',
].join('\n');

/** The descendants of a process whose parents still run. */
export function descendantsOf(root: number): number[] {
  const parents = processes().map((pid) => {
    const stat = contentOf(pid, 'stat');
    return [pid, Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1])] as const;
  });
  const found = [root];
  for (const above of found) for (const [pid, parent] of parents) if (parent === above) found.push(pid);
  return found.slice(1);
}

/** Waits for a condition, up to a time limit. Returns whether it holds. */
export async function becomes(isSo: () => boolean, patienceMs = 20_000): Promise<boolean> {
  for (const until = performance.now() + patienceMs; performance.now() < until; await delay(20)) {
    if (isSo()) return true;
  }
  return isSo();
}

function processes(): number[] {
  return readdirSync('/proc')
    .filter((entry) => /^\d+$/.test(entry))
    .map(Number);
}

function contentOf(pid: number, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'latin1');
  } catch {
    return ''; // it ended
  }
}
