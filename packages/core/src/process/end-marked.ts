// The last sweep: whatever still carries a mark that begins with a text, whoever started it and whenever.

import { setTimeout as delay } from 'node:timers/promises';
import { descendantsOf, markedWith, runningProcesses, signalProcess } from './stray-processes.js';

const POLL_MS = 20;
const ROUNDS = 50;

/**
 * Kills every process that was started with a `mark` beginning with the prefix (see {@link SpawnOptions.mark}), and
 * what descends from it. Resolves when none is left, at the latest after a second. Linux only; elsewhere it does nothing.
 */
export async function endMarked(prefix: string): Promise<void> {
  for (let round = 0; round < ROUNDS; round++) {
    const all = runningProcesses() ?? [];
    const marked = markedWith(prefix, all);
    if (marked.length === 0) return;
    for (const found of marked) {
      for (const below of descendantsOf(found.pid, all)) signalProcess(below, 'SIGKILL');
      signalProcess(found, 'SIGKILL');
    }
    await delay(POLL_MS);
  }
}
