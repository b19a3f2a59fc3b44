// Placeholders for protected paths that do not exist, while a sandboxed command runs: bubblewrap can mount only on what
// exists. git ignores an empty directory, other programs nearly so, and removing one can destroy nothing. A file is empty,
// or has a text that means the same as no file.

import { processExists } from '../../../process/process-group.js';
import { chmod, link, lstat, mkdir, readdir, readFile, rmdir, unlink, utimes, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { errnoOf, fileFailure } from '../../project/open/file-failure.js';
import { PLACEHOLDER_MODES, PLACEHOLDER_TIME } from '../../project/scope/protected-paths.js';
import { isLeftBehind, recordOwner, removeOwner } from './placeholder-owners.js';

/** Files that break git when they are empty, with the text that git reads like a missing file. https://git-scm.com/docs/gitrepository-layout */
const TEXTS: ReadonlyMap<string, string> = new Map([['commondir', '.\n']]);

/** A placeholder in use by one command. */
export interface Placeholder {
  /** Removes it once no command of this process uses it. Never rejects. */
  remove(): Promise<void>;
}

interface InUse {
  users: number;
  /** False when this process may not write there. */
  created: Promise<boolean>;
}

const inUse = new Map<string, InUse>();
/** Placeholders that are being removed: a command that needs one again waits. */
const removing = new Map<string, Promise<void>>();

/**
 * Creates an empty directory or file at a path that does not exist, or shares the one that another command uses. Undefined
 * when this process may not write there.
 *
 * @throws {ToolError} the system's reason otherwise
 */
export async function createPlaceholder(path: string, kind: 'file' | 'directory'): Promise<Placeholder | undefined> {
  for (let removal = removing.get(path); removal; removal = removing.get(path)) await removal;
  const entry = inUse.get(path) ?? { users: 0, created: create(path, kind) };
  inUse.set(path, entry);
  entry.users++;
  let isCreated = false;
  try {
    isCreated = await entry.created;
  } finally {
    if (!isCreated && --entry.users === 0) inUse.delete(path);
  }
  if (!isCreated) return undefined;
  let isRemoved = false;
  return {
    async remove() {
      if (isRemoved) return;
      isRemoved = true;
      if (--entry.users > 0) return;
      inUse.delete(path);
      const removal = removePlaceholder(path, kind)
        .then(() => removeOwner(path))
        .finally(() => removing.delete(path));
      removing.set(path, removal);
      await removal;
    },
  };
}

/** True for a placeholder of this process, and for one of a host that no longer runs. */
export async function isOwnPlaceholder(path: string): Promise<boolean> {
  return inUse.has(path) || removing.has(path) || (await wasLeftBehind(path));
}

async function create(path: string, kind: 'file' | 'directory'): Promise<boolean> {
  await recordOwner(path);
  try {
    if (kind === 'file') await createFile(path);
    else await createDirectory(path);
    return true;
  } catch (error) {
    const errno = errnoOf(error);
    if (errno === 'EEXIST' && (await wasLeftBehind(path))) return true; // owned by this process from now on
    await removeOwner(path);
    if (errno === 'EACCES' || errno === 'EPERM' || errno === 'EROFS') return false;
    throw fileFailure(error, 'create a placeholder for', path);
  }
}

async function createDirectory(path: string): Promise<void> {
  await mkdir(path, { mode: 0o700 });
  await utimes(path, PLACEHOLDER_TIME, PLACEHOLDER_TIME);
  await chmod(path, PLACEHOLDER_MODES.directory); // last: time and mode together make it a placeholder
}

/** Written elsewhere and linked to its place: git, in another process, may read it at any moment. */
async function createFile(path: string): Promise<void> {
  const directory = dirname(path);
  const prefix = `${basename(path)}.placeholder-of-`;
  for (const name of await readdir(directory)) {
    const owner = name.startsWith(prefix) ? Number(name.slice(prefix.length)) : undefined;
    if (owner !== undefined && (owner === process.pid || !processExists(owner)))
      await unlink(join(directory, name)).catch(() => {}); // another host removed it
  }
  const temporary = join(directory, `${prefix}${process.pid}`);
  await writeFile(temporary, textOf(path), { flag: 'wx', mode: 0o600 });
  try {
    await chmod(temporary, PLACEHOLDER_MODES.file);
    await utimes(temporary, PLACEHOLDER_TIME, PLACEHOLDER_TIME);
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

/** Its time does not count: it changes with a placeholder inside it. */
async function wasLeftBehind(path: string): Promise<boolean> {
  try {
    const stats = await lstat(path);
    const mode = stats.mode & 0o7777;
    if (stats.isDirectory()) {
      if (mode !== PLACEHOLDER_MODES.directory || (await readdir(path)).length > 0) return false;
    } else if (!stats.isFile() || mode !== PLACEHOLDER_MODES.file || (await readFile(path, 'latin1')) !== textOf(path))
      return false;
    return await isLeftBehind(path);
  } catch {
    return false; // removed meanwhile, or not readable
  }
}

async function removePlaceholder(path: string, kind: 'file' | 'directory'): Promise<void> {
  try {
    if (kind === 'directory') await rmdir(path);
    else if ((await lstat(path)).isFile() && (await readFile(path, 'latin1')) === textOf(path)) await unlink(path);
  } catch {
    // Outside the sandbox something was written into it or put in its place, and stays.
  }
}
