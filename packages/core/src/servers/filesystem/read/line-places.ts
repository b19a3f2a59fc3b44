// Caches positions of lines in huge files across pages, so that a later page need not read the file from its beginning.

import type { BigIntStats } from 'node:fs';
import type { ScanState } from './line-scan.js';

const MAX_FILES = 32;
const MAX_PLACES = 1_024;
const MIN_DISTANCE_BYTES = 2 * 1024 * 1024;
/** A file that changed more recently may change again without a new timestamp. */
const MIN_AGE_MS = 2_000;

/** A position between two characters of a file, with the state of the scan there. */
export interface Place {
  byte: number;
  state: ScanState;
}

/** Caches positions of the most recently used huge files: at most 1,024 for each of 32 files. */
export class LinePlaces {
  readonly #files = new Map<string, FilePlaces>();

  /**
   * The offsets of lines in this version of a file, for this encoding; undefined when the file changed so recently that
   * the next version could have the same times.
   */
  of({ dev, ino, size, mtimeNs, ctimeNs, ctimeMs }: BigIntStats, encoding: string): FilePlaces | undefined {
    if (Date.now() - Number(ctimeMs) < MIN_AGE_MS) return undefined;
    const key = [dev, ino, size, mtimeNs, ctimeNs, encoding].join(':');
    const places = this.#files.get(key) ?? new FilePlaces(Number(size));
    this.#files.delete(key); // re-inserted as the most recently used
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
  /** By byte offset, divided by the distance between places. */
  readonly #places = new Map<number, Place>();

  constructor(size: number) {
    this.#distance = Math.max(MIN_DISTANCE_BYTES, Math.ceil(size / MAX_PLACES));
  }

  /** Stores a place, unless a nearby one is stored already. */
  note(byte: number, state: ScanState): void {
    const step = Math.floor(byte / this.#distance);
    const known = this.#places.get(step);
    // Within a long line, a place without its column is useless.
    if (!known || (known.state.units === undefined && state.units !== undefined))
      this.#places.set(step, { byte, state });
  }

  /** The last stored place before a column of a line. */
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
