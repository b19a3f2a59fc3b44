// A socket file whose program was killed: no one can connect to it, and no one can bind there until it is removed.

import { linkSync, lstatSync, renameSync, unlinkSync } from 'node:fs';
import { connect } from 'node:net';
import { randomBytes } from 'node:crypto';
import { basename, dirname, join } from 'node:path';

/**
 * Renames a stale socket file of this user.
 *
 * @returns its new path, for {@link removeMoved} after another socket is bound at `path`; undefined when a program listens on
 * it, when it is not a socket or another user's, or when that cannot be determined
 */
export async function moveStaleSocket(path: string): Promise<string | undefined> {
  if (process.platform === 'win32') return undefined; // a pipe ends with its process
  try {
    const before = lstatSync(path);
    if (!before.isSocket() || before.uid !== process.getuid?.()) return undefined;
    if (!(await isRefused(path))) return undefined;
    const moved = join(dirname(path), `.${basename(path).slice(0, 20)}.${randomBytes(4).toString('hex')}`);
    renameSync(path, moved);
    const after = lstatSync(moved);
    // A socket that was bound in between cannot have the same inode: the stale one still occupies it.
    if (after.ino === before.ino && after.dev === before.dev && after.birthtimeMs === before.birthtimeMs) return moved;
    linkSync(moved, path); // another program had just bound there: restore its socket
    unlinkSync(moved);
  } catch {
    // It was removed or is not accessible: the error of binding says why.
  }
  return undefined;
}

/** Never throws: a file that cannot be removed does no harm. */
export function removeMoved(moved: string): void {
  try {
    unlinkSync(moved);
  } catch {
    // It was removed already.
  }
}

/** True when connecting is refused. A listener, however busy, never refuses. */
function isRefused(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path);
    socket
      .once('connect', () => resolve(false))
      .once('error', ({ code }: NodeJS.ErrnoException) => resolve(code === 'ECONNREFUSED'));
    socket.once('close', () => resolve(false)).once('connect', () => socket.destroy());
  });
}
