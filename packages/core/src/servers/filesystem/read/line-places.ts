// Where lines of huge files are, remembered from page to page: who reads on far behind the beginning does not wait for
// everything before it to be read again.

import type { BigIntStats } from 'node:fs';
import type { ScanState } from './line-scan.js';

const MAX_FILES = 32;
const MAX_PLACES = 1_024;
const MIN_DISTANCE_BYTES = 2 * 1024 * 1024;
/** A file that changed less long ago may change once more without its times showing it. */
const MIN_AGE_MS = 2_000;

/** A place between two characters of a file, and how a scan stands there. */
export interface Place {
  byte: number;
  state: ScanState;
}

/** Remembers places of the huge files that were used last: at most 1,024 of each of 32. */
export class LinePlaces {
  readonly #files = new Map<string, FilePlaces>();

  /**
   * The places of this version of a file, read in this encoding; undefined when it changed so recently that it cannot
   * be told from its next version.
   */
  of({ dev, ino, size, mtimeNs, ctimeNs, ctimeMs }: BigIntStats, encoding: string): FilePlaces | undefined {
    if (Date.now() - Number(ctimeMs) < MIN_AGE_MS) return undefined;
    const key = [dev, ino, size, mtimeNs, ctimeNs, encoding].join(':');
    const places = this.#files.get(key) ?? new FilePlaces(Number(size));
    this.#files.delete(key); // so that it is the youngest
    this.#files.set(key, places);
    for (const oldest of this.#files.keys()) {
      if (this.#files.size <= MAX_FILES) break;
      this.#files.delete(oldest);
    }
    return places;
  }
}

/** Places of one version of a file. */
export class FilePlaces {
  readonly #distance: number;
  /** By where they are, in steps of the distance. */
  readonly #places = new Map<number, Place>();

  constructor(size: number) {
    this.#distance = Math.max(MIN_DISTANCE_BYTES, Math.ceil(size / MAX_PLACES));
  }

  /** Remembers a place, unless one near it is known. */
  note(byte: number, state: ScanState): void {
    const step = Math.floor(byte / this.#distance);
    const known = this.#places.get(step);
    // Within a long line, a place is of use where its column is known.
    if (!known || (known.state.units === undefined && state.units !== undefined))
      this.#places.set(step, { byte, state });
  }

  /** The last place that is known before a column of a line. */
  before(line: number, column: number): Place | undefined {
    let last: Place | undefined;
    for (const place of this.#places.values()) {
      const { linesSeen, units } = place.state;
      const isBefore = linesSeen < line - 1 || (linesSeen === line - 1 && units !== undefined && units < column);
      if (isBefore && place.byte > (last?.byte ?? 0)) last = place;
    }
    return last;
  }
}
