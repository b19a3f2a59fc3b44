// Detects lost mount masks. A mount is lost when its file is replaced: an editor or git on the host that saves by renaming
// removes it, and then the command could write there. So masked entries are checked while the command runs, and compared
// after it has ended.

import { createHash } from 'node:crypto';
import { lstatSync, readdirSync, readFileSync, type BigIntStats } from 'node:fs';
import { constants, lstat, open, readFile, readlink } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { isPlaceholder } from '../../project/scope/protected-paths.js';
import { quote, type ProjectScope } from '../../project/scope/project-scope.js';
import { replaceFile, disableEntry } from './git-traces.js';
import { addsNothingHarmful } from './harmless-config.js';

/** The text of a larger file is not stored. */
const MAX_BYTES = 256 * 1024;

/** A masked entry as it was when the command started. Plain data, as it is stored in a record. */
export interface MaskedEntry {
  path: string;
  /** Identifies the file, whatever it contains. */
  identity: string;
  mode: number;
  /** Hash of its text. Absent for a directory or a large file. */
  hash?: string;
  /** Its text as Latin-1. Stored where git would run programs that the text names. */
  text?: string;
}

/** @param inGit whether its text is stored, to be restored */
export function recordEntry(path: string, inGit: boolean): MaskedEntry | undefined {
  const stats = statsOf(path);
  if (!stats) return undefined;
  const entry = { path, identity: identityOf(stats), mode: Number(stats.mode) & 0o777 };
  if (!stats.isFile() || stats.size > MAX_BYTES) return entry;
  try {
    const text = readFileSync(path, 'latin1');
    return { ...entry, hash: hashOf(text), ...(inGit && { text }) };
  } catch {
    return entry; // not readable
  }
}

/** True when another entry is in its place. A deleted one is not replaced: nothing can be written until one is created. */
export function isReplaced({ path, identity }: MaskedEntry): boolean {
  const stats = statsOf(path);
  return stats !== undefined && identityOf(stats) !== identity && !isEmptyPlaceholder(path, stats);
}

/**
 * Undoes what the command may have written in place of a masked entry, after its end. Returns what was done, as a clause;
 * undefined when the new text is harmless.
 *
 * @param until a file created after this time, in milliseconds since 1970, is not the command's
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
    // Held open, so that a link cannot be swapped in for the directory.
    await using handle = await open(directory, constants.O_RDONLY | constants.O_DIRECTORY);
    const address = `/proc/self/fd/${handle.fd}`;
    if ((await readlink(address)) !== directory) return undefined;
    const stats = await lstat(`${address}/${basename(entry.path)}`);
    if (stats.birthtimeMs > until) return undefined;
    if (stats.isFile() && stats.size <= MAX_BYTES) {
      const now = await readFile(`${address}/${basename(entry.path)}`, 'latin1');
      if (isHarmlessChange(entry, now)) {
        // Through a hard link, made in the meantime, it could still be written.
        if (stats.nlink > 1) await replaceFile(address, name, now, stats.mode & 0o777);
        return undefined;
      }
    }
    const disabled = await disableEntry(address, name);
    if (entry.text !== undefined) await replaceFile(address, name, entry.text, entry.mode);
    return (
      `${shown} was replaced while the command ran and could write it: the new one was renamed to ${quote(disabled)}` +
      `${entry.text === undefined ? '' : `, and ${shown} was restored`}. Check it, and rename it back if you want it`
    );
  } catch {
    return undefined; // deleted meanwhile, or not writable
  }
}

function isHarmlessChange({ path, hash, text }: MaskedEntry, now: string): boolean {
  if (hash !== undefined && hash === hashOf(now)) return true;
  return text !== undefined && /^config(?:\.worktree)?$/.test(basename(path)) && addsNothingHarmful(text, now);
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
    return undefined; // in a directory that is not accessible
  }
}

/** The time of birth distinguishes a file from a later one with the same inode number. */
function identityOf({ dev, ino, birthtimeNs }: BigIntStats): string {
  return `${dev} ${ino} ${birthtimeNs}`;
}

function hashOf(text: string): string {
  return createHash('sha256').update(text, 'latin1').digest('hex');
}
