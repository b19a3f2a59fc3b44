// What stands where a protected path is missing while a sandboxed command runs: bubblewrap mounts on what exists only.
// An empty directory is nothing to git and next to nothing to others, and taking it away can destroy nothing.

import {
  chmodSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  rmdirSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { errnoOf, fileFailure } from '../file-failure.js';

/** A mode that nobody gives a directory otherwise: by it one is known that a host which was killed left behind. */
const MODE = 0o1700;

/** One stand-in, in use by one command. */
export interface StandIn {
  /** Takes it away when no other command of this process needs it. */
  remove(): void;
}

/** In use by commands of this process, and by how many. */
const inUse = new Map<string, number>();

/**
 * Puts an empty directory or file where nothing is. Undefined when this process may not write there.
 *
 * @throws {ToolError} what the system says otherwise
 */
export function standIn(path: string, kind: 'file' | 'directory'): StandIn | undefined {
  const users = inUse.get(path) ?? 0;
  if (users === 0) {
    try {
      if (kind === 'file') writeFileSync(path, '', { flag: 'wx', mode: 0o600 });
      else makeDirectory(path);
    } catch (error) {
      const errno = errnoOf(error);
      if (errno === 'EACCES' || errno === 'EPERM' || errno === 'EROFS') return undefined;
      if (errno !== 'EEXIST' || !wasLeft(path)) throw fileFailure(error, 'hold the place of', path);
      utimesSync(path, process.pid, process.pid); // ours from now on
    }
  }
  inUse.set(path, users + 1);
  let removed = false;
  return {
    remove() {
      if (removed) return;
      removed = true;
      const left = (inUse.get(path) ?? 1) - 1;
      if (left > 0) return void inUse.set(path, left);
      inUse.delete(path);
      takeAway(path, kind);
    },
  };
}

/** True for a path where a stand-in of this process stands, or one that a host left which runs no more. */
export function isStandIn(path: string): boolean {
  return inUse.has(path) || wasLeft(path);
}

/** The number of this process is kept as the time of the directory: a stand-in whose process is gone was left. */
function makeDirectory(path: string): void {
  mkdirSync(path, { mode: 0o700 });
  chmodSync(path, MODE);
  utimesSync(path, process.pid, process.pid);
}

function wasLeft(path: string): boolean {
  try {
    const stats = lstatSync(path);
    if (!stats.isDirectory() || (stats.mode & 0o7777) !== MODE || readdirSync(path).length > 0) return false;
    const owner = Math.round(stats.mtimeMs / 1000);
    return owner === process.pid || !isRunning(owner);
  } catch {
    return false; // gone, or not ours to look at
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return errnoOf(error) === 'EPERM';
  }
}

function takeAway(path: string, kind: 'file' | 'directory'): void {
  try {
    if (kind === 'directory') rmdirSync(path);
    else if (lstatSync(path).size === 0) unlinkSync(path);
  } catch {
    // Something was put into it, or in its place, from outside the sandbox: that is to stay.
  }
}
