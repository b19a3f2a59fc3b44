// Reads the document: a file, or a URL from whose origin alone it may come.

import { open } from 'node:fs/promises';
import type { CallScope } from '../../call/call-scope.js';
import { ToolError } from '../../contract/errors.js';
import { plainText, withoutSecrets } from '../../contract/sanitize.js';
import { requestCredentials, NO_CREDENTIALS, type OpenApiAuth } from '../request/credentials.js';
import type { HttpClient, HttpResponse } from '../request/http-client.js';
import { withPairs } from '../request/compose-request.js';
import { malformed, type ApiDocument } from './api-document.js';
import { parseDocument } from './parse-document.js';

const ACCEPT = 'application/vnd.oai.openapi+json, application/json, application/yaml, */*;q=0.5';

/** Options of {@link fetchDocument}. */
export interface DocumentRequest {
  readonly url: URL;
  /** Where requests are sent, if the provider has the option. */
  readonly server: URL | undefined;
  readonly auth: OpenApiAuth | undefined;
  readonly maxBytes: number;
}

/**
 * Fetches a document. Credentials are sent only if its origin is the one that also receives the calls. A redirect is refused.
 *
 * @throws {ToolError} UNAVAILABLE when it cannot be read, INVALID_ARGUMENT when it cannot be used
 */
export async function fetchDocument(
  client: HttpClient,
  { url, server, auth, maxBytes }: DocumentRequest,
  scope: CallScope,
): Promise<ApiDocument> {
  const { origin } = url;
  const mayAuthenticate = auth !== undefined && (server === undefined || server.origin === origin);
  const { headers, query, secrets } = mayAuthenticate
    ? await scope.race(requestCredentials(auth, { security: [], origin, signal: scope.signal }))
    : NO_CREDENTIALS;
  const search = withPairs(url.search.length > 1 ? [url.search.slice(1)] : [], query);
  const request = {
    method: 'GET',
    origin: url,
    target: `${url.pathname}${search === '' ? '' : `?${search}`}`,
    headers: { accept: ACCEPT, 'user-agent': 'toolwright', ...headers },
    body: undefined,
    maxBytes,
  };
  const response = await client.send(request, scope).catch((thrown: unknown) => {
    if (scope.error || !ToolError.isInstance(thrown)) throw thrown;
    if (thrown.code === 'TOO_LARGE')
      throw malformed(`it is larger than ${maxBytes} bytes; raise maxDocumentBytes if that is expected`);
    // Nothing but a document was requested.
    throw new ToolError('UNAVAILABLE', `The OpenAPI document of ${origin} could not be read: the connection failed.`, {
      cause: thrown,
      ...(thrown.details && { details: thrown.details }),
    });
  });
  if (response.status !== 200) throw refused(response, origin, auth !== undefined, secrets);
  return parseDocument(withoutSecrets(new TextDecoder().decode(response.body), secrets));
}

/**
 * Reads a document from a file.
 *
 * @throws {ToolError} NOT_FOUND or another code of the system, INVALID_ARGUMENT when it cannot be used
 */
export async function readDocumentFile(path: string, maxBytes: number): Promise<ApiDocument> {
  const file = await open(path).catch((thrown: unknown) => {
    throw ToolError.from(thrown, 'UNAVAILABLE');
  });
  try {
    const stats = await file.stat();
    if (!stats.isFile()) throw malformed('its path is not that of a regular file');
    if (stats.size > maxBytes)
      throw malformed(`it is larger than ${maxBytes} bytes; raise maxDocumentBytes if that is expected`);
    return await parseDocument(await file.readFile('utf8'));
  } finally {
    await file.close();
  }
}

function refused(
  { status, headers }: HttpResponse,
  origin: string,
  hasAuth: boolean,
  secrets: readonly string[],
): ToolError {
  const start = `The OpenAPI document of ${origin} could not be read: it responded with ${status}.`;
  if (status === 401 || status === 403)
    return new ToolError(
      'PERMISSION_DENIED',
      `${start} ${hasAuth ? 'The credentials of `auth` were not accepted.' : 'Set `auth`.'}`,
      {
        details: { status },
      },
    );
  const { location } = headers;
  if (status >= 300 && status < 400 && location !== undefined) {
    const [address] = withoutSecrets(location, secrets).split(/[?#]/, 1);
    return new ToolError(
      'UNAVAILABLE',
      `${start} Redirects are not followed: set \`document\` to ${plainText(address ?? '', 200)} if you trust it.`,
      { details: { status }, retryable: false },
    );
  }
  const retryable = status >= 500 || status === 429;
  return new ToolError('UNAVAILABLE', start, { details: { status }, retryable });
}
