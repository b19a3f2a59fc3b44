// createGateway: one provider, served to any number of MCP clients. It holds what they share; a client is a session's.

import { randomUUID } from 'node:crypto';
import type { Readable, Writable } from 'node:stream';
import { ToolError, type Logger, type McpPeer, type ToolProvider } from '@toolwright/core';
import {
  assertOptions,
  DEFAULT_MAX_FRAME_BYTES,
  safeLogger,
  settledWithin,
  type OptionNames,
} from '@toolwright/core/internal';
import { Backlog } from './session/backlog.js';
import { namerOf, ToolCatalog, type Naming } from './catalog.js';
import type { HttpListener, ServeHttpOptions } from './http/http-listener.js';
import { parseLimits, type EffectiveLimits, type GatewayLimits } from './gateway-limits.js';
import { GatewayMetrics } from './metrics.js';
import { messageOf } from './rpc-error.js';
import type { ClientSession, SessionHost } from './session/session.js';
import type { ServeSocketOptions } from './stream/socket-listener.js';
import type { ServeStdioOptions } from './stream/stdio.js';
import { VERSION } from './version.js';

/** How long calls of a client that has gone may take to settle, before what it left is ended all the same. */
const SETTLING_MS = 1_000;

/** How a gateway serves its provider. */
export interface GatewayOptions {
  /** What tools and prompts are called. Default `'alias'`: `server__tool`. */
  naming?: Naming;
  /**
   * Pass on what the MCP servers behind it have beyond tools, and what they ask of a client. Default false. A policy
   * judges calls of tools only.
   */
  forward?: boolean;
  /** Limits of sessions and output. Default: those of the gateway. */
  limits?: GatewayLimits;
  /** Default: silent. It is told of no argument, result or token. */
  logger?: Logger;
}

const GATEWAY_OPTIONS: OptionNames<GatewayOptions> = { naming: true, forward: true, limits: true, logger: true };
const STDIO_OPTIONS: OptionNames<ServeStdioOptions> = { stdin: true, stdout: true };

/** A client's connection over stdin and stdout. */
export interface StdioConnection {
  /** Resolves when stdin has ended, stdout is broken, or it was closed. */
  readonly closed: Promise<void>;
  /** Closes the connection. */
  close(): Promise<void>;
}

/** Something that listens. */
export interface Listener {
  /** Ends its sessions and stops listening. */
  close(): Promise<void>;
}

/** One provider as an MCP server. */
export interface Gateway extends AsyncDisposable {
  /**
   * Serves one client over this process's stdin and stdout, until stdin ends. Nothing but the protocol is written to
   * stdout meanwhile.
   */
  serveStdio(options?: ServeStdioOptions): Promise<StdioConnection>;
  /** Serves Streamable HTTP, at a TCP port of this machine or at a unix socket. */
  serveHttp(options?: ServeHttpOptions): Promise<HttpListener>;
  /** Serves MCP at a unix socket that only this user can reach: one client a connection. */
  serveSocket(options: ServeSocketOptions): Promise<Listener>;
  /** Ends every session and listener, and leaves the provider connected. Idempotent. */
  close(): Promise<void>;
}

/**
 * A provider as an MCP server, for any number of clients. Serving connects the provider, and rejects where that fails;
 * closing never disconnects it.
 *
 * @example
 * ```ts
 * const gateway = createGateway(hub);
 * const { url, token } = await gateway.serveHttp({ port: 0 });
 * ```
 * @throws {ToolError} INVALID_ARGUMENT for a wrong option
 */
export function createGateway(provider: ToolProvider, options: GatewayOptions = {}): Gateway {
  return new ProviderGateway(provider, options);
}

/** @throws {ToolError} INVALID_ARGUMENT */
function assertStreams({ stdin, stdout }: { stdin?: Partial<Readable>; stdout?: Partial<Writable> }): void {
  if (stdin !== undefined && typeof stdin?.pipe !== 'function')
    throw new ToolError('INVALID_ARGUMENT', 'serveStdio(): stdin must be a readable stream.');
  if (stdout !== undefined && typeof stdout?.write !== 'function')
    throw new ToolError('INVALID_ARGUMENT', 'serveStdio(): stdout must be a writable stream.');
}

