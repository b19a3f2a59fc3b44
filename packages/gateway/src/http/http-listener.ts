// Streamable HTTP on a port or a unix socket. Every request is checked in one order: Host and Origin, the public paths, the
// token, the session, the body. The first failed check rejects it before anything else is read.

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { ToolError, type JsonObject } from '@toolwright/core';
import { assertOptions, type OptionNames } from '@toolwright/core/internal';
import { AllowedHosts, BearerTokens, bracketed, type HttpAuth } from './http-auth.js';
import { HttpConnections } from './http-connections.js';
import { readBody, sendResponse, setWriteTimeout, webRequestOf } from './http-messages.js';
import { HttpSessions } from './http-sessions.js';
import { idOf, ModernEndpoint, type ModernEndpointHost } from './modern-endpoint.js';
import { hasModernHeader, isModernBody } from './modern-headers.js';
import type { EffectiveLimits } from '../gateway-limits.js';
import { createHttpTransport, requestIdsOf } from '../engines/v1.js';
import { INVALID_REQUEST, messageOf, PARSE_ERROR } from '../rpc-error.js';
import type { ClientSession } from '../session/session.js';
import { listenPrivately } from '../stream/socket-listener.js';

/** Where and how a gateway listens for HTTP. */
export interface ServeHttpOptions {
  /** The TCP port. Default 0: a free one. */
  port?: number;
  /** Listen on a unix socket that only this user can connect to, instead of a port. */
  socketPath?: string;
  /** The address to listen on. Default `127.0.0.1`; any address but a loopback address admits the network. */
  host?: string;
  /** The path of the MCP endpoint. Default `/mcp`. */
  path?: string;
  /** Who may connect. Default: a generated bearer token, returned as `token`. */
  auth?: HttpAuth;
  /** Serve each request without a session; servers cannot send requests to the client then. Default false. */
  stateless?: boolean;
  /** Further accepted values of `Host`, with the port if it is not the default one; for use behind a proxy. */
  allowedHosts?: readonly string[];
  /**
   * Further origins whose web pages may call, such as `https://app.example`; they get CORS headers. Pages of the
   * listener's own host and port may always call. Default: none.
   */
  allowedOrigins?: readonly string[];
}

/** A gateway's HTTP listener. */
export interface HttpListener {
  /** The URL of the MCP endpoint; for a unix socket, the URL to request over it. */
  readonly url: string;
  /** The TCP port; undefined for a unix socket. */
  readonly port: number | undefined;
  /** The generated token; undefined when `auth` was given. */
  readonly token: string | undefined;
  /** Ends its sessions and stops listening. Idempotent. */
  close(): Promise<void>;
}

/** What the listener needs from the gateway. */
export interface HttpHost extends ModernEndpointHost {
  limits: EffectiveLimits;
  openSession: (id: string, onClosed: (session: ClientSession) => void) => ClientSession;
  /** Called when no more calls with this session id will follow. */
  endConversation: (id: string, idle: Promise<void>) => void;
  isReady: () => boolean;
  metricsText: () => string;
  warn: (message: string) => void;
}

const CHECK_INTERVAL_MS = 1_000;
/** Headers that allow a page to read an answer. https://fetch.spec.whatwg.org/#http-cors-protocol */
const PAGE_HEADERS = [
  ['access-control-expose-headers', 'mcp-session-id, www-authenticate, retry-after'],
  ['vary', 'origin'],
] as const;
/** Headers that state what a page may send. */
const PREFLIGHT_HEADERS = {
  'access-control-allow-methods': 'GET, POST, DELETE',
  'access-control-allow-headers':
    'authorization, content-type, accept, mcp-session-id, mcp-protocol-version, last-event-id, mcp-method, mcp-name',
  'access-control-max-age': '600',
  'content-length': '0',
};
const OPTIONS: OptionNames<ServeHttpOptions> = {
  port: true,
  socketPath: true,
  host: true,
  path: true,
  auth: true,
  stateless: true,
  allowedHosts: true,
  allowedOrigins: true,
};

