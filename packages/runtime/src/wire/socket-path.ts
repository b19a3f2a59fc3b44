// Where a host listens: a socket in a fresh directory that only this user can enter, bound so that no other user can
// connect at any moment. If that cannot be ensured, it fails. Only sockets of this process are unlinked.

import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdtempSync,
  renameSync,
  rmdirSync,
  statSync,
  unlinkSync,
  type BigIntStats,
} from 'node:fs';
import type { Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ToolError } from '@toolwright/core';
import { directoryPrefix, removeStaleDirectories } from './stale-directories.js';

/** Systems accept 104 to 108 bytes, and Node truncates longer paths silently: two could become one. */
export const MAX_SOCKET_PATH_BYTES = 100;

/** What mkdtemp adds to a name. */
const RANDOM_BYTES = 6;
const ON_WINDOWS = process.platform === 'win32';
const SOCKET_NAME = 's';
/** Bound under another name and renamed: see bindPrivately(). */
const BOUND_NAME = 's.new';
/** The directories where sockets of killed hosts were removed already. */
const swept = new Set<string>();

/** A socket that this process listens on. */
export interface BoundSocket {
  readonly path: string;
  /** False when the file was removed or replaced. */
  isThere(): boolean;
  /** Its directory, if the file was removed and not replaced: the next one may be created there. */
  vacantDirectory(): string | undefined;
  /** Removes the file and its directory, if they belong to this process. Called when the server has closed. */
  remove(): void;
}

/** @throws {ToolError} INVALID_ARGUMENT for a path that a system would truncate, or one without a file name */
export function assertSocketPath(path: string): void {
  if (ON_WINDOWS) return;
  const bytes = Buffer.byteLength(path);
  if (path.startsWith('\0') || path === '') {
    throw new ToolError(
      'INVALID_ARGUMENT',
      'A socket needs a path in the file system; other sockets have no file permissions.',
    );
  }
  if (bytes > MAX_SOCKET_PATH_BYTES) {
    throw new ToolError(
      'INVALID_ARGUMENT',
      `The path of a socket has at most ${MAX_SOCKET_PATH_BYTES} bytes, and ${path} has ${bytes}. ` +
        'Set TMPDIR to a shorter directory.',
    );
  }
}

/** A fresh directory for a socket, below `base`, that only this user can enter. @throws {ToolError} PERMISSION_DENIED */
export function createSocketDirectory(base: string = tmpdir()): string {
  let directory: string;
  assertOthersCannotRename(base);
  try {
    const owned = join(base, directoryPrefix());
    // The owner is omitted from a name that would be too long with it.
    const fits = Buffer.byteLength(owned) + RANDOM_BYTES + 1 + BOUND_NAME.length <= MAX_SOCKET_PATH_BYTES;
    directory = mkdtempSync(fits ? owned : join(base, 'toolwright-'));
  } catch (cause) {
    const { code, message } = ToolError.from(cause, 'UNAVAILABLE');
    throw new ToolError(
      code,
      `No directory for a socket can be created: ${message}. Set TMPDIR to an existing directory.`,
      {
        cause,
      },
    );
  }
  try {
    assertPrivateDirectory(directory);
  } catch (error) {
    rmdirSync(directory);
    throw error;
  }
  if (!swept.has(base)) {
    swept.add(base);
    void removeStaleDirectories(base, [SOCKET_NAME, BOUND_NAME]); // no one waits for it
  }
  return directory;
}

/** Otherwise another user could put a directory in place of ours, and our provider would send its token there. */
function assertOthersCannotRename(base: string): void {
  let mode: number;
  try {
    mode = statSync(base).mode;
  } catch {
    return; // it does not exist, which mkdtemp reports
  }
  if (ON_WINDOWS || (mode & 0o002) === 0 || (mode & 0o1000) !== 0) return;
  throw new ToolError(
    'PERMISSION_DENIED',
    `No socket is created below ${base}: every user can rename its entries (mode ${(mode & 0o7777).toString(8)}). ` +
      'Set TMPDIR to a directory of your own, or give this one its sticky bit (mode 1777).',
  );
}

