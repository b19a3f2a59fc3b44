// The names for glob: from ripgrep, or from the built-in walk.

import { isUtf8 } from 'node:buffer';
import { showName } from '../../project/open/directory-entries.js';
import type { ProjectScope, ScopePath } from '../../project/scope/project-scope.js';
import { IgnoreFile } from './ignore-file.js';
import { IgnoreRules } from './ignore-rules.js';
import { walkFiles } from './ordered-walk.js';
import { orderKey } from './path-order.js';
import { runRipgrep } from './ripgrep.js';
import type { SearchPlace } from './search-place.js';

/** The timeout of a walk over millions of files; the files found until then are returned. */
const TIMEOUT_MS = 60_000;

/** One file, by its path relative to the directory. */
export interface Name {
  path: string;
  key: string;
  /** Resolves it below an open directory; without it, its path below the searched one is used. */
  address?: string | Buffer;
}

/** What to search for, and the receiver of the results. */
export interface GlobQuestion {
  scope: ProjectScope;
  requested: ScopePath;
  place: SearchPlace;
  exclude: readonly string[];
  includeIgnored: boolean;
  sort: 'mtime' | 'path';
  /** Returns only files after this sort key. */
  after: string | undefined;
  signal: AbortSignal;
  /** False when there are enough, which is only known when the newest names come first. */
  take: (names: Iterable<Name>, sorted?: boolean) => Promise<boolean>;
}

/** Names in no order, or by time as sorted by ripgrep. */
export async function globByRipgrep(command: string, question: GlobQuestion): Promise<{ timedOut: boolean }> {
  const { scope, place, exclude, includeIgnored, sort, signal, take } = question;
  const { path } = place.directory;
  const sorted = sort === 'mtime';
  const rules = includeIgnored || path.absolute === path.root.path ? undefined : await IgnoreRules.below(scope, path);
  let rest: Buffer = Buffer.alloc(0);
  return runRipgrep({
    command,
    args: [
      '--files',
      '--null',
      // When ripgrep sorts, the time of a name is read only until a page is full.
      ...(sorted ? ['--sortr=modified'] : []),
      ...(includeIgnored ? ['--no-ignore'] : []),
      ...exclude.map((each) => `--glob=!${each}`),
    ],
    cwd: place.directory.address,
    timeoutMs: TIMEOUT_MS,
    signal,
    onOutput: async (chunk) => {
      const bytes = rest.length > 0 ? Buffer.concat([rest, chunk]) : chunk;
      const end = bytes.lastIndexOf(0) + 1;
      const names = namesIn(bytes.subarray(0, end));
      rest = Buffer.from(bytes.subarray(end));
      if (!rules) return take(names, sorted);
      const kept: Name[] = [];
      for (const name of names) if (!(await rules.isIgnored(name.path, false))) kept.push(name);
      return take(kept, sorted);
    },
  });
}

/** Names in path order, from the built-in walk. */
export async function globByWalk(question: GlobQuestion): Promise<{ timedOut: boolean }> {
  const { scope, requested, place, exclude, includeIgnored, after, signal, take } = question;
  const excluded = IgnoreFile.ofGlobs(exclude);
  const timeout = new AbortController();
  const timer = setTimeout(() => timeout.abort(), TIMEOUT_MS);
  try {
    const runs = walkFiles(place.directory, {
      ...{ scope, requested, after, signal: AbortSignal.any([signal, timeout.signal]) },
      rules: includeIgnored ? undefined : await IgnoreRules.below(scope, place.directory.path),
      accept: (_path, key, isDirectory) => excluded.test(key, isDirectory) !== true,
    });
    for await (const { files } of runs) await take(files);
  } catch (error) {
    signal.throwIfAborted();
    if (!timeout.signal.aborted) throw error;
  } finally {
    clearTimeout(timer);
  }
  return { timedOut: timeout.signal.aborted };
}

/** The names in `./name NUL ./name NUL`, split as one text if all of them are UTF-8. */
function namesIn(bytes: Buffer): Name[] {
  if (bytes.length === 0) return [];
  const isText = isUtf8(bytes);
  const names = bytes.toString(isText ? 'utf8' : 'latin1').split('\0');
  names.pop(); // what follows the last NUL
  return names.map((each) => {
    const name = each.startsWith('./') ? each.slice(2) : each;
    return isText ? { path: name, key: orderKey(name) } : { path: showName(Buffer.from(name, 'latin1')), key: name };
  });
}
