// Resolves a requested path to a file to read, a directory, or a place to write; if it does not exist, reports which part
// is missing, with similar names.

import type { BigIntStats } from 'node:fs';
import { lstat, opendir, type FileHandle } from 'node:fs/promises';
import { basename, dirname, join, relative, sep } from 'node:path';
import { ToolError } from '../../../contract/errors.js';
import { nearestNames } from '../../../contract/nearest-names.js';
import { errnoOf, fileFailure } from './file-failure.js';
import { MadeDirectories } from '../write/made-directories.js';
import { openPath, type OpenedPath } from './opened-path.js';
import { quote, type ProjectScope, type ScopePath } from '../scope/project-scope.js';

/** Maximum number of links to follow, as in Linux. */
const MAX_LINKS = 40;
/** Attempts to open a file that keeps being replaced. */
const MAX_REPLACED = 5;
/** Names of a directory that are compared for "did you mean". */
const MAX_NAMES_COMPARED = 2_000;
/** Names of a directory that are compared with a missing one. */
const MAX_SPELLINGS_COMPARED = 100_000;

/** The existing part of a path, with links resolved, and the missing names after it. */
export interface PathReach {
  /** Inside the scope: a directory, or another file where a directory was expected. Close it. */
  opened: OpenedPath;
  missing: readonly string[];
}

/**
 * Follows a path as far as it exists. A dangling link counts as existing and is refused.
 *
 * @throws {ToolError} OUTSIDE_PROJECT, INVALID_ARGUMENT for links that form a loop, or a system error
 */
export async function reachOf(
  scope: ProjectScope,
  requested: ScopePath,
  absolute = requested.absolute,
): Promise<PathReach> {
  try {
    return { opened: await openPath(scope, absolute, requested), missing: [] };
  } catch (error) {
    if (errnoOf(error) !== 'ENOENT' && errnoOf(error) !== 'ENOTDIR') throw openFailure(error, requested);
  }
  let opened: OpenedPath | undefined;
  try {
    opened = await openPath(scope, requested.root.path, requested, { directory: true });
    const names = relative(requested.root.path, absolute).split(sep);
    for (const [index, name] of names.entries()) {
      if (!opened.stats.isDirectory()) return { opened, missing: names.slice(index) };
      const next = await openEntry(scope, requested, opened, await spellingIn(opened, name));
      if (!next) return { opened, missing: names.slice(index) };
      await opened.close();
      opened = next;
    }
    return { opened, missing: [] };
  } catch (error) {
    await opened?.close();
    throw openFailure(error, requested);
  }
}

async function openEntry(
  scope: ProjectScope,
  requested: ScopePath,
  directory: OpenedPath,
  name: string,
): Promise<OpenedPath | undefined> {
  for (let tries = 0; ; tries++) {
    try {
      return await openPath(scope, directory.entry(name), requested);
    } catch (error) {
      if (errnoOf(error) !== 'ENOENT') throw error;
      const there = await lstatIfThere(directory.entry(name));
      if (!there) return undefined;
      // Replaced while it was being opened, as by an atomic write: try again.
      if (tries < MAX_REPLACED) continue;
      if (there.isSymbolicLink()) throw scope.outside(requested.shown, 'is, or goes through, a dangling link');
      throw error;
    }
  }
}

/**
 * The name of an entry on disk. Most systems compare names byte for byte, so `é` as one code point does not find `é` as
 * two, and models and editors write either. If no entry has the exact name and one has it in another Unicode normal form,
 * that one is used.
 */
export async function spellingIn(directory: OpenedPath, name: string): Promise<string> {
  if (Buffer.byteLength(name) === name.length || (await lstatIfThere(directory.entry(name)))) return name;
  const wanted = name.normalize('NFC');
  let found: string | undefined;
  let compared = 0;
  try {
    for await (const { name: other } of await opendir(directory.address, { bufferSize: 1_024 })) {
      if (++compared > MAX_SPELLINGS_COMPARED) break;
      if (other.normalize('NFC') !== wanted) continue;
      if (found !== undefined) return name; // two look the same: ambiguous
      found = other;
    }
  } catch {
    return name; // the directory may not be listed
  }
  return found ?? name;
}

/** Opens a path. Close the result. @throws {ToolError} OUTSIDE_PROJECT; NOT_FOUND with similar names */
export async function lookUp(scope: ProjectScope, requested: ScopePath): Promise<OpenedPath> {
  const reach = await reachOf(scope, requested);
  if (reach.missing.length === 0) return reach.opened;
  try {
    throw await notFound(requested, reach);
  } finally {
    await reach.opened.close();
  }
}

