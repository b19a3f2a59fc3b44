// What a failure means for the provider: it has ended, it has a problem, or another start would fail too.

import { ToolError, type ToolErrorCode, type ToolProvider, type ToolResult } from '@toolwright/core';
import { isOwnFailure, isStaleCall, type CallScope } from '@toolwright/core/internal';

/** With these codes, raised in this process, the peer or its connection failed, not the tool. */
const TRANSPORT: ReadonlySet<ToolErrorCode> = new Set<ToolErrorCode>([
  'NOT_CONNECTED',
  'CONNECTION_CLOSED',
  'PROTOCOL_VIOLATION',
  'UNAVAILABLE',
  'OUTCOME_UNKNOWN',
  'SPAWN_FAILED',
  'PROCESS_EXITED',
]);

/** With these codes the connection has ended too, for a provider that cannot report it itself. */
const GONE: ReadonlySet<ToolErrorCode> = new Set<ToolErrorCode>([
  'NOT_CONNECTED',
  'CONNECTION_CLOSED',
  'OUTCOME_UNKNOWN',
  'SPAWN_FAILED',
  'PROCESS_EXITED',
]);

/** A start that failed with one of these fails again until a person changes something. */
const PERMANENT: ReadonlySet<ToolErrorCode> = new Set<ToolErrorCode>([
  'INVALID_ARGUMENT',
  'NAME_CONFLICT',
  'NOT_FOUND',
  'PERMISSION_DENIED',
  'PROTOCOL_VIOLATION',
  'SPAWN_FAILED',
]);

/** Of a spawn that may work the next time. */
const PASSING_ERRNOS: ReadonlySet<unknown> = new Set(['EAGAIN', 'EMFILE', 'ENFILE', 'ENOMEM', 'ETXTBSY']);

/**
 * What a call's result means for its provider: `'gone'`, `'failed'`, `'answered'`, or nothing, as for a call that its
 * caller cancelled. A tool's own failure is an answer, whatever its code.
 */
export function verdictOf(
  result: ToolResult,
  scope: CallScope,
  provider: ToolProvider,
): 'gone' | 'failed' | 'answered' | undefined {
  const { isError, error } = result;
  if (scope.error) return scope.error.details?.defaultDeadline === true ? 'failed' : undefined;
  if (!isError || !error || !isOwnFailure(result)) return 'answered';
  if (isStaleCall(result) || !TRANSPORT.has(error.code)) return undefined; // refused before it was sent, for what it is
  if (error.details?.ended === true) return undefined; // by the host, as after a reload: the process did not fail
  return isDown(provider, error.code) ? 'gone' : 'failed';
}

function isDown(provider: ToolProvider, code: ToolErrorCode): boolean {
  try {
    return provider.health ? provider.health().state !== 'READY' : GONE.has(code);
  } catch {
    return true; // it cannot even report its health
  }
}

/** The failure of a start, saying in `details.permanent` whether another start would fail likewise. */
export function startFailure(thrown: unknown, provider: string): { error: ToolError; isPermanent: boolean } {
  const given = ToolError.from(thrown, 'UNAVAILABLE');
  const { code, details } = given;
  const said = details?.permanent;
  const isPermanent =
    typeof said === 'boolean'
      ? said
      : (PERMANENT.has(code) && !PASSING_ERRNOS.has(details?.errno)) || (code === 'UNAVAILABLE' && !given.retryable);
  if (!isPermanent || said === true) return { error: given, isPermanent };
  const error = new ToolError(code, given.message, {
    provider: given.provider ?? provider,
    details: { ...details, permanent: true },
    retryable: given.retryable,
    cause: given.cause,
  });
  return { error, isPermanent };
}
