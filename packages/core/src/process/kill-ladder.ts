// The kill ladder: stdin, SIGTERM, patience, SIGKILL, exit. It always comes to an end, and only the first climb counts.

import type { Readable, Writable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import type { ProcessFamily } from './process-family.js';

/** A killed process is gone within moments; what is not (a disk that hangs) is not waited for any longer. */
const KILLED_WITHIN_MS = 2_000;
/** How long output may still arrive once nothing of the group runs: a process that left the group may hold the pipe. */
const DRAIN_MS = 250;
const FIRST_POLL_MS = 5;
const LAST_POLL_MS = 50;

/** What the ladder needs of a child. */
export interface LadderTarget {
  family: ProcessFamily;
  stdin: Writable | null;
  outputs: readonly Readable[];
  /** Resolves when the direct child has exited; never rejects. */
  exited: Promise<unknown>;
}

/**
 * Ends everything of the child and resolves when it is gone: what it leaves running after `graceMs` is killed, also
 * when the direct child has exited by itself and only its children are left.
 */
export async function climbKillLadder(target: LadderTarget, graceMs: number): Promise<void> {
  const { family, stdin, outputs, exited } = target;
  stdin?.end();
  if (family.isAlive()) {
    family.signal('SIGTERM');
    if (!(await isGoneWithin(family, exited, graceMs))) {
      family.signal('SIGKILL');
      // What was forked while the others were killed is killed at the next look.
      await isGoneWithin(family, exited, KILLED_WITHIN_MS, () => family.signal('SIGKILL'));
    }
  }
  stdin?.destroy();
  await Promise.all(outputs.map(drain));
}

async function isGoneWithin(
  family: ProcessFamily,
  exited: Promise<unknown>,
  timeoutMs: number,
  onStillAlive?: () => void,
): Promise<boolean> {
  const dueAt = performance.now() + timeoutMs;
  if (!(await settlesWithin(exited, timeoutMs))) return false;
  // The rest tells nobody when it ends.
  for (let pollMs = FIRST_POLL_MS; family.isAlive(); pollMs = Math.min(2 * pollMs, LAST_POLL_MS)) {
    const leftMs = dueAt - performance.now();
    if (leftMs <= 0) return false;
    onStillAlive?.();
    await delay(Math.min(pollMs, leftMs));
  }
  return true;
}

async function settlesWithin(promise: Promise<unknown>, timeoutMs: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<boolean>((resolve) => {
    timer = setTimeout(resolve, timeoutMs, false);
  });
  try {
    return await Promise.race([promise.then(() => true), timeout]);
  } finally {
    clearTimeout(timer);
  }
}

/** Lets a reader have what is in the pipe, then closes it. A stream that nobody reads is closed at once. */
async function drain(output: Readable): Promise<void> {
  const isRead = output.readableFlowing !== null || output.listenerCount('readable') > 0;
  if (isRead && !output.closed) {
    await settlesWithin(new Promise((resolve) => output.once('close', resolve)), DRAIN_MS);
  }
  output.destroy();
}