/** A regular file, open for reading. Close the handle. */
export interface OpenedFile {
  /** The open file. */
  handle: FileHandle;
  /** What it really is: all links resolved. */
  path: ScopePath;
  /** The stats of the open file. */
  stats: BigIntStats;
}

/**
 * Opens a regular file for reading.
 *
 * @throws {ToolError} OUTSIDE_PROJECT; NOT_FOUND with similar names; INVALID_ARGUMENT if it is not a regular file
 */
export async function openRegularFile(scope: ProjectScope, requested: ScopePath): Promise<OpenedFile> {
  await using opened = await lookUp(scope, requested);
  assertRegular(opened.stats, requested);
  try {
    return { handle: await opened.openFile(), path: opened.path, stats: opened.stats };
  } catch (error) {
    throw fileFailure(error, 'read', requested.shown);
  }
}

/** Opens a directory. Close it. @throws {ToolError} OUTSIDE_PROJECT, NOT_FOUND; INVALID_ARGUMENT if it is not a directory */
export async function openDirectory(scope: ProjectScope, requested: ScopePath): Promise<OpenedPath> {
  const opened = await lookUp(scope, requested);
  if (opened.stats.isDirectory()) return opened;
  await opened.close();
  throw new ToolError(
    'INVALID_ARGUMENT',
    `${quote(requested.shown)} is ${kindOf(opened.stats)}, not a directory. Give its parent directory.`,
  );
}

/** The target of a write: a name in an open directory, with links followed. Close it. */
export interface WriteTarget {
  directory: OpenedPath;
  name: string;
  path: ScopePath;
  /** The existing regular file; undefined if there is none. */
  stats: BigIntStats | undefined;
  /** Removes the directories that were created for it, if they are empty. */
  undoDirectories(): Promise<void>;
  close(): Promise<void>;
}

/**
 * Finds the target of a write. A link inside the project is followed to its target, which may be in another directory;
 * every name on the way is checked.
 *
 * @param createDirs create missing parent directories, one by one, each through its open parent
 * @throws {ToolError} OUTSIDE_PROJECT (also for a dangling link), PROTECTED_PATH, NOT_FOUND, INVALID_ARGUMENT
 */
export async function openWriteTarget(
  scope: ProjectScope,
  requested: ScopePath,
  createDirs: boolean,
): Promise<WriteTarget> {
  scope.assertWritable(requested);
  if (requested.absolute === requested.root.path)
    throw new ToolError('INVALID_ARGUMENT', `${quote(requested.shown)} is a directory. Give the path of a file in it.`);
  const made = new MadeDirectories();
  let directory: OpenedPath | undefined;
  const close = async (): Promise<void> => {
    await directory?.close();
    await made.close();
  };
  try {
    directory = await openOrMake(scope, requested, dirname(requested.absolute), createDirs ? made : undefined);
    let name = await spellingIn(directory, basename(requested.absolute));
    for (let links = 0; links <= MAX_LINKS; links++) {
      const path = scope.find(join(directory.path.absolute, name));
      if (!path) throw scope.outside(requested.shown);
      scope.assertWritable(path);
      const stats = await lstatIfThere(directory.entry(name));
      if (!stats?.isSymbolicLink()) {
        if (stats) assertRegular(stats, requested);
        return { directory, name, path, stats, undoDirectories: () => made.undo(), close };
      }
      const target = await openEntry(scope, requested, directory, name);
      await target?.close();
      await directory.close();
      if (!target) continue; // the link was deleted: try again
      assertRegular(target.stats, requested);
      directory = await openPath(scope, dirname(target.path.absolute), requested, { directory: true });
      name = basename(target.path.absolute);
    }
    throw linkLoop(requested);
  } catch (error) {
    await made.undo();
    await close();
    throw openFailure(error, requested, 'write');
  }
}

/**
 * Opens a directory on the way to the requested path, following links. Close it, and `made` after it.
 *
 * @param made collects the missing directories that are created; without it they are NOT_FOUND
 * @throws {ToolError} OUTSIDE_PROJECT, PROTECTED_PATH, NOT_FOUND, INVALID_ARGUMENT; or what the system says
 */