/** Starts listening. @throws {ToolError} INVALID_ARGUMENT, LOCKED or UNAVAILABLE */
export async function serveOverHttp(options: ServeHttpOptions, host: HttpHost): Promise<HttpListener> {
  assertOptions('serveHttp()', options, OPTIONS);
  if (options.socketPath !== undefined && (options.port ?? options.host) !== undefined)
    throw new ToolError('INVALID_ARGUMENT', 'serveHttp(): socketPath excludes port and host. Set one or the other.');
  assertValues(options);
  const { socketPath, host: address = '127.0.0.1', path = '/mcp' } = options;
  if (typeof path !== 'string' || !/^\/[\w./-]*$/.test(path) || ['/healthz', '/readyz', '/metrics'].includes(path))
    throw new ToolError(
      'INVALID_ARGUMENT',
      'serveHttp(): path must start with "/", contain only letters, digits and "_./-", and not be /healthz, /readyz or /metrics.',
    );
  const { tokens, generated } = BearerTokens.from(options.auth);
  const { limits } = host;
  const server = createServer(
    {
      headersTimeout: limits.headersTimeoutMs,
      requestTimeout: Math.max(limits.requestTimeoutMs, limits.headersTimeoutMs),
      connectionsCheckingInterval: Math.min(CHECK_INTERVAL_MS, limits.headersTimeoutMs),
      maxHeaderSize: 16 * 1024,
      requireHostHeader: false, // a missing Host is rejected with 403 below, like a wrong one
    },
    (request, response) => {
      router.handle(request, response, connections.isExcess(request.socket)).catch((thrown: unknown) => {
        host.warn(`A request failed: ${messageOf(thrown)}`);
        if (response.headersSent) response.destroy();
        else reject(response, 500, 'Internal error; see the log of the gateway.');
      });
    },
  );
  const connections = new HttpConnections(server, limits.maxConnections);
  if (socketPath !== undefined) await listenPrivately(server, socketPath);
  else await listen(server, options.port ?? 0, address);
  const port = socketPath === undefined ? (server.address() as AddressInfo).port : undefined;
  const router = new HttpRouter(host, tokens, path, {
    stateless: options.stateless ?? false,
    hosts: new AllowedHosts(address, port, options.allowedHosts ?? [], options.allowedOrigins ?? []),
  });
  return {
    url: port === undefined ? `http://localhost${path}` : `http://${bracketed(address)}:${port}${path}`,
    port,
    token: generated,
    close: async () => {
      const closed = new Promise((resolve) => server.close(resolve));
      await router.close();
      connections.destroy();
      await closed;
    },
  };
}

