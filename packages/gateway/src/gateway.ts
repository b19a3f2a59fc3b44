// createGateway: serves one provider to any number of MCP clients. Holds what the clients share; session/ holds one client.

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
import { parseNaming, ToolCatalog, type Naming } from './catalog.js';
import type { HttpListener, ServeHttpOptions } from './http/http-listener.js';
import type { ForwardingClient } from './forwarding/forwarding-client.js';
import { parseLimits, type EffectiveLimits, type GatewayLimits } from './gateway-limits.js';
import { GatewayMetrics } from './metrics.js';
import { messageOf } from './rpc-error.js';
import type { ModernClient } from './session/modern-client.js';
import type { ClientSession } from './session/session.js';
import type { SessionHost } from './session/session-host.js';
import { RequestStates, type StateKey } from './session/request-state.js';
import type { ServeSocketOptions } from './stream/socket-listener.js';
import type { ServeStdioOptions } from './stream/stdio.js';
import { VERSION } from './version.js';

/** How long the calls of a disconnected client may take to settle before its conversation is ended anyway. */
const SETTLING_MS = 1_000;

/** How a gateway serves its provider. */
export interface GatewayOptions {
  /** How tools and prompts are named. Default `'alias'`: `server__tool`. */
  naming?: Naming;
  /**
   * Also forward the resources and prompts of the MCP servers behind the gateway, and the servers' requests to clients
   * (sampling, elicitation, roots). Default false. A policy applies to tool calls only.
   */
  forward?: boolean;
  /** Limits for each client and for all clients together. */
  limits?: GatewayLimits;
  /**
   * Encrypts what a client carries from a question to its answer (`requestState` of MCP 2026-07-28): 32 random bytes or
   * their base64, shared by all replicas. Of several keys the first encrypts and all decrypt. Default: a key made at start.
   */
  stateKey?: StateKey | readonly StateKey[];
  /**
   * True for one of several equal processes, each of which may receive any request of MCP 2026-07-28. Requires `stateKey`.
   * Serving then rejects with INVALID_ARGUMENT while the provider has tools that keep state per session, such as the record
   * of files read and background jobs; such tools that are added later are not served. What waits in another replica for an
   * answer ends with `OUTCOME_UNKNOWN`. Default false.
   */
  replicas?: boolean;
  /** Receives warnings; they contain no argument, result or token. Default: none are written. */
  logger?: Logger;
}

const GATEWAY_OPTIONS: OptionNames<GatewayOptions> = {
  naming: true,
  forward: true,
  limits: true,
  stateKey: true,
  replicas: true,
  logger: true,
};
const STDIO_OPTIONS: OptionNames<ServeStdioOptions> = { stdin: true, stdout: true };

/** A client's connection over stdin and stdout. */
export interface StdioConnection {
  /** Resolves when stdin ends, stdout fails, or the connection is closed. */
  readonly closed: Promise<void>;
  /** Ends the session. The streams stay open. Idempotent. */
  close(): Promise<void>;
}

/** A listening socket. */
export interface Listener {
  /** Ends its sessions and stops listening. Idempotent. */
  close(): Promise<void>;
}

/** Serves one provider as an MCP server. */
export interface Gateway extends AsyncDisposable {
  /**
   * Serves one client over this process's stdin and stdout until stdin ends. Meanwhile everything else that this process
   * writes to stdout goes to stderr.
   *
   * @throws {ToolError} LOCKED when the stream is served already
   */
  serveStdio(options?: ServeStdioOptions): Promise<StdioConnection>;
  /**
   * Serves Streamable HTTP on a TCP port or a unix socket.
   *
   * @throws {ToolError} LOCKED when the socket's path is in use; UNAVAILABLE when it cannot listen for another reason
   */
  serveHttp(options?: ServeHttpOptions): Promise<HttpListener>;
  /**
   * Serves MCP on a unix socket that only this user can connect to. Each connection is one client.
   *
   * @throws {ToolError} LOCKED when the path is in use; UNAVAILABLE when it cannot listen for another reason
   */
  serveSocket(options: ServeSocketOptions): Promise<Listener>;
  /** Ends every session and listener. The provider stays connected. Idempotent. */
  close(): Promise<void>;
}

