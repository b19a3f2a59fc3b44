// What the status and the headers of an HTTP response mean, and what its failure says about the request.

import type { ToolErrorCode } from '../../contract/errors.js';
import { isJsonObject } from '../../contract/json.js';

/** Statuses with which an older server, which expects a GET, rejects `initialize`. */
export const MAY_BE_SSE: ReadonlySet<unknown> = new Set([400, 404, 405, 406, 415, 422]);

/** The errors of a request that was not sent. */
export const NEVER_SENT: ReadonlySet<string> = new Set([
  ...['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH', 'UND_ERR_CONNECT_TIMEOUT'],
  ...['CERT_HAS_EXPIRED', 'DEPTH_ZERO_SELF_SIGNED_CERT', 'SELF_SIGNED_CERT_IN_CHAIN', 'ERR_TLS_CERT_ALTNAME_INVALID'],
]);

/** The meaning of a status with which a server shows that it speaks another revision than before. */
export const CHANGED_ERA: [ToolErrorCode, string] = [
  'CONNECTION_CLOSED',
  ' The server speaks another revision of MCP than before; the next call asks it again.',
];

/** The HTTP status of an error of an engine's transport. */
export function statusOf(thrown: unknown): number | undefined {
  const { status, code } = thrown as { status?: unknown; code?: unknown };
  const number = status ?? code;
  return typeof number === 'number' && number > 0 ? number : undefined;
}

/** The error code of a status, and what to do about it. */
export function meaningOf(
  status: number,
  transport: { sessionId?: string | undefined } | undefined | object,
  isCall: boolean,
): [ToolErrorCode, string] {
  const hasSession = transport !== undefined && 'sessionId' in transport && transport.sessionId !== undefined;
  if (status === 404 && hasSession)
    return ['CONNECTION_CLOSED', ' The session has expired; the next call opens a new one.'];
  if (status === 401 || status === 403) return ['PERMISSION_DENIED', ' Set auth, or headers with a valid token.'];
  if (status === 413) return ['TOO_LARGE', ''];
  if (isCall && status >= 500 && status !== 503) return ['OUTCOME_UNKNOWN', ' The tool may have run.'];
  if (status === 429 || status >= 500) return ['UNAVAILABLE', ''];
  return ['PROTOCOL_VIOLATION', ' Check that url is the address of an MCP server.'];
}

/**
 * The response with status 200 if its body is the JSON-RPC error of the request: MCP 2026-07-28 sends errors with a status, and
 * the engines would not read them.
 */
export async function asRpcResponse(response: Response, id: number): Promise<Response> {
  const text = await response.text().catch(() => '');
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    // not an error of the protocol
  }
  const isError = isJsonObject(body) && isJsonObject(body.error) && body.id === id;
  const headers = isError ? { 'content-type': 'application/json' } : response.headers;
  return new Response(text, { status: isError ? 200 : response.status, statusText: response.statusText, headers });
}

/** The response without the header at which an SDK would start its own sign-in, and hide the status. */
export function withoutChallenge(response: Response): Response {
  const headers = new Headers(response.headers);
  headers.delete('www-authenticate');
  return new Response(response.body, { status: response.status, statusText: response.statusText, headers });
}