/** Checks the options before anything listens. @throws {ToolError} INVALID_ARGUMENT */
function assertValues(options: ServeHttpOptions): void {
  const { port, host, stateless } = options;
  const wrong = (expected: string, value: unknown): ToolError =>
    new ToolError('INVALID_ARGUMENT', `serveHttp(): ${expected}, not ${JSON.stringify(value)}.`);
  if (port !== undefined && !(Number.isInteger(port) && port >= 0 && port <= 65_535))
    throw wrong('port must be an integer from 0 to 65535', port);
  if (host !== undefined && (typeof host !== 'string' || host === ''))
    throw wrong('host must be a non-empty string such as "127.0.0.1"', host);
  if (stateless !== undefined && typeof stateless !== 'boolean')
    throw wrong('stateless must be true or false', stateless);
  for (const key of ['allowedHosts', 'allowedOrigins'] as const) {
    const names: unknown = options[key];
    if (names !== undefined && !(Array.isArray(names) && names.every((name) => typeof name === 'string')))
      throw wrong(`${key} must be an array of strings`, names);
  }
  for (const origin of options.allowedOrigins ?? []) {
    const parsed = URL.canParse(origin) ? new URL(origin) : undefined;
    if (
      origin !== 'null' &&
      parsed?.origin !== origin.toLowerCase() &&
      !/^[a-z][a-z0-9+.-]*:\/\/[^/?#*]+$/i.test(origin)
    )
      throw wrong('allowedOrigins must contain origins such as "https://app.example", without a path or "*"', origin);
  }
  for (const name of options.allowedHosts ?? [])
    if (!/^[^/\s*@]+$/.test(name))
      throw wrong('allowedHosts must contain hosts such as "tools.example" or "tools.example:8080"', name);
}

/** Checks requests and passes them to their session. */
class HttpRouter {
  readonly #host: HttpHost;
  readonly #tokens: BearerTokens;
  readonly #path: string;
  readonly #hosts: AllowedHosts;
  readonly #sessions: HttpSessions;
  readonly #stateless: boolean;
  readonly #modern: ModernEndpoint;

  constructor(
    host: HttpHost,
    tokens: BearerTokens,
    path: string,
    options: { stateless: boolean; hosts: AllowedHosts },
  ) {
    this.#host = host;
    this.#tokens = tokens;
    this.#path = path;
    this.#hosts = options.hosts;
    this.#stateless = options.stateless;
    this.#modern = new ModernEndpoint(host, tokens);
    this.#sessions = new HttpSessions(host.limits, (id, onClosed) =>
      host.openSession(id, (session) => {
        onClosed();
        host.endConversation(id, session.whenIdle());
      }),
    );
  }

  async close(): Promise<void> {
    await this.#sessions.close();
    await this.#modern.close();
  }

  /** @param isExcess all connections are in use: only health checks are answered */
  async handle(request: IncomingMessage, response: ServerResponse, isExcess: boolean): Promise<void> {
    const { host, origin, authorization } = request.headers;
    const hosts = request.rawHeaders.filter((name, at) => at % 2 === 0 && name.toLowerCase() === 'host');
    response.on('error', () => undefined); // 'close' follows and is handled
    if (hosts.length !== 1 || !this.#hosts.allowsHost(host))
      return this.#reject(response, 'host', 403, 'Host not allowed; add it to allowedHosts to serve it.');
    if (!this.#hosts.allowsOrigin(origin))
      return this.#reject(response, 'origin', 403, 'Origin not allowed; add it to allowedOrigins to serve it.');
    if (this.#hosts.needsCors(origin)) {
      for (const [name, value] of PAGE_HEADERS) response.setHeader(name, value);
      response.setHeader('access-control-allow-origin', origin);
      if (isPreflight(request)) return this.#answerPreflight(request, response);
    }
    const path = (request.url ?? '').split('?', 1)[0];
    if (path === '/healthz') return answer(response, 200, 'ok\n');
    if (path === '/readyz')
      return this.#host.isReady() ? answer(response, 200, 'ok\n') : answer(response, 503, 'not ready\n');
    if (isExcess) {
      response.setHeader('connection', 'close').setHeader('retry-after', '1');
      return this.#reject(response, 'limit', 503, 'All connections are in use; retry with fewer concurrent requests.');
    }
    const principal = this.#tokens.principalOf(authorization);
    if (principal === undefined) {
      response.setHeader('www-authenticate', 'Bearer');
      return this.#reject(response, 'token', 401, 'A valid bearer token is required.');
    }
    if (path === '/metrics') return answer(response, 200, this.#host.metricsText(), 'text/plain; version=0.0.4');
    if (path !== this.#path) return this.#reject(response, 'path', 404, 'Not found.');
    return this.#stateless
      ? this.#answerStateless(principal, request, response)
      : this.#answer(principal, request, response);
  }

  /** A browser's CORS preflight, which carries no token. The headers of parameters are named by the tools. */
  #answerPreflight({ headers }: IncomingMessage, response: ServerResponse): void {
    const requested = (headers['access-control-request-headers'] ?? '').split(',').map((name) => name.trim());
    const parameters = requested.filter((name) => /^mcp-param-[\w-]+$/i.test(name));
    const allowed = [PREFLIGHT_HEADERS['access-control-allow-headers'], ...parameters].join(', ');
    response.writeHead(204, { ...PREFLIGHT_HEADERS, 'access-control-allow-headers': allowed }).end();
  }

  async #answer(principal: number, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const isModern = hasModernHeader(request.headers);
    if (isModern && request.method !== 'POST') return this.#rejectMethod(response);
    const id = isModern ? undefined : request.headers['mcp-session-id'];
    const known = typeof id === 'string' ? this.#sessions.find(id, principal) : undefined;
    if (id !== undefined && !known) return this.#reject(response, 'session', 404, 'Session not found.');
    const body = await this.#body(request, response);
    if (!body) return;
    if (this.#isModern(request, response, body.parsed))
      return this.#modern.answer(principal, request, response, body.parsed as JsonObject);
    if (response.writableEnded) return;
    if (known) {
      const ids = requestIdsOf(body.parsed);
      if (!known.client.reserveIds(ids))
        return this.#reject(
          response,
          'id',
          400,
          'A request with this id is in flight already.',
          INVALID_REQUEST,
          ids[0],
        );
      return this.#sessions.use(known, request.method, async () => {
        const status = await this.#relay(known.transport, request, response, body.parsed);
        if (status >= 400) known.client.releaseIds(ids);
      });
    }
    if (request.method !== 'POST' || !isInitialize(body.parsed))
      return this.#reject(
        response,
        'session',
        400,
        'Mcp-Session-Id is required in every request but initialize, which starts a session.',
      );
    const session = await this.#sessions.open(principal);
    if (!session) {
      response.setHeader('retry-after', '60');
      return this.#reject(response, 'limit', 503, 'Too many sessions; end one with DELETE.');
    }
    await this.#sessions.use(session, request.method, async () => {
      await this.#relay(session.transport, request, response, body.parsed);
    });
    this.#sessions.closeUninitialized(session);
  }

  async #answerStateless(principal: number, request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.method !== 'POST') return this.#rejectMethod(response);
    const body = await this.#body(request, response);
    if (!body) return;
    const accepted = request.headers.accept ?? '*/*';
    const json = !accepted.includes('text/event-stream');
    if (this.#isModern(request, response, body.parsed))
      return this.#modern.answer(principal, request, response, body.parsed as JsonObject);
    if (response.writableEnded) return;
    const session = this.#host.openSession(this.#modern.clientOf(principal).id, () => undefined);
    try {
      const transport = createHttpTransport(undefined, json);
      await session.connect(transport);
      response.once('close', () => void session.close()); // no one waits for the answer
      await this.#relay(transport, request, response, body.parsed);
    } finally {
      await session.close();
    }
  }

  #rejectMethod(response: ServerResponse): void {
    response.setHeader('allow', 'POST');
    this.#reject(response, 'method', 405, 'Only POST is supported: this server is stateless.');
  }

  /** Which era a body belongs to; false too when it belongs to none, which is answered then. */
  #isModern({ headers, method }: IncomingMessage, response: ServerResponse, body: unknown): boolean {
    try {
      return method === 'POST' && isModernBody(headers, body);
    } catch (thrown) {
      const { code, message, status } = thrown as Error & { code: number; status: number };
      return this.#reject(response, 'protocol', status, message, code, idOf(body)) ?? false;
    }
  }

  /** The parsed body; undefined when it was rejected. Only POST has a body. */
  async #body(request: IncomingMessage, response: ServerResponse): Promise<{ parsed: unknown } | undefined> {
    if (request.method !== 'POST') return { parsed: undefined };
    const type = request.headers['content-type'] ?? '';
    if (!/^application\/json\s*(;|$)/i.test(type))
      return this.#reject(response, 'body', 415, 'Content-Type must be application/json.');
    const text = await readBody(request, this.#host.limits.maxBodyBytes);
    if (text === undefined)
      return this.#reject(
        response,
        'body',
        413,
        `The body is larger than the limit of ${this.#host.limits.maxBodyBytes} bytes.`,
      );
    try {
      return { parsed: JSON.parse(text) };
    } catch {
      return this.#reject(response, 'body', 400, 'The body is not JSON.', PARSE_ERROR);
    }
  }

  async #relay(
    transport: ReturnType<typeof createHttpTransport>,
    request: IncomingMessage,
    response: ServerResponse,
    parsedBody: unknown,
  ): Promise<number> {
    const answered = await transport.handleRequest(
      webRequestOf(request, this.#stateless),
      parsedBody === undefined ? {} : { parsedBody },
    );
    await sendResponse(answered, response, this.#host.backlog);
    return answered.status;
  }

  #reject(
    response: ServerResponse,
    reason: string,
    status: number,
    message: string,
    code?: number,
    id?: unknown,
  ): undefined {
    this.#host.metrics.refuse(reason);
    reject(response, status, message, code, id);
    return undefined;
  }
}

