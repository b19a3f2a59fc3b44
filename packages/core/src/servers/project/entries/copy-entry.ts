// Copies an entry: a file with its mode, a link as a link, a directory with its entries. Each file is created atomically;
// a directory is created entry by entry, and the copy is removed if one of them fails.

import { constants, type BigIntStats } from 'node:fs';
import { chmod, lstat, mkdir, open, readlink, rename, rmdir, symlink, unlink } from 'node:fs/promises';
import { ToolError } from '../../../contract/errors.js';
import { isTemporaryName, syncDirectory, temporaryName } from '../write/atomic-write.js';
import {
  assertDepth,
  entriesOf,
  entryPath,
  openSubdirectory,
  walkTree,
  type DirectoryEntry,
} from '../open/directory-entries.js';
import { openEntryPlace, placeTaken, renameToNew, type EntryPlace } from './entry-place.js';
import { errnoOf, fileFailure, replacedMeanwhile, wasReplaced } from '../open/file-failure.js';
import { withFileLocks } from '../write/file-lock.js';
import { leadsOutside } from '../open/link-target.js';
import { openPath, type OpenedPath } from '../open/opened-path.js';
import { kindOf } from '../open/path-lookup.js';
import type { ProjectFiles } from '../project-files.js';
import { isInside, quote, type ScopePath } from '../scope/project-scope.js';

const {
  O_WRONLY,
  O_CREAT,
  O_EXCL,
  O_NOFOLLOW = 0,
  O_NOCTTY = 0,
} = constants as Partial<typeof constants> & {
  O_WRONLY: number;
  O_CREAT: number;
  O_EXCL: number;
};

/** Larger trees are installed or built, and better created again than copied. */
const MAX_ENTRIES = 20_000;
const CHUNK_BYTES = 1024 * 1024;
/** Without the set-user-id bits, as the copy has another owner. */
const PERMISSIONS = 0o777n;

/** Options of {@link copyEntry}. */
export interface CopyEntryOptions {
  /** Replace a file or a link at the destination. Default: false. */
  overwrite?: boolean | undefined;
  /** Copy a directory with everything in it. Default: false. */
  recursive?: boolean | undefined;
  /** An abort removes the copy. */
  signal?: AbortSignal | undefined;
  /** Called with each path of a tree before any is changed; throws to refuse the whole tree. */
  assertPermitted?: ((shown: string) => void) | undefined;
  /** Called from time to time with the progress. */
  onProgress?: ((done: CopyOutcome) => void) | undefined;
}

/** The result of {@link copyEntry}. */
export interface CopyOutcome {
  /** Number of files and links. */
  files: number;
  /** Total size of the files. */
  bytes: number;
}

/**
 * Copies a file, link or directory. A link is copied as a link; a destination that is a link is itself replaced.
 *
 * @throws {ToolError} NOT_FOUND, OUTSIDE_PROJECT (also for a link that would resolve outside from its new location),
 * PROTECTED_PATH, PERMISSION_DENIED, NO_SPACE, CANCELLED; TOO_LARGE above 20,000 entries; INVALID_ARGUMENT for a
 * destination that exists or is inside the source, a directory without `recursive`, and anything but files, links and directories
 */
