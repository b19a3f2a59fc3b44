// Being told of changed files: whichever way an editor saves them, and once for what changes together.

import type { FSWatcher } from 'chokidar';
import { dirname } from 'node:path';

/** Editors and formatters write several files, or one several times. */
export const DEBOUNCE_MS = 100;

/** Watches some files, by their directories: a file that is replaced by a rename is another one under its name. */
export class FileWatch {
  readonly #onChange: () => void;
  readonly #onError: (message: string) => void;
  #files: ReadonlySet<string> = new Set();
  #directories: ReadonlySet<string> = new Set();
  #watcher: FSWatcher | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(onChange: () => void, onError: (message: string) => void) {
    this.#onChange = onChange;
    this.#onError = onError;
  }

  /** True when something has changed that is not told yet. */
  get isPending(): boolean {
    return this.#timer !== undefined;
  }

  /** Watches these files from now on, and no others. Files that do not exist are told of when they do. */
  async watch(files: ReadonlySet<string>): Promise<void> {
    if (this.#isClosed) return;
    if (files.size === this.#files.size && [...files].every((file) => this.#files.has(file))) return;
    this.#files = files;
    this.#directories = new Set([...files].map((file) => dirname(file)));
    const { watch } = await import('chokidar');
    if (this.#isClosed || this.#files !== files) return;
    const watcher = watch([...this.#directories], {
      depth: 0,
      ignoreInitial: true,
      persistent: false,
      ignored: (path) => !files.has(path) && !this.#directories.has(path),
    });
    watcher.on('all', (_event, path) => {
      if (this.#watcher === watcher && files.has(path)) this.#noteChange();
    });
    watcher.on('error', (error) => this.#onError(error instanceof Error ? error.message : String(error)));
    await new Promise<void>((ready) => watcher.once('ready', ready));
    const before = this.#watcher;
    if ((this.#isClosed as boolean) || this.#files !== files) return watcher.close();
    this.#watcher = watcher; // the one before has watched until now: nothing is missed
    await before?.close();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    await this.#watcher?.close();
  }

  #noteChange(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#onChange();
    }, DEBOUNCE_MS);
    this.#timer.unref();
  }
}
