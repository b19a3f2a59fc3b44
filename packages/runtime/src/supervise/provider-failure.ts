// Classifies failures: the provider has ended, it failed but still runs, or every further start would fail too.

import { ToolError, type ToolErrorCode, type ToolProvider, type ToolResult } from '@toolwright/core';
import { isOwnFailure, isStaleCall, type CallScope } from '@toolwright/core/internal';

/** Codes that, raised in this process, mean a failure of the provider or its connection, not of the tool. */
const TRANSPORT: ReadonlySet<ToolErrorCode> = new Set<ToolErrorCode>([
  'NOT_CONNECTED',
  'CONNECTION_CLOSED',
  'PROTOCOL_VIOLATION',
  'UNAVAILABLE',
  'OUTCOME_UNKNOWN',
  'SPAWN_FAILED',
  'PROCESS_EXITED',
]);

/** Codes that mean that the connection has ended, for providers without an event that reports it. */
const GONE: ReadonlySet<ToolErrorCode> = new Set<ToolErrorCode>([
  'NOT_CONNECTED',
  'CONNECTION_CLOSED',
  'OUTCOME_UNKNOWN',
  'SPAWN_FAILED',
  'PROCESS_EXITED',
]);

/** Codes of failed starts that fail again until someone changes the configuration or the program. */
const PERMANENT: ReadonlySet<ToolErrorCode> = new Set<ToolErrorCode>([
  'INVALID_ARGUMENT',
  'NAME_CONFLICT',
  'NOT_FOUND',
  'PERMISSION_DENIED',
  'PROTOCOL_VIOLATION',
  'SPAWN_FAILED',
]);

/** Errors of spawning that are temporary. */
const PASSING_ERRNOS: ReadonlySet<unknown> = new Set(['EAGAIN', 'EMFILE', 'ENFILE', 'ENOMEM', 'ETXTBSY']);

/**
 * What a call's result means for its provider: `'gone'` when it has ended, `'failed'`, `'answered'`, or undefined when the
 * result says nothing about it, as for a call that its caller cancelled. A failure of the tool itself counts as an answer,
 * whatever its code.
 */
export function verdictOf(
  result: ToolResult,
  scope: CallScope,
  provider: ToolProvider,
): 'gone' | 'failed' | 'answered' | undefined {
  const { isError, error } = result;
  if (scope.error) return scope.error.details?.defaultDeadline === true ? 'failed' : undefined;
  if (!isError || !error || !isOwnFailure(result)) return 'answered';
  if (isStaleCall(result) || !TRANSPORT.has(error.code)) return undefined; // the call itself was refused, not sent
  if (error.details?.ended === true) return undefined; // the host ended it, as after a reload: it did not fail
  return isDown(provider, error.code) ? 'gone' : 'failed';
}

function isDown(provider: ToolProvider, code: ToolErrorCode): boolean {
  try {
    return provider.health ? provider.health().state !== 'READY' : GONE.has(code);
  } catch {
    return true; // it cannot even report its health
  }
}

/** The failure of a start; `details.permanent` says whether every further start would fail too. */
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
