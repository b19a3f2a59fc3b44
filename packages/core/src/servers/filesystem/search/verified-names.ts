// Checks names that a search by path has found: each directory on the way is opened through its parent, never through a
// link, so that names found through a short-lived link are detected.

import { isUtf8 } from 'node:buffer';
import { constants } from 'node:fs';
import { open, realpath, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { errnoOf } from '../../project/open/file-failure.js';
import { openPath, type OpenedPath } from '../../project/open/opened-path.js';
import type { ProjectScope, ScopePath } from '../../project/scope/project-scope.js';
import { compareKeys } from './path-order.js';

/** Where names are verified. */
export interface NamesBelow {
  scope: ProjectScope;
  requested: ScopePath;
  /** Held by the caller. */
  directory: OpenedPath;
  signal: AbortSignal;
}

/** Twice the number of threads that Node has for files, so that none is idle. */
const AT_ONCE = 8;
/** The maximum number of descriptors that one path takes. */
const MAX_LEVELS = 500;

const {
  O_RDONLY,
  O_DIRECTORY = 0,
  O_NOFOLLOW = 0,
  O_NONBLOCK = 0,
  O_NOCTTY = 0,
} = constants as Partial<typeof constants> & {
  O_RDONLY: number;
};

/** An open directory. */
interface Held {
  address: string;
  close(): Promise<void>;
}

/** One directory of a path, from the top. */
interface Level {
  name: string;
  /** Undefined when the directory does not exist. */
  held: Held | undefined;
}

/**
 * Calls `visit` for each item, some concurrently, with the address of its entry in a directory that is held open
 * meanwhile; undefined when the directory does not exist below this one. The entry itself was not checked: it may be a
 * link.
 *
 * @param items by their paths below the directory, as `orderKey` has them
 * @throws {ToolError} CANCELLED
 */
export async function visitNames<T extends { key: string }>(
  below: NamesBelow,
  items: readonly T[],
  visit: (item: T, address: string | Buffer | undefined) => Promise<void>,
): Promise<void> {
  const sorted = [...items].sort((a, b) => compareKeys(a.key, b.key));
  const size = Math.ceil(sorted.length / AT_ONCE);
  const parts = Array.from({ length: AT_ONCE }, (_, part) => sorted.slice(part * size, (part + 1) * size));
  const ends = await Promise.allSettled(
    parts.map(async (part) => {
      const levels: Level[] = [];
      try {
        for (const item of part) {
          below.signal.throwIfAborted();
          const names = item.key.split('/');
          const name = names.pop() ?? '';
          const directory = await descend(below, levels, names);
          await visit(item, directory && addressOf(directory, name));
        }
      } finally {
        await closeFrom(levels, 0);
      }
    }),
  );
  for (const end of ends) if (end.status === 'rejected') throw end.reason as Error;
}

/** Opens a regular file at an address of {@link visitNames}; undefined when it is none, or is gone. */
export async function openEntryFile(scope: ProjectScope, address: string | Buffer): Promise<FileHandle | undefined> {
  let handle: FileHandle | undefined;
  try {
    handle = await open(address, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    const isThis = scope.verification === 'descriptor' || (await realpath(address)) === address.toString();
    if (isThis && (await handle.stat()).isFile()) return handle;
  } catch (error) {
    if (errnoOf(error) === undefined) throw error;
  }
  await handle?.close();
  return undefined;
}

/** Opens the directory of these names level by level, reusing levels that are open. */
async function descend(
  { scope, requested, directory }: NamesBelow,
  levels: Level[],
  names: readonly string[],
): Promise<Pick<Held, 'address'> | undefined> {
  let same = 0;
  while (same < levels.length && same < names.length && levels[same]?.name === names[same]) same++;
  await closeFrom(levels, same);
  for (const name of names.slice(same)) {
    const parent = levels.length === 0 ? directory : levels.at(-1)?.held;
    const address = parent && levels.length < MAX_LEVELS ? addressOf(parent, name) : undefined;
    levels.push({ name, held: address === undefined ? undefined : await hold(scope, requested, address) });
  }
  return levels.length === 0 ? directory : levels.at(-1)?.held;
}

async function hold(scope: ProjectScope, requested: ScopePath, address: string | Buffer): Promise<Held | undefined> {
  try {
    if (scope.verification === 'descriptor') {
      // One name in a directory that is inside, and not a link: nothing more to check.
      const handle = await open(address, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK);
      return { address: `/proc/self/fd/${handle.fd}`, close: () => handle.close() };
    }
    if (typeof address !== 'string') return undefined; // resolved by its path it would be another name
    const opened = await openPath(scope, address, requested, { directory: true, follow: false });
    // An address by path may have led through a link above.
    if (opened.path.absolute === address) return opened;
    await opened.close();
  } catch {
    // gone, or a link now: nothing below it can be answered
  }
  return undefined;
}

async function closeFrom(levels: Level[], from: number): Promise<void> {
  for (const { held } of levels.splice(from)) await held?.close();
}

/** @param name as in a key: one character per byte */
function addressOf({ address }: Pick<Held, 'address'>, name: string): string | Buffer | undefined {
  if (name === '' || name === '.' || name === '..') return undefined;
  const bytes = Buffer.from(name, 'latin1');
  return isUtf8(bytes) ? join(address, bytes.toString()) : Buffer.concat([Buffer.from(`${address}/`), bytes]);
}
