// Answers HTTP requests of MCP 2026-07-28, after the listener has checked who sends them: their headers against the body,
// and each for the client that its token names.

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { JsonObject } from '@toolwright/core';
import { parseModernRequest } from '../engines/v2.js';
import type { GatewayMetrics } from '../metrics.js';
import { INVALID_REQUEST, rejection, requestFaultOf } from '../rpc-error.js';
import type { Backlog } from '../session/backlog.js';
import type { ModernClient } from '../session/modern-client.js';
import type { BearerTokens } from './http-auth.js';
import { ModernAnswer } from './modern-answer.js';
import { assertHeaders, assertParameterHeaders } from './modern-headers.js';

/** What the endpoint needs of the listener. */
export interface ModernEndpointHost {
  metrics: GatewayMetrics;
  backlog: Backlog;
  /** The client with this name, which the gateway's listeners share; each that has received it releases it once. */
  modernClientOf: (principal: string) => ModernClient;
  /** Ends the client when no other listener serves it. */
  releaseModernClient: (principal: string) => Promise<void>;
}

/** The clients of one listener whose requests have no session. */
export class ModernEndpoint {
  readonly #host: ModernEndpointHost;
  readonly #tokens: BearerTokens;
  /** One for each token: its id is the session id of their calls, for tools that keep state per conversation. */
  readonly #clients = new Map<number, ModernClient>();
  /** The answers of open subscriptions. */
  readonly #subscriptions = new Set<ModernAnswer>();

  constructor(host: ModernEndpointHost, tokens: BearerTokens) {
    this.#host = host;
    this.#tokens = tokens;
  }

  clientOf(principal: number): ModernClient {
    let client = this.#clients.get(principal);
    if (!client) {
      client = this.#host.modernClientOf(this.#tokens.nameOf(principal));
      this.#clients.set(principal, client);
    }
    return client;
  }

  /** Answers one request or notification. */
  async answer(
    principal: number,
    request: IncomingMessage,
    response: ServerResponse,
    message: JsonObject,
  ): Promise<void> {
    if (message.id === undefined) return void response.writeHead(202).end(); // this revision has no notifications over HTTP
    const acceptsStream = /text\/event-stream|\*\/\*/.test(request.headers.accept ?? '*/*');
    const answer = new ModernAnswer(response, this.#host.backlog, acceptsStream);
    try {
      const fault = requestFaultOf(message);
      if (fault) throw rejection(400, fault.code, fault.message);
      assertHeaders(request, message);
      if (message.method === 'subscriptions/listen') {
        if (!acceptsStream)
          throw rejection(406, INVALID_REQUEST, 'subscriptions/listen requires Accept: text/event-stream.');
        this.#subscriptions.add(answer);
      }
      const parsed = parseModernRequest(message);
      const client = this.clientOf(principal);
      if (parsed.method === 'tools/call') {
        const tool = await client.toolOf(parsed);
        if (tool) assertParameterHeaders(request.headers, tool.inputSchema, parsed.params.arguments);
      }
      answer.complete(message.id, await client.handle(parsed, answer));
    } catch (thrown) {
      if (answer.fail(idOf(message), thrown) >= 400) this.#host.metrics.refuse('protocol');
    } finally {
      this.#subscriptions.delete(answer);
    }
  }

  /** Ends the subscriptions with their result, and releases the clients. */
  async close(): Promise<void> {
    for (const answer of this.#subscriptions) answer.abort();
    await new Promise(setImmediate); // the results of subscriptions are written
    const principals = [...this.#clients.keys()];
    this.#clients.clear();
    await Promise.all(principals.map((index) => this.#host.releaseModernClient(this.#tokens.nameOf(index))));
  }
}

/** The id of a request, for an answer that rejects it. */
export function idOf(body: unknown): unknown {
  const { id } = (body ?? {}) as { id?: unknown };
  return typeof id === 'string' || typeof id === 'number' ? id : null;
}
