// The directory of a store and the database in it. The directory is private to the user and ignored by git. A repository may
// contain symbolic links with these names; none is followed.

import {
  chmodSync,
  closeSync,
  lstatSync,
  mkdirSync,
  openSync,
  rmSync,
  statfsSync,
  writeFileSync,
  type Stats,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { ToolError } from '../../../contract/errors.js';
import { errnoOf, fileFailure } from '../../project/open/file-failure.js';
import { temporaryName } from '../../project/write/temporary-files.js';

/** The suffixes of a database and of the files that SQLite creates with it. https://www.sqlite.org/tempfiles.html */
export const COMPANIONS = ['', '-wal', '-shm', '-journal'] as const;

/** More than SQLite allocates at a time: its shared memory grows by 32 KiB. */
const PROBE_BYTES = 64 * 1024;

export class StorePlace {
  /** Absolute. */
  readonly directory: string;
  readonly file: string;
  /** The directory as messages show it. */
  readonly shown: string;

  /** @param directory its parent must exist and is trusted; the directory itself is not */
  constructor(directory: string, shown: string) {
    this.directory = directory;
    this.file = join(directory, 'memory.db');
    this.shown = shown;
  }

  /**
   * Identifies the current file, as distinct from another file with the same name; undefined if it does not exist.
   *
   * @throws {ToolError} OUTSIDE_PROJECT for a symbolic link, INVALID_ARGUMENT for anything but a regular file
   */
  identity(): string | undefined {
    const directory = this.#stats(this.directory);
    if (!directory) return undefined;
    if (!directory.isDirectory())
      throw new ToolError('INVALID_ARGUMENT', `${this.shown} must be a directory. Move the existing file away.`);
    let identity: string | undefined;
    for (const companion of COMPANIONS) {
      const stats = this.#stats(this.file + companion);
      if (!stats) continue;
      if (!stats.isFile())
        throw new ToolError(
          'INVALID_ARGUMENT',
          `${this.shown}/memory.db${companion} is not a regular file. Move it away.`,
        );
      if (companion === '') identity = `${stats.dev}:${stats.ino}`;
    }
    return identity;
  }

  /** As {@link identity}, without checking the directory and the other files. */
  currentIdentity(): string | undefined {
    const stats = this.#stats(this.file);
    return stats && `${stats.dev}:${stats.ino}`;
  }

  /** Creates the directory and the files that are missing. */
  create(): void {
    try {
      mkdirSync(dirname(this.directory), { recursive: true, mode: 0o700 });
      ignoreExisting(() => mkdirSync(this.directory, { mode: 0o700 }));
      this.identity(); // nothing is written through a link
      ignoreExisting(() => writeFileSync(join(this.directory, '.gitignore'), '*\n', { flag: 'wx', mode: 0o600 }));
      ignoreExisting(() => closeSync(openSync(this.file, 'wx', 0o600)));
      for (const [path, mode] of [
        [this.directory, 0o700],
        [this.file, 0o600],
      ] as const) {
        if ((lstatSync(path).mode & 0o077) !== 0) chmodSync(path, mode);
      }
    } catch (error) {
      if (ToolError.isInstance(error)) throw error;
      throw fileFailure(error, 'write', this.shown);
    }
  }

  /** What this user may still write on the disk. */
  freeBytes(): number {
    try {
      const { bavail, bsize } = statfsSync(this.directory);
      return bavail * bsize;
    } catch {
      return Infinity; // not every file system reports it
    }
  }

  /** Whether the disk, or the user's quota on it, has no room for another {@link PROBE_BYTES}. */
  isFull(): boolean {
    const probe = join(this.directory, temporaryName());
    try {
      writeFileSync(probe, Buffer.alloc(PROBE_BYTES), { flag: 'wx', mode: 0o600 });
      return false;
    } catch (error) {
      return ToolError.from(error).code === 'NO_SPACE';
    } finally {
      rmSync(probe, { force: true });
    }
  }

  #stats(path: string): Stats | undefined {
    const stats = lstatIfPresent(path);
    if (!stats?.isSymbolicLink()) return stats;
    const name = path === this.directory ? this.shown : `${this.shown}${path.slice(this.directory.length)}`;
    throw new ToolError(
      'OUTSIDE_PROJECT',
      `${name} is a symbolic link, which is not followed for memories. Remove it, or replace it with a directory.`,
    );
  }
}

/** Undefined for what does not exist, also because its directory is a file. */
export function lstatIfPresent(path: string): Stats | undefined {
  try {
    return lstatSync(path, { throwIfNoEntry: false });
  } catch (error) {
    if (errnoOf(error) === 'ENOTDIR') return undefined;
    throw error;
  }
}

function ignoreExisting(create: () => void): void {
  try {
    create();
  } catch (error) {
    if (errnoOf(error) !== 'EEXIST') throw error;
  }
}
