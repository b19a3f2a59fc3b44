// Marks requests that a server provably did not read, so that they can be sent again on a new session.

import type { ToolError } from '../../contract/errors.js';

const unread = new WeakSet<ToolError>();

/** Marks the error of a request that was not sent, or was rejected before it was read. */
export function markUnread(error: ToolError): ToolError {
  unread.add(error);
  return error;
}

/** Whether the error was marked by {@link markUnread}. */
export function wasUnread(thrown: unknown): boolean {
  return unread.has(thrown as ToolError);
}
