// Watches files for changes, however an editor saves them; changes that occur together are reported once.

import type { FSWatcher } from 'chokidar';
import { lstatSync, realpathSync, type Stats } from 'node:fs';
import { basename, dirname, join } from 'node:path';

/** How long to collect changes: editors and formatters write several files, or one several times. */
export const DEBOUNCE_MS = 100;

/**
 * Watches files by the entries that lead to them: the file, which a rename may replace, its directory, which a build
 * may remove and create again, and every link on the way, which may be changed. It does not keep the process running.
 */
export class FileWatch {
  readonly #onChange: () => void;
  readonly #onError: (message: string) => void;
  #files: ReadonlySet<string> = new Set();
  #watcher: FSWatcher | undefined;
  #opening: Promise<void> = Promise.resolve();
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(onChange: () => void, onError: (message: string) => void) {
    this.#onChange = onChange;
    this.#onError = onError;
  }

  /** True when a change was not reported yet. */
  get isPending(): boolean {
    return this.#timer !== undefined;
  }

  /** Watches exactly these files; missing ones are reported when they are created. */
  async watch(files: ReadonlySet<string>): Promise<void> {
    if (files.size === this.#files.size && [...files].every((file) => this.#files.has(file))) return this.#opening;
    this.#files = files;
    await this.#open();
  }

  /** Stops watching. Idempotent. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    await this.#opening;
    await this.#watcher?.close();
  }

  /** Sequential, as each update reads the directory. */
  #open(): Promise<void> {
    return (this.#opening = this.#opening.then(() => this.#replaceWatcher()));
  }

  async #replaceWatcher(): Promise<void> {
    if (this.#isClosed) return;
    const entries = this.#entries();
    const directories = new Set([...entries.keys()].map((entry) => dirname(entry)));
    const { watch } = await import('chokidar');
    if (this.#isClosed as boolean) return;
    const watcher = watch([...directories], {
      depth: 0,
      ignoreInitial: true,
      persistent: false,
      followSymlinks: false,
      ignored: (path) => !entries.has(path) && !directories.has(path),
    });
    watcher.on('all', (_event, path) => {
      const entry = entries.get(path);
      if (this.#watcher !== watcher || !entry) return;
      if (entry === 'file') return this.#noteChange();
      // The target behind it is no longer watched.
      void this.#open().then(() => this.#noteChange());
    });
    watcher.on('error', (error) => this.#onError(error instanceof Error ? error.message : String(error)));
    await new Promise<void>((ready) => watcher.once('ready', ready));
    const before = this.#watcher;
    this.#watcher = watcher; // the previous watcher ran until now, so nothing is missed
    await before?.close();
    // Files created while it was opened are not reported.
    const now = this.#entries();
    if (now.size !== entries.size || [...now.keys()].some((path) => !entries.has(path))) await this.#replaceWatcher();
  }

  #entries(): Map<string, 'file' | 'way'> {
    return new Map([...this.#files].flatMap(entriesTo));
  }

  #noteChange(): void {
    if (this.#isClosed) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#onChange();
    }, DEBOUNCE_MS);
    this.#timer.unref();
  }
}

/** The entries on the way from a path to its file, each in an existing directory, by real path. */
function entriesTo(file: string): [path: string, kind: 'file' | 'way'][] {
  const entries: [string, 'file' | 'way'][] = [];
  for (let path = file; dirname(path) !== path; path = dirname(path)) {
    const stats = statsOf(path);
    const isWay = !stats || stats.isSymbolicLink() || path === dirname(file);
    const directory = path === file || isWay ? realOf(dirname(path)) : undefined;
    if (directory !== undefined) entries.push([join(directory, basename(path)), path === file ? 'file' : 'way']);
  }
  return entries;
}

function statsOf(path: string): Stats | undefined {
  try {
    return lstatSync(path);
  } catch {
    return undefined; // does not exist
  }
}

function realOf(directory: string): string | undefined {
  try {
    return realpathSync(directory);
  } catch {
    return undefined; // does not exist
  }
}
