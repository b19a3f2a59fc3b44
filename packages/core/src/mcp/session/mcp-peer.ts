// McpPeer: what a server has beyond its tools, in plain types. Calls of tools do not go this way.

import { CallScope } from '../../call/call-scope.js';
import { ToolError } from '../../contract/errors.js';
import { copyJson } from '../../contract/json-copy.js';
import type { JsonObject } from '../../contract/json.js';
import { callSafely } from '../../call/host-callbacks.js';
import type { Logger } from '../../contract/logger.js';
import type { CallOptions, McpPeer, PeerRequestHandler } from '../../contract/tool-provider.js';
import { LostSession, RpcFailure, type McpSession } from './mcp-session.js';
import type { ServerRequests } from './server-requests.js';

/** What a peer needs of the provider that owns the session. */
export interface ServerPeerOptions {
  name: string;
  options: { callTimeoutMs: number; maxTotalTimeoutMs: number };
  requests: ServerRequests;
  /** Ended when the provider is disconnected. */
  inFlight: Set<CallScope>;
  /** Asks the open session, opened where there is none. */
  ask: SessionAsker;
  offers: () => JsonObject;
  /** Run when more is offered to the server than before. */
  onOffered: () => void;
  /** Run when a request has settled. */
  onSettled: () => void;
  logger: Logger;
}

/** Methods that have a way of their own: calls are judged by a policy, and the session is the provider's. */
const OWN_METHODS = /^(tools\/|initialize$|notifications\/|tasks\/)/;

/** Runs requests on the open session, and once more where the server provably did not look at them. */
export type SessionAsker = <T>(scope: CallScope, ask: (session: McpSession) => Promise<T>) => Promise<T>;

type NotificationListener = Parameters<McpPeer['onNotification']>[0];

export class ServerPeer implements McpPeer {
  readonly #options: ServerPeerOptions;
  readonly #listeners = new Set<NotificationListener>();

  constructor(options: ServerPeerOptions) {
    this.#options = options;
  }

  get capabilities(): JsonObject {
    return this.#options.offers();
  }

  async request(
    method: string,
    params: JsonObject = {},
    options: Pick<CallOptions, 'signal' | 'timeoutMs' | 'callId' | 'sessionId' | 'onRequest'> = {},
  ): Promise<JsonObject> {
    const { name, inFlight, ask, requests } = this.#options;
    const { callTimeoutMs, maxTotalTimeoutMs } = this.#options.options;
    if (typeof method !== 'string' || OWN_METHODS.test(method)) {
      const words = `${String(method)} is not asked for by request(); tools are called with callTool().`;
      throw new ToolError('INVALID_ARGUMENT', words, { provider: name });
    }
    const { signal, timeoutMs, callId, sessionId, onRequest } = options;
    const scope = new CallScope({ signal, timeoutMs, callId, sessionId, onRequest });
    let wasSent = false;
    inFlight.add(scope);
    try {
      scope.setDeadline(callTimeoutMs, maxTotalTimeoutMs);
      return await ask(scope, (session) => {
        wasSent = true;
        return session.request(method, copyJson(params), scope, scope.onProgress);
      });
    } catch (thrown) {
      if (scope.error && wasSent) requests.abandon(scope);
      if (thrown instanceof RpcFailure) throw thrown.toToolError(`The MCP server "${name}" refused ${method}`);
      throw scope.error ?? (thrown instanceof LostSession ? thrown.failure : ToolError.from(thrown, 'INTERNAL'));
    } finally {
      inFlight.delete(scope);
      scope.close();
      this.#options.onSettled();
    }
  }

  onNotification(listener: NotificationListener): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  setRequestHandler(handler: PeerRequestHandler | undefined, offers?: JsonObject): void {
    this.#options.requests.setHandler(handler, offers);
  }

  offer(capabilities: JsonObject): () => void {
    const withdraw = this.#options.requests.offer(capabilities);
    this.#options.onOffered();
    return withdraw;
  }

  /** Another session may have other things than the one before. */
  reportConnected(): void {
    const { resources, prompts } = this.capabilities;
    if (resources !== undefined) this.tell('notifications/resources/list_changed', {});
    if (prompts !== undefined) this.tell('notifications/prompts/list_changed', {});
  }

  /** Reports a notification of the server's. A listener that throws breaks nothing. */
  tell(method: string, params: JsonObject): void {
    if (this.#listeners.size === 0) return;
    const call = this.#callOfOneCaller();
    for (const listener of [...this.#listeners]) {
      callSafely(
        () => listener(method, params, call),
        (message) => this.#options.logger.error(`A listener threw: ${message}`),
      );
    }
  }

  #callOfOneCaller(): Pick<CallOptions, 'callId' | 'sessionId'> | undefined {
    try {
      const caller = this.#options.requests.caller();
      return caller && { callId: caller.callId, sessionId: caller.sessionId };
    } catch {
      return undefined; // there are several
    }
  }
}
