// One client of a gateway: its requests, its log level and its calls. Clients share the provider and nothing else.

import { randomUUID } from 'node:crypto';
import {
  ToolError,
  type CallOptions,
  type JsonObject,
  type LogEntry,
  type ToolDefinition,
  type ToolProvider,
  type ToolResult,
} from '@toolwright/core';
import { hasBrokenOutput, isDeeperThan, isJsonObject } from '@toolwright/core/internal';
import { toWireResult } from '@toolwright/core/mcp';
import { requestApproval, showsForms } from './approval-form.js';
import type { ToolCatalog } from '../catalog.js';
import type { Forwarding } from '../forwarding/forwarding.js';
import { McpServer, type Exchange, type ServerTransport } from '../mcp-server.js';
import type { GatewayMetrics } from '../metrics.js';
import { INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND, rpcError, SERVER_BUSY } from '../rpc-error.js';

/** What the clients of one gateway share. */
export interface SessionHost {
  readonly provider: ToolProvider;
  readonly catalog: ToolCatalog;
  readonly forwarding: Forwarding | undefined;
  readonly metrics: GatewayMetrics;
  readonly limits: { pageSize: number; approvalTimeoutMs: number; maxRequestsInFlight: number };
  readonly version: string;
  readonly onError: (message: string) => void;
}

/** The deepest nesting of a request's parameters. */
const MAX_DEPTH = 128;
/** MCP's log levels, those of RFC 5424, from the least severe to the most. */
const LEVELS = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency'];
const LEVEL_OF: Record<LogEntry['level'], string> = { debug: 'debug', info: 'info', warn: 'warning', error: 'error' };

