// Streamable HTTP at a port of this machine or at a unix socket. Each request is looked at in one order: Host and Origin,
// the open paths, the token, the session, the body; what fails is refused before anything else is read.

import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { ToolError } from '@toolwright/core';
import { assertOptions, type OptionNames } from '@toolwright/core/internal';
import { BearerTokens, bracketed, KnownHosts, type HttpAuth } from './http-auth.js';
import type { Backlog } from '../session/backlog.js';
import { HttpConnections } from './http-connections.js';
import { letGoUnread, readBody, sendResponse, webRequestOf } from './http-messages.js';
import { HttpSessions } from './http-sessions.js';
import type { EffectiveLimits } from '../gateway-limits.js';
import { createHttpTransport, requestIdsOf } from '../mcp-server.js';
import type { GatewayMetrics } from '../metrics.js';
import { INVALID_REQUEST, messageOf } from '../rpc-error.js';
import type { ClientSession } from '../session/session.js';
import { listenPrivately } from '../stream/socket-listener.js';

/** Where and how a gateway listens for HTTP. */
export interface ServeHttpOptions {
  /** Default 0: a free one. */
  port?: number;
  /** A unix socket in place of a port, for this user alone. */
  socketPath?: string;
  /** Default `127.0.0.1`. Anything but this machine's own addresses lets the network in. */
  host?: string;
  /** Default `/mcp`. */
  path?: string;
  /** Default: a token is made, and given back. */
  auth?: HttpAuth;
  /** Keep no sessions: each request stands alone, and nothing can be asked of a client. Default false. */
  stateless?: boolean;
  /** Other names that requests may ask for in `Host`, with the port where there is one: behind a proxy. */
  allowedHosts?: readonly string[];
  /**
   * Pages that may call, such as `https://app.example`: their browsers are told so (CORS). Default: those of this
   * listener's own names.
   */
  allowedOrigins?: readonly string[];
}

/** A gateway that listens for HTTP. */
export interface HttpListener {
  /** Where clients connect to; for a unix socket, the URL to ask for over it. */
  readonly url: string;
  /** Undefined for a unix socket. */
  readonly port: number | undefined;
  /** The token that was made; undefined where tokens were given, or none is wanted. */
  readonly token: string | undefined;
  /** Closes all sessions and stops listening. */
  close(): Promise<void>;
}

/** What the listener needs of the gateway. */
export interface HttpHost {
  limits: EffectiveLimits;
  metrics: GatewayMetrics;
  backlog: Backlog;
  openSession: (id: string, onClosed: (session: ClientSession) => void) => ClientSession;
  /** Told when no more calls under this id of a session will come. */
  endConversation: (id: string, idle: Promise<void>) => void;
  isReady: () => boolean;
  metricsText: () => string;
  warn: (message: string) => void;
}