function isPreflight({ method, headers }: IncomingMessage): boolean {
  return method === 'OPTIONS' && headers['access-control-request-method'] !== undefined;
}

function isInitialize(message: unknown): boolean {
  return (message as { method?: unknown } | null)?.method === 'initialize';
}

/** Answers with an HTTP status and a JSON-RPC error, whose message clients show. */
function reject(response: ServerResponse, status: number, message: string, code = -32_000, id: unknown = null): void {
  answer(response, status, JSON.stringify({ jsonrpc: '2.0', error: { code, message }, id }), 'application/json');
}

function answer(response: ServerResponse, status: number, text: string, type = 'text/plain; charset=utf-8'): void {
  setWriteTimeout(response);
  response.writeHead(status, {
    'content-type': type,
    'content-length': Buffer.byteLength(text),
    'cache-control': 'no-store',
  });
  response.end(text);
}

async function listen(server: Server, port: number, host: string): Promise<void> {
  try {
    await new Promise<void>((resolve, reject) => server.once('error', reject).listen(port, host, resolve));
  } catch (thrown) {
    throw new ToolError('UNAVAILABLE', `The gateway cannot listen on ${host}:${port}: ${reasonOf(thrown)}`, {
      cause: thrown,
    });
  }
}

function reasonOf(thrown: unknown): string {
  switch ((thrown as { code?: unknown }).code) {
    case 'EADDRINUSE':
      return 'the port is in use. Choose another one, or 0 for a free port.';
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      return 'host is not an address of this machine.';
    case 'EACCES':
      return 'this user may not listen on the port. Choose one from 1024 on.';
    default:
      return messageOf(thrown);
  }
}
