// The order of paths in all listings and searches: names by their bytes, the entries of a directory right after it. It
// equals ripgrep's `--sort path`, whatever bytes names have.

import type { DirectoryEntry } from '../../project/open/directory-entries.js';

/**
 * The sort key of a path: its bytes, one character each. The key of an ASCII path is the path.
 *
 * @param path relative, with `/`
 */
export function orderKey(path: string | Buffer): string {
  if (typeof path === 'string') return /^[\0-\x7f]*$/.test(path) ? path : Buffer.from(path).toString('latin1');
  return path.toString('latin1');
}

/** The {@link orderKey} of an entry's name. */
export function entryKey({ name, address }: Pick<DirectoryEntry, 'name' | 'address'>): string {
  return typeof address === 'string' ? orderKey(name) : address.toString('latin1', address.lastIndexOf(0x2f) + 1);
}

const SLASH = 0x2f;

/** Below 0 when `a` comes before `b`. */
export function compareKeys(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let at = 0; at < length; at++) {
    const [left, right] = [a.charCodeAt(at), b.charCodeAt(at)];
    if (left === right) continue;
    // The end of a name sorts before any character that could follow.
    if (left === SLASH) return -1;
    return right === SLASH ? 1 : left - right;
  }
  return a.length - b.length;
}
