// The time limit of a call combined with its caller's signal.

import { setTimeout as delay } from 'node:timers/promises';
import { untilAborted } from '../../call/waiting.js';
import { setMaxListeners } from 'node:events';
import { ToolError } from '../../contract/errors.js';

/** A deadline combined with the caller's signal. Close it to clear its timer. */
export class Deadline implements Disposable {
  readonly #caller: AbortSignal;
  readonly #own = new AbortController();
  readonly #endsAt: number;
  readonly #timer: NodeJS.Timeout;
  readonly #onAbort = (): void => this.#own.abort(this.#caller.reason);

  /** @param ms the time from now */
  constructor(ms: number, caller: AbortSignal) {
    this.#caller = caller;
    this.#endsAt = performance.now() + ms;
    setMaxListeners(0, this.#own.signal); // one listener per file that is checked concurrently
    const late = (): void => this.#own.abort(new ToolError('TIMED_OUT', `It took more than ${ms} ms.`));
    this.#timer = setTimeout(late, ms);
    if (caller.aborted) this.#onAbort();
    else caller.addEventListener('abort', this.#onAbort, { once: true });
  }

  /** Aborted at the end, with TIMED_OUT or the caller's reason. */
  get signal(): AbortSignal {
    return this.#own.signal;
  }

  /** In milliseconds. */
  get left(): number {
    return Math.max(0, this.#endsAt - performance.now());
  }

  /** True when the time has passed, as opposed to an abort by the caller. */
  get isOver(): boolean {
    return !this.#caller.aborted && (this.#own.signal.aborted || this.left === 0);
  }

  /** Awaits a promise. @throws {ToolError} TIMED_OUT, or the caller's reason, if that comes first */
  race<T>(promise: Promise<T>): Promise<T> {
    return untilAborted(promise, this.#own.signal);
  }

  /** Waits for a time in milliseconds. @throws {ToolError} as {@link race} */
  async pause(ms: number): Promise<void> {
    const { signal } = this.#own;
    await delay(ms, undefined, { signal }).catch(() => Promise.reject(ToolError.from(signal.reason)));
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
    this.#caller.removeEventListener('abort', this.#onAbort);
  }
}
