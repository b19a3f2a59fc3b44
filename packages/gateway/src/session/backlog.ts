// Bounds the bytes buffered for clients that do not read: a limit for one client, and four times as much for all together.

/** A connection that is written to. */
export interface Outlet {
  /** Bytes that were written and not read yet. */
  readonly pendingBytes: number;
  /** Disconnects the client. */
  drop(): void;
}

/** An ordinary reader is behind by this much for a moment; the total is only computed when one is behind by more. */
const MIN_CHECKED_BYTES = 64 * 1024;

/** Disconnects clients for which too many bytes are buffered. */
export class Backlog {
  readonly #maxBytes: number;
  readonly #warn: (message: string) => void;
  readonly #outlets = new Set<Outlet>();

  /**
   * @param maxBytes for one client
   * @param warn called for each client that is disconnected
   */
  constructor(maxBytes: number, warn: (message: string) => void) {
    this.#maxBytes = maxBytes;
    this.#warn = warn;
  }

  /** Counts the outlet's bytes until the returned function is called. */
  add(outlet: Outlet): () => void {
    this.#outlets.add(outlet);
    return () => void this.#outlets.delete(outlet);
  }

  /** Call when a reader is behind. Disconnects clients while the limits are exceeded, the one with the most bytes first. */
  check(outlet: Outlet): void {
    const { pendingBytes } = outlet;
    if (pendingBytes < MIN_CHECKED_BYTES) return;
    if (pendingBytes > this.#maxBytes) this.#drop(outlet);
    for (;;) {
      let total = 0;
      let largest = outlet;
      for (const other of this.#outlets) {
        total += other.pendingBytes;
        if (other.pendingBytes > largest.pendingBytes) largest = other;
      }
      if (total <= 4 * this.#maxBytes || !this.#outlets.has(largest)) return;
      this.#drop(largest);
    }
  }

  #drop(outlet: Outlet): void {
    this.#outlets.delete(outlet);
    this.#warn(`Disconnected a client that does not read; ${outlet.pendingBytes} bytes were waiting for it.`);
    outlet.drop();
  }
}