export async function copyEntry(
  files: ProjectFiles,
  source: string,
  destination: string,
  options: CopyEntryOptions = {},
): Promise<CopyOutcome & { overwritten: boolean }> {
  const { scope } = files;
  const from = scope.parse(source);
  const to = scope.parse(destination);
  if (isInside(from.absolute, to.absolute)) throw intoItself(from, to, 'copied');
  await using origin = await openEntryPlace(scope, from, { write: false, mustExist: true });
  if (origin.stats?.isDirectory() && !options.recursive)
    throw new ToolError(
      'INVALID_ARGUMENT',
      `${quote(from.shown)} is a directory. Set recursive to copy it with its content.`,
    );
  await using target = await openEntryPlace(scope, to, { write: true, createDirs: true });
  const copying = new Copying(files, from, options);
  const existed = target.stats !== undefined;
  let left: Leftover | undefined;
  const undo = async (error: unknown): Promise<never> => {
    left = await copying.removeMade(target);
    throw error;
  };
  try {
    if (isInside(origin.path.absolute, target.path.absolute)) throw intoItself(from, to, 'copied');
    if (target.stats && (!options.overwrite || target.stats.isDirectory() || origin.stats?.isDirectory()))
      throw placeTaken(to.shown, target.stats.isDirectory() || origin.stats?.isDirectory() === true);
    await withFileLocks([...origin.lockKeys, ...target.lockKeys], async () => {
      options.signal?.throwIfAborted();
      if (origin.stats?.isDirectory()) await copying.tree(origin, target).catch((error: unknown) => undo(error));
      else await copying.one(origin.directory, origin, target.directory, target.name, existed);
    });
  } catch (error) {
    await target.undoDirectories();
    if (left?.paths.length) announce(files, target, 'changed', true);
    throw withLeftover(
      errnoOf(error) === 'EEXIST'
        ? placeTaken(to.shown, false)
        : wasReplaced(error)
          ? replacedMeanwhile(from.shown, 'copied')
          : fileFailure(error, 'copy', from.shown),
      to,
      left,
    );
  }
  announce(files, target, existed ? 'changed' : 'created', origin.stats?.isDirectory() === true);
  return { files: copying.files, bytes: copying.bytes, overwritten: existed };
}

/** The result of removing a partial copy. */
interface Leftover {
  removed: number;
  /** Some of the paths that could not be removed. */
  paths: string[];
}

const MAX_LEFT_NAMED = 10;

function withLeftover(error: ToolError, to: ScopePath, left: Leftover | undefined): ToolError {
  if (!left || (left.removed === 0 && left.paths.length === 0)) return error;
  const { code, message, retryable, details } = error;
  const what =
    left.paths.length === 0
      ? `The partial copy in ${quote(to.shown)} was removed.`
      : `The partial copy could not be removed completely; left: ${left.paths.map(quote).join(', ')}. Check and delete it.`;
  const more = left.paths.length > 0 && { left: left.paths };
  return new ToolError(code, `${message} ${what}`, { retryable, cause: error, details: { ...details, ...more } });
}

/** The error for copying or moving a directory into itself, or a file onto itself. */
export function intoItself(from: ScopePath, to: ScopePath, done: 'copied' | 'moved'): ToolError {
  return from.absolute === to.absolute
    ? new ToolError(
        'NO_CHANGE',
        `${quote(from.shown)} is both the source and the destination. Give another destination.`,
      )
    : new ToolError(
        'INVALID_ARGUMENT',
        `${quote(from.shown)} cannot be ${done} into itself, to ${quote(to.shown)}. Give a destination outside it.`,
      );
}

/** Copies entry after entry, and counts. */
export class Copying implements CopyOutcome {
  files = 0;
  bytes = 0;
  readonly #files: ProjectFiles;
  readonly #requested: ScopePath;
  readonly #options: CopyEntryOptions;
  /** The created entries, by device and inode: entries that others created must not be removed. */
  readonly #made = new Set<string>();

  constructor(files: ProjectFiles, requested: ScopePath, options: CopyEntryOptions) {
    this.#files = files;
    this.#requested = requested;
    this.#options = options;
  }

  /** Copies a directory to a destination that does not exist. */
  async tree(origin: EntryPlace, target: EntryPlace): Promise<void> {
    const { scope } = this.#files;
    await using directory = await openSubdirectory(scope, this.#requested, origin.directory, origin);
    let entries = 0;
    // All paths are checked before any is created.
    await walkTree(scope, this.#requested, directory, (entry, path, below) => {
      this.#options.signal?.throwIfAborted();
      if (++entries > MAX_ENTRIES) throw this.#tooMany();
      if (entry.type === 'other') throw special(path);
      const place = entryPath(scope, target.directory, `${target.name}/${below}`);
      scope.assertWritable(place);
      this.#options.assertPermitted?.(path.shown);
      this.#options.assertPermitted?.(place.shown);
    });
    await this.#directory(directory, target.directory, { name: target.name, address: target.address }, 1);
  }

