// One client of MCP 2026-07-28: a connection, or all requests with one token over HTTP. Its requests are independent; only
// calls that wait for an answer, and subscriptions, outlive one.

import type { JsonObject, ToolDefinition } from '@toolwright/core';
import { isDeeperThan } from '@toolwright/core/internal';
import type { AnswerStream, Exchange } from '../engines/port.js';
import { completeResult, LOG_LEVELS, SUPPORTED_VERSIONS, type ModernRequest } from '../engines/v2.js';
import type { ForwardingClient } from '../forwarding/forwarding-client.js';
import { INVALID_REQUEST, METHOD_NOT_FOUND, rejection, rpcError, SERVER_BUSY } from '../rpc-error.js';
import { AskingRequests } from './asking-requests.js';
import { InFlight } from './in-flight.js';
import { Listening } from './listening.js';
import { busyMessage, commonCapabilities, MAX_DEPTH, type SessionHost } from './session-host.js';

/** How long a client may use what the gateway says about itself, which does not change. */
const DISCOVER_TTL_MS = 300_000;
/** How long a client may use a list without asking. Changes are reported to those that listen. */
const LIST_TTL_MS = 10_000;

/** Answers the requests of one client. */
export class ModernClient {
  /** Sent as `sessionId` with each call. */
  readonly id: string;
  readonly #host: SessionHost;
  readonly #inFlight: InFlight;
  readonly #asking: AskingRequests;
  readonly #listening: Listening;

  /** @param options `principal` who may continue what it began; `inFlight` shared with the legacy requests of a connection */
  constructor(host: SessionHost, options: { id: string; principal: string; inFlight?: InFlight }) {
    this.#host = host;
    this.id = options.id;
    this.#inFlight = options.inFlight ?? new InFlight();
    this.#listening = new Listening(host);
    this.#asking = new AskingRequests(host, {
      principal: options.principal,
      forward: (request, exchange, caller) => this.#forward(request, exchange, caller),
      callerOf: (latest) => this.#callerOf(latest),
    });
  }

  /** The result to send, which asks for input where that is required. @throws a JSON-RPC error */
  async handle(request: ModernRequest, stream: AnswerStream): Promise<JsonObject> {
    const { params, inputResponses, capabilities, meta } = request;
    if ([params, inputResponses, capabilities, meta].some((part) => isDeeperThan(part, MAX_DEPTH)))
      throw rejection(400, INVALID_REQUEST, `The request is nested deeper than ${MAX_DEPTH} levels.`);
    // A subscription stays open until it is cancelled, so it has its own limit and does not count as in flight.
    if (request.method === 'subscriptions/listen') return this.#complete(await this.#listening.listen(request, stream));
    const { maxRequestsInFlight: limit } = this.#host.limits;
    if (this.#inFlight.count >= limit) {
      if (request.method !== 'tools/call') throw rpcError(SERVER_BUSY, busyMessage(limit));
      return this.#complete(this.#host.calls.rejectBusy(busyMessage(limit)));
    }
    this.#inFlight.enter();
    try {
      return await this.#answer(request, stream);
    } finally {
      this.#inFlight.leave();
    }
  }

  /** The tool that a call names, if there is one. */
  toolOf({ params, capabilities }: ModernRequest): Promise<ToolDefinition | undefined> {
    return this.#host.calls.find(params.name, capabilities);
  }

  /** Ends a call that waits for an answer, by the id of the attempt that was answered with the question. */
  cancel(requestId: unknown): boolean {
    return this.#asking.cancel(requestId);
  }

  /** Resolves when no request is being handled. */
  whenIdle(): Promise<void> {
    return this.#inFlight.whenNone();
  }

  /** Ends what waits for answers, and the subscriptions with their result. */
  async close(): Promise<void> {
    this.#listening.close();
    this.#asking.close();
    await new Promise(setImmediate); // the results of subscriptions are written
  }

  async #answer(request: ModernRequest, stream: AnswerStream): Promise<JsonObject> {
    const { method, params } = request;
    const { forwarding } = this.#host;
    switch (method) {
      case 'server/discover':
        return this.#complete({
          supportedVersions: [...SUPPORTED_VERSIONS],
          capabilities: commonCapabilities(this.#host),
          ttlMs: DISCOVER_TTL_MS,
          cacheScope: 'public',
        });
      case 'tools/list': {
        const { items, ...next } = (await this.#host.catalog.readFor(request.capabilities)).page(
          params.cursor,
          this.#host.limits.pageSize,
        );
        const ttlMs = Math.floor(Math.min(LIST_TTL_MS, this.#host.provider.toolsTtlMs ?? LIST_TTL_MS));
        // A provider does not say whether its tools depend on who asks.
        return this.#complete({ tools: items, ...next, ttlMs, cacheScope: 'private' });
      }
      case 'tools/call':
        return this.#asking.answer(request, stream);
      case 'prompts/get':
      case 'resources/read':
        if (forwarding) return this.#asking.answer(request, stream);
        break;
      case 'resources/list':
      case 'resources/templates/list':
      case 'prompts/list':
        if (forwarding) {
          const page = await this.#forward(request, stream);
          return this.#complete({ ...page, ...forwarding.cacheHints(method, LIST_TTL_MS) });
        }
        break;
      case 'completion/complete':
        if (forwarding) return this.#complete(await this.#forward(request, stream));
    }
    throw rejection(404, METHOD_NOT_FOUND, `Method not found: ${method.slice(0, 100)}`);
  }

  async #forward(
    request: ModernRequest,
    stream: AnswerStream & Partial<Exchange>,
    client = this.#callerOf(() => request),
  ): Promise<JsonObject> {
    const { method, params, meta } = request;
    const exchange = { request: declineQuestion, ...stream };
    const given = Object.keys(meta).length > 0 ? { ...params, _meta: meta } : params;
    const answer = this.#host.forwarding?.handle(method, given, client, exchange);
    if (!answer) throw rejection(404, METHOD_NOT_FOUND, `Method not found: ${method.slice(0, 100)}`);
    return answer;
  }

  /** The client as of one request, whose capabilities and log level apply to nothing else. */
  #callerOf(latest: () => ModernRequest): ForwardingClient {
    return {
      id: this.id,
      get clientCapabilities() {
        return latest().capabilities;
      },
      notify: () => undefined,
      log: (exchange, level, params) => {
        const { logLevel } = latest();
        if (logLevel !== undefined && LOG_LEVELS.indexOf(level) >= LOG_LEVELS.indexOf(logLevel))
          exchange.notify('notifications/message', { level, ...params });
      },
    };
  }

  #complete(result: JsonObject): JsonObject {
    return completeResult(result, this.#host.version);
  }
}

/** Lists and completion never ask a client. */
function declineQuestion(method: string): Promise<JsonObject> {
  return Promise.reject(rpcError(METHOD_NOT_FOUND, `Declined ${method}: it belongs to no call.`));
}
