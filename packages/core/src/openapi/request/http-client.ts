// Sends one request and reads its response, within limits: to the given origin only, without following redirects, and with
// the knowledge of whether the server may have received it.

import { Agent as HttpAgent, request as httpRequest, type ClientRequest, type IncomingMessage } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { createGunzip } from 'node:zlib';
import type { CallScope } from '../../call/call-scope.js';
import { ToolError } from '../../contract/errors.js';
import type { Progress } from '../../contract/tool-provider.js';

/** A request, complete with credentials. */
export interface HttpRequest {
  readonly method: string;
  /** Only its origin is used. */
  readonly origin: URL;
  /** The path, with the query. */
  readonly target: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array | undefined;
  /** The largest response body that is read, in bytes after decompression. */
  readonly maxBytes: number;
  /** Called as soon as the server may receive the request. */
  readonly onSent?: () => void;
  /** Called for each part of the response's body: the bytes so far, and all of them if the server tells. */
  readonly onReceived?: (progress: Progress) => void;
}

/** A response with its whole body. */
export interface HttpResponse {
  readonly status: number;
  /** The text after the status; the server's, so not to be trusted. */
  readonly statusText: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: Buffer;
}

/** How long a connection waits for another request. Shorter than servers do, so that they seldom close it first. */
const IDLE_MS = 4_000;
const MAX_CONNECTIONS = 64;
/** Requests that a server may receive twice: those that change nothing. */
const SAFE: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);

interface Agents {
  readonly safe: HttpAgent;
  readonly other: HttpAgent;
}

/** The connections of one provider. */
export class HttpClient {
  #agents: Agents | undefined;

  /**
   * Sends a request; any status is a response.
   *
   * @throws {ToolError} UNAVAILABLE when it was not sent, OUTCOME_UNKNOWN when the connection ended before the response,
   * PROTOCOL_VIOLATION for a response that is not HTTP, TOO_LARGE for one above the limit, and what ends the scope
   */
  async send(request: HttpRequest, scope: CallScope): Promise<HttpResponse> {
    try {
      return await this.#sendOnce(request, scope);
    } catch (thrown) {
      if (!(thrown instanceof StaleConnection)) throw thrown;
      return this.#sendOnce(request, scope, true);
    }
  }

  /** Ends all connections. */
  close(): void {
    this.#agents?.safe.destroy();
    this.#agents?.other.destroy();
    this.#agents = undefined;
  }

  /** Requests that may change something have a connection of their own, as a used one may have been closed unnoticed. */
  #agent(origin: URL, isReused: boolean): HttpAgent {
    const Agent = origin.protocol === 'https:' ? HttpsAgent : HttpAgent;
    this.#agents ??= {
      safe: new Agent({ keepAlive: true, timeout: IDLE_MS, maxSockets: MAX_CONNECTIONS }),
      other: new Agent({ keepAlive: false, maxSockets: MAX_CONNECTIONS }),
    };
    return isReused ? this.#agents.safe : this.#agents.other;
  }

  #sendOnce(request: HttpRequest, scope: CallScope, isSecond = false): Promise<HttpResponse> {
    if (scope.error) return Promise.reject(scope.error);
    const { method, origin, target, headers, body } = request;
    return new Promise<HttpResponse>((resolve, reject) => {
      let wasSent = false;
      const isHttps = origin.protocol === 'https:';
      const isSafe = SAFE.has(method);
      const outgoing: ClientRequest = (isHttps ? httpsRequest : httpRequest)({
        protocol: origin.protocol,
        hostname: origin.hostname.replace(/^\[|\]$/g, ''),
        port: origin.port === '' ? (isHttps ? 443 : 80) : Number(origin.port),
        method,
        path: target,
        headers: {
          ...headers,
          'accept-encoding': 'gzip',
          ...(body !== undefined || !(isSafe || method === 'DELETE') ? { 'content-length': body?.length ?? 0 } : {}),
        },
        agent: this.#agent(origin, isSafe && !isSecond),
      });
      const abort = (error: ToolError): void => {
        reject(error);
        outgoing.destroy();
      };
      const settle = (): void => scope.offEnd(abort);
      const sent = (): void => {
        wasSent = true;
        request.onSent?.();
      };
      scope.onEnd(abort);
      outgoing.once('socket', (socket) => {
        if (socket.connecting) socket.once(isHttps ? 'secureConnect' : 'connect', sent);
        else sent();
      });
      outgoing.on('error', (error: NodeJS.ErrnoException) => {
        settle();
        const isStale = isSafe && outgoing.reusedSocket && !isSecond && BROKEN.has(error.code ?? '');
        reject(isStale ? new StaleConnection() : failureOf(error, origin, wasSent));
      });
      outgoing.once('response', (incoming) => {
        readBody(incoming, request)
          .then(
            (read) => resolve({ ...headOf(incoming), body: read }),
            (error: Error) => {
              outgoing.destroy();
              reject(ToolError.isInstance(error) ? error : failureOf(error, origin, true));
            },
          )
          .finally(settle);
      });
      outgoing.end(body);
    });
  }
}

