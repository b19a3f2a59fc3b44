// Waiting that ends: with a signal, or after a time, whatever is waited for.

import { startTimer } from './deadline.js';
import { ToolError } from '../contract/errors.js';

/** What the promise gives, or a rejection with the signal's reason as soon as it is aborted. */
export function untilAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  if (signal.aborted) {
    promise.catch(() => undefined); // the abort is what is told
    return Promise.reject(ToolError.from(signal.reason));
  }
  return new Promise<T>((resolve, reject) => {
    const abort = (): void => reject(ToolError.from(signal.reason));
    signal.addEventListener('abort', abort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}

/** Waits until all have settled, at most `ms`; false when some had not. */
export async function settledWithin(promises: readonly Promise<unknown>[], ms: number): Promise<boolean> {
  let stop = (): void => undefined;
  const patience = new Promise<false>((resolve) => (stop = startTimer(ms, () => resolve(false))));
  const settled = await Promise.race([Promise.allSettled(promises).then(() => true), patience]);
  stop();
  return settled;
}
