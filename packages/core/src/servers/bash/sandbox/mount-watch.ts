// What is held read-only in the sandbox is held by mounts, and a mount goes when its place gets another file: an editor or a
// git on the host that saves by renaming takes it away, and from then on the command could write there. So what is held is
// looked at while the command runs, and compared when it has ended.

import { createHash } from 'node:crypto';
import { lstatSync, readdirSync, readFileSync, type BigIntStats } from 'node:fs';
import { constants, lstat, open, readFile, readlink } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { isPlaceholder } from '../../project/scope/protected-paths.js';
import { quote, type ProjectScope } from '../../project/scope/project-scope.js';
import { replaceFile, setAside } from './git-traces.js';
import { saysNothingNew } from './harmless-config.js';

/** The text of a larger file is not kept. */
const MAX_BYTES = 256 * 1024;

/** One entry that is held, as it was when the command started. Plain data: it is written down. */
export interface MaskedEntry {
  path: string;
  /** Of the file itself, whatever is in it. */
  identity: string;
  mode: number;
  /** Of its text. Absent: a directory, or too large. */
  hash?: string;
  /** Latin-1. Kept where git would run what somebody else writes there. */
  text?: string;
}

/** @param inGit its text is kept, to be put back */
export function recordEntry(path: string, inGit: boolean): MaskedEntry | undefined {
  const stats = statsOf(path);
  if (!stats) return undefined;
  const entry = { path, identity: identityOf(stats), mode: Number(stats.mode) & 0o777 };
  if (!stats.isFile() || stats.size > MAX_BYTES) return entry;
  try {
    const text = readFileSync(path, 'latin1');
    return { ...entry, hash: hashOf(text), ...(inGit && { text }) };
  } catch {
    return entry; // not ours to read
  }
}

/** True when something else is there. What is gone is not: there is nothing to write, until the command makes it. */
export function isReplaced({ path, identity }: MaskedEntry): boolean {
  const stats = statsOf(path);
  return stats !== undefined && identityOf(stats) !== identity && !isEmptyPlaceholder(path, stats);
}

/**
 * Undoes what the command may have written in place of a held entry. What was done, as a clause; undefined when it says
 * nothing new. The command has ended.
 *
 * @param until a file that came into being after this time, in milliseconds since 1970, is not the command's
 */
export async function undoReplaced(
  scope: ProjectScope,
  entry: MaskedEntry,
  until = Infinity,
): Promise<string | undefined> {
  if (!isReplaced(entry)) return undefined;
  const directory = dirname(entry.path);
  const name = Buffer.from(basename(entry.path)).toString('latin1');
  const shown = quote(scope.find(entry.path)?.shown ?? entry.path);
  try {
    // Held open: a link that is swapped in for a directory leads nowhere else.
    await using handle = await open(directory, constants.O_RDONLY | constants.O_DIRECTORY);
    const address = `/proc/self/fd/${handle.fd}`;
    if ((await readlink(address)) !== directory) return undefined;
    const stats = await lstat(`${address}/${basename(entry.path)}`);
    if (stats.birthtimeMs > until) return undefined;
    if (stats.isFile() && stats.size <= MAX_BYTES) {
      const now = await readFile(`${address}/${basename(entry.path)}`, 'latin1');
      if (isUsual(entry, now)) {
        // A second name, made while it was written, could still be written.
        if (stats.nlink > 1) await replaceFile(address, name, now, stats.mode & 0o777);
        return undefined;
      }
    }
    const aside = await setAside(address, name);
    if (entry.text !== undefined) await replaceFile(address, name, entry.text, entry.mode);
    return (
      `${shown} was replaced while the command ran, which could write it then: it was renamed to ${quote(aside)}` +
      `${entry.text === undefined ? '' : `, and ${shown} is again as it was`}. Look at it, and rename it back if it is as you want it`
    );
  } catch {
    return undefined; // not there any more, or not ours to change
  }
}

function isUsual({ path, hash, text }: MaskedEntry, now: string): boolean {
  if (hash !== undefined && hash === hashOf(now)) return true;
  return text !== undefined && /^config(?:\.worktree)?$/.test(basename(path)) && saysNothingNew(text, now);
}

function isEmptyPlaceholder(path: string, stats: BigIntStats): boolean {
  try {
    return isPlaceholder(stats) && (stats.isFile() || readdirSync(path).length === 0);
  } catch {
    return false;
  }
}

function statsOf(path: string): BigIntStats | undefined {
  try {
    return lstatSync(path, { bigint: true, throwIfNoEntry: false });
  } catch {
    return undefined; // in a place that is not ours to look at
  }
}

/** The time of birth tells a file from a later one that got its number. */
function identityOf({ dev, ino, birthtimeNs }: BigIntStats): string {
  return `${dev} ${ino} ${birthtimeNs}`;
}

function hashOf(text: string): string {
  return createHash('sha256').update(text, 'latin1').digest('hex');
}
