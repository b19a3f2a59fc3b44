// Requests that a server provably did not look at: they are sent once more, on another session.

import type { ToolError } from '../../contract/errors.js';

const unseen = new WeakSet<ToolError>();

/** Notes that the request which fails with `error` was not sent, or was refused before it was read. */
export function markUnseen(error: ToolError): ToolError {
  unseen.add(error);
  return error;
}

/** True for what {@link markUnseen} was given. */
export function wasUnseen(thrown: unknown): boolean {
  return unseen.has(thrown as ToolError);
}
