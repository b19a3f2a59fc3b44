// Opens a path and verifies that the opened object is inside: the path is checked again on the open handle, so that a
// link swapped in between has no effect. Files are then created and renamed through that handle.

import { constants, type BigIntStats } from 'node:fs';
import { lstat, open, readlink, realpath, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { ToolError } from '../../../contract/errors.js';
import { quote, type ProjectScope, type ScopePath } from '../scope/project-scope.js';

/**
 * O_PATH: opens a name without opening the file, so that a device, FIFO or tape is not affected. Linux, every architecture that
 * Node runs on; Node has no name for it. https://man7.org/linux/man-pages/man2/open.2.html
 */
const O_PATH = 0o10000000;

// Not defined on Windows, where they are not needed.
const {
  O_RDONLY,
  O_NOFOLLOW = 0,
  O_DIRECTORY = 0,
  O_NONBLOCK = 0,
  O_NOCTTY = 0,
} = constants as Partial<typeof constants> & {
  O_RDONLY: number;
};

/**
 * How often a path is checked after it was opened if descriptors have no paths. Each check halves the chance of a process
 * that keeps swapping it; none removes it.
 */
const LOOKS = 3;

/** How a path is opened. */
export interface OpenPathOptions {
  /** False: a link in the last place is an error. Links before it are always followed. Default: true. */
  follow?: boolean;
  /** Fail with ENOTDIR if it is not a directory. Default: false. */
  directory?: boolean;
}

/** An open file or directory inside the scope. Its address reaches it even if its path changes. */
export class OpenedPath implements AsyncDisposable {
  /** The real path, with all links resolved. */
  readonly path: ScopePath;
  /** The stats of the open descriptor. */
  readonly stats: BigIntStats;
  readonly #scope: ProjectScope;
  readonly #handle: FileHandle | undefined;

  constructor(scope: ProjectScope, path: ScopePath, stats: BigIntStats, handle: FileHandle | undefined) {
    this.#scope = scope;
    this.path = path;
    this.stats = stats;
    this.#handle = handle;
  }

  /** A path for `node:fs`. By descriptor it is this very object; by inode it is its real path. */
  get address(): string {
    return this.#handle && this.#scope.verification === 'descriptor'
      ? descriptorPath(this.#handle)
      : this.path.absolute;
  }

  /** The address of an entry of this directory. */
  entry(name: string): string {
    return join(this.address, name);
  }

  /** Opens the file itself, for reading by default. Close the handle separately. */
  async openFile(flags: number = O_RDONLY): Promise<FileHandle> {
    const handle = await open(
      this.address,
      flags | O_NONBLOCK | O_NOCTTY | (this.#scope.verification === 'inode' ? O_NOFOLLOW : 0),
    );
    if (this.#scope.verification === 'inode') {
      const stats = await handle.stat({ bigint: true });
      if (stats.dev !== this.stats.dev || stats.ino !== this.stats.ino) {
        await handle.close();
        throw swapped(this.path.shown);
      }
    }
    return handle;
  }

  /** Checks that this directory is still inside, before an entry in it is replaced. @throws {ToolError} OUTSIDE_PROJECT */
  async assertStillInside(): Promise<void> {
    if (this.#handle && this.#scope.verification === 'descriptor') {
      if (!this.#scope.find(await readlink(descriptorPath(this.#handle)))) throw swapped(this.path.shown);
      return;
    }
    if (!(await isStillAt(this.path.absolute, this.path.absolute, this.stats))) throw swapped(this.path.shown);
  }

  /** Closes the descriptor. */
  async close(): Promise<void> {
    await this.#handle?.close();
  }

  /** Closes the descriptor, for `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

/**
 * Opens the object at `address`, following links, and returns it if it is inside the scope. System errors (ENOENT,
 * ENOTDIR, ELOOP) are thrown unchanged, for the caller to explain.
 *
 * @param requested the requested path, for messages
 * @throws {ToolError} OUTSIDE_PROJECT when it is, or resolves, outside
 */
export function openPath(
  scope: ProjectScope,
  address: string,
  requested: ScopePath,
  options: OpenPathOptions = {},
): Promise<OpenedPath> {
  return scope.verification === 'descriptor'
    ? openByDescriptor(scope, address, requested, options)
    : openByInode(scope, address, requested, options);
}

async function openByDescriptor(
  scope: ProjectScope,
  address: string,
  requested: ScopePath,
  { follow = true, directory = false }: OpenPathOptions,
): Promise<OpenedPath> {
  const handle = await open(address, O_PATH | (follow ? 0 : O_NOFOLLOW) | (directory ? O_DIRECTORY : 0));
  try {
    const real = await readlink(descriptorPath(handle));
    const stats = await handle.stat({ bigint: true });
    if (stats.isSymbolicLink()) throw systemError('ELOOP');
    const path = scope.find(real);
    if (!path) throw leadsOutside(scope, requested);
    // The kernel appends " (deleted)" to the path of a deleted file.
    if (stats.nlink === 0n) throw systemError('ENOENT');
    return new OpenedPath(scope, path, stats, handle);
  } catch (error) {
    await handle.close();
    throw error;
  }
}

async function openByInode(
  scope: ProjectScope,
  address: string,
  requested: ScopePath,
  { follow = true, directory = false }: OpenPathOptions,
): Promise<OpenedPath> {
  if (!follow && (await lstat(address)).isSymbolicLink()) throw systemError('ELOOP');
  const path = scope.find(await realpath(address));
  if (!path) throw leadsOutside(scope, requested);
  const stats = await lstat(path.absolute, { bigint: true });
  if (stats.isSymbolicLink()) throw swapped(requested.shown);
  if (directory && !stats.isDirectory()) throw systemError('ENOTDIR');
  // Anything but a regular file is recognized by its stats and never opened.
  const handle = stats.isFile() ? await open(path.absolute, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY) : undefined;
  try {
    const opened = (await handle?.stat({ bigint: true })) ?? stats;
    const same = opened.dev === stats.dev && opened.ino === stats.ino;
    if (!same || !(await isStillAt(address, path.absolute, opened))) throw swapped(requested.shown);
    return new OpenedPath(scope, path, opened, handle);
  } catch (error) {
    await handle?.close();
    throw error;
  }
}

/** Whether `address` resolves to `absolute` and has these `stats`, in several consecutive checks. */
async function isStillAt(address: string, absolute: string, { dev, ino }: BigIntStats): Promise<boolean> {
  for (let look = 0; look < LOOKS; look++) {
    const now = await lstat(absolute, { bigint: true });
    if (now.dev !== dev || now.ino !== ino || (await realpath(address)) !== absolute) return false;
  }
  return true;
}

/** https://man7.org/linux/man-pages/man5/proc_pid_fd.5.html */
function descriptorPath(handle: FileHandle): string {
  return `/proc/self/fd/${handle.fd}`;
}

function leadsOutside(scope: ProjectScope, requested: ScopePath): ToolError {
  return scope.outside(requested.shown, 'resolves outside the project through a link');
}

function swapped(shown: string): ToolError {
  return new ToolError(
    'OUTSIDE_PROJECT',
    `${quote(shown)} was moved or replaced while it was being opened. Check it, then try again.`,
  );
}

function systemError(code: string): Error {
  return Object.assign(new Error(code), { code });
}
