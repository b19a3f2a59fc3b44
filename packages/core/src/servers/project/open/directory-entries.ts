// The entries of an open directory, whatever bytes their names have, and the tree below it, walked without following links.

import type { BigIntStats, Dirent } from 'node:fs';
import { lstat, opendir, readdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { ToolError } from '../../../contract/errors.js';
import { errnoOf } from './file-failure.js';
import { openPath, type OpenedPath } from './opened-path.js';
import { quote, type ProjectScope, type ScopePath } from '../scope/project-scope.js';

/** The types of entries, as tools report them. */
export type EntryType = 'file' | 'dir' | 'symlink' | 'other';

/** An entry of an open directory. */
export interface DirectoryEntry {
  /** The name; bytes that are not UTF-8 are shown as `\xNN`. */
  name: string;
  /** A path for `node:fs` that works whatever bytes the name has. */
  address: string | Buffer;
  /** The type from the directory, or from `lstat` if the directory has none. */
  type: EntryType;
}

/** Each directory on the way down stays open. */
const MAX_DEPTH = 500;
/** The reported size of a directory of about 10,000 entries; a smaller one is read at once. */
const MAX_SIZE_AT_ONCE = 256 * 1024;
const BATCH_ENTRIES = 1_000;

/** The type of a file, from its stats or its directory entry. */
export function entryTypeOf(stats: Pick<BigIntStats | Dirent, 'isFile' | 'isDirectory' | 'isSymbolicLink'>): EntryType {
  if (stats.isFile()) return 'file';
  if (stats.isDirectory()) return 'dir';
  return stats.isSymbolicLink() ? 'symlink' : 'other';
}

/** The entries of a directory, in no particular order. */
export async function* entriesOf(directory: OpenedPath): AsyncGenerator<DirectoryEntry> {
  // Names need not be UTF-8; Node's types do not know that a directory can be read as bytes.
  const reader = (await opendir(directory.address, {
    encoding: 'buffer' as BufferEncoding,
    bufferSize: 256,
  })) as unknown as AsyncIterable<Dirent<Buffer>>;
  for await (const entry of reader) {
    const address = addressOf(directory, entry.name);
    let type = entryTypeOf(entry);
    if (type === 'other') {
      // Some file systems do not report the type of an entry.
      const stats = await lstat(address, { bigint: true }).catch(() => undefined);
      if (stats) type = entryTypeOf(stats);
    }
    yield { name: showName(entry.name), address, type };
  }
}

/**
 * As {@link entriesOf}, in batches, for walks over a whole tree: a small directory is read in one call, which is ten
 * times as fast.
 */
export async function* entryBatchesOf(directory: OpenedPath): AsyncGenerator<DirectoryEntry[]> {
  let batch: DirectoryEntry[] = [];
  if (directory.stats.size <= MAX_SIZE_AT_ONCE) {
    const dirents = (await readdir(directory.address, {
      encoding: 'buffer' as BufferEncoding,
      withFileTypes: true,
    })) as unknown as Dirent<Buffer>[];
    const prefix = directory.entry('x').slice(0, -1);
    for (const dirent of dirents) {
      const text = dirent.name.toString();
      const address = text.includes('\ufffd') ? addressOf(directory, dirent.name) : prefix + text;
      let type = entryTypeOf(dirent);
      if (type === 'other') {
        const stats = await lstat(address, { bigint: true }).catch(() => undefined);
        if (stats) type = entryTypeOf(stats);
      }
      batch.push({ name: typeof address === 'string' ? text : showName(dirent.name), address, type });
    }
    yield batch;
    return;
  }
  for await (const entry of entriesOf(directory)) {
    batch.push(entry);
    if (batch.length < BATCH_ENTRIES) continue;
    yield batch;
    batch = [];
  }
  yield batch;
}

/** The path of an entry, to check it. */
export function entryPath(scope: ProjectScope, directory: OpenedPath, name: string): ScopePath {
  const path = scope.find(join(directory.path.absolute, name));
  if (!path) throw scope.outside(directory.path.shown); // not reached: the directory is inside, and so are its entries
  return path;
}

/**
 * Opens a directory that is an entry of an open one. Close it.
 *
 * @throws {ToolError} OUTSIDE_PROJECT; INVALID_ARGUMENT for a name that is not UTF-8; or a system error, ELOOP or
 * ENOTDIR when it is no longer a directory
 */
export async function openSubdirectory(
  scope: ProjectScope,
  requested: ScopePath,
  directory: OpenedPath,
  entry: Pick<DirectoryEntry, 'name' | 'address'>,
): Promise<OpenedPath> {
  if (typeof entry.address !== 'string') {
    throw new ToolError(
      'INVALID_ARGUMENT',
      `${quote(entryPath(scope, directory, entry.name).shown)} is a directory whose name is not UTF-8. Rename it in a shell first.`,
    );
  }
  return openPath(scope, entry.address, requested, { directory: true, follow: false });
}

/**
 * Visits everything below an open directory, each directory before its entries. Entries that are deleted meanwhile are
 * skipped.
 *
 * @param visit also gets the entry's path relative to the directory, with `/`; throws to stop
 * @throws {ToolError} TOO_LARGE for a tree of more than 500 levels
 */
export async function walkTree(
  scope: ProjectScope,
  requested: ScopePath,
  directory: OpenedPath,
  visit: (entry: DirectoryEntry, path: ScopePath, below: string) => void,
  prefix = '',
  level = 1,
): Promise<void> {
  assertDepth(requested, level);
  for await (const entry of entriesOf(directory)) {
    const below = prefix + entry.name;
    visit(entry, entryPath(scope, directory, entry.name), below);
    if (entry.type !== 'dir') continue;
    let subdirectory: OpenedPath;
    try {
      subdirectory = await openSubdirectory(scope, requested, directory, entry);
    } catch (error) {
      if (['ENOENT', 'ENOTDIR', 'ELOOP'].includes(errnoOf(error) ?? '')) continue;
      throw error;
    }
    await using held = subdirectory;
    await walkTree(scope, requested, held, visit, `${below}/`, level + 1);
  }
}

/** @throws {ToolError} TOO_LARGE */
export function assertDepth(requested: ScopePath, level: number): void {
  if (level <= MAX_DEPTH) return;
  throw new ToolError(
    'TOO_LARGE',
    `${quote(requested.shown)} has more than ${MAX_DEPTH} levels of directories. Start with a subdirectory.`,
  );
}

function addressOf(directory: OpenedPath, name: Buffer): string | Buffer {
  const text = name.toString();
  const address = directory.entry(text);
  return Buffer.from(text).equals(name) ? address : Buffer.concat([Buffer.from(`${dirname(address)}/`), name]);
}

/** Bytes of a file name as text. */
export function showName(bytes: Buffer): string {
  const text = bytes.toString();
  if (!text.includes('\ufffd') || Buffer.from(text).equals(bytes)) return text;
  // Every byte from 0x80 is shown by its number, as the encoding is unknown.
  return bytes.toString('latin1').replace(/[\x80-\xff]/g, (byte) => `\\x${byte.charCodeAt(0).toString(16)}`);
}
