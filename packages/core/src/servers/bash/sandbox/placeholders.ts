// What stands where a protected path is missing while a sandboxed command runs: bubblewrap mounts on what exists only.
// An empty directory is nothing to git and next to nothing to others, and taking it away can destroy nothing. A file is
// empty, or has the text that says nothing new.

import { chmod, link, lstat, mkdir, readdir, readFile, rmdir, unlink, utimes, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { errnoOf, fileFailure } from '../../project/open/file-failure.js';
import { PLACEHOLDER_MODES } from '../../project/scope/protected-paths.js';

const { directory: MODE, file: FILE_MODE } = PLACEHOLDER_MODES;

/** What git reads as if the file was missing, where an empty one would break it. https://git-scm.com/docs/gitrepository-layout */
const TEXTS: ReadonlyMap<string, string> = new Map([['commondir', '.\n']]);

/** One stand-in, in use by one command. */
export interface StandIn {
  /** Takes it away when no other command of this process needs it. */
  remove(): Promise<void>;
}

/** One that commands of this process use. */
interface InUse {
  users: number;
  /** False when this process may not write there. */
  made: Promise<boolean>;
}

const inUse = new Map<string, InUse>();
/** Those that are being taken away: whoever needs one again waits until it is gone. */
const leaving = new Map<string, Promise<void>>();

/**
 * Puts an empty directory or file where nothing is. Undefined when this process may not write there.
 *
 * @throws {ToolError} what the system says otherwise
 */
export async function standIn(path: string, kind: 'file' | 'directory'): Promise<StandIn | undefined> {
  for (let going = leaving.get(path); going; going = leaving.get(path)) await going;
  const used = inUse.get(path) ?? { users: 0, made: make(path, kind) };
  inUse.set(path, used);
  used.users++;
  let isMade = false;
  try {
    isMade = await used.made;
  } finally {
    if (!isMade && --used.users === 0) inUse.delete(path);
  }
  if (!isMade) return undefined;
  let removed = false;
  return {
    async remove() {
      if (removed) return;
      removed = true;
      if (--used.users > 0) return;
      inUse.delete(path);
      const going = takeAway(path, kind).finally(() => leaving.delete(path));
      leaving.set(path, going);
      await going;
    },
  };
}

/** True for a path where a stand-in of this process stands, or one that a host left which runs no more. */
export async function isStandIn(path: string): Promise<boolean> {
  return inUse.has(path) || leaving.has(path) || (await wasLeft(path));
}

async function make(path: string, kind: 'file' | 'directory'): Promise<boolean> {
  try {
    if (kind === 'file') await makeFile(path);
    else await makeDirectory(path);
    return true;
  } catch (error) {
    const errno = errnoOf(error);
    if (errno === 'EACCES' || errno === 'EPERM' || errno === 'EROFS') return false;
    if (errno !== 'EEXIST' || !(await wasLeft(path))) throw fileFailure(error, 'hold the place of', path);
    await utimes(path, process.pid, process.pid); // ours from now on
    return true;
  }
}

/** The number of this process is kept as the time of the directory: a stand-in whose process is gone was left. */
async function makeDirectory(path: string): Promise<void> {
  await mkdir(path, { mode: 0o700 });
  await utimes(path, process.pid, process.pid);
  await chmod(path, MODE); // last: by it, it is known for what it is
}

/** As {@link makeDirectory}. It appears whole: git, in another process, may read it at any moment. */
async function makeFile(path: string): Promise<void> {
  const directory = dirname(path);
  const prefix = `${basename(path)}.stand-in-`;
  for (const name of await readdir(directory)) {
    const owner = name.startsWith(prefix) ? Number(name.slice(prefix.length)) : undefined;
    if (owner !== undefined && (owner === process.pid || !isRunning(owner)))
      await unlink(join(directory, name)).catch(() => {}); // another took it away
  }
  const temporary = join(directory, `${prefix}${process.pid}`);
  await writeFile(temporary, textOf(path), { flag: 'wx', mode: 0o600 });
  try {
    await chmod(temporary, FILE_MODE);
    await utimes(temporary, process.pid, process.pid);
    await link(temporary, path).catch(async (error: unknown) => {
      if (errnoOf(error) === 'EEXIST') throw error;
      await writeFile(path, textOf(path), { flag: 'wx', mode: 0o600 }); // a file system without links
    });
  } finally {
    await unlink(temporary);
  }
}

function textOf(path: string): string {
  return TEXTS.get(basename(path)) ?? '';
}

async function wasLeft(path: string): Promise<boolean> {
  try {
    const stats = await lstat(path);
    const mode = stats.mode & 0o7777;
    if (stats.isDirectory()) {
      if (mode !== MODE || (await readdir(path)).length > 0) return false;
    } else if (!stats.isFile() || mode !== FILE_MODE || (await readFile(path, 'latin1')) !== textOf(path)) return false;
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

async function takeAway(path: string, kind: 'file' | 'directory'): Promise<void> {
  try {
    if (kind === 'directory') await rmdir(path);
    else if ((await lstat(path)).isFile() && (await readFile(path, 'latin1')) === textOf(path)) await unlink(path);
  } catch {
    // Something was put into it, or in its place, from outside the sandbox: that is to stay.
  }
}
