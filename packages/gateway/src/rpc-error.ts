// Failures as JSON-RPC has them, and the words of whatever was thrown.

/** The request is right and names what is not there, or lacks what it needs. */
export const INVALID_PARAMS = -32_602;
export const INVALID_REQUEST = -32_600;
export const METHOD_NOT_FOUND = -32_601;
export const INTERNAL_ERROR = -32_603;
export const RESOURCE_NOT_FOUND = -32_002;
/** Of the numbers that JSON-RPC leaves to implementations, and that MCP has not given a meaning. */
export const SERVER_BUSY = -32_050;

/** A failure of the protocol, told to the client as it is. */
export function rpcError(code: number, message: string): Error {
  return Object.assign(new Error(message), { code });
}

/** The text of anything thrown. */
export function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}
