// The lock of a store for repairs: a directory, as creating one is atomic. Its owner renews it, so an old one belongs to a killed
// process and is taken over.

import { lstatSync, mkdirSync, readdirSync, rmdirSync, utimesSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { ToolError } from '../../../contract/errors.js';
import { errnoOf, fileFailure } from '../../project/open/file-failure.js';
import { lstatIfPresent, type StorePlace } from './store-place.js';

/** After this time without renewal, the process that created the lock must have been killed. */
const STALE_MS = 30_000;
const RENEW_MS = 1_000;
/** How long to wait for the lock: longer than it takes to become stale. */
const TIMEOUT_MS = STALE_MS + 5_000;

export class RepairLock {
  readonly #path: string;
  /** When it was renewed last, by the clock of its file system: another process's lock there may have the same inode. */
  #modifiedMs: number | undefined;
  #renewedAt = performance.now();

  private constructor(path: string) {
    this.#path = path;
    this.#modifiedMs = lstatIfPresent(path)?.mtimeMs;
  }

  /** Whether a process repairs the store, or was killed while it did. */
  static isHeld(place: StorePlace): boolean {
    const path = pathOf(place);
    if (lstatIfPresent(path)?.isDirectory() !== true) return false;
    try {
      return readdirSync(path).length === 0; // otherwise it is not a lock of ours
    } catch {
      return false; // released meanwhile
    }
  }

  /** @throws {ToolError} LOCKED when another process keeps the lock */
  static async acquire(place: StorePlace): Promise<RepairLock> {
    const path = pathOf(place);
    const giveUpAt = performance.now() + TIMEOUT_MS;
    for (;;) {
      try {
        mkdirSync(path, { mode: 0o700 });
        return new RepairLock(path);
      } catch (error) {
        if (errnoOf(error) !== 'EEXIST') throw fileFailure(error, 'write', place.shown);
      }
      const since = lstatSync(path, { throwIfNoEntry: false })?.mtimeMs;
      if (since !== undefined && Date.now() - since > STALE_MS) {
        try {
          rmdirSync(path);
          continue;
        } catch (error) {
          if (errnoOf(error) === 'ENOENT') continue; // its owner or another waiting process has removed it
          throw lockedError(place); // not a lock of ours: it is a file, or something is in it
        }
      }
      if (performance.now() > giveUpAt) throw lockedError(place);
      await delay(20);
    }
  }

  /** Call this often during a repair: it shows other processes that this one is alive. */
  renew(): void {
    if (performance.now() - this.#renewedAt < RENEW_MS) return;
    this.#renewedAt = performance.now();
    try {
      if (!this.#isOurs()) return;
      utimesSync(this.#path, new Date(), new Date());
      this.#modifiedMs = lstatIfPresent(this.#path)?.mtimeMs;
    } catch {
      // another process has taken it over; the repair goes on, as both check what is in place
    }
  }

  /** Removes the lock, unless another process has taken it over. */
  release(): void {
    try {
      if (this.#isOurs()) rmdirSync(this.#path);
    } catch {
      // removed meanwhile, or a person has put something into it
    }
  }

  #isOurs(): boolean {
    return this.#modifiedMs !== undefined && lstatIfPresent(this.#path)?.mtimeMs === this.#modifiedMs;
  }
}

function pathOf({ file }: StorePlace): string {
  return `${file}.repair`;
}

function lockedError({ shown }: StorePlace): ToolError {
  return new ToolError(
    'LOCKED',
    `${shown}/memory.db is damaged and cannot be replaced while ${shown}/memory.db.repair exists. If no other process is replacing it, remove ${shown}/memory.db.repair and try again.`,
  );
}
