// Creates missing parent directories, and removes them again if the operation fails.

import { mkdir, rmdir } from 'node:fs/promises';
import { errnoOf } from '../open/file-failure.js';
import type { OpenedPath } from '../open/opened-path.js';

interface Step {
  parent: OpenedPath;
  name: string;
  isOurs: boolean;
}

/** Nested directories, each created in its open parent, which stays open until {@link close}. */
export class MadeDirectories {
  readonly #steps: Step[] = [];

  #first: { parent: OpenedPath; name: string } | undefined;

  /** The outermost directory that was created; undefined if all existed. */
  get first(): { parent: OpenedPath; name: string } | undefined {
    return this.#first;
  }

  /** Creates a directory, unless it exists by now. Takes ownership of `parent`, even when it throws. */
  async make(parent: OpenedPath, name: string): Promise<void> {
    const step: Step = { parent, name, isOurs: false };
    this.#steps.push(step);
    try {
      await mkdir(parent.entry(name));
      step.isOurs = true;
      this.#first ??= step;
    } catch (error) {
      if (errnoOf(error) !== 'EEXIST') throw error; // the existing entry is checked when it is opened
    }
  }

  /** Removes the created directories that are empty; others are in use and stay. */
  async undo(): Promise<void> {
    for (const { parent, name, isOurs } of this.#steps.toReversed()) {
      if (isOurs) await rmdir(parent.entry(name)).catch(() => {});
    }
  }

  async close(): Promise<void> {
    for (const { parent } of this.#steps.splice(0)) await parent.close();
  }
}
