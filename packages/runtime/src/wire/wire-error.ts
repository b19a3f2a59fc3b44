// The errors of a response: `data` carries a whole ToolError; any other error is converted to one.

import { isJsonObject } from '@toolwright/core/internal';
import { ToolError } from '@toolwright/core';
import { isErrorInfo, RPC, type RpcErrorObject } from './protocol.js';

/** In characters, as for the error of a result. */
const MAX_MESSAGE = 16_384;

/** An error response with a code of JSON-RPC; everything else is a {@link ToolError}. */
export class RpcError extends Error {
  readonly code: number;
  readonly data: unknown;

  constructor(code: number, message: string, data?: unknown) {
    super(message);
    this.code = code;
    this.data = data;
  }

  toObject(): RpcErrorObject {
    return { code: this.code, message: this.message, ...(this.data !== undefined && { data: this.data }) };
  }
}

/** A ToolError as the error of a response. */
export function errorObject(error: ToolError, code: number = RPC.toolError): RpcErrorObject {
  return { code, message: error.message, data: error.toInfo() };
}

/** The error of a response as a ToolError: from its `data`, else from its JSON-RPC code. */
export function errorOf(given: unknown): ToolError {
  const { code, message, data } = (isJsonObject(given) ? given : {}) as Partial<RpcErrorObject>;
  const words =
    typeof message === 'string' && message !== ''
      ? message.slice(0, MAX_MESSAGE)
      : 'The peer returned an error without a message.';
  if (isErrorInfo(data) && ToolError.isCode(data.code)) {
    return new ToolError(data.code, data.message.slice(0, MAX_MESSAGE), {
      retryable: typeof data.retryable === 'boolean' ? data.retryable : undefined,
      details: isJsonObject(data.details) ? data.details : undefined,
    });
  }
  const details = { rpcCode: code };
  switch (code) {
    case RPC.invalidParams:
      return new ToolError('INVALID_ARGUMENT', words, { details });
    case RPC.methodNotFound:
    case RPC.invalidRequest:
    case RPC.parseError:
      return new ToolError('PROTOCOL_VIOLATION', words, { details });
    default:
      return new ToolError('EXECUTION_FAILED', words, { details });
  }
}
