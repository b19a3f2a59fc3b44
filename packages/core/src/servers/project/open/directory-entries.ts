// What is in a directory that is held open: its entries, whatever bytes their names have, and the tree below it, walked
// without following a link.

import type { BigIntStats, Dirent } from 'node:fs';
import { lstat, opendir, readdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { ToolError } from '../../../contract/errors.js';
import { errnoOf } from './file-failure.js';
import { openPath, type OpenedPath } from './opened-path.js';
import { quote, type ProjectScope, type ScopePath } from '../scope/project-scope.js';

/** What tools call the kinds of files. */
export type EntryType = 'file' | 'dir' | 'symlink' | 'other';

/** An entry of an open directory. */
export interface DirectoryEntry {
  /** What is not UTF-8 in it is shown as `\xNN`. */
  name: string;
  /** For calls of `node:fs`: reaches it whatever bytes its name has. */
  address: string | Buffer;
  /** As the directory says, or, where it does not, a look. */
  type: EntryType;
}

/** Each directory on the way down is held open. */
const MAX_DEPTH = 500;
/** What a directory of some 10,000 entries says of its size; where it says less, memory is what a million costs at most. */
const MAX_SIZE_AT_ONCE = 256 * 1024;
const BATCH_ENTRIES = 1_000;

/** The kind of a file, by its stats or by its directory's entry. */
export function entryTypeOf(stats: Pick<BigIntStats | Dirent, 'isFile' | 'isDirectory' | 'isSymbolicLink'>): EntryType {
  if (stats.isFile()) return 'file';
  if (stats.isDirectory()) return 'dir';
  return stats.isSymbolicLink() ? 'symlink' : 'other';
}

/** The entries of a directory, in the order of the disk. */
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
      // Some file systems do not say what an entry is.
      const stats = await lstat(address, { bigint: true }).catch(() => undefined);
      if (stats) type = entryTypeOf(stats);
    }
    yield { name: showName(entry.name), address, type };
  }
}

/**
 * As {@link entriesOf}, many at a time, for those who look at every entry of a tree: a directory that says it is small is
 * read at once, which costs a tenth.
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

/** The path of an entry, for judging it. */
export function entryPath(scope: ProjectScope, directory: OpenedPath, name: string): ScopePath {
  const path = scope.find(join(directory.path.absolute, name));
  if (!path) throw scope.outside(directory.path.shown); // the directory is inside, so what is in it is too
  return path;
}

/**
 * Opens a directory that is an entry of an open one. Close it.
 *
 * @throws {ToolError} OUTSIDE_PROJECT; INVALID_ARGUMENT for a name that is not UTF-8; or what the system says, ELOOP or
 * ENOTDIR when it is a directory no more
 */
export async function openSubdirectory(
  scope: ProjectScope,
  asked: ScopePath,
  directory: OpenedPath,
  entry: Pick<DirectoryEntry, 'name' | 'address'>,
): Promise<OpenedPath> {
  if (typeof entry.address !== 'string') {
    throw new ToolError(
      'INVALID_ARGUMENT',
      `${quote(entryPath(scope, directory, entry.name).shown)} is a directory whose name is not UTF-8. Rename it in a shell first.`,
    );
  }
  return openPath(scope, entry.address, asked, { directory: true, follow: false });
}

/**
 * Visits everything below an open directory, each directory before what is in it. What goes away meanwhile is left out.
 *
 * @param visit is told of the entry's path below the directory as well, with `/`; throws to stop
 * @throws {ToolError} TOO_LARGE for a tree of more than 500 levels
 */
export async function walkTree(
  scope: ProjectScope,
  asked: ScopePath,
  directory: OpenedPath,
  visit: (entry: DirectoryEntry, path: ScopePath, below: string) => void,
  prefix = '',
  level = 1,
): Promise<void> {
  assertDepth(asked, level);
  for await (const entry of entriesOf(directory)) {
    const below = prefix + entry.name;
    visit(entry, entryPath(scope, directory, entry.name), below);
    if (entry.type !== 'dir') continue;
    let subdirectory: OpenedPath;
    try {
      subdirectory = await openSubdirectory(scope, asked, directory, entry);
    } catch (error) {
      if (['ENOENT', 'ENOTDIR', 'ELOOP'].includes(errnoOf(error) ?? '')) continue;
      throw error;
    }
    await using held = subdirectory;
    await walkTree(scope, asked, held, visit, `${below}/`, level + 1);
  }
}

/** @throws {ToolError} TOO_LARGE */
export function assertDepth(asked: ScopePath, level: number): void {
  if (level <= MAX_DEPTH) return;
  throw new ToolError(
    'TOO_LARGE',
    `${quote(asked.shown)} has more than ${MAX_DEPTH} levels of directories. Begin with a directory further down.`,
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
  // Every byte from 0x80 on is shown by its number: which of them belong together cannot be told.
  return bytes.toString('latin1').replace(/[\x80-\xff]/g, (byte) => `\\x${byte.charCodeAt(0).toString(16)}`);
}
