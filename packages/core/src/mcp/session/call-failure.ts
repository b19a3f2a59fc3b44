// Turns what a call threw into its error, which tells whether the tool may have run.

import { outcomeUnknown, type CallScope } from '../../call/call-scope.js';
import { ToolError } from '../../contract/errors.js';
import type { ToolDefinition } from '../../contract/tool-definition.js';
import { SessionLostError, RpcError } from './mcp-session.js';

/** A call in progress. */
export interface PendingCall {
  readonly scope: CallScope;
  /** Set once its name is resolved. */
  tool: ToolDefinition | undefined;
  /** Set once the server may have received it. */
  wasSent: boolean;
}

/** Codes after which the server may have run the tool. */
const SENT_CODES: ReadonlySet<string> = new Set(['PROTOCOL_VIOLATION', 'FRAME_TOO_LARGE', 'OUTCOME_UNKNOWN']);
const METHOD_NOT_FOUND = -32_601;
const INVALID_PARAMS = -32_602;

/** The error of a call. @param isListed whether the tool is still listed: if so, the server refused the arguments */
export function callFailure(
  thrown: unknown,
  { scope, tool, wasSent }: PendingCall,
  provider: string,
  isListed: boolean,
): ToolError {
  const place = { provider, tool: tool?.name };
  if (scope.error && ToolError.isInstance(thrown)) {
    return wasSent ? outcomeUnknown(scope.error, provider, tool?.name ?? '') : scope.error;
  }
  if (thrown instanceof RpcError) {
    const isRequestFault = thrown.rpcCode === METHOD_NOT_FOUND || thrown.rpcCode === INVALID_PARAMS;
    const code = !isRequestFault ? 'EXECUTION_FAILED' : isListed ? 'INVALID_ARGUMENT' : 'TOOL_NOT_FOUND';
    const text = `The MCP server "${provider}" refused the call: ${thrown.message}`;
    return new ToolError(code, text, { ...place, details: thrown.details, cause: thrown });
  }
  if (thrown instanceof SessionLostError) {
    const { code, message } = thrown.failure;
    const details = { ...thrown.failure.details, cause: code, outcomeUnknown: true };
    if (code === 'FRAME_TOO_LARGE') return new ToolError(code, message, { ...place, details });
    const text = `The server was lost before it responded, so the call may have run. ${message}`;
    return new ToolError('OUTCOME_UNKNOWN', text, { ...place, details });
  }
  const { code, message, details, retryable, cause } = ToolError.from(thrown, 'INTERNAL');
  const sent = wasSent && SENT_CODES.has(code) ? { ...details, outcomeUnknown: true } : details;
  return new ToolError(code, message, { ...place, details: sent, retryable, cause });
}
