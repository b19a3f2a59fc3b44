// The project's files, each with a stamp of its size and times: shows which files a shell, git or an editor has
// changed, and which exist. It reads names and times, never content.

import type { Stats } from 'node:fs';
import { lstat, readdir } from 'node:fs/promises';
import { extname, join } from 'node:path';
import type { ProjectScope } from '../../project/scope/project-scope.js';

/** The limit of files; beyond it the result is marked as incomplete. */
const MAX_FILES = 20_000;
const MAX_DEPTH = 100;
const AT_ONCE = 32;
/** A file that changed this recently may change again with the same timestamp. */
const RACY_MS = 20;
/** Configuration files of checkers. */
const SETTINGS = new Set([
  '.json',
  '.jsonc',
  '.toml',
  '.yaml',
  '.yml',
  '.cfg',
  '.ini',
  '.mod',
  '.sum',
  '.work',
  '.lock',
]);
const PACKAGES = 'node_modules';
const LEFT_OUT = new Set([PACKAGES, '__pycache__', 'venv']);

/** A snapshot of the project's files. */
export interface TreeSnapshot {
  /** When the snapshot began, as a time of `performance.now()`. */
  at: number;
  /** The stamps, by absolute path; empty for a file that has just changed. */
  stamps: ReadonlyMap<string, string>;
  /** The stamp of installed packages; after a change servers must be restarted. */
  packages: string;
  /** True when there are more files than the limit. */
  isCut: boolean;
}

/**
 * Looks at every file that a checker may read, links not followed.
 *
 * @param languages the extensions of known languages, with their dots
 */
export async function lookAtTree(
  scope: ProjectScope,
  languages: ReadonlySet<string>,
  signal: AbortSignal,
): Promise<TreeSnapshot> {
  const at = performance.now();
  const stamps = new Map<string, string>();
  const packages: string[] = [];
  let isCut = false;
  const visit = async (directory: string, depth: number): Promise<void> => {
    signal.throwIfAborted();
    const entries = await readdir(directory, { withFileTypes: true }).catch(() => []); // deleted or unreadable
    const files: string[] = [];
    const directories: string[] = [];
    for (const entry of entries) {
      const { name } = entry;
      if (name === PACKAGES) packages.push(await packagesStamp(join(directory, name)));
      if (entry.isDirectory() && !name.startsWith('.') && !LEFT_OUT.has(name)) directories.push(join(directory, name));
      else if (entry.isFile() && isFollowed(name, languages)) files.push(join(directory, name));
    }
    for (let start = 0; start < files.length; start += AT_ONCE) {
      const batch = files.slice(start, start + AT_ONCE);
      const found = await Promise.all(batch.map((file) => lstat(file).catch(() => undefined)));
      for (const [index, stats] of found.entries()) {
        if (stamps.size >= MAX_FILES) isCut = true;
        else if (stats?.isFile()) stamps.set(batch[index] ?? '', stampOf(stats));
      }
    }
    if (depth >= MAX_DEPTH) isCut ||= directories.length > 0;
    else for (const each of directories) if (!isCut) await visit(each, depth + 1);
  };
  for (const root of scope.roots) await visit(root.path, 1);
  return { at, stamps, packages: packages.join(), isCut };
}

/** A stamp that identifies a version of a file without reading it. */
export async function stampOfFile(absolute: string): Promise<string | undefined> {
  const stats = await lstat(absolute).catch(() => undefined);
  return stats?.isFile() ? stampOf(stats) : undefined;
}

function isFollowed(name: string, languages: ReadonlySet<string>): boolean {
  const extension = extname(name).toLowerCase();
  return languages.has(extension) || SETTINGS.has(extension);
}

function stampOf({ ino, size, mtimeMs, ctimeMs }: Stats): string {
  return Date.now() - ctimeMs < RACY_MS ? '' : `${ino}:${size}:${mtimeMs}:${ctimeMs}`;
}

async function packagesStamp(directory: string): Promise<string> {
  const stats = await Promise.all(
    [directory, join(directory, '.package-lock.json')].map((path) => lstat(path).catch(() => undefined)),
  );
  return `${directory}:${stats.map((each) => each?.ctimeMs ?? 0).join(':')}`;
}
