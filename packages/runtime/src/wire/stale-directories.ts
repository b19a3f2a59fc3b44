// Directories of sockets whose hosts were killed: the name says which process created one, so that a later host can
// remove it. A directory that may belong to another user or be in use is kept: a leftover is harmless, a wrong removal
// disconnects a host's providers.

import { createHash } from 'node:crypto';
import { lstat, readdir, rmdir, unlink } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { hasEnded, hostIdentity } from '@toolwright/core/process';

const PREFIX = 'toolwright-';
/**
 * `PREFIX` PLACE `-` PID `-` START `-` and the suffix of mkdtemp; numbers in base 36, as the path of a socket must be
 * short.
 */
const NAME = /^toolwright-([0-9a-f]{8})-([0-9a-z]{1,7})-([0-9a-z]{1,11})-[0-9A-Za-z]{6}$/;
/** A name without its owner, which did not fit or is unknown on this system: whether the socket is in use decides. */
const UNSIGNED_NAME = /^toolwright-[0-9A-Za-z]{6}$/;
const STICKY = 0o1000;
const WRITABLE_BY_OTHERS = 0o022;
const PROBE_MS = 1_000;

let own: { place: string; prefix: string } | undefined;

function identity(): { place: string; prefix: string } | undefined {
  if (own) return own;
  const host = hostIdentity();
  if (!host) return undefined;
  const place = createHash('sha256').update(host.place).digest('hex').slice(0, 8);
  return (own = { place, prefix: `${PREFIX}${place}-${host.pid.toString(36)}-${host.start.toString(36)}-` });
}

/** The beginning of the names that this process creates; without the owner where the system does not report one. */
export function directoryPrefix(): string {
  return identity()?.prefix ?? PREFIX;
}

/**
 * Removes from `base` the directories of this user's ended hosts, if they contain only sockets of the given names.
 * Never rejects.
 */
export async function removeStaleDirectories(base: string, socketNames: readonly string[]): Promise<void> {
  const uid = process.getuid?.();
  if (uid === undefined) return;
  const place = identity()?.place;
  try {
    const { mode, uid: owner } = await lstat(base);
    // Where other users may rename our files, a name can be made to lead elsewhere between the check and the removal.
    if ((mode & WRITABLE_BY_OTHERS) !== 0 && (mode & STICKY) === 0) return;
    if (owner !== uid && owner !== 0) return;
    for (const name of await readdir(base)) {
      if (UNSIGNED_NAME.test(name)) {
        await removeUnanswered(join(base, name), uid, socketNames).catch(() => undefined);
        continue;
      }
      const [, itsPlace, pid = '', start = ''] = NAME.exec(name) ?? [];
      if (
        itsPlace === undefined ||
        itsPlace !== place ||
        !hasEnded({ pid: parseInt(pid, 36), start: parseInt(start, 36) })
      )
        continue;
      await removeDirectory(join(base, name), uid, socketNames).catch(() => undefined); // another host was faster
    }
  } catch {
    // The directory cannot be read, so its content is unknown.
  }
}

/**
 * Removes a directory with a socket that refuses connections; one without a socket may have been created a moment ago.
 */
async function removeUnanswered(directory: string, uid: number, socketNames: readonly string[]): Promise<void> {
  for (const name of socketNames) {
    const path = join(directory, name);
    const found = await lstat(path).catch(() => undefined);
    if (found?.isSocket()) return (await refuses(path)) ? removeDirectory(directory, uid, socketNames) : undefined;
  }
}

/** True when no process listens on the socket. */
function refuses(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path);
    socket
      .once('connect', () => resolve(false))
      .once('error', ({ code }: NodeJS.ErrnoException) => {
        resolve(code === 'ECONNREFUSED');
      });
    socket.once('close', () => resolve(false)).setTimeout(PROBE_MS, () => socket.destroy());
    socket.once('connect', () => socket.destroy());
  });
}

async function removeDirectory(directory: string, uid: number, socketNames: readonly string[]): Promise<void> {
  const stats = await lstat(directory);
  if (!stats.isDirectory() || stats.uid !== uid || (stats.mode & 0o077) !== 0) return;
  for (const name of socketNames) {
    const path = join(directory, name);
    const found = await lstat(path).catch(() => undefined);
    if (found?.isSocket() && found.uid === uid) await unlink(path);
  }
  await rmdir(directory); // a directory that contains other files is kept
}
