// Limits concurrent calls, holds calls, and queues the others in order.

import type { ToolError } from '@toolwright/core';
import type { CallScope } from '@toolwright/core/internal';

interface Waiting {
  readonly go: () => void;
  readonly refuse: (error: ToolError) => void;
}

export class CallGate {
  readonly #maxRunning: number;
  readonly #waiting = new Set<Waiting>();
  #running = 0;
  #holds = 0;

  constructor(maxRunning: number) {
    this.#maxRunning = maxRunning;
  }

  /** Takes a slot if one is free and no call is queued. */
  tryEnter(): boolean {
    if (this.#holds > 0 || this.#waiting.size > 0 || this.#running >= this.#maxRunning) return false;
    this.#running++;
    return true;
  }

  /** Waits for a slot, which {@link leave} releases. @throws {ToolError} what ends the call before */
  enter(scope: CallScope): Promise<void> {
    if (scope.error) return Promise.reject(scope.error);
    if (this.tryEnter()) return Promise.resolve();
    return new Promise<void>((resolve, reject) => {
      const end = (error: ToolError): void => {
        if (this.#waiting.delete(waiting)) reject(error);
      };
      const waiting: Waiting = {
        go: () => {
          scope.offEnd(end);
          resolve();
        },
        refuse: (error) => {
          scope.offEnd(end);
          reject(error);
        },
      };
      this.#waiting.add(waiting);
      scope.onEnd(end);
    });
  }

  leave(): void {
    this.#running--;
    this.#admit();
  }

  /** Holds calls until the returned function is called. */
  hold(): () => void {
    this.#holds++;
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      this.#holds--;
      this.#admit();
    };
  }

  /** Rejects all queued calls. */
  refuse(error: ToolError): void {
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const each of waiting) each.refuse(error);
  }

  #admit(): void {
    for (const waiting of this.#waiting) {
      if (this.#holds > 0 || this.#running >= this.#maxRunning) return;
      this.#waiting.delete(waiting);
      this.#running++;
      waiting.go();
    }
  }
}
