// Placeholders for protected paths that do not exist, while a sandboxed command runs: bubblewrap can mount only on what
// exists. git ignores an empty directory, other programs nearly so, and removing one can destroy nothing. A file is empty,
// or has a text that means the same as no file.

import { processExists } from '../../../process/process-group.js';
import { constants } from 'node:fs';
import {
  link,
  lstat,
  mkdir,
  open,
  readdir,
  readFile,
  rmdir,
  unlink,
  writeFile,
  type FileHandle,
} from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { ToolError } from '../../../contract/errors.js';
import { errnoOf, fileFailure } from '../../project/open/file-failure.js';
import { PLACEHOLDER_MODES, PLACEHOLDER_TIME } from '../../project/scope/protected-paths.js';
import { hasOtherOwner, hasOwner, recordOwner, removeOwner } from './placeholder-owners.js';

/** Files that break git when they are empty, with the text that git reads like a missing file. https://git-scm.com/docs/gitrepository-layout */
const TEXTS: ReadonlyMap<string, string> = new Map([['commondir', '.\n']]);

/** How often, and after how long, to look again at a path that another process has just created. */
const MAX_TRIES = 10;
const PAUSE_MS = 10;

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
      const removal = leave(path, kind).finally(() => removing.delete(path));
      removing.set(path, removal);
      await removal;
    },
  };
}

/** True for a placeholder of this process, of another one, or of one that no longer runs. */
export async function isPlaceholder(path: string): Promise<boolean> {
  return inUse.has(path) || removing.has(path) || (await isRecorded(path));
}

/** Removes the placeholder, unless another process uses it too: then the last one removes it. */
async function leave(path: string, kind: 'file' | 'directory'): Promise<void> {
  const isShared = await hasOtherOwner(path);
  if (!isShared) await removePlaceholder(path, kind);
  await removeOwner(path);
  if (isShared && !(await hasOtherOwner(path))) await removePlaceholder(path, kind); // both left at the same time
}

async function create(path: string, kind: 'file' | 'directory'): Promise<boolean> {
  await recordOwner(path);
  try {
    if (kind === 'file') await createFile(path);
    else await createDirectory(path);
    return true;
  } catch (error) {
    const errno = errnoOf(error);
    if (errno === 'EEXIST' && (await isSoonRecorded(path))) return true; // this process owns it too from now on
    await removeOwner(path);
    if (errno === 'EACCES' || errno === 'EPERM' || errno === 'EROFS') return false;
    throw fileFailure(error, 'create a placeholder for', path);
  }
}

/**
 * A command that runs may write to the directory, and replace what was created by a link: mode and time are set on what was
 * opened, never by path.
 */
async function createDirectory(path: string): Promise<void> {
  await mkdir(path, { mode: 0o700 });
  await using directory = await open(path, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
  await directory.utimes(PLACEHOLDER_TIME, PLACEHOLDER_TIME);
  await directory.chmod(PLACEHOLDER_MODES.directory); // last: time and mode together make it a placeholder
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
  await using file = await open(temporary, 'wx', 0o600); // follows no link
  try {
    await file.writeFile(textOf(path));
    await file.chmod(PLACEHOLDER_MODES.file);
    await file.utimes(PLACEHOLDER_TIME, PLACEHOLDER_TIME);
    await link(temporary, path).catch(async (error: unknown) => {
      if (errnoOf(error) === 'EEXIST') throw error;
      await writeFile(path, textOf(path), { flag: 'wx', mode: 0o600 }); // a file system without links
    });
    await assertLinked(file, path);
  } finally {
    await unlink(temporary).catch(() => {}); // a command removed it
  }
}

/** Removes what was linked if it is not the file: a command had put something else at the temporary path. */
async function assertLinked(file: FileHandle, path: string): Promise<void> {
  const [created, linked] = await Promise.all([file.stat(), lstat(path)]);
  if (linked.isFile() && (created.nlink === 1 || created.ino === linked.ino)) return;
  await unlink(path);
  throw new ToolError('FILE_CHANGED', `Cannot create a placeholder for ${path}: a running command replaced it.`);
}

function textOf(path: string): string {
  return TEXTS.get(basename(path)) ?? '';
}

/** Waits a moment for another process that has created the path and not set its mode yet. */
async function isSoonRecorded(path: string): Promise<boolean> {
  for (let tries = 1; !(await isRecorded(path)); tries++) {
    if (tries === MAX_TRIES) return false;
    await pause(PAUSE_MS);
  }
  return true;
}

/** Its time does not count: it changes with a placeholder inside it. */
async function isRecorded(path: string): Promise<boolean> {
  try {
    const stats = await lstat(path);
    const mode = stats.mode & 0o7777;
    if (stats.isDirectory()) {
      if (mode !== PLACEHOLDER_MODES.directory || !(await holdsPlaceholders(path))) return false;
    } else if (!stats.isFile() || mode !== PLACEHOLDER_MODES.file || (await readFile(path, 'latin1')) !== textOf(path))
      return false;
    return await hasOwner(path);
  } catch {
    return false; // removed meanwhile, or not readable
  }
}

/** True for an empty directory, and for one with nothing but placeholders, as `.git` may have. */
async function holdsPlaceholders(path: string): Promise<boolean> {
  // A record is written before its placeholder is created, and removed after it.
  for (const name of await readdir(path)) if (!(await hasOwner(join(path, name)))) return false;
  return true;
}

async function removePlaceholder(path: string, kind: 'file' | 'directory'): Promise<void> {
  try {
    if (kind === 'directory') await rmdir(path);
    else if ((await lstat(path)).isFile() && (await readFile(path, 'latin1')) === textOf(path)) await unlink(path);
  } catch {
    // Outside the sandbox something was written into it or put in its place, and stays.
  }
}
