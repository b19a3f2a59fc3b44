// JSON-RPC error codes, and errors that carry them.

import type { JsonObject } from '@toolwright/core';
import { isJsonObject } from '@toolwright/core/internal';

export const PARSE_ERROR = -32_700;
export const INVALID_REQUEST = -32_600;
/** A parameter is missing, has a wrong type, or names something that does not exist. */
export const INVALID_PARAMS = -32_602;
export const METHOD_NOT_FOUND = -32_601;
export const INTERNAL_ERROR = -32_603;
export const RESOURCE_NOT_FOUND = -32_002;
/** The headers of an HTTP request contradict its body, or one is missing. */
export const HEADER_MISMATCH = -32_020;
/** `data.requiredCapabilities` has what the client did not declare. */
export const MISSING_CAPABILITY = -32_021;
/** `data.supported` has the versions that may be requested. */
export const UNSUPPORTED_VERSION = -32_022;
/** From the range that JSON-RPC reserves for implementations; MCP does not use it. */
export const SERVER_BUSY = -32_050;

/** An error that is sent to the client with this code, message and data. */
export function rpcError(code: number, message: string, data?: JsonObject): Error {
  return Object.assign(new Error(message), { code }, data && { data });
}

/** An error that a check raised before the request was handled. Over HTTP it has this status; other errors have 200. */
export function rejection(status: number, code: number, message: string, data?: JsonObject): Error {
  return Object.assign(rpcError(code, message, data), { status });
}

/** The message of a thrown value. */
export function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}

/** A fault in a request that the SDK would drop without an answer. */
export function requestFaultOf({ id, params }: JsonObject): { code: number; message: string } | undefined {
  if (typeof id !== 'string' && !Number.isSafeInteger(id))
    return { code: INVALID_REQUEST, message: 'id must be a string or an integer.' };
  if (params === undefined) return undefined;
  if (!isJsonObject(params)) return { code: INVALID_PARAMS, message: 'params must be an object.' };
  const { _meta: meta = {} } = params;
  if (!isJsonObject(meta)) return { code: INVALID_PARAMS, message: '_meta must be an object.' };
  const { progressToken = 0 } = meta;
  if (typeof progressToken !== 'string' && !Number.isSafeInteger(progressToken))
    return { code: INVALID_PARAMS, message: 'progressToken must be a string or an integer.' };
  return undefined;
}
