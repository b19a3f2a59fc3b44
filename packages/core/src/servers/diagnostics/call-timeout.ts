// How long a call waits: until its time is over or its caller gives up, whichever comes first.

import { setTimeout as delay } from 'node:timers/promises';
import { untilAborted } from '../../call/waiting.js';
import { setMaxListeners } from 'node:events';
import { ToolError } from '../../contract/errors.js';

/** A deadline and the caller's signal in one. Close it, so that its timer goes. */
export class Patience implements Disposable {
  readonly #caller: AbortSignal;
  readonly #own = new AbortController();
  readonly #endsAt: number;
  readonly #timer: NodeJS.Timeout;
  readonly #onAbort = (): void => this.#own.abort(this.#caller.reason);

  /** @param ms from now on */
  constructor(ms: number, caller: AbortSignal) {
    this.#caller = caller;
    this.#endsAt = performance.now() + ms;
    setMaxListeners(0, this.#own.signal); // one for each file that is checked side by side
    const late = (): void => this.#own.abort(new ToolError('TIMED_OUT', `It took more than ${ms} ms.`));
    this.#timer = setTimeout(late, ms);
    if (caller.aborted) this.#onAbort();
    else caller.addEventListener('abort', this.#onAbort, { once: true });
  }

  /** Aborted when it is over, with TIMED_OUT or with the caller's reason. */
  get signal(): AbortSignal {
    return this.#own.signal;
  }

  /** In milliseconds. */
  get left(): number {
    return Math.max(0, this.#endsAt - performance.now());
  }

  /** True when the time is over, and not because the caller gave up. */
  get isOver(): boolean {
    return !this.#caller.aborted && (this.#own.signal.aborted || this.left === 0);
  }

  /** What the promise gives. @throws {ToolError} TIMED_OUT, or the caller's reason, when it is over before that */
  race<T>(promise: Promise<T>): Promise<T> {
    return untilAborted(promise, this.#own.signal);
  }

  /** Waits so many milliseconds. @throws {ToolError} as {@link race} */
  async pause(ms: number): Promise<void> {
    const { signal } = this.#own;
    await delay(ms, undefined, { signal }).catch(() => Promise.reject(ToolError.from(signal.reason)));
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
    this.#caller.removeEventListener('abort', this.#onAbort);
  }
}