class ProviderGateway implements Gateway {
  readonly #provider: ToolProvider;
  readonly #logger: Logger | undefined;
  readonly #limits: EffectiveLimits;
  readonly #nameOf: (qualifiedName: string) => string;
  readonly #forward: boolean;
  readonly #sessions = new Set<ClientSession>();
  readonly #listeners = new Set<() => Promise<void>>();
  readonly #backlog: Backlog;
  readonly #metrics = new GatewayMetrics();
  /** What providers keep for conversations that are over; closing waits for its end. */
  readonly #ending = new Set<Promise<void>>();
  #opening: Promise<SessionHost> | undefined;
  #unsubscribe: (() => void) | undefined;
  #closed = false;

  constructor(provider: ToolProvider, options: GatewayOptions) {
    if (typeof (provider as Partial<ToolProvider> | undefined)?.callTool !== 'function')
      throw new ToolError('INVALID_ARGUMENT', 'createGateway takes a provider of tools, or a hub of them.');
    assertOptions('createGateway()', options, GATEWAY_OPTIONS);
    const { naming = 'alias', forward = false, limits, logger } = options;
    if (typeof forward !== 'boolean')
      throw new ToolError(
        'INVALID_ARGUMENT',
        `createGateway(): forward must be true or false, not ${JSON.stringify(forward)}.`,
      );
    this.#provider = provider;
    this.#nameOf = namerOf(naming);
    this.#forward = forward;
    this.#limits = parseLimits(limits);
    this.#logger = logger && safeLogger(logger);
    this.#backlog = new Backlog(this.#limits.maxPendingBytes, this.#warn);
  }

