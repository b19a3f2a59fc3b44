// One client of a gateway: its requests, its log level and its calls. Clients share the provider and nothing else.

import type { CallOptions, JsonObject } from '@toolwright/core';
import { isDeeperThan, isJsonObject } from '@toolwright/core/internal';
import { requestApproval, showsForms } from './approval-form.js';
import type { Exchange, ServerTransport } from '../engines/port.js';
import { McpServer } from '../engines/v1.js';
import { isModernRequest, LOG_LEVELS, ModernStream } from '../engines/v2.js';
import { INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND, rpcError, SERVER_BUSY } from '../rpc-error.js';
import { InFlight } from './in-flight.js';
import { ModernClient } from './modern-client.js';
import { busyMessage, commonCapabilities, MAX_DEPTH, type SessionHost } from './session-host.js';

export class ClientSession {
  /** Sent as `sessionId` with each call, for tools that keep state per conversation. */
  readonly id: string;
  readonly transport: 'stdio' | 'socket' | 'http';
  readonly #host: SessionHost;
  readonly #server: McpServer;
  readonly #onClosed: (session: ClientSession) => void;
  /** The exchanges of calls that may request an approval, by call id. */
  readonly #approvable = new Map<string, Exchange>();
  readonly #inFlight = new InFlight();
  /** Its requests of MCP 2026-07-28, if any came. */
  #modern: { stream: ModernStream; client: ModernClient } | undefined;
  #level = 0;
  #closed = false;