  /** Removes what {@link tree} has created. Never rejects. */
  async removeMade(target: EntryPlace): Promise<Leftover> {
    const left: Leftover = { removed: 0, paths: [] };
    if (this.#made.size > 0) await this.#removeMade(target.directory, target, left, 1);
    return left;
  }

  async #removeMade(
    parent: OpenedPath,
    entry: Pick<DirectoryEntry, 'name' | 'address'>,
    left: Leftover,
    level: number,
  ): Promise<void> {
    try {
      const stats = await lstat(entry.address, { bigint: true });
      if (!this.#made.has(keyOf(stats))) return;
      if (stats.isDirectory()) {
        await using directory = await openSubdirectory(this.#files.scope, this.#requested, parent, entry);
        assertDepth(this.#requested, level);
        await chmod(directory.address, 0o700); // its final mode may be set already
        const entries: DirectoryEntry[] = [];
        for await (const each of entriesOf(directory)) entries.push(each);
        for (const each of entries) await this.#removeMade(directory, each, left, level + 1);
        await parent.assertStillInside();
        await rmdir(entry.address);
      } else {
        await parent.assertStillInside();
        await unlink(entry.address);
      }
      left.removed++;
    } catch (error) {
      if (errnoOf(error) === 'ENOENT') return;
      if (left.paths.length < MAX_LEFT_NAMED) left.paths.push(entryPath(this.#files.scope, parent, entry.name).shown);
    }
  }

  /** Copies a file or a link. @throws EEXIST when the destination exists and `overwrite` is false */
  async one(
    from: OpenedPath,
    entry: Pick<DirectoryEntry, 'name' | 'address'>,
    to: OpenedPath,
    name: string,
    overwrite = false,
  ): Promise<BigIntStats | undefined> {
    const { scope } = this.#files;
    scope.assertWritable(entryPath(scope, to, name));
    const place = addressIn(to, name, entry);
    const target = await readlink(entry.address).catch((error: unknown) => {
      if (errnoOf(error) === 'EINVAL') return undefined; // not a link
      throw error;
    });
    const temporary = to.entry(temporaryName());
    let stats: BigIntStats | undefined;
    try {
      if (target === undefined) stats = await this.#bytesTo(temporary, from, entry);
      else if (await leadsOutside(scope, this.#requested, to, target)) throw this.#linkOutside(from, entry.name);
      else await symlink(target, overwrite ? temporary : place);
      if (target === undefined || overwrite) {
        this.#options.signal?.throwIfAborted();
        await to.assertStillInside();
        if (overwrite || !stats) await rename(temporary, place);
        else await renameToNew(temporary, stats, place);
      }
      if (this.#files.fsync) await syncDirectory(to);
    } catch (error) {
      await unlink(temporary).catch(() => {}); // not created, or already renamed
      throw error;
    }
    this.files++;
    if (this.files % 100 === 0) this.#options.onProgress?.(this);
    return stats;
  }

  async #directory(
    from: OpenedPath,
    parent: OpenedPath,
    place: Pick<DirectoryEntry, 'name' | 'address'>,
    level: number,
  ): Promise<void> {
    assertDepth(this.#requested, level);
    const { scope } = this.#files;
    scope.assertWritable(entryPath(scope, parent, place.name));
    await parent.assertStillInside();
    await mkdir(place.address, 0o700);
    await using to = await openSubdirectory(scope, this.#requested, parent, place);
    this.#made.add(keyOf(to.stats));
    for await (const entry of entriesOf(from)) {
      this.#options.signal?.throwIfAborted();
      if (isTemporaryName(entry.name)) continue; // a write in progress
      if (entry.type === 'dir') {
        await using below = await openSubdirectory(scope, this.#requested, from, entry);
        await this.#directory(below, to, { name: entry.name, address: to.entry(entry.name) }, level + 1);
      } else {
        const stats = await this.one(from, entry, to, entry.name);
        this.#made.add(keyOf(stats ?? (await lstat(to.entry(entry.name), { bigint: true }))));
      }
    }
    // Last, as the mode may not permit writing.
    await chmod(to.address, Number(from.stats.mode & PERMISSIONS));
  }

  async #bytesTo(
    temporary: string,
    from: OpenedPath,
    entry: Pick<DirectoryEntry, 'name' | 'address'>,
  ): Promise<BigIntStats> {
    if (typeof entry.address !== 'string') {
      throw new ToolError('INVALID_ARGUMENT', `${quote(entry.name)} has a name that is not UTF-8. Copy it in a shell.`);
    }
    await using opened = await openPath(this.#files.scope, entry.address, this.#requested, { follow: false });
    // It was not a directory when it was listed.
    if (opened.stats.isDirectory()) throw Object.assign(new Error(), { code: 'EISDIR' });
    if (!opened.stats.isFile()) throw special(entryPath(this.#files.scope, from, entry.name), opened.stats);
    await using source = await opened.openFile();
    await using handle = await open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_NOCTTY, 0o600);
    const size = Number(opened.stats.size);
    const buffer = Buffer.allocUnsafe(Math.min(size, CHUNK_BYTES));
    let position = 0;
    // Only up to its initial size: copying a growing log might never end.
    while (position < size) {
      this.#options.signal?.throwIfAborted();
      const { bytesRead } = await source.read(buffer, 0, Math.min(buffer.length, size - position), position);
      if (bytesRead === 0) break;
      for (let done = 0; done < bytesRead;) {
        done += (await handle.write(buffer, done, bytesRead - done, position + done)).bytesWritten;
      }
      position += bytesRead;
      this.bytes += bytesRead;
      if (position % (32 * CHUNK_BYTES) === 0) this.#options.onProgress?.(this);
    }
    await handle.chmod(Number(opened.stats.mode & PERMISSIONS));
    if (this.#files.fsync) await handle.sync();
    return await handle.stat({ bigint: true });
  }

  #linkOutside(from: OpenedPath, name: string): ToolError {
    const { shown } = entryPath(this.#files.scope, from, name);
    return this.#files.scope.outside(shown, 'is a link that would resolve outside the project from its new location');
  }

  #tooMany(): ToolError {
    return new ToolError(
      'TOO_LARGE',
      `${quote(this.#requested.shown)} contains more than ${MAX_ENTRIES} files and directories; nothing was copied. Copy parts of it.`,
    );
  }
}

function keyOf({ dev, ino }: BigIntStats): string {
  return `${dev}:${ino}`;
}

/** @throws {ToolError} INVALID_ARGUMENT for a name that is not UTF-8, as paths are checked as text. */
function addressIn(to: OpenedPath, name: string, entry: Pick<DirectoryEntry, 'address'>): string {
  if (typeof entry.address === 'string') return to.entry(name);
  throw new ToolError('INVALID_ARGUMENT', `${quote(name)} has a name that is not UTF-8. Copy it in a shell.`);
}

function special(path: ScopePath, stats?: BigIntStats): ToolError {
  const kind = stats ? kindOf(stats) : 'a FIFO, a socket or a device';
  return new ToolError(
    'INVALID_ARGUMENT',
    `${quote(path.shown)} is ${kind}. Only files, links and directories can be copied.`,
  );
}

function announce(files: ProjectFiles, { path }: EntryPlace, kind: 'created' | 'changed', directory: boolean): void {
  const { shown, absolute } = path;
  files.announce({ path: shown, absolute, kind, ...(directory && { directory: true as const }) });
}
