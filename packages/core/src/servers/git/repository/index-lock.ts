// Waits a short time for git's index lock, then reports it.

import { lstat } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { ToolError } from '../../../contract/errors.js';
import { errnoOf } from '../../project/open/file-failure.js';

const TRIES = 4;
const PAUSE_MS = 200;

/**
 * Resolves when the index is not locked.
 *
 * @throws {ToolError} LOCKED when it stays locked, with advice about a stale lock
 */
export async function waitForIndexLock(gitDir: string, signal: AbortSignal): Promise<void> {
  for (let tries = 1; ; tries++) {
    const madeAt = await timeOf(join(gitDir, 'index.lock'));
    if (madeAt === undefined) return;
    if (tries === TRIES) {
      const seconds = Math.max(0, Math.round((Date.now() - madeAt) / 1_000));
      throw new ToolError(
        'LOCKED',
        `The index is locked (index.lock in the repository's .git, ${seconds} s old): another git process is running. Try again; ` +
          'if none is running, one was killed, and the operator must delete that file.',
        { details: { age_s: seconds } },
      );
    }
    await delay(PAUSE_MS, undefined, { signal });
  }
}

async function timeOf(path: string): Promise<number | undefined> {
  try {
    return (await lstat(path)).mtimeMs;
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return undefined;
    throw error;
  }
}
