// A socket file whose program was killed: nobody can connect to it, and nobody can bind there until it is gone.

import { linkSync, lstatSync, renameSync, unlinkSync } from 'node:fs';
import { connect } from 'node:net';
import { randomBytes } from 'node:crypto';
import { basename, dirname, join } from 'node:path';

/**
 * Moves a socket file of this user's, to which nobody listens, out of the way.
 *
 * @returns where it is now, for {@link removeMoved} once another is bound at `path`; undefined where somebody listens, where
 * it is no socket or another user's, or where that cannot be made sure of
 */
export async function moveStaleSocket(path: string): Promise<string | undefined> {
  if (process.platform === 'win32') return undefined; // a pipe goes with its process
  try {
    const before = lstatSync(path);
    if (!before.isSocket() || before.uid !== process.getuid?.()) return undefined;
    if (!(await isRefused(path))) return undefined;
    const moved = join(dirname(path), `.${basename(path).slice(0, 20)}.${randomBytes(4).toString('hex')}`);
    renameSync(path, moved);
    const after = lstatSync(moved);
    // Its number stays taken while it is there, so that no socket that was bound meanwhile can have the same.
    if (after.ino === before.ino && after.dev === before.dev && after.birthtimeMs === before.birthtimeMs) return moved;
    linkSync(moved, path); // another program had just bound there: it is put back
    unlinkSync(moved);
  } catch {
    // It has gone, or may not be touched: binding says more.
  }
  return undefined;
}

/** Never throws: what cannot be removed is in nobody's way. */
export function removeMoved(moved: string): void {
  try {
    unlinkSync(moved);
  } catch {
    // Somebody was faster.
  }
}

/** True where connecting is refused: with a listener, however busy, it is not. */
function isRefused(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path);
    socket
      .once('connect', () => resolve(false))
      .once('error', ({ code }: NodeJS.ErrnoException) => resolve(code === 'ECONNREFUSED'));
    socket.once('close', () => resolve(false)).once('connect', () => socket.destroy());
  });
}