  constructor(
    host: SessionHost,
    {
      id,
      transport,
      onClosed,
    }: Pick<ClientSession, 'id' | 'transport'> & { onClosed: (session: ClientSession) => void },
  ) {
    this.#host = host;
    this.id = id;
    this.transport = transport;
    this.#onClosed = onClosed;
    this.#server = new McpServer({
      version: host.version,
      capabilities: commonCapabilities(host),
      handle: (method, params, exchange) => this.#handle(method, params, exchange),
      onNotification: () => undefined,
      onClosed: () => this.#end(),
      onError: host.onError,
    });
  }

  get clientCapabilities(): JsonObject {
    return this.#server.clientCapabilities;
  }

  /** False while a request is being handled. */
  get isIdle(): boolean {
    return this.#inFlight.count === 0;
  }

  /** See {@link McpServer.reserveIds}. */
  reserveIds(ids: readonly unknown[]): boolean {
    return this.#server.reserveIds(ids);
  }

  /** See {@link McpServer.releaseIds}. */
  releaseIds(ids: readonly unknown[]): void {
    this.#server.releaseIds(ids);
  }

  /** Serves the messages of one stream: each request in the era that it belongs to. */
  async connectStream(transport: ServerTransport): Promise<void> {
    await this.connect(transport);
    const legacy = transport.onmessage?.bind(transport);
    transport.onmessage = (message, extra) => {
      if (!this.#receiveModern(message as JsonObject, transport)) legacy?.(message, extra);
    };
  }

  /** Serves a client of the revisions with a handshake. */
  connect(transport: ServerTransport): Promise<void> {
    return this.#server.connect(transport);
  }

  /** Sends a notification to a client with a handshake. A client of MCP 2026-07-28 gets those that it listens for. */
  notify(method: string, params?: JsonObject): void {
    if (!this.#closed && this.#server.isInitialized) this.#server.notify(method, params);
  }

  /** Sends a log message of one of the client's requests, unless its level is below the one that the client set. */
  log(exchange: Exchange, level: string, params: JsonObject): void {
    if (LOG_LEVELS.indexOf(level) >= this.#level) exchange.notify('notifications/message', { level, ...params });
  }

  /** Resolves when no request is being handled. */
  whenIdle(): Promise<void> {
    return this.#inFlight.whenNone();
  }

  async close(): Promise<void> {
    await this.#modern?.client.close();
    await this.#server.close().catch(() => undefined); // the transport has closed already
    this.#end();
  }

  #receiveModern(message: JsonObject, transport: ServerTransport): boolean {
    if (!this.#modern && !isModernRequest(message)) return false;
    return this.#modernOf(transport).receive(message);
  }

  #modernOf(transport: ServerTransport): ModernStream {
    if (!this.#modern) {
      // On a connection, whoever holds the other end may continue what it began.
      const client = new ModernClient(this.#host, { id: this.id, principal: this.id, inFlight: this.#inFlight });
      const stream = new ModernStream({
        send: (message) => transport.send(message).catch(() => undefined), // disconnected
        handle: (request, answers) => client.handle(request, answers),
        release: (id) => this.#server.releaseIds([id]),
        cancelHeld: (id) => client.cancel(id),
      });
      this.#modern = { stream, client };
    }
    return this.#modern.stream;
  }

  #end(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#modern?.stream.close();
    void this.#modern?.client.close();
    this.#host.forwarding?.forget(this);
    this.#host.states.forget(this.id);
    this.#onClosed(this);
  }

  async #handle(method: string, params: JsonObject, exchange: Exchange): Promise<JsonObject> {
    if (isDeeperThan(params, MAX_DEPTH))
      throw rpcError(INVALID_REQUEST, `The request is nested deeper than ${MAX_DEPTH} levels.`);
    const { maxRequestsInFlight } = this.#host.limits;
    if (this.#inFlight.count >= maxRequestsInFlight) return this.#rejectBusy(method, maxRequestsInFlight);
    this.#inFlight.enter();
    try {
      return await this.#answer(method, params, exchange);
    } finally {
      this.#inFlight.leave();
    }
  }

  /** A rejected call is a result, like any other failure of a call; other requests fail with an RPC error. */
  #rejectBusy(method: string, limit: number): JsonObject {
    const message = busyMessage(limit);
    if (method !== 'tools/call') throw rpcError(SERVER_BUSY, message);
    return this.#host.calls.rejectBusy(message);
  }

  #answer(method: string, params: JsonObject, exchange: Exchange): Promise<JsonObject> {
    switch (method) {
      case 'tools/call':
        return this.#call(params, exchange);
      case 'tools/list':
        return this.#listTools(params);
      case 'logging/setLevel':
        return this.#setLevel(params);
      default: {
        const forwarded = this.#host.forwarding?.handle(method, params, this, exchange);
        if (forwarded) return forwarded;
        throw rpcError(METHOD_NOT_FOUND, `Method not found: ${method.slice(0, 100)}`);
      }
    }
  }

  async #setLevel({ level }: JsonObject): Promise<JsonObject> {
    const index = LOG_LEVELS.indexOf(level as string);
    if (index < 0) throw rpcError(INVALID_PARAMS, `Unknown log level; valid levels: ${LOG_LEVELS.join(', ')}.`);
    this.#level = index;
    return {};
  }

  async #listTools({ cursor }: JsonObject): Promise<JsonObject> {
    const { items, ...next } = (await this.#host.catalog.readFor(this.clientCapabilities)).page(
      cursor,
      this.#host.limits.pageSize,
    );
    return { tools: items, ...next };
  }

  async #call(params: JsonObject, exchange: Exchange): Promise<JsonObject> {
    const { progressToken, ...meta } = isJsonObject(params._meta) ? params._meta : {};
    let callId: string | undefined;
    try {
      return await this.#host.calls.call({
        params,
        meta,
        progressToken,
        logs: true,
        client: this,
        exchange,
        ...(showsForms(this.clientCapabilities) && {
          approve: this.#approve,
          onCallId: (id) => {
            callId = id;
            this.#approvable.set(id, exchange);
          },
        }),
      });
    } finally {
      if (callId !== undefined) this.#approvable.delete(callId);
    }
  }

  /** One function for all calls: by its identity a hub merges equal requests and queues the others. */
  readonly #approve: NonNullable<CallOptions['approve']> = async (request, { callId, signal }) => {
    const [another] = this.#approvable.values(); // for when the first call was cancelled and an equal one still waits
    const exchange = this.#approvable.get(callId) ?? another;
    if (!exchange) return { decision: 'deny' };
    return requestApproval(exchange, request, { signal, timeoutMs: this.#host.limits.approvalTimeoutMs });
  };
}
