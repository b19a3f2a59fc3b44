// The life of a provider that holds something outside this process: opened once for all who wait, ended once, and what it
// leaves behind waited for.

import { ToolError } from '../contract/errors.js';
import { callSafely } from '../call/host-callbacks.js';
import { settledWithin } from '../call/waiting.js';

/** What connect, disconnect and loss have in common. `Opened` is what a call needs: a session, a process. */
export class ConnectionLifecycle<Opened> {
  readonly #name: string;
  readonly #endings = new Set<Promise<void>>();
  readonly #listeners = new Set<(failure: ToolError) => void>();
  #opening: Promise<Opened> | undefined;
  #disconnecting: Promise<void> | undefined;
  #isDisconnected = false;

  /** @param name the provider's, for errors */
  constructor(name: string) {
    this.#name = name;
  }

  /** True from a disconnect to the next {@link reopen}: nothing is opened meanwhile. */
  get isDisconnected(): boolean {
    return this.#isDisconnected;
  }

  get isOpening(): boolean {
    return this.#opening !== undefined;
  }

  /** Whoever connects wants it open again. */
  reopen(): void {
    this.#isDisconnected = false;
  }

  /**
   * What is open, or the one attempt to open it that all share; it waits for a disconnect that is under way.
   *
   * @throws {ToolError} NOT_CONNECTED after a disconnect; why it could not be opened
   */
  open(current: Opened | undefined, start: () => Promise<Opened>): Promise<Opened> {
    if (this.#isDisconnected) return Promise.reject(this.notConnected());
    if (current !== undefined) return Promise.resolve(current);
    return (this.#opening ??= this.#openOnce(start).finally(() => (this.#opening = undefined)));
  }

  async #openOnce(start: () => Promise<Opened>): Promise<Opened> {
    await this.#disconnecting;
    if (this.#isDisconnected) throw this.notConnected(); // by a disconnect that came after
    return start();
  }

  /** Runs `close` once for all who disconnect at the same time. */
  async disconnect(close: () => Promise<void>): Promise<void> {
    this.#isDisconnected = true;
    return (this.#disconnecting ??= close().finally(() => (this.#disconnecting = undefined)));
  }

  /** Waits for the attempt to open, if there is one; whoever waits for it is told why it failed. */
  async openingSettled(): Promise<void> {
    await this.#opening?.catch(() => undefined);
  }

  /** Something is on its way out. {@link ended} waits for it. */
  track(ending: Promise<void>): void {
    this.#endings.add(ending);
    void ending.finally(() => this.#endings.delete(ending));
  }

  /** Waits until all that was tracked has ended; false when it has not by then. */
  ended(ms: number): Promise<boolean> {
    return settledWithin([...this.#endings], ms);
  }

  onLost(listener: (failure: ToolError) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** @param onThrow told of listeners that throw */
  emitLost(failure: ToolError, onThrow?: (message: string) => void): void {
    for (const listener of [...this.#listeners]) callSafely(() => listener(failure), onThrow);
  }

  /** What is said to a call after a disconnect. */
  notConnected(): ToolError {
    return new ToolError(
      'NOT_CONNECTED',
      `The provider "${this.#name}" was disconnected; call connect() to use it again.`,
      { provider: this.#name },
    );
  }

  /** What is said to a call in flight when its provider disconnects. */
  closedDuringCall(): ToolError {
    return new ToolError('CONNECTION_CLOSED', `The provider "${this.#name}" was disconnected during the call.`, {
      provider: this.#name,
    });
  }
}
