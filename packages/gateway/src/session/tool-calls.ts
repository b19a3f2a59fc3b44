// One tool call of a client, in either era: from the listed name to the result on the wire.

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
import { hasBrokenOutput, isJsonObject } from '@toolwright/core/internal';
import { toWireResult } from '@toolwright/core/mcp';
import type { ToolCatalog } from '../catalog.js';
import type { Exchange } from '../engines/port.js';
import type { ForwardingClient } from '../forwarding/forwarding-client.js';
import type { Forwarding } from '../forwarding/forwarding.js';
import type { GatewayMetrics } from '../metrics.js';
import { INVALID_PARAMS, METHOD_NOT_FOUND, rpcError } from '../rpc-error.js';

const LEVEL_OF: Record<LogEntry['level'], string> = { debug: 'debug', info: 'info', warn: 'warning', error: 'error' };

/** A `tools/call` request, and what its client can do meanwhile. */
export interface ToolCall {
  readonly params: JsonObject;
  /** `_meta` without the progress token, passed on with the call. */
  readonly meta: JsonObject;
  readonly progressToken: unknown;
  /** False when the client has asked for no log messages. */
  readonly logs: boolean;
  readonly client: ForwardingClient;
  readonly exchange: Exchange;
  /** Asks the client for an approval. Absent for a client that cannot be asked. */
  readonly approve?: CallOptions['approve'];
  /** Called with the id of the call before it starts, if there is an `approve`. */
  readonly onCallId?: (callId: string) => void;
  /** True when a round of the call has ended it, so that its result is neither counted nor checked. */
  readonly isInterrupted?: () => boolean;
}

/** Runs the tool calls of all clients of a gateway. */
export class ToolCalls {
  readonly #provider: ToolProvider;
  readonly #catalog: ToolCatalog;
  readonly #forwarding: Forwarding | undefined;
  readonly #metrics: GatewayMetrics;

  constructor(host: {
    provider: ToolProvider;
    catalog: ToolCatalog;
    forwarding: Forwarding | undefined;
    metrics: GatewayMetrics;
  }) {
    this.#provider = host.provider;
    this.#catalog = host.catalog;
    this.#forwarding = host.forwarding;
    this.#metrics = host.metrics;
  }

  /** The result of a call that is rejected because its client has too many requests in flight. */
  rejectBusy(message: string): JsonObject {
    const result = errorResult(new ToolError('BUSY', message));
    this.#metrics.record(result, 0);
    return toWireResult(result);
  }

  /** The tool that a client means by a name; undefined for an unknown name, and when the tools cannot be listed. */
  async find(name: unknown, clientCapabilities: JsonObject): Promise<ToolDefinition | undefined> {
    if (typeof name !== 'string') return undefined;
    try {
      return await this.#catalog.find(name, clientCapabilities);
    } catch {
      return undefined; // the call itself reports why
    }
  }

  /** @throws a JSON-RPC error for an unknown tool */
  async call(call: ToolCall): Promise<JsonObject> {
    const { name } = call.params;
    if (typeof name !== 'string')
      throw rpcError(INVALID_PARAMS, 'tools/call requires name, the name of a tool as a string.');
    const startedAt = performance.now();
    this.#metrics.callsInFlight++;
    let result: Parameters<typeof toWireResult>[0] | undefined;
    try {
      const found = this.#catalog.find(name, call.client.clientCapabilities);
      const tool = found instanceof Promise ? await found : found;
      result = tool ? await this.#run(tool, name, call) : await this.#denial(name, call);
      if (!result) throw rpcError(INVALID_PARAMS, `Unknown tool: ${name.slice(0, 200)}`);
    } catch (thrown) {
      if (!ToolError.isInstance(thrown)) throw thrown;
      result = errorResult(ToolError.from(thrown)); // the provider could not list its tools
    } finally {
      this.#metrics.callsInFlight--;
      if (result && call.isInterrupted?.() !== true) this.#metrics.record(result, performance.now() - startedAt);
    }
    return toWireResult(result);
  }

  /** The result for a tool that a hub's policy hides, by its name or alias; undefined for any other name. */
  async #denial(name: string, { client, exchange }: ToolCall): Promise<ToolResult | undefined> {
    const options = { signal: exchange.signal, sessionId: client.id };
    const prepared = await this.#provider.prepareCall?.(name, {}, options);
    return prepared?.refused?.error?.code === 'PERMISSION_DENIED' ? prepared.refused : undefined;
  }

  async #run(tool: ToolDefinition, listedName: string, call: ToolCall): Promise<ToolResult> {
    const { params, meta, progressToken, logs, client, exchange, approve } = call;
    const { arguments: args = {} } = params;
    const hasToken = typeof progressToken === 'string' || typeof progressToken === 'number';
    const entered = this.#forwarding?.enter(client, exchange);
    const callId = entered?.options.callId ?? (approve ? randomUUID() : undefined);
    if (approve && callId !== undefined) call.onCallId?.(callId);
    try {
      const result = await this.#provider.callTool(tool.name, args as JsonObject, {
        signal: exchange.signal,
        calledAs: listedName,
        ...(entered?.options ?? { callId, sessionId: client.id, onRequest: declineRequest }),
        ...(logs && {
          onLog: (entry) => client.log(exchange, LEVEL_OF[entry.level], { logger: listedName, data: dataOf(entry) }),
        }),
        ...(Object.keys(meta).length > 0 && { meta }),
        ...(hasToken && {
          onProgress: (progress) => exchange.notify('notifications/progress', { progressToken, ...progress }),
        }),
        ...(approve && { approve }),
        ...(exchange.relay && { relay: exchange.relay }),
      });
      return declaresObject(tool) ? withOutputCheck(result, listedName) : result;
    } finally {
      entered?.leave();
    }
  }
}

/** A failure as the result of a call. */
export function errorResult(thrown: ToolError): ToolResult {
  const error = thrown.toInfo();
  const content = [{ type: 'text' as const, text: error.message }];
  return { content, isError: true, error, directives: [], durationMs: 0 };
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