export class ClientSession {
  /** Sent as `sessionId` with each call, for tools that keep state per conversation. */
  readonly id: string;
  readonly transport: 'stdio' | 'socket' | 'http';
  readonly #host: SessionHost;
  readonly #server: McpServer;
  readonly #onClosed: (session: ClientSession) => void;
  /** The exchanges of calls that may request an approval, by call id. */
  readonly #approvable = new Map<string, Exchange>();
  #level = 0;
  #inFlight = 0;
  #idle: (() => void)[] = [];
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
      capabilities: {
        tools: { listChanged: true },
        logging: {},
        ...(host.forwarding && {
          resources: { subscribe: true, listChanged: true },
          prompts: { listChanged: true },
          completions: {},
        }),
      },
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
    return this.#inFlight === 0;
  }

  /** See {@link McpServer.reserveIds}. */
  reserveIds(ids: readonly unknown[]): boolean {
    return this.#server.reserveIds(ids);
  }

  /** See {@link McpServer.releaseIds}. */
  releaseIds(ids: readonly unknown[]): void {
    this.#server.releaseIds(ids);
  }

  connect(transport: ServerTransport): Promise<void> {
    return this.#server.connect(transport);
  }

  notify(method: string, params?: JsonObject): void {
    if (!this.#closed) this.#server.notify(method, params);
  }

  /** Sends a log message of one of the client's requests, unless its level is below the one that the client set. */
  log(exchange: Exchange, level: string, params: JsonObject): void {
    if (LEVELS.indexOf(level) >= this.#level) exchange.notify('notifications/message', { level, ...params });
  }

  /** Resolves when no request is being handled. */
  async whenIdle(): Promise<void> {
    if (this.#inFlight > 0) await new Promise<void>((resolve) => this.#idle.push(resolve));
  }

  async close(): Promise<void> {
    await this.#server.close().catch(() => undefined); // the transport has closed already
    this.#end();
  }

  #end(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#host.forwarding?.forget(this);
    this.#onClosed(this);
  }

  async #handle(method: string, params: JsonObject, exchange: Exchange): Promise<JsonObject> {
    if (isDeeperThan(params, MAX_DEPTH))
      throw rpcError(INVALID_REQUEST, `The request is nested deeper than ${MAX_DEPTH} levels.`);
    const { maxRequestsInFlight } = this.#host.limits;
    if (this.#inFlight >= maxRequestsInFlight) return this.#rejectBusy(method, maxRequestsInFlight);
    this.#inFlight++;
    try {
      return await this.#answer(method, params, exchange);
    } finally {
      if (--this.#inFlight === 0) for (const resolve of this.#idle.splice(0)) setImmediate(resolve); // after the answer was sent
    }
  }

  /** A rejected call is a result, like any other failure of a call; other requests fail with an RPC error. */
  #rejectBusy(method: string, limit: number): JsonObject {
    const message = `This client has ${limit} requests in flight, the most allowed. Wait until one is answered.`;
    if (method !== 'tools/call') throw rpcError(SERVER_BUSY, message);
    const error = new ToolError('BUSY', message).toInfo();
    const result = { content: [{ type: 'text' as const, text: message }], isError: true, error, directives: [] };
    this.#host.metrics.record(result, 0);
    return toWireResult({ ...result, durationMs: 0 });
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
    const index = LEVELS.indexOf(level as string);
    if (index < 0) throw rpcError(INVALID_PARAMS, `Unknown log level; valid levels: ${LEVELS.join(', ')}.`);
    this.#level = index;
    return {};
  }

  async #listTools({ cursor }: JsonObject): Promise<JsonObject> {
    const { items, ...next } = (await this.#host.catalog.read()).page(cursor, this.#host.limits.pageSize);
    return { tools: items, ...next };
  }

  async #call(params: JsonObject, exchange: Exchange): Promise<JsonObject> {
    const { name, arguments: args = {} } = params;
    if (typeof name !== 'string')
      throw rpcError(INVALID_PARAMS, 'tools/call requires name, the name of a tool as a string.');
    const { metrics, catalog } = this.#host;
    const startedAt = performance.now();
    metrics.callsInFlight++;
    let result: Parameters<typeof toWireResult>[0] | undefined;
    try {
      const found = catalog.find(name);
      const tool = found instanceof Promise ? await found : found;
      result = tool
        ? await this.#run(tool, name, args as JsonObject, params._meta, exchange)
        : await this.#denial(name, exchange);
      if (!result) throw rpcError(INVALID_PARAMS, `Unknown tool: ${name.slice(0, 200)}`);
    } catch (thrown) {
      if (!ToolError.isInstance(thrown)) throw thrown;
      const error = ToolError.from(thrown).toInfo(); // the provider could not list its tools
      const content = [{ type: 'text' as const, text: error.message }];
      result = { content, isError: true, error, directives: [], durationMs: 0 };
    } finally {
      metrics.callsInFlight--;
      if (result) metrics.record(result, performance.now() - startedAt);
    }
    return toWireResult(result);
  }

  /** The result for a tool that a hub's policy hides, by its name or alias; undefined for any other name. */
  async #denial(name: string, { signal }: Exchange): Promise<ToolResult | undefined> {
    const prepared = await this.#host.provider.prepareCall?.(name, {}, { signal, sessionId: this.id });
    return prepared?.refused?.error?.code === 'PERMISSION_DENIED' ? prepared.refused : undefined;
  }

  async #run(tool: ToolDefinition, listedName: string, args: JsonObject, rawMeta: unknown, exchange: Exchange) {
    const { provider, forwarding } = this.#host;
    const { progressToken, ...meta } = isJsonObject(rawMeta) ? rawMeta : {};
    const hasToken = typeof progressToken === 'string' || typeof progressToken === 'number';
    const entered = forwarding?.enter(this, exchange);
    const canApprove = showsForms(this.clientCapabilities);
    const callId = entered?.options.callId ?? (canApprove ? randomUUID() : undefined);
    if (canApprove && callId !== undefined) this.#approvable.set(callId, exchange);
    try {
      const result = await provider.callTool(tool.name, args, {
        signal: exchange.signal,
        calledAs: listedName,
        ...(entered?.options ?? { callId, sessionId: this.id, onRequest: declineRequest }),
        onLog: (entry) => this.log(exchange, LEVEL_OF[entry.level], { logger: listedName, data: dataOf(entry) }),
        ...(Object.keys(meta).length > 0 && { meta }),
        ...(hasToken && {
          onProgress: (progress) => exchange.notify('notifications/progress', { progressToken, ...progress }),
        }),
        ...(canApprove && { approve: this.#approve }),
      });
      return declaresObject(tool) ? withOutputCheck(result, listedName) : result;
    } finally {
      entered?.leave();
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

/** Without forwarding no one answers a server's requests: the host must not answer for the client. */
function declineRequest(method: string): Promise<JsonObject> {
  return Promise.reject(rpcError(METHOD_NOT_FOUND, `Declined: the gateway does not forward ${method.slice(0, 100)}.`));
}

/** True for a tool that is listed with its outputSchema. Schemas of another type are not listed. */
function declaresObject({ outputSchema }: ToolDefinition): boolean {
  return outputSchema !== undefined && (outputSchema.type ?? 'object') === 'object';
}

/**
 * The result, or an error with its content when its structuredContent is missing or invalid. Clients reject a successful
 * result that does not match the outputSchema, and its text with it.
 */
function withOutputCheck(result: ToolResult, tool: string): ToolResult {
  const { structuredContent, ...rest } = result;
  const { isError, content, _meta } = rest;
  const isBroken = structuredContent !== undefined && hasBrokenOutput(result);
  if (isError || (structuredContent !== undefined && !isBroken)) return result;
  const cut = _meta?.['toolwright/truncated'];
  const isTooLarge = isJsonObject(cut) && 'structuredBytes' in cut;
  const message = isTooLarge
    ? `${tool} ran, but its structuredContent was larger than 1 MiB and was omitted. Request less; do not repeat a call that changes something.`
    : `${tool} ran, but ${isBroken ? 'its structuredContent does not match its outputSchema' : 'returned no structuredContent, which its outputSchema requires'}. Its content follows; do not repeat a call that changes something.`;
  const code = isTooLarge ? 'TOO_LARGE' : 'OUTPUT_INVALID';
  return {
    ...rest, // without structuredContent: clients validate it in errors too
    isError: true,
    error: new ToolError(code, message, { details: { ran: true } }).toInfo(),
    content: [{ type: 'text', text: message }, ...content],
  };
}

/** A log entry as JSON, without its fields where they are not serializable. */
function dataOf({ message, fields }: LogEntry): unknown {
  if (fields === undefined) return message;
  try {
    return { message, ...(JSON.parse(JSON.stringify(fields)) as object) };
  } catch {
    return message; // a cycle, a BigInt, or an accessor that throws
  }
}