export async function openOrMake(
  scope: ProjectScope,
  requested: ScopePath,
  absolute: string,
  made: MadeDirectories | undefined,
): Promise<OpenedPath> {
  const reach = await reachOf(scope, requested, absolute);
  let directory: OpenedPath | undefined = reach.opened;
  try {
    if (!directory.stats.isDirectory()) throw notADirectory('INVALID_ARGUMENT', requested, directory);
    if (reach.missing.length > 0 && !made) throw await notFound(requested, reach);
    for (const name of reach.missing) {
      const place = scope.find(join(directory.path.absolute, name));
      if (!place) throw scope.outside(requested.shown);
      scope.assertWritable(place);
      const parent: OpenedPath = directory;
      directory = undefined;
      await made?.make(parent, name);
      directory = await openPath(scope, parent.entry(name), requested, { directory: true, follow: false });
    }
    return directory;
  } catch (error) {
    await directory?.close();
    throw error;
  }
}

/** The error for a path that does not exist: the missing name, and similar ones. */
export async function notFound(requested: ScopePath, { opened, missing }: PathReach): Promise<ToolError> {
  if (!opened.stats.isDirectory()) return notADirectory('NOT_FOUND', requested, opened);
  const parent = opened.path.shown;
  const below = (name: string): string => (parent === '.' ? name : `${parent}/${name}`);
  const [name = ''] = missing;
  const nearest = (await nearestEntries(opened, name)).map(below);
  const what =
    missing.length === 1
      ? `${quote(requested.shown)} does not exist.`
      : `${quote(requested.shown)} does not exist: ${quote(below(name))} was not found.`;
  const next =
    nearest.length > 0
      ? `Did you mean ${nearest.map((each) => likeness(each, below(name))).join(', ')}?`
      : `${quote(parent)} is empty.`;
  return new ToolError('NOT_FOUND', `${what} ${next}`, { details: { path: requested.shown, nearest } });
}

function likeness(name: string, wanted: string): string {
  const looksTheSame = name !== wanted && name.normalize('NFC') === wanted.normalize('NFC');
  return looksTheSame ? `${quote(name)} (the same letters in different code points, ${codePoints(name)})` : quote(name);
}

function codePoints(text: string): string {
  return text.replace(/[^\x20-\x7e]/gu, (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`);
}

async function nearestEntries(directory: OpenedPath, name: string): Promise<string[]> {
  const names: string[] = [];
  try {
    for await (const entry of await opendir(directory.address)) {
      names.push(entry.name);
      if (names.length === MAX_NAMES_COMPARED) break;
    }
  } catch {
    return []; // the directory may not be listed
  }
  return nearestNames(name, names);
}

/** The error of an attempt to open a path. A ToolError is returned unchanged. */
export function openFailure(error: unknown, requested: ScopePath, action = 'open'): ToolError {
  return errnoOf(error) === 'ELOOP' ? linkLoop(requested) : fileFailure(error, action, requested.shown);
}

function notADirectory(
  code: 'INVALID_ARGUMENT' | 'NOT_FOUND',
  requested: ScopePath,
  { path, stats }: OpenedPath,
): ToolError {
  return new ToolError(
    code,
    `${quote(requested.shown)} cannot exist: ${quote(path.shown)} is ${kindOf(stats)}, not a directory. Check the path.`,
  );
}

function linkLoop(requested: ScopePath): ToolError {
  return new ToolError(
    'INVALID_ARGUMENT',
    `The links of ${quote(requested.shown)} form a loop. Give the path of the file itself.`,
  );
}

function assertRegular(stats: BigIntStats, requested: ScopePath): void {
  if (stats.isFile()) return;
  const next = stats.isDirectory()
    ? 'Use list_directory, or give the path of a file in it.'
    : 'Only regular files can be read and written.';
  throw new ToolError('INVALID_ARGUMENT', `${quote(requested.shown)} is ${kindOf(stats)}. ${next}`);
}

/** The type with an article, for messages. */
export function kindOf(stats: BigIntStats): string {
  if (stats.isFile()) return 'a file';
  if (stats.isDirectory()) return 'a directory';
  if (stats.isFIFO()) return 'a FIFO (named pipe)';
  if (stats.isSocket()) return 'a socket';
  return stats.isSymbolicLink() ? 'a link' : 'a device';
}

/** The stats of an entry, without following a link; undefined if it does not exist. */
export async function lstatIfThere(address: string | Buffer): Promise<BigIntStats | undefined> {
  try {
    return await lstat(address, { bigint: true });
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return undefined;
    throw error;
  }
}
