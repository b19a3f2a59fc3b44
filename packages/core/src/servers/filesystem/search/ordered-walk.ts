// The built-in walk over the files below a directory, in path order: each directory is opened through its open parent,
// never through a link, and stays open while its files are used. Ignored directories are not entered.

import { compareKeys, entryKey } from './path-order.js';
import { isTemporaryName } from '../../project/write/atomic-write.js';
import {
  assertDepth,
  entryBatchesOf,
  openSubdirectory,
  type DirectoryEntry,
} from '../../project/open/directory-entries.js';
import type { OpenedPath } from '../../project/open/opened-path.js';
import type { ProjectScope, ScopePath } from '../../project/scope/project-scope.js';
import { IgnoreLevel, type IgnoreRules } from './ignore-rules.js';
import { SmallestFirst } from './smallest-first.js';

/** A reference-counted open directory, closed by the last release. */
export class HeldDirectory {
  readonly directory: OpenedPath;
  #holders = 1;

  constructor(directory: OpenedPath) {
    this.directory = directory;
  }

  retain(): this {
    this.#holders++;
    return this;
  }

  async release(): Promise<void> {
    if (--this.#holders === 0) await this.directory.close();
  }
}

/** A file of the walk. */
export interface WalkedFile {
  /** Relative to the start of the walk; results show and order it in this form. */
  path: string;
  key: string;
  address: string | Buffer;
}

/** Consecutive files of one directory. */
export interface WalkedRun {
  /** Holds the addresses of the files; retain it to use them after the next run was requested. */
  held: HeldDirectory;
  files: WalkedFile[];
}

/** Options of a walk. */
export interface WalkOptions {
  scope: ProjectScope;
  requested: ScopePath;
  /** Undefined: nothing is ignored. */
  rules: IgnoreRules | undefined;
  /** Only files after this key. */
  after?: string | undefined;
  /** Selects files and directories. */
  accept: (path: string, key: string, isDirectory: boolean) => boolean;
  signal: AbortSignal;
}

/** Maximum names of a directory in memory; a larger one is read several times. */
const MAX_HELD_NAMES = 100_000;
const MAX_RUN = 512;

/** One directory on the way down. */
interface Frame {
  held: HeldDirectory;
  /** With a slash at the end, or empty. */
  path: string;
  key: string;
  level: IgnoreLevel;
  entries: KeyedEntry[];
  next: number;
  /** The key at which entries that are not in memory begin; undefined when all are in memory. */
  rest: string | undefined;
}

interface KeyedEntry {
  entry: DirectoryEntry;
  key: string;
}

/** The files below an open directory, which stays open. System errors of the directory itself are thrown unchanged. */
export async function* walkFiles(directory: OpenedPath, options: WalkOptions): AsyncGenerator<WalkedRun> {
  const { rules, signal } = options;
  const start = rules ? await rules.start() : { level: IgnoreLevel.NONE, path: '' };
  const rootPrefix = start.path === '' ? '' : `${start.path}/`;
  const frames: Frame[] = [];
  const enter = async (held: HeldDirectory, path: string, key: string, level: IgnoreLevel): Promise<void> => {
    const frame: Frame = { held, path, key, level, entries: [], next: 0, rest: undefined };
    frames.push(frame);
    await fill(frame, options.after);
  };
  /** Reads the names after a key, and drops ignored ones. */
  const fill = async (frame: Frame, after: string | undefined): Promise<void> => {
    signal.throwIfAborted();
    const { held, path, key: prefix } = frame;
    const isFirst = frame.rest === undefined;
    const least = isFirst ? leastName(prefix, after) : '';
    const names = new SmallestFirst<KeyedEntry>(MAX_HELD_NAMES, (a, b) => compareNames(a.key, b.key));
    const special = new Set<string>();
    for await (const batch of entryBatchesOf(held.directory)) {
      signal.throwIfAborted();
      for (const entry of batch) {
        const { name, type } = entry;
        if (name.startsWith('.')) {
          if (isFirst && type !== 'dir') special.add(name);
          if (name.toLowerCase() === '.git') {
            if (name === '.git') special.add(name);
            continue;
          }
          if (isTemporaryName(name)) continue;
        }
        if (type !== 'file' && type !== 'dir') continue;
        const key = entryKey(entry);
        if (least !== undefined && compareNames(key, least) < 0) continue;
        if (frame.rest !== undefined && compareNames(key, frame.rest) <= 0) continue;
        names.add({ entry, key });
      }
    }
    if (isFirst && rules && path !== '')
      frame.level = await frame.level.in(held.directory, (rootPrefix + prefix).slice(0, -1), (name) =>
        special.has(name),
      );
    const sorted = names.sorted();
    frame.rest = names.dropped ? sorted.at(-1)?.key : undefined;
    frame.next = 0;
    frame.entries = sorted.filter(
      ({ key, entry: { name, type } }) =>
        !frame.level.ignores(rootPrefix + prefix + key, type === 'dir') &&
        options.accept(path + name, prefix + key, type === 'dir'),
    );
  };
  const held = new HeldDirectory(directory).retain(); // its opener closes it
  try {
    await enter(held, '', '', start.level);
    for (let frame = frames.at(-1); frame; frame = frames.at(-1)) {
      const files: WalkedFile[] = [];
      let subdirectory: KeyedEntry | undefined;
      while (frame.next < frame.entries.length && files.length < MAX_RUN) {
        const keyed = frame.entries[frame.next++];
        if (!keyed) break;
        if (keyed.entry.type === 'dir') {
          subdirectory = keyed;
          break;
        }
        const key = frame.key + keyed.key;
        if (options.after !== undefined && compareKeys(key, options.after) < 0) continue;
        files.push({ path: frame.path + keyed.entry.name, key, address: keyed.entry.address });
      }
      if (files.length > 0) yield { held: frame.held, files };
      signal.throwIfAborted();
      if (subdirectory) {
        const opened = await openBelow(options, frame.held.directory, subdirectory.entry, frames.length + 1);
        if (opened) {
          const below = new HeldDirectory(opened);
          await enter(
            below,
            `${frame.path}${subdirectory.entry.name}/`,
            `${frame.key}${subdirectory.key}/`,
            frame.level,
          ).catch(async (error: unknown) => {
            signal.throwIfAborted();
            if (frames.at(-1)?.held === below) frames.pop();
            await below.release(); // unreadable entries are omitted, as by ripgrep
            void error;
          });
        }
      } else if (frame.next >= frame.entries.length) {
        if (frame.rest !== undefined) await fill(frame, undefined);
        else {
          frames.pop();
          await frame.held.release();
        }
      }
    }
  } finally {
    for (const frame of frames) await frame.held.release();
  }
}

async function openBelow(
  { scope, requested }: WalkOptions,
  parent: OpenedPath,
  entry: DirectoryEntry,
  depth: number,
): Promise<OpenedPath | undefined> {
  assertDepth(requested, depth);
  try {
    return await openSubdirectory(scope, requested, parent, entry);
  } catch {
    return undefined; // gone, swapped for a link, not to be opened, or of a name that no call can carry
  }
}

/** The smallest name in a directory that can be, or contain, a path after the key; undefined if every name can. */
function leastName(prefix: string, after: string | undefined): string | undefined {
  return after?.startsWith(prefix) ? after.slice(prefix.length).split('/')[0] : undefined;
}

function compareNames(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0; // keys are bytes: UTF-16 order is theirs
}
