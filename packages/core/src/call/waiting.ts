// Waits for promises, limited by a signal or a time.

import { startTimer } from './deadline.js';
import { ToolError } from '../contract/errors.js';

/** Settles as the promise does, or rejects with the signal's reason as soon as it aborts. */
export function untilAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  if (signal.aborted) {
    promise.catch(() => undefined); // the caller sees the abort
    return Promise.reject(ToolError.from(signal.reason));
  }
  return new Promise<T>((resolve, reject) => {
    const abort = (): void => reject(ToolError.from(signal.reason));
    signal.addEventListener('abort', abort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}

/** Resolves as the promise does, or to undefined after `ms` milliseconds. @throws what the promise rejects with in time */
export async function valueWithin<T>(promise: Promise<T>, ms: number): Promise<T | undefined> {
  return (await settledWithin([promise], ms)) ? promise : undefined;
}

/** Waits until all promises have settled, for at most `ms` milliseconds. @returns whether all have settled */
export async function settledWithin(promises: readonly Promise<unknown>[], ms: number): Promise<boolean> {
  let stop = (): void => undefined;
  const timeout = new Promise<false>((resolve) => (stop = startTimer(ms, () => resolve(false))));
  const settled = await Promise.race([Promise.allSettled(promises).then(() => true), timeout]);
  stop();
  return settled;
}

/** A promise with its resolve function. */
export interface Deferred<T> {
  /** Pending until `resolve` is called. */
  readonly promise: Promise<T>;
  /** Resolves the promise. */
  readonly resolve: (value: T | PromiseLike<T>) => void;
}

/** Creates a {@link Deferred}, like `Promise.withResolvers()` in newer versions of Node. */
export function deferred<T = void>(): Deferred<T> {
  let resolve!: Deferred<T>['resolve'];
  const promise = new Promise<T>((settle) => (resolve = settle));
  return { promise, resolve };
}
