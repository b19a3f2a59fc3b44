// The directories that are made on the way to something, and taken back when that something fails.

import { mkdir, rmdir } from 'node:fs/promises';
import { errnoOf } from '../open/file-failure.js';
import type { OpenedPath } from '../open/opened-path.js';

interface Step {
  parent: OpenedPath;
  name: string;
  isOurs: boolean;
}

/** Directories made one below the other, each in an open one that is held until {@link close}. */
export class MadeDirectories {
  readonly #steps: Step[] = [];

  #first: { parent: OpenedPath; name: string } | undefined;

  /** The place of the outermost one that was made here, for its path; undefined when all were there. */
  get first(): { parent: OpenedPath; name: string } | undefined {
    return this.#first;
  }

  /** Makes a directory, unless somebody else was faster. Takes over `parent`, also when it throws. */
  async make(parent: OpenedPath, name: string): Promise<void> {
    const step: Step = { parent, name, isOurs: false };
    this.#steps.push(step);
    try {
      await mkdir(parent.entry(name));
      step.isOurs = true;
      this.#first ??= step;
    } catch (error) {
      if (errnoOf(error) !== 'EEXIST') throw error; // what is there is judged as it is opened
    }
  }

  /** Removes those that were made here, as far as they are empty: one that is not is somebody's, and stays. */
  async undo(): Promise<void> {
    for (const { parent, name, isOurs } of this.#steps.toReversed()) {
      if (isOurs) await rmdir(parent.entry(name)).catch(() => {});
    }
  }

  async close(): Promise<void> {
    for (const { parent } of this.#steps.splice(0)) await parent.close();
  }
}
