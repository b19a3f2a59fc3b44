// The five states of a supervised provider, and which may follow which.
//
//   COLD          does not run. A call, or connect(), starts it.
//   INITIALIZING  is being started; concurrent callers share the start.
//   READY         runs and receives calls.
//   DEGRADED      failed too often in a row. Its running calls settle, then it is ended; the next call starts another.
//   DEAD          did not start, or ended by itself. The next call starts another.
//
// From DEGRADED and DEAD, a call starts another only after the backoff, and past the limit on restarts only once per
// window. A permanent failure needs an explicit start.

import { ToolError, type ProviderState } from '@toolwright/core';
import type { ProviderInstance } from './provider-instance.js';

/** The state, with the data that only this state has. */
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

/** True for a transition that the table allows. Any other is a bug in the supervisor. */
export function mayFollow(from: ProviderState, to: ProviderState): boolean {
  return FOLLOWING[from].includes(to);
}

/** @throws {ToolError} INTERNAL for a transition that the table does not allow */
export function assertTransition(from: ProviderState, to: ProviderState, provider: string): void {
  if (mayFollow(from, to)) return;
  throw new ToolError('INTERNAL', `A supervisor must not go from ${from} to ${to}; please report this.`, { provider });
}
