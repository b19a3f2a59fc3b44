// Why a call has no result: what was thrown on its way, as the error of the call, with whether the tool may have run.

import { outcomeUnknown, type CallScope } from '../../call/call-scope.js';
import { ToolError } from '../../contract/errors.js';
import type { ToolDefinition } from '../../contract/tool-definition.js';
import { LostSession, RpcFailure } from './mcp-session.js';

/** How far a call has come. */
export interface CallOnItsWay {
  readonly scope: CallScope;
  /** Set when its name is resolved. */
  tool: ToolDefinition | undefined;
  /** Set when the server may have it. */
  wasSent: boolean;
}

/** After these the server may have run the tool. */
const SENT_CODES: ReadonlySet<string> = new Set(['PROTOCOL_VIOLATION', 'FRAME_TOO_LARGE', 'OUTCOME_UNKNOWN']);
const METHOD_NOT_FOUND = -32_601;
const INVALID_PARAMS = -32_602;

/** @param isListed the tool is in the list as it is now, so that it was the arguments that were refused */
export function callFailure(
  thrown: unknown,
  { scope, tool, wasSent }: CallOnItsWay,
  provider: string,
  isListed: boolean,
): ToolError {
  const place = { provider, tool: tool?.name };
  if (scope.error && ToolError.isInstance(thrown)) {
    return wasSent ? outcomeUnknown(scope.error, provider, tool?.name ?? '') : scope.error;
  }
  if (thrown instanceof RpcFailure) {
    const isRequestFault = thrown.rpcCode === METHOD_NOT_FOUND || thrown.rpcCode === INVALID_PARAMS;
    const code = !isRequestFault ? 'EXECUTION_FAILED' : isListed ? 'INVALID_ARGUMENT' : 'TOOL_NOT_FOUND';
    const words = `The MCP server "${provider}" refused the call: ${thrown.message}`;
    return new ToolError(code, words, { ...place, details: thrown.details, cause: thrown });
  }
  if (thrown instanceof LostSession) {
    const { code, message } = thrown.failure;
    const details = { ...thrown.failure.details, cause: code, outcomeUnknown: true };
    if (code === 'FRAME_TOO_LARGE') return new ToolError(code, message, { ...place, details });
    const words = `The server went before it answered, so the call may have happened. ${message}`;
    return new ToolError('OUTCOME_UNKNOWN', words, { ...place, details });
  }
  const { code, message, details, retryable, cause } = ToolError.from(thrown, 'INTERNAL');
  const sent = wasSent && SENT_CODES.has(code) ? { ...details, outcomeUnknown: true } : details;
  return new ToolError(code, message, { ...place, details: sent, retryable, cause });
}