/** @throws {ToolError} PERMISSION_DENIED unless it is a directory of this user that no other user can enter */
export function assertPrivateDirectory(directory: string): void {
  const stats = lstatSync(directory);
  const fault = !stats.isDirectory()
    ? 'is not a directory'
    : stats.uid !== process.getuid?.()
      ? `belongs to user ${stats.uid}`
      : (stats.mode & 0o077) !== 0
        ? `can be entered by others (mode ${(stats.mode & 0o777).toString(8)})`
        : undefined;
  if (fault === undefined || ON_WINDOWS) return;
  throw new ToolError(
    'PERMISSION_DENIED',
    `No socket is created in ${directory}: it ${fault}. It must belong to this user and have mode 700.`,
  );
}

/** Where a socket is created. */
export interface BindOptions {
  backlog: number;
  /** Where a fresh directory is created. Default: the system's directory for temporary files. */
  base?: string | undefined;
  /** The directory of the socket, which is removed with it. Default: a fresh one. */
  directory?: string | undefined;
}

/**
 * Makes a new `server` listen on a new socket.
 *
 * @throws {ToolError} when the path exists, or the directory is not private
 */
export async function bindPrivately(server: Server, options: BindOptions): Promise<BoundSocket> {
  const { backlog, base, directory = ON_WINDOWS ? '' : createSocketDirectory(base) } = options;
  if (ON_WINDOWS) return bindPipe(server, backlog);
  try {
    const path = join(directory, SOCKET_NAME);
    // Bound under another name and renamed: when the server closes, Node unlinks the name that it has bound, whatever
    // that is by then.
    const bound = join(directory, BOUND_NAME);
    assertSocketPath(bound);
    assertPrivateDirectory(directory);
    for (const name of [path, bound]) assertNothingAt(name);
    await listen(server, bound, backlog);
    chmodSync(bound, 0o600);
    const { dev, ino } = lookAt(bound) as BigIntStats;
    renameSync(bound, path);
    return boundSocket(directory, path, (stats) => stats.dev === dev && stats.ino === ino && stats.isSocket());
  } catch (thrown) {
    server.close();
    removeDirectory(directory);
    throw ToolError.from(thrown, 'UNAVAILABLE');
  }
}

function boundSocket(directory: string, path: string, isOurs: (stats: BigIntStats) => boolean): BoundSocket {
  const look = (): BigIntStats | undefined => lookAt(path);
  const isThere = (): boolean => {
    const stats = look();
    return stats !== undefined && isOurs(stats);
  };
  return {
    path,
    isThere,
    vacantDirectory: () => (look() === undefined && existsSync(directory) ? directory : undefined),
    remove() {
      if (isThere()) unlinkSync(path);
      removeDirectory(directory);
    },
  };
}

/** A directory that contains other files is kept. */
function removeDirectory(directory: string): void {
  try {
    rmdirSync(directory);
  } catch {
    // Not empty, or removed already: in both cases it is not ours to change.
  }
}

/**
 * What exists at the path. Reads with `bigint`: after any other synchronous stat of a socket, Node mistakes the next
 * path that it resolves for a socket and loads modules behind a link a second time.
 * https://github.com/nodejs/node/blob/v20.20.2/lib/fs.js: `realpathSync` reads `binding.statValues`, whoever wrote them
 */
function lookAt(path: string): BigIntStats | undefined {
  return lstatSync(path, { throwIfNoEntry: false, bigint: true });
}

function assertNothingAt(path: string): void {
  if (lookAt(path) === undefined) return;
  throw new ToolError('LOCKED', `${path} already exists and is left unchanged; no socket is created.`);
}

/** The umask protects the socket between bind and chmod. A worker cannot set it; there only the directory protects. */
async function listen(server: Server, path: string, backlog: number): Promise<void> {
  const before = narrowUmask();
  const listening = new Promise<void>((resolve, reject) => {
    server.once('error', reject).once('listening', resolve);
    server.listen({ path, backlog, exclusive: true }); // binds before it returns
  });
  if (before !== undefined) process.umask(before);
  await listening;
}

function narrowUmask(): number | undefined {
  try {
    return process.umask(0o177);
  } catch {
    return undefined;
  }
}

/** The name of a pipe cannot be guessed, and the pipe ends with its process. */
async function bindPipe(server: Server, backlog: number): Promise<BoundSocket> {
  const path = `\\\\.\\pipe\\toolwright-${process.pid}-${randomBytes(16).toString('hex')}`;
  await listen(server, path, backlog);
  return { path, isThere: () => true, vacantDirectory: () => undefined, remove: () => undefined };
}
