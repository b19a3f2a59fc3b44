// JSON-RPC error codes, and errors that carry them.

export const PARSE_ERROR = -32_700;
export const INVALID_REQUEST = -32_600;
/** A parameter is missing, has a wrong type, or names something that does not exist. */
export const INVALID_PARAMS = -32_602;
export const METHOD_NOT_FOUND = -32_601;
export const INTERNAL_ERROR = -32_603;
export const RESOURCE_NOT_FOUND = -32_002;
/** From the range that JSON-RPC reserves for implementations; MCP does not use it. */
export const SERVER_BUSY = -32_050;

/** An error that is sent to the client with this code and message. */
export function rpcError(code: number, message: string): Error {
  return Object.assign(new Error(message), { code });
}

/** The message of a thrown value. */
export function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}
