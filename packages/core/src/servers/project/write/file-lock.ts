// Serializes changes of a file, across all servers and processes of this machine.

import type { BigIntStats } from 'node:fs';
import { deferred } from '../../../call/waiting.js';
import { withProcessLocks } from './process-lock.js';

const tails = new Map<string, Promise<void>>();

/** Runs `run` after all earlier runs with the same key in this process have settled, in order of arrival. */
export async function withLock<T>(key: string, run: () => Promise<T>): Promise<T> {
  const before = tails.get(key);
  const { promise: tail, resolve: release } = deferred();
  tails.set(key, tail);
  await before;
  try {
    return await run();
  } finally {
    release();
    if (tails.get(key) === tail) tails.delete(key);
  }
}

/**
 * Runs `run` under the locks of several files, always taken in one order, so that two such calls never wait for each
 * other: first those of this process, then those among processes.
 *
 * @throws {ToolError} LOCKED when another process holds one of them for 30 seconds
 */
export function withFileLocks<T>(keys: readonly string[], run: () => Promise<T>): Promise<T> {
  const among = (): Promise<T> => withProcessLocks(keys, run);
  return [...new Set(keys)].sort().reduce((inner, key) => () => withLock(key, inner), among)();
}

/** Two spellings of one file have one real path; two hard links share the inode, as they are written in place. */
export function lockKeyOf(absolute: string, stats: BigIntStats | undefined): string {
  return stats && stats.nlink > 1n ? `${stats.dev}:${stats.ino}` : absolute;
}
