// The requests of one client that are being handled: how many there are, and when there are none.

/** Counts requests, of both eras where one connection carries both. */
export class InFlight {
  #count = 0;
  #waiting: (() => void)[] = [];

  get count(): number {
    return this.#count;
  }

  enter(): void {
    this.#count++;
  }

  leave(): void {
    if (--this.#count > 0) return;
    for (const resolve of this.#waiting.splice(0)) setImmediate(resolve); // after the answer was sent
  }

  /** Resolves when no request is being handled. */
  async whenNone(): Promise<void> {
    if (this.#count > 0) await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }
}