/** A connection that the server had closed before it was used again. */
class StaleConnection extends Error {}

const BROKEN: ReadonlySet<string> = new Set(['ECONNRESET', 'EPIPE', 'ECONNABORTED']);

function headOf({ statusCode = 0, statusMessage = '', headers }: IncomingMessage): Omit<HttpResponse, 'body'> {
  return { status: statusCode, statusText: statusMessage, headers };
}

/** Reads a body, decompressed, and stops at the limit. */
async function readBody(incoming: IncomingMessage, request: HttpRequest): Promise<Buffer> {
  const encoding = (incoming.headers['content-encoding'] ?? 'identity').trim().toLowerCase();
  const isEmpty = request.method === 'HEAD' || incoming.statusCode === 204 || incoming.statusCode === 304;
  const length = isEmpty ? NaN : Number(incoming.headers['content-length'] ?? NaN);
  if (length > request.maxBytes) throw tooLarge(request.maxBytes);
  if (isEmpty || encoding === 'identity' || encoding === '') return collect(incoming, request, length);
  if (encoding !== 'gzip' && encoding !== 'x-gzip')
    throw new ToolError(
      'PROTOCOL_VIOLATION',
      'The response has an encoding that the request did not accept, so it was not read; the operation has run.',
    );
  const gunzip = createGunzip();
  // An error of either stream ends both.
  incoming.on('error', (error) => gunzip.destroy(error));
  try {
    return await collect(incoming.pipe(gunzip), request, NaN);
  } finally {
    gunzip.destroy();
  }
}

async function collect(
  stream: AsyncIterable<Buffer>,
  { maxBytes, onReceived }: HttpRequest,
  length: number,
): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of stream) {
    bytes += chunk.length;
    if (bytes > maxBytes) throw tooLarge(maxBytes);
    chunks.push(chunk);
    onReceived?.({ progress: bytes, ...(Number.isSafeInteger(length) && { total: length }) });
  }
  return Buffer.concat(chunks);
}

function tooLarge(maxResponseBytes: number): ToolError {
  return new ToolError(
    'TOO_LARGE',
    `The response is larger than ${maxResponseBytes} bytes, so it was not read; the operation has run. Request less, or raise maxResponseBytes.`,
    { details: { maxResponseBytes } },
  );
}

/** The error for a connection that failed. */
function failureOf(error: NodeJS.ErrnoException, { origin }: URL, wasSent: boolean): ToolError {
  const { code } = error;
  const details = code === undefined ? {} : { errno: code };
  if (!wasSent)
    return new ToolError(
      'UNAVAILABLE',
      `${origin} cannot be reached${code === undefined ? '' : ` (${code})`}; check that it is running and that the address is correct. Nothing was sent.`,
      { cause: error, details },
    );
  if (code?.startsWith('HPE_') || code?.startsWith('Z_'))
    return new ToolError(
      'PROTOCOL_VIOLATION',
      `The response of ${origin} is malformed (${code}); the operation may have run.`,
      {
        cause: error,
        details: { ...details, outcomeUnknown: true },
      },
    );
  return new ToolError(
    'OUTCOME_UNKNOWN',
    `The connection to ${origin} ended before the response; the operation may have run.`,
    {
      cause: error,
      details: { ...details, outcomeUnknown: true },
    },
  );
}
