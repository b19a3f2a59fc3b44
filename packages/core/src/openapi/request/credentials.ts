// Credentials: what the host's `auth` function returns for one request, checked, and the secrets in it that must not appear
// anywhere else.

import { ToolError } from '../../contract/errors.js';
import { isJsonObject } from '../../contract/json.js';
import { copyTexts } from '../../contract/options.js';
import { secretsOfHeaders } from '../../contract/sanitize.js';
import type { OpenApiOperation, OpenApiSecurityScheme } from '../operations/operation.js';

/** What `auth` is asked for. */
export interface OpenApiAuthRequest {
  /** The operation that is called. Absent when the document itself is read. */
  readonly operation?: OpenApiOperation;
  /** The security schemes that the document names for the operation; empty if it names none. */
  readonly security: readonly OpenApiSecurityScheme[];
  /** The origin that receives the credentials, such as `https://api.example.com`. */
  readonly origin: string;
  /** The session of the call. */
  readonly sessionId?: string | undefined;
  /** Aborted when the call ends. */
  readonly signal: AbortSignal;
}

/** Credentials for one request. They replace arguments of the same name. */
export interface OpenApiCredentials {
  /** Headers, such as `{ authorization: 'Bearer …' }`. Default: none. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Query parameters, not encoded. Default: none. */
  readonly query?: Readonly<Record<string, string>>;
}

/**
 * Returns the credentials for a request; undefined for none. It is called for each request, so it can renew a token. A
 * `ToolError` that it throws is the error of the call; the message of any other is not shown, as it may contain a secret.
 */
export type OpenApiAuth = (
  request: OpenApiAuthRequest,
) => OpenApiCredentials | undefined | Promise<OpenApiCredentials | undefined>;

/** Checked credentials; names of headers are in lower case. */
export interface Credentials {
  readonly headers: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, string>>;
  /** The texts to redact. */
  readonly secrets: readonly string[];
}

export const NO_CREDENTIALS: Credentials = Object.freeze({ headers: {}, query: {}, secrets: [] });

const NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;
/** Headers by which HTTP frames and routes a request. */
const FRAMING: ReadonlySet<string> = new Set([
  ...['host', 'connection', 'content-length', 'transfer-encoding', 'upgrade', 'te', 'trailer', 'expect'],
  ...['accept-encoding', 'content-type'],
]);

/**
 * Calls `auth`.
 *
 * @throws {ToolError} what it throws, if that is a ToolError; PERMISSION_DENIED for any other error; INVALID_ARGUMENT for a
 * value that is not credentials
 */
export async function requestCredentials(auth: OpenApiAuth, request: OpenApiAuthRequest): Promise<Credentials> {
  let given: unknown;
  try {
    given = await auth(request);
  } catch (thrown) {
    if (ToolError.isInstance(thrown)) throw ToolError.from(thrown);
    throw new ToolError('PERMISSION_DENIED', 'The function `auth` threw, so nothing was sent.', { cause: thrown });
  }
  if (given === undefined) return NO_CREDENTIALS;
  if (!isJsonObject(given)) throw wrong('must return { headers?, query? } or undefined');
  const unknown = Object.keys(given).find((key) => key !== 'headers' && key !== 'query');
  if (unknown !== undefined)
    throw wrong(`returned the unknown field ${JSON.stringify(unknown)}; valid fields: headers, query`);
  const headers = copyTexts(given.headers ?? {});
  const query = copyTexts(given.query ?? {});
  if (!headers || !query) throw wrong('must return objects of strings as headers and query');
  for (const [name, value] of Object.entries(headers)) {
    // The value is a secret, so no message shows it.
    if (!NAME.test(name) || FRAMING.has(name.toLowerCase()))
      throw wrong(`returned the header ${JSON.stringify(name)}, which must not be set`);
    if (!VALUE.test(value))
      throw wrong(`returned the header ${JSON.stringify(name)} with a character that HTTP does not allow`);
  }
  const secrets = [...secretsOfHeaders(headers), ...Object.values(query), ...secretsInside(headers)];
  return {
    headers: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value])),
    query,
    secrets: [...new Set(secrets)],
  };
}

/** The user name with its password, and the password, of `Basic`; the values of cookies. */
function secretsInside(headers: Readonly<Record<string, string>>): string[] {
  return Object.values(headers).flatMap((value) => {
    const [, encoded] = /^basic\s+(\S+)$/i.exec(value) ?? [];
    const pair = encoded === undefined ? undefined : Buffer.from(encoded, 'base64').toString();
    const cookies = value.includes('=') ? value.split(/;\s*/).map((cookie) => cookie.replace(/^[^=]*=/, '')) : [];
    return pair === undefined ? cookies : [...cookies, pair, pair.slice(pair.indexOf(':') + 1)];
  });
}

function wrong(what: string): ToolError {
  return new ToolError('INVALID_ARGUMENT', `new OpenApiToolProvider(): the function \`auth\` ${what}.`);
}
