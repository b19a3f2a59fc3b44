// Where a store lies: a directory of its own for this user alone, that git ignores, and the database in it. A repository
// may bring links under these names; none is followed.

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

/** What SQLite keeps beside a database. https://www.sqlite.org/tempfiles.html */
export const COMPANIONS = ['', '-wal', '-shm', '-journal'] as const;

/** More than SQLite takes at once: its shared memory grows by 32 KiB. */
const PROBE_BYTES = 64 * 1024;

export class StorePlace {
  /** Absolute. */
  readonly directory: string;
  readonly file: string;
  /** How messages name the directory. */
  readonly shown: string;

  /** @param directory its parent must exist, and is trusted; the directory itself is not */
  constructor(directory: string, shown: string) {
    this.directory = directory;
    this.file = join(directory, 'memory.db');
    this.shown = shown;
  }

  /**
   * What stands for this very file, another one under its name has another: undefined when there is none.
   *
   * @throws {ToolError} OUTSIDE_PROJECT for a link, INVALID_ARGUMENT for what is no file
   */
  identity(): string | undefined {
    const directory = this.#look(this.directory);
    if (!directory) return undefined;
    if (!directory.isDirectory())
      throw new ToolError('INVALID_ARGUMENT', `${this.shown} must be a directory. Move what is there away.`);
    let identity: string | undefined;
    for (const companion of COMPANIONS) {
      const stats = this.#look(this.file + companion);
      if (!stats) continue;
      if (!stats.isFile())
        throw new ToolError(
          'INVALID_ARGUMENT',
          `${this.shown}/memory.db${companion} is no regular file. Move it away.`,
        );
      if (companion === '') identity = `${stats.dev}:${stats.ino}`;
    }
    return identity;
  }

  /** As {@link identity}, looking at the database alone. */
  currentIdentity(): string | undefined {
    const stats = this.#look(this.file);
    return stats && `${stats.dev}:${stats.ino}`;
  }

  /** Makes what is missing. @throws {ToolError} what the system says */
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
      return Infinity; // a file system that does not say
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

  #look(path: string): Stats | undefined {
    const stats = lstatSync(path, { throwIfNoEntry: false });
    if (!stats?.isSymbolicLink()) return stats;
    const name = path === this.directory ? this.shown : `${this.shown}${path.slice(this.directory.length)}`;
    throw new ToolError(
      'OUTSIDE_PROJECT',
      `${name} is a link, and memories are kept only in a directory of the project's own. Replace the link by a directory, or remove it.`,
    );
  }
}

function ignoreExisting(make: () => void): void {
  try {
    make();
  } catch (error) {
    if (errnoOf(error) !== 'EEXIST') throw error;
  }
}
