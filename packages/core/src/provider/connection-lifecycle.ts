// Connecting and disconnecting, for providers that hold something outside this process: concurrent callers share one
// attempt, and what is still closing is tracked.

import { ToolError } from '../contract/errors.js';
import { callSafely } from '../call/host-callbacks.js';
import { settledWithin } from '../call/waiting.js';

/** The connect, disconnect and loss handling of a provider. `Opened` is what a call needs: a session, a process. */
export class ConnectionLifecycle<Opened> {
  readonly #name: string;
  readonly #endings = new Set<Promise<void>>();
  readonly #listeners = new Set<(failure: ToolError) => void>();
  #opening: Promise<Opened> | undefined;
  #disconnecting: Promise<void> | undefined;
  #isDisconnected = false;

  /** @param name the provider's name, for errors */
  constructor(name: string) {
    this.#name = name;
  }

  /** True from a disconnect to the next {@link reopen}; nothing is opened meanwhile. */
  get isDisconnected(): boolean {
    return this.#isDisconnected;
  }

  /** True while an attempt to open is in progress. */
  get isOpening(): boolean {
    return this.#opening !== undefined;
  }

  /** Allows {@link open} again after a disconnect. */
  reopen(): void {
    this.#isDisconnected = false;
  }

  /**
   * Returns `current` if it is set, else starts the one attempt to open that all callers share; the attempt waits for a
   * disconnect in progress.
   *
   * @throws {ToolError} NOT_CONNECTED after a disconnect; what `start` throws
   */
  open(current: Opened | undefined, start: () => Promise<Opened>): Promise<Opened> {
    if (this.#isDisconnected) return Promise.reject(this.notConnected());
    if (current !== undefined) return Promise.resolve(current);
    return (this.#opening ??= this.#openOnce(start).finally(() => (this.#opening = undefined)));
  }

  async #openOnce(start: () => Promise<Opened>): Promise<Opened> {
    await this.#disconnecting;
    if (this.#isDisconnected) throw this.notConnected(); // a later disconnect
    return start();
  }

  /** Runs `close` once for concurrent callers. */
  async disconnect(close: () => Promise<void>): Promise<void> {
    this.#isDisconnected = true;
    return (this.#disconnecting ??= close().finally(() => (this.#disconnecting = undefined)));
  }

  /** Waits for an attempt to open, if one is in progress. Never rejects: its callers receive the error. */
  async openingSettled(): Promise<void> {
    await this.#opening?.catch(() => undefined);
  }

  /** Tracks something that is closing, for {@link ended}. */
  track(ending: Promise<void>): void {
    this.#endings.add(ending);
    void ending.finally(() => this.#endings.delete(ending));
  }

  /** Waits until everything that is tracked has ended; resolves to false when that takes longer than `ms`. */
  ended(ms: number): Promise<boolean> {
    return settledWithin([...this.#endings], ms);
  }

  /** Calls `listener` when {@link emitLost} reports a lost connection. Returns a function that unsubscribes. */
  onLost(listener: (failure: ToolError) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Reports a lost connection to the listeners. @param onThrow receives the messages of listeners that throw */
  emitLost(failure: ToolError, onThrow?: (message: string) => void): void {
    for (const listener of [...this.#listeners]) callSafely(() => listener(failure), onThrow);
  }

  /** The error for a call after a disconnect. */
  notConnected(): ToolError {
    return new ToolError(
      'NOT_CONNECTED',
      `The provider "${this.#name}" was disconnected; call connect() to use it again.`,
      { provider: this.#name },
    );
  }

  /** The error for a call in flight when its provider disconnects. */
  closedDuringCall(): ToolError {
    return new ToolError('CONNECTION_CLOSED', `The provider "${this.#name}" was disconnected during the call.`, {
      provider: this.#name,
    });
  }
}
