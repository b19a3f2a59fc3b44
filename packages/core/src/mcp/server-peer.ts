// McpPeer: what a server has beyond its tools, in plain types. Calls of tools do not go this way.

import { assertTimeout, CallScope } from '../call-scope.js';
import { ToolError } from '../errors.js';
import { copyJson } from '../json-copy.js';
import type { JsonObject } from '../json.js';
import { callSafely } from '../listeners.js';
import type { Logger } from '../logger.js';
import type { McpPeer } from '../tool-provider.js';
import { LostSession, RpcFailure, type McpSession } from './connection.js';
import type { PeerRequestHandler, ServerRequests } from './server-requests.js';

/** What a peer needs of the provider that owns the session. */
export interface ServerPeerOptions {
  name: string;
  options: { callTimeoutMs: number; maxTotalTimeoutMs: number };
  requests: ServerRequests;
  /** Ended when the provider is disconnected. */
  inFlight: Set<CallScope>;
  /** The open session, opened where there is none. */
  open: () => Promise<McpSession>;
  offers: () => JsonObject;
  logger: Logger;
}

/** Methods that have a way of their own: calls are judged by a policy, and the session is the provider's. */
const OWN_METHODS = /^(tools\/|initialize$|notifications\/|tasks\/)/;

export class ServerPeer implements McpPeer {
  readonly #options: ServerPeerOptions;
  readonly #listeners = new Set<(method: string, params: JsonObject) => void>();

  constructor(options: ServerPeerOptions) {
    this.#options = options;
  }

  get capabilities(): JsonObject {
    return this.#options.offers();
  }

  async request(
    method: string,
    params: JsonObject = {},
    options: { signal?: AbortSignal; timeoutMs?: number } = {},
  ): Promise<JsonObject> {
    const { name, inFlight, open } = this.#options;
    const { callTimeoutMs, maxTotalTimeoutMs } = this.#options.options;
    if (typeof method !== 'string' || OWN_METHODS.test(method)) {
      const words = `${String(method)} is not asked for by request(); tools are called with callTool().`;
      throw new ToolError('INVALID_ARGUMENT', words, { provider: name });
    }
    const { signal, timeoutMs = callTimeoutMs } = options;
    assertTimeout(timeoutMs);
    const scope = new CallScope({ signal });
    inFlight.add(scope);
    try {
      if (timeoutMs !== Infinity) scope.setDeadline(timeoutMs, maxTotalTimeoutMs);
      const session = await scope.race(open());
      return await session.request(method, copyJson(params), scope, () => scope.renew());
    } catch (thrown) {
      if (thrown instanceof RpcFailure) throw thrown.toToolError(`The MCP server "${name}" refused ${method}`);
      throw scope.error ?? (thrown instanceof LostSession ? thrown.failure : ToolError.from(thrown, 'INTERNAL'));
    } finally {
      inFlight.delete(scope);
      scope.close();
    }
  }

  onNotification(listener: (method: string, params: JsonObject) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  setRequestHandler(handler: PeerRequestHandler | undefined, offers?: JsonObject): void {
    this.#options.requests.setHandler(handler, offers);
  }

  /** Tells of a notification of the server's. A listener that throws breaks nothing. */
  tell(method: string, params: JsonObject): void {
    for (const listener of [...this.#listeners]) {
      callSafely(
        () => listener(method, params),
        (message) => this.#options.logger.error(`A listener threw: ${message}`),
      );
    }
  }
}