/**
 * Serves a provider as an MCP server to any number of clients. The first `serve…()` connects the provider and rejects when
 * that fails; closing the gateway never disconnects it.
 *
 * @example
 * ```ts
 * const gateway = createGateway(hub);
 * const { url, token } = await gateway.serveHttp({ port: 0 });
 * ```
 * @throws {ToolError} INVALID_ARGUMENT when an option is unknown or has a wrong value
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
  readonly #replicas: boolean;
  readonly #states: RequestStates;
  readonly #sessions = new Set<ClientSession>();
  /** The open subscriptions of clients of MCP 2026-07-28. */
  readonly #subscribers = new Set<ForwardingClient>();
  /** The clients of MCP 2026-07-28 over HTTP, by principal, with the number of listeners that serve them. */
  readonly #modernClients = new Map<string, { client: ModernClient; listeners: number }>();
  readonly #listeners = new Set<() => Promise<void>>();
  readonly #backlog: Backlog;
  readonly #metrics = new GatewayMetrics();
  /** Conversations that the provider is ending; closing waits for them. */
  readonly #ending = new Set<Promise<void>>();
  #opening: Promise<SessionHost> | undefined;
  #unsubscribe: (() => void) | undefined;
  #closed = false;

  constructor(provider: ToolProvider, options: GatewayOptions) {
    if (typeof (provider as Partial<ToolProvider> | undefined)?.callTool !== 'function')
      throw new ToolError('INVALID_ARGUMENT', 'createGateway(): provider must be a ToolProvider, such as a ToolHub.');
    assertOptions('createGateway()', options, GATEWAY_OPTIONS);
    const { naming = 'alias', forward = false, limits, stateKey, replicas = false, logger } = options;
    if (typeof replicas !== 'boolean' || (replicas && stateKey === undefined))
      throw new ToolError(
        'INVALID_ARGUMENT',
        'createGateway(): replicas must be true or false, and requires stateKey, which all replicas share.',
      );
    if (typeof forward !== 'boolean')
      throw new ToolError(
        'INVALID_ARGUMENT',
        `createGateway(): forward must be true or false, not ${JSON.stringify(forward)}.`,
      );
    this.#provider = provider;
    this.#nameOf = parseNaming(naming);
    this.#forward = forward;
    this.#replicas = replicas;
    this.#limits = parseLimits(limits);
    this.#states = new RequestStates({ keys: stateKey, ttlMs: this.#limits.approvalTimeoutMs });
    this.#logger = logger && safeLogger(logger);
    this.#backlog = new Backlog(this.#limits.maxPendingBytes, this.#warn);
  }

  async serveStdio(options: ServeStdioOptions = {}): Promise<StdioConnection> {
    assertOptions('serveStdio()', options, STDIO_OPTIONS);
    assertStreams(options);
    const { stdin = process.stdin } = options;
    if (servedStreams.has(stdin))
      throw new ToolError(
        'LOCKED',
        'serveStdio(): this stdin is served already, and each request would be answered twice. Close that connection first.',
      );
    servedStreams.add(stdin);
    let connection: StdioConnection | undefined;
    try {
      return (connection = await this.#serveStdio(options));
    } finally {
      if (!connection) servedStreams.delete(stdin);
      else void connection.closed.then(() => servedStreams.delete(stdin));
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
      const session = this.#addSession(new ClientSession(host, this.#connectionIdentity('socket')));
      void session.connectStream(transport);
      return () => session.close();
    });
    await this.#assertOpen(close);
    return { close: this.#track(close) };
  }

  async serveHttp(options: ServeHttpOptions = {}): Promise<HttpListener> {
    const host = await this.#open();
    const [{ serveOverHttp }, { ClientSession }, { ModernClient }] = await Promise.all([
      import('./http/http-listener.js'),
      import('./session/session.js'),
      import('./session/modern-client.js'),
    ]);
    const listener = await serveOverHttp(options, {
      limits: this.#limits,
      metrics: this.#metrics,
      backlog: this.#backlog,
      openSession: (id, onClosed) => this.#addSession(new ClientSession(host, this.#identity('http', id, onClosed))),
      modernClientOf: (principal) => {
        const entry = this.#modernClients.get(principal) ?? {
          client: new ModernClient(host, { id: randomUUID(), principal }),
          listeners: 0,
        };
        entry.listeners++;
        this.#modernClients.set(principal, entry);
        return entry.client;
      },
      releaseModernClient: (principal) => this.#releaseModernClient(principal),
      endConversation: this.#endConversation,
      isReady: () => !this.#closed && !['COLD', 'DEAD'].includes(this.#provider.health?.().state ?? 'READY'),
      metricsText: () => this.#metrics.text(this.#countSessions()),
      warn: this.#warn,
    });
    await this.#assertOpen(() => listener.close());
    return { ...listener, close: this.#track(() => listener.close()) };
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

  /** Stops a listener whose gateway was closed while it started. */
  async #assertOpen(close: () => Promise<void>): Promise<void> {
    if (!this.#closed) return;
    await close();
    throw closedError();
  }

  #open(): Promise<SessionHost> {
    if (this.#closed) throw closedError();
    return (this.#opening ??= this.#start().catch((thrown: unknown) => {
      this.#opening = undefined; // the next serve call tries again
      throw thrown;
    }));
  }

  async #start(): Promise<SessionHost> {
    const catalog = new ToolCatalog(this.#provider, {
      nameOf: this.#nameOf,
      warn: this.#warn,
      isReplica: this.#replicas,
    });
    const [{ Forwarding }, { ToolCalls }] = await Promise.all([
      import('./forwarding/forwarding.js'),
      import('./session/tool-calls.js'),
    ]);
    const forwarding = this.#forward
      ? new Forwarding({
          peers: () => peersOf(this.#provider),
          nameOf: this.#nameOf,
          sessions: () => [...this.#sessions, ...this.#subscribers],
          limits: this.#limits,
          warn: this.#warn,
        })
      : undefined;
    forwarding?.attach(); // before connecting: servers receive the offered capabilities in `initialize`
    await this.#provider.connect();
    this.#assertReplicable();
    this.#unsubscribe ??= this.#provider.onToolsChanged(() => {
      catalog.invalidate();
      forwarding?.attach();
      for (const client of [...this.#sessions, ...this.#subscribers]) client.notify('notifications/tools/list_changed');
    });
    const shared = { provider: this.#provider, catalog, forwarding, metrics: this.#metrics };
    return {
      ...shared,
      calls: new ToolCalls(shared),
      states: this.#states,
      listeners: this.#subscribers,
      limits: this.#limits,
      version: VERSION,
      onError: this.#warn,
    };
  }

  /** @throws {ToolError} INVALID_ARGUMENT when replicas would each have other state of one session */
  #assertReplicable(): void {
    const stateful = this.#replicas ? (this.#provider.sessionServers ?? []) : [];
    if (stateful.length === 0) return;
    throw new ToolError(
      'INVALID_ARGUMENT',
      `createGateway(): replicas cannot serve ${stateful.join(', ')}: these keep state per session, of which each replica would have its own. Remove them from the provider, or serve one process.`,
      { details: { servers: [...stateful] } },
    );
  }

  async #newSession(host: SessionHost, transport: ClientSession['transport']): Promise<ClientSession> {
    const { ClientSession } = await import('./session/session.js');
    return this.#addSession(new ClientSession(host, this.#connectionIdentity(transport)));
  }

  #addSession(session: ClientSession): ClientSession {
    this.#sessions.add(session);
    return session;
  }

  /** The identity of a client whose conversation ends with its connection. */
  #connectionIdentity(transport: ClientSession['transport']) {
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

  async #releaseModernClient(principal: string): Promise<void> {
    const entry = this.#modernClients.get(principal);
    if (!entry || --entry.listeners > 0) return;
    this.#modernClients.delete(principal);
    await entry.client.close();
    this.#endConversation(entry.client.id, entry.client.whenIdle());
  }

  /** @param idle resolves when the session's aborted calls have settled */
  readonly #endConversation = (id: string, idle: Promise<void>): void => {
    const ending: Promise<void> = settledWithin([idle], SETTLING_MS)
      .then(() => this.#provider.endSession?.(id))
      .catch((thrown: unknown) => this.#warn(`The provider could not end a client's session: ${messageOf(thrown)}`))
      .finally(() => this.#ending.delete(ending));
    this.#ending.add(ending);
  };

  /** Closes the listener with the gateway, unless it was closed before. */
  #track(close: () => Promise<void>): () => Promise<void> {
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
      // A failing logger of the host must not end serving.
    }
  };
}

/** The peers of a hub, or the provider's one peer. */
function peersOf(
  provider: ToolProvider & { peers?: () => ReadonlyMap<string, McpPeer> },
): ReadonlyMap<string, McpPeer> {
  if (typeof provider.peers === 'function') return provider.peers();
  return new Map(provider.mcp ? [[provider.name, provider.mcp]] : []);
}

/** The streams that gateways of this process read. */
const servedStreams = new WeakSet<object>();

function closedError(): ToolError {
  return new ToolError('NOT_CONNECTED', 'The gateway is closed. Create another with createGateway().');
}
