// Kills every process whose mark has a given prefix.

import { setTimeout as delay } from 'node:timers/promises';
import { descendantsOf, markedWith, runningProcesses, signalProcess } from './stray-processes.js';

const POLL_MS = 20;
const ROUNDS = 50;

/**
 * Kills every process whose `mark` begins with the prefix (see {@link SpawnOptions.mark}), and its descendants. Resolves when
 * none is left, at the latest after a second. On other systems than Linux it does nothing.
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
