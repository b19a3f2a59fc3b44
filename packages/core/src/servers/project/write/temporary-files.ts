// The temporary files of atomic writes: their names, and the removal of those that a crash left. The name identifies the
// writing process, so that the file of a running writer is never removed.

import { createHash, randomBytes } from 'node:crypto';
import { readFileSync, readlinkSync } from 'node:fs';
import { lstat, opendir, unlink } from 'node:fs/promises';
import { hostname } from 'node:os';
import { errnoOf } from '../open/file-failure.js';
import type { OpenedPath } from '../open/opened-path.js';

/** `.toolwright-SYSTEM-PID-START-RANDOM.tmp` */
const TEMPORARY_NAME = /^\.toolwright-([0-9a-f]{8})-([1-9][0-9]{0,9})-([0-9]{1,20})-[0-9a-f]{12}\.tmp$/;
/**
 * Whether a writer on another machine or in another container is running cannot be determined: its files are removed at
 * this age, which is far longer than any write takes.
 */
const FOREIGN_ABANDONED_AFTER_MS = 60 * 60_000;
/** Minimum time between two cleanups of a directory, as each lists it. */
const SWEEP_EVERY_MS = 60_000;
const MAX_SWEPT_DIRECTORIES = 10_000;

/** The glob of temporary files, for ripgrep and listings. */
export const TEMPORARY_GLOB = '.toolwright-????????-*-*-????????????.tmp';

let ownPrefix: string | undefined;

/** A name for a temporary file. */
export function temporaryName(): string {
  ownPrefix ??= `.toolwright-${systemId()}-${process.pid}-${startOf(process.pid) ?? '0'}`;
  return `${ownPrefix}-${randomBytes(6).toString('hex')}.tmp`;
}

/** Whether a name is that of a temporary file. */
export function isTemporaryName(name: string): boolean {
  return TEMPORARY_NAME.test(name);
}

const sweptAt = new Map<string, number>();

/**
 * Removes the temporary files of ended writers from a directory, and returns their number. Does so at most once a minute
 * per directory. Files that it cannot remove are left.
 */
export async function removeAbandoned(directory: OpenedPath): Promise<number> {
  const key = directory.path.absolute;
  const last = sweptAt.get(key);
  if (last !== undefined && performance.now() - last < SWEEP_EVERY_MS) return 0;
  if (sweptAt.size >= MAX_SWEPT_DIRECTORIES) sweptAt.clear();
  sweptAt.set(key, performance.now());
  let removed = 0;
  try {
    for await (const { name } of await opendir(directory.address, { bufferSize: 1024 })) {
      if (!isTemporaryName(name) || !(await isAbandoned(directory.entry(name), name))) continue;
      await unlink(directory.entry(name));
      removed++;
    }
  } catch {
    // Cleaning up is optional: the write itself reports whether the directory can be used.
  }
  return removed;
}

async function isAbandoned(address: string, name: string): Promise<boolean> {
  const [, system, pid, start] = TEMPORARY_NAME.exec(name) ?? [];
  const stats = await lstat(address);
  if (!stats.isFile()) return false;
  if (system === systemId()) return !isRunning(Number(pid), start ?? '');
  // The later of both: a rename keeps the mtime and sets the ctime.
  return Date.now() - Math.max(stats.mtimeMs, stats.ctimeMs) > FOREIGN_ABANDONED_AFTER_MS;
}

/** True if unknown: /proc may hide the processes of other users, and systems without it cannot detect a reused pid. */
function isRunning(pid: number, start: string): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    if (errnoOf(error) === 'ESRCH') return false;
  }
  const now = startOf(pid);
  return now === undefined || now === start;
}

/** When a process started, in ticks since boot. https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html, field 22 */
function startOf(pid: number): string | undefined {
  const stat = textOf(() => readFileSync(`/proc/${pid}/stat`, 'latin1'));
  // The second field is the program's name in parentheses, which may contain any character.
  return stat?.slice(stat.lastIndexOf(')') + 2).split(' ')[19];
}

let ownSystem: string | undefined;

/** Identifies the scope of a pid: the machine, its boot, and the container. */
function systemId(): string {
  if (ownSystem !== undefined) return ownSystem;
  const parts = [
    hostname(),
    textOf(() => readFileSync('/proc/sys/kernel/random/boot_id', 'latin1')),
    textOf(() => readlinkSync('/proc/self/ns/pid')),
  ];
  return (ownSystem = createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 8));
}

function textOf(read: () => string): string | undefined {
  try {
    return read();
  } catch {
    return undefined; // not Linux, or hidden
  }
}
