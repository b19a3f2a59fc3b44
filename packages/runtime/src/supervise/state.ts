// The five states of a supervised provider, and which may follow which.
//
//   COLD          nothing runs. A call, or connect(), starts it.
//   INITIALIZING  it is being started, once for all who wait.
//   READY         it runs, and calls go to it.
//   DEGRADED      it failed too often in a row. Calls that it has settle, then it is ended; the next call starts another.
//   DEAD          it could not be started, or it went. The next call starts another.
//
// From DEGRADED and DEAD a call starts another only when the backoff is over, and after too many starts once in a window of
// time; a permanent failure waits for an explicit start.

import { ToolError, type ProviderState } from '@toolwright/core';
import type { ProviderInstance } from './provider-instance.js';

/** The state with what belongs to it alone. */
export type SupervisorState =
  | { readonly name: 'COLD' }
  | { readonly name: 'INITIALIZING'; readonly started: Promise<ProviderInstance> }
  | { readonly name: 'READY'; readonly instance: ProviderInstance; readonly since: number }
  | { readonly name: 'DEGRADED'; readonly error: ToolError; readonly isPermanent: false }
  | { readonly name: 'DEAD'; readonly error: ToolError; readonly isPermanent: boolean };

const FOLLOWING: Readonly<Record<ProviderState, readonly ProviderState[]>> = {
  COLD: ['INITIALIZING'],
  INITIALIZING: ['READY', 'DEAD', 'COLD'],
  READY: ['DEGRADED', 'DEAD', 'COLD'],
  DEGRADED: ['INITIALIZING', 'COLD'],
  DEAD: ['INITIALIZING', 'COLD'],
};

/** True for a transition of the table; each other one is a fault in the supervisor. */
export function mayFollow(from: ProviderState, to: ProviderState): boolean {
  return FOLLOWING[from].includes(to);
}

/** @throws {ToolError} INTERNAL for a transition that the table does not have */
export function assertTransition(from: ProviderState, to: ProviderState, provider: string): void {
  if (mayFollow(from, to)) return;
  throw new ToolError('INTERNAL', `A supervisor must not go from ${from} to ${to}; please report this.`, { provider });
}
