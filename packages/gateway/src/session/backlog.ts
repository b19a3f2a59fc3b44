// What waits for clients that do not read: so many bytes for one of them, and four times as many for all.

/** One connection that is written to. */
export interface Outlet {
  /** What was written and not taken yet, in bytes. */
  readonly pendingBytes: number;
  /** Lets the client go. */
  drop(): void;
}

/** An ordinary reader is behind by so much for a moment; all are only looked at when one is behind by more. */
const TOO_LITTLE_TO_COUNT = 64 * 1024;

export class Backlog {
  readonly #maxBytes: number;
  readonly #warn: (message: string) => void;
  readonly #outlets = new Set<Outlet>();

  /** @param maxBytes for one client; @param warn told of each that is let go */
  constructor(maxBytes: number, warn: (message: string) => void) {
    this.#maxBytes = maxBytes;
    this.#warn = warn;
  }

  /** Counts what waits there from now on; gives what to call when it is over. */
  add(outlet: Outlet): () => void {
    this.#outlets.add(outlet);
    return () => void this.#outlets.delete(outlet);
  }

  /** Called when a reader is behind: lets clients go while too much waits, the one with the most first. */
  check(outlet: Outlet): void {
    const { pendingBytes } = outlet;
    if (pendingBytes < TOO_LITTLE_TO_COUNT) return;
    if (pendingBytes > this.#maxBytes) this.#drop(outlet);
    for (;;) {
      let total = 0;
      let largest = outlet;
      for (const each of this.#outlets) {
        total += each.pendingBytes;
        if (each.pendingBytes > largest.pendingBytes) largest = each;
      }
      if (total <= 4 * this.#maxBytes || !this.#outlets.has(largest)) return;
      this.#drop(largest);
    }
  }

  #drop(outlet: Outlet): void {
    this.#outlets.delete(outlet);
    this.#warn(`A client reads nothing, and was let go with ${outlet.pendingBytes} bytes waiting for it.`);
    outlet.drop();
  }
}