  async serveStdio(options: ServeStdioOptions = {}): Promise<StdioConnection> {
    assertOptions('serveStdio()', options, STDIO_OPTIONS);
    assertStreams(options);
    const { stdin = process.stdin } = options;
    if (served.has(stdin))
      throw new ToolError(
        'LOCKED',
        'serveStdio(): these streams are served already; each request would be answered twice.',
      );
    served.add(stdin);
    let connection: StdioConnection | undefined;
    try {
      return (connection = await this.#serveStdio(options));
    } finally {
      if (!connection) served.delete(stdin);
      else void connection.closed.then(() => served.delete(stdin));
    }
  }

  async #serveStdio(options: ServeStdioOptions): Promise<StdioConnection> {
    const host = await this.#open();
    const { serveOverStdio } = await import('./stream/stdio.js');
    const session = await this.#newSession(host, 'stdio');
    const connection = await serveOverStdio(session, options, DEFAULT_MAX_FRAME_BYTES, this.#backlog);
    await this.#assertOpen(() => connection.close());
    this.#listeners.add(connection.close);
    void connection.closed.then(() => this.#listeners.delete(connection.close));
    return connection;
  }

  async serveSocket(options: ServeSocketOptions): Promise<Listener> {
    const host = await this.#open();
    const [{ serveOverSocket }, { ClientSession }] = await Promise.all([
      import('./stream/socket-listener.js'),
      import('./session/session.js'),
    ]);
    const { maxSessions } = this.#limits;
    const limits = { maxFrameBytes: DEFAULT_MAX_FRAME_BYTES, maxSessions, backlog: this.#backlog, warn: this.#warn };
    const close = await serveOverSocket(options, limits, (transport) => {
      void this.#adopt(new ClientSession(host, this.#ownIdentity('socket'))).connect(transport);
    });
    await this.#assertOpen(close);
    return { close: this.#own(close) };
  }

  async serveHttp(options: ServeHttpOptions = {}): Promise<HttpListener> {
    const host = await this.#open();
    const [{ serveOverHttp }, { ClientSession }] = await Promise.all([
      import('./http/http-listener.js'),
      import('./session/session.js'),
    ]);
    const listener = await serveOverHttp(options, {
      limits: this.#limits,
      metrics: this.#metrics,
      backlog: this.#backlog,
      openSession: (id, onClosed) => this.#adopt(new ClientSession(host, this.#identity('http', id, onClosed))),
      endConversation: this.#endConversation,
      isReady: () => !this.#closed && !['COLD', 'DEAD'].includes(this.#provider.health?.().state ?? 'READY'),
      metricsText: () => this.#metrics.text(this.#countSessions()),
      warn: this.#warn,
    });
    await this.#assertOpen(() => listener.close());
    return { ...listener, close: this.#own(() => listener.close()) };
  }

  async close(): Promise<void> {
    this.#closed = true;
    const host = await this.#opening?.catch(() => undefined);
    await Promise.all([...this.#listeners].map((close) => close()));
    await Promise.all([...this.#sessions].map((session) => session.close()));
    await Promise.all(this.#ending);
    this.#unsubscribe?.();
    host?.forwarding?.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  /** A gateway that was closed while it began to listen listens no more. */
  async #assertOpen(close: () => Promise<void>): Promise<void> {
    if (!this.#closed) return;
    await close();
    throw wasClosed();
  }

  #open(): Promise<SessionHost> {
    if (this.#closed) throw wasClosed();
    return (this.#opening ??= this.#start().catch((thrown: unknown) => {
      this.#opening = undefined; // the next one tries again
      throw thrown;
    }));
  }

  async #start(): Promise<SessionHost> {
    const catalog = new ToolCatalog(this.#provider, this.#nameOf, this.#warn);
    const { Forwarding } = await import('./forwarding/forwarding.js');
    const forwarding = this.#forward
      ? new Forwarding({
          peers: () => peersOf(this.#provider),
          nameOf: this.#nameOf,
          sessions: () => this.#sessions,
          limits: this.#limits,
          warn: this.#warn,
        })
      : undefined;
    forwarding?.attach(); // before they are connected: they are told then what a client may be asked
    await this.#provider.connect();
    this.#unsubscribe ??= this.#provider.onToolsChanged(() => {
      catalog.invalidate();
      forwarding?.attach();
      for (const session of this.#sessions) session.notify('notifications/tools/list_changed');
    });
    return {
      provider: this.#provider,
      catalog,
      forwarding,
      metrics: this.#metrics,
      limits: this.#limits,
      version: VERSION,
      onError: this.#warn,
    };
  }

  async #newSession(host: SessionHost, transport: ClientSession['transport']): Promise<ClientSession> {
    const { ClientSession } = await import('./session/session.js');
    return this.#adopt(new ClientSession(host, this.#ownIdentity(transport)));
  }

  #adopt(session: ClientSession): ClientSession {
    this.#sessions.add(session);
    return session;
  }

  /** Of a client whose connection is its conversation. */
  #ownIdentity(transport: ClientSession['transport']) {
    return this.#identity(transport, randomUUID(), (session) => this.#endConversation(session.id, session.whenIdle()));
  }

  #identity(transport: ClientSession['transport'], id: string, onClosed: (session: ClientSession) => void) {
    return {
      id,
      transport,
      onClosed: (session: ClientSession) => {
        this.#sessions.delete(session);
        onClosed(session);
      },
    };
  }

  /** @param idle its calls are aborted, and start nothing more once they have settled */
  readonly #endConversation = (id: string, idle: Promise<void>): void => {
    const ending: Promise<void> = settledWithin([idle], SETTLING_MS)
      .then(() => this.#provider.endSession?.(id))
      .catch((thrown: unknown) => this.#warn(`What a client left could not be ended: ${messageOf(thrown)}`))
      .finally(() => this.#ending.delete(ending));
    this.#ending.add(ending);
  };

  /** The listener ends with the gateway, or before it, once. */
  #own(close: () => Promise<void>): () => Promise<void> {
    let closing: Promise<void> | undefined;
    const once = (): Promise<void> => {
      this.#listeners.delete(once);
      return (closing ??= close());
    };
    this.#listeners.add(once);
    return once;
  }

  #countSessions(): ReadonlyMap<string, number> {
    const counts = new Map<string, number>();
    for (const { transport } of this.#sessions) counts.set(transport, (counts.get(transport) ?? 0) + 1);
    return counts;
  }

  readonly #warn = (message: string): void => {
    try {
      this.#logger?.warn(message);
    } catch {
      // The logger is the host's; serving goes on without it.
    }
  };
}

/** Those of a hub, or the provider itself where it is one. */
function peersOf(
  provider: ToolProvider & { peers?: () => ReadonlyMap<string, McpPeer> },
): ReadonlyMap<string, McpPeer> {
  if (typeof provider.peers === 'function') return provider.peers();
  return new Map(provider.mcp ? [[provider.name, provider.mcp]] : []);
}

/** The streams that a gateway of this process reads. */
const served = new WeakSet<object>();

function wasClosed(): ToolError {
  return new ToolError('NOT_CONNECTED', 'The gateway was closed; create another.');
}