const CHECK_INTERVAL_MS = 1_000;
/** What a page may read of an answer. https://fetch.spec.whatwg.org/#http-cors-protocol */
const PAGE_HEADERS = [
  ['access-control-expose-headers', 'mcp-session-id, www-authenticate, retry-after'],
  ['vary', 'origin'],
] as const;
/** What a page may send. */
const PREFLIGHT_HEADERS = {
  'access-control-allow-methods': 'GET, POST, DELETE',
  'access-control-allow-headers':
    'authorization, content-type, accept, mcp-session-id, mcp-protocol-version, last-event-id',
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

/** @throws {ToolError} INVALID_ARGUMENT, LOCKED or UNAVAILABLE */
export async function serveOverHttp(options: ServeHttpOptions, host: HttpHost): Promise<HttpListener> {
  assertOptions('serveHttp()', options, OPTIONS);
  if (options.socketPath !== undefined && (options.port ?? options.host) !== undefined)
    throw new ToolError('INVALID_ARGUMENT', 'serveHttp(): give socketPath, or port and host, not both.');
  assertValues(options);
  const { socketPath, host: address = '127.0.0.1', path = '/mcp' } = options;
  if (typeof path !== 'string' || !/^\/[\w./-]*$/.test(path) || ['/healthz', '/readyz', '/metrics'].includes(path))
    throw new ToolError(
      'INVALID_ARGUMENT',
      'serveHttp(): path must begin with "/", and not be one of the three others.',
    );
  const { tokens, made } = BearerTokens.from(options.auth);
  const { limits } = host;
  const server = createServer(
    {
      headersTimeout: limits.headersTimeoutMs,
      requestTimeout: Math.max(limits.requestTimeoutMs, limits.headersTimeoutMs),
      connectionsCheckingInterval: Math.min(CHECK_INTERVAL_MS, limits.headersTimeoutMs),
      maxHeaderSize: 16 * 1024,
      requireHostHeader: false, // it is looked at here, and is 403 like any other that is wrong
    },
    (request, response) => {
      front.handle(request, response, connections.isExcess(request.socket)).catch((thrown: unknown) => {
        host.warn(`A request failed: ${messageOf(thrown)}`);
        if (response.headersSent) response.destroy();
        else refuse(response, 500, 'The gateway failed; its log says more.');
      });
    },
  );
  const connections = new HttpConnections(server, limits.maxConnections);
  if (socketPath !== undefined) await listenPrivately(server, socketPath);
  else await listen(server, options.port ?? 0, address);
  const port = socketPath === undefined ? (server.address() as AddressInfo).port : undefined;
  const front = new HttpFront(host, tokens, path, {
    stateless: options.stateless ?? false,
    hosts: new KnownHosts(address, port, options.allowedHosts ?? [], options.allowedOrigins ?? []),
  });
  return {
    url: port === undefined ? `http://localhost${path}` : `http://${bracketed(address)}:${port}${path}`,
    port,
    token: made,
    close: async () => {
      const closed = new Promise((resolve) => server.close(resolve));
      await front.close();
      connections.destroy();
      await closed;
    },
  };
}

/** Looked at before anything listens. @throws {ToolError} INVALID_ARGUMENT */
function assertValues(options: ServeHttpOptions): void {
  const { port, host, stateless } = options;
  const wrong = (words: string, value: unknown): ToolError =>
    new ToolError('INVALID_ARGUMENT', `serveHttp(): ${words}, not ${JSON.stringify(value)}.`);
  if (port !== undefined && !(Number.isInteger(port) && port >= 0 && port <= 65_535))
    throw wrong('port must be a whole number from 0 to 65535', port);
  if (host !== undefined && (typeof host !== 'string' || host === ''))
    throw wrong('host must be a text such as "127.0.0.1"', host);
  if (stateless !== undefined && typeof stateless !== 'boolean')
    throw wrong('stateless must be true or false', stateless);
  for (const key of ['allowedHosts', 'allowedOrigins'] as const) {
    const names: unknown = options[key];
    if (names !== undefined && !(Array.isArray(names) && names.every((name) => typeof name === 'string')))
      throw wrong(`${key} must be an array of texts`, names);
  }
  for (const origin of options.allowedOrigins ?? []) {
    const parsed = URL.canParse(origin) ? new URL(origin) : undefined;
    if (
      origin !== 'null' &&
      parsed?.origin !== origin.toLowerCase() &&
      !/^[a-z][a-z0-9+.-]*:\/\/[^/?#*]+$/i.test(origin)
    )
      throw wrong('allowedOrigins takes origins such as "https://app.example", without a path or "*"', origin);
  }
  for (const name of options.allowedHosts ?? [])
    if (!/^[^/\s*@]+$/.test(name))
      throw wrong('allowedHosts takes names such as "tools.example" or "tools.example:8080"', name);
}

/** The way of one request. */
class HttpFront {
  readonly #host: HttpHost;
  readonly #tokens: BearerTokens;
  readonly #path: string;
  readonly #hosts: KnownHosts;
  readonly #sessions: HttpSessions;
  readonly #stateless: boolean;
  /** What stateless requests of one token have in common, for tools that keep something by the conversation. */
  readonly #conversations = new Map<number, string>();

  constructor(host: HttpHost, tokens: BearerTokens, path: string, options: { stateless: boolean; hosts: KnownHosts }) {
    this.#host = host;
    this.#tokens = tokens;
    this.#path = path;
    this.#hosts = options.hosts;
    this.#stateless = options.stateless;
    this.#sessions = new HttpSessions(host.limits, (id, onClosed) =>
      host.openSession(id, (session) => {
        onClosed();
        host.endConversation(id, session.whenIdle());
      }),
    );
  }

  async close(): Promise<void> {
    await this.#sessions.close();
    for (const conversation of this.#conversations.values())
      this.#host.endConversation(conversation, Promise.resolve());
  }

  /** @param isExcess all connections are in use; how the gateway is, is told all the same */
  async handle(request: IncomingMessage, response: ServerResponse, isExcess: boolean): Promise<void> {
    const { host, origin, authorization } = request.headers;
    response.on('error', () => undefined); // its close is what counts
    if (!this.#hosts.knowsHost(host)) return this.#refuse(response, 'host', 403, 'This Host is not served here.');
    if (!this.#hosts.knowsOrigin(origin)) return this.#refuse(response, 'origin', 403, 'This Origin may not call.');
    if (this.#hosts.letsPageIn(origin)) {
      for (const [name, value] of PAGE_HEADERS) response.setHeader(name, value);
      response.setHeader('access-control-allow-origin', origin);
      if (isPreflight(request)) return this.#answerPreflight(response);
    }
    const path = (request.url ?? '').split('?', 1)[0];
    if (path === '/healthz') return answer(response, 200, 'ok\n');
    if (path === '/readyz')
      return this.#host.isReady() ? answer(response, 200, 'ok\n') : answer(response, 503, 'not ready\n');
    if (isExcess) {
      response.setHeader('connection', 'close').setHeader('retry-after', '1');
      return this.#refuse(response, 'limit', 503, 'All connections are in use; try again, with fewer at once.');
    }
    const principal = this.#tokens.principalOf(authorization);
    if (principal === undefined) {
      response.setHeader('www-authenticate', 'Bearer');
      return this.#refuse(response, 'token', 401, 'A bearer token is needed.');
    }
    if (path === '/metrics') return answer(response, 200, this.#host.metricsText(), 'text/plain; version=0.0.4');
    if (path !== this.#path) return this.#refuse(response, 'path', 404, 'There is nothing here.');
    return this.#stateless
      ? this.#answerAlone(principal, request, response)
      : this.#answer(principal, request, response);
  }

  /** A browser asks before it sends a page's request, without the token. */
  #answerPreflight(response: ServerResponse): void {
    response.writeHead(204, PREFLIGHT_HEADERS).end();
  }

  async #answer(principal: number, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const id = request.headers['mcp-session-id'];
    const known = typeof id === 'string' ? this.#sessions.find(id, principal) : undefined;
    if (id !== undefined && !known) return this.#refuse(response, 'session', 404, 'There is no such session.');
    const body = await this.#body(request, response);
    if (!body) return;
    if (known) {
      const ids = requestIdsOf(body.parsed);
      if (!known.client.takeIds(ids))
        return this.#refuse(
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
      return this.#refuse(
        response,
        'session',
        400,
        'A session begins with initialize; later requests name it in Mcp-Session-Id.',
      );
    const session = await this.#sessions.open(principal);
    if (!session) {
      response.setHeader('retry-after', '60');
      return this.#refuse(response, 'limit', 503, 'There are too many sessions; end one with DELETE.');
    }
    await this.#sessions.use(session, request.method, async () => {
      await this.#relay(session.transport, request, response, body.parsed);
    });
    this.#sessions.dropUnopened(session);
  }

  async #answerAlone(principal: number, request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.method !== 'POST') {
      response.setHeader('allow', 'POST');
      return this.#refuse(response, 'method', 405, 'This server keeps no sessions: only POST is served.');
    }
    const body = await this.#body(request, response);
    if (!body) return;
    const accepted = request.headers.accept ?? '*/*';
    const json = !accepted.includes('text/event-stream');
    let conversation = this.#conversations.get(principal);
    if (conversation === undefined) this.#conversations.set(principal, (conversation = randomUUID()));
    const session = this.#host.openSession(conversation, () => undefined);
    try {
      const transport = createHttpTransport(undefined, json);
      await session.connect(transport);
      response.once('close', () => void session.close()); // nobody waits for it any more
      await this.#relay(transport, request, response, body.parsed);
    } finally {
      await session.close();
    }
  }

  /** The body, parsed; undefined where it was refused. A request without one has none to refuse. */
  async #body(request: IncomingMessage, response: ServerResponse): Promise<{ parsed: unknown } | undefined> {
    if (request.method !== 'POST') return { parsed: undefined };
    const type = request.headers['content-type'] ?? '';
    if (!/^application\/json\s*(;|$)/i.test(type))
      return this.#refuse(response, 'body', 415, 'The body must be application/json.');
    const text = await readBody(request, this.#host.limits.maxBodyBytes);
    if (text === undefined)
      return this.#refuse(response, 'body', 413, `A body has at most ${this.#host.limits.maxBodyBytes} bytes.`);
    try {
      return { parsed: JSON.parse(text) };
    } catch {
      return this.#refuse(response, 'body', 400, 'The body is no JSON.', -32_700);
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

  #refuse(
    response: ServerResponse,
    reason: string,
    status: number,
    message: string,
    code?: number,
    id?: unknown,
  ): undefined {
    this.#host.metrics.refuse(reason);
    refuse(response, status, message, code, id);
    return undefined;
  }
}

function isPreflight({ method, headers }: IncomingMessage): boolean {
  return method === 'OPTIONS' && headers['access-control-request-method'] !== undefined;
}

function isInitialize(message: unknown): boolean {
  return (message as { method?: unknown } | null)?.method === 'initialize';
}

/** A refusal has the form of an answer, which clients show. */
function refuse(response: ServerResponse, status: number, message: string, code = -32_000, id: unknown = null): void {
  answer(response, status, JSON.stringify({ jsonrpc: '2.0', error: { code, message }, id }), 'application/json');
}

function answer(response: ServerResponse, status: number, text: string, type = 'text/plain; charset=utf-8'): void {
  letGoUnread(response);
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
    throw new ToolError('UNAVAILABLE', `The gateway cannot listen at ${host}:${port}: ${messageOf(thrown)}`, {
      cause: thrown,
    });
  }
}
