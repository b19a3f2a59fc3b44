// The implementation of McpPeer: a server's features beyond tools.

import { CallScope } from '../../call/call-scope.js';
import { ToolError } from '../../contract/errors.js';
import { copyJson } from '../../contract/json-copy.js';
import type { JsonObject } from '../../contract/json.js';
import { callSafely } from '../../call/host-callbacks.js';
import type { Logger } from '../../contract/logger.js';
import type { CallOptions, McpPeer, PeerRequestHandler } from '../../contract/tool-provider.js';
import type { ChangeSubscription } from './change-subscription.js';
import { requestInRounds } from './input-rounds.js';
import { SessionLostError, RpcError, type McpSession } from './mcp-session.js';
import type { ServerRequests } from './server-requests.js';

/** What the peer needs of the provider that owns the session. */
export interface McpServerPeerOptions {
  name: string;
  options: { callTimeoutMs: number; maxTotalTimeoutMs: number };
  requests: ServerRequests;
  /** The requests in flight, which a disconnect of the provider ends. */
  inFlight: Set<CallScope>;
  /** Runs a request on the open session, opening one first if needed. */
  withSession: WithSession;
  offers: () => JsonObject;
  /** Called when capabilities were added. */
  onOffered: () => void;
  /** Called when the first listener was added or the last one removed. */
  onListening: () => void;
  /** The changes that a server of the modern era reports. */
  subscription: ChangeSubscription;
  /** Called when a request has settled. */
  onSettled: () => void;
  logger: Logger;
}

/** Methods that request() rejects: calls need a policy, and the provider owns the session. */
const EXCLUDED_METHODS = /^(tools\/|initialize$|notifications\/|tasks\/)/;

/** Methods of the legacy era that the modern one replaced. */
const REPLACED_METHODS: ReadonlySet<string> = new Set([
  'ping',
  'logging/setLevel',
  'resources/subscribe',
  'resources/unsubscribe',
]);

/** Runs requests on the open session, and once more on a new one if the server provably did not read them. */
export type WithSession = <T>(scope: CallScope, ask: (session: McpSession) => Promise<T>) => Promise<T>;

type NotificationListener = Parameters<McpPeer['onNotification']>[0];

export class McpServerPeer implements McpPeer {
  readonly #options: McpServerPeerOptions;
  readonly #listeners = new Set<NotificationListener>();
  #logLevel: string | undefined;

  constructor(options: McpServerPeerOptions) {
    this.#options = options;
  }

  get capabilities(): JsonObject {
    return this.#options.offers();
  }

  async request(
    method: string,
    params: JsonObject = {},
    options: Pick<CallOptions, 'signal' | 'timeoutMs' | 'callId' | 'sessionId' | 'onRequest' | 'relay'> = {},
  ): Promise<JsonObject> {
    const { name, inFlight, withSession, requests } = this.#options;
    const { callTimeoutMs, maxTotalTimeoutMs } = this.#options.options;
    if (typeof method !== 'string' || EXCLUDED_METHODS.test(method)) {
      const text = `request() does not send ${String(method)}; call tools with callTool().`;
      throw new ToolError('INVALID_ARGUMENT', text, { provider: name });
    }
    const { signal, timeoutMs, callId, sessionId, onRequest, relay } = options;
    const scope = new CallScope({ signal, timeoutMs, callId, sessionId, onRequest, relay });
    let wasSent = false;
    inFlight.add(scope);
    try {
      scope.setDeadline(callTimeoutMs, maxTotalTimeoutMs);
      const send = (sent: JsonObject): Promise<JsonObject> =>
        withSession(scope, (session) => {
          wasSent = true;
          if (session.era === 'modern' && REPLACED_METHODS.has(method))
            return this.#replaced(session, method, sent, scope);
          return session.request(method, sent, scope, { onProgress: scope.onProgress });
        });
      return await requestInRounds({ params: copyJson(params), scope, requests, send });
    } catch (thrown) {
      if (scope.error && wasSent) requests.abandon(scope);
      if (thrown instanceof RpcError) throw thrown.toToolError(`The MCP server "${name}" refused ${method}`);
      throw scope.error ?? (thrown instanceof SessionLostError ? thrown.failure : ToolError.from(thrown, 'INTERNAL'));
    } finally {
      inFlight.delete(scope);
      scope.close();
      this.#options.onSettled();
    }
  }

  /** The log level for requests of the modern era: what was set, or `info` while someone listens. */
  get logLevel(): string | undefined {
    return this.#listeners.size > 0 ? (this.#logLevel ?? 'info') : undefined;
  }

  /** True while someone listens to notifications. */
  get isListening(): boolean {
    return this.#listeners.size > 0;
  }

  /** Does what methods did that the modern era replaced by others. */
  async #replaced(session: McpSession, method: string, params: JsonObject, scope: CallScope): Promise<JsonObject> {
    const { uri, level } = params;
    if (method === 'ping') await session.request('server/discover', {}, scope);
    else if (method === 'logging/setLevel') this.#logLevel = typeof level === 'string' ? level : undefined;
    else if (typeof uri === 'string')
      await this.#options.subscription.watchResource(uri, method === 'resources/subscribe', scope);
    else throw new ToolError('INVALID_ARGUMENT', `${method} requires uri, a string.`);
    return {};
  }

  onNotification(listener: NotificationListener): () => void {
    this.#listeners.add(listener);
    this.#options.onListening();
    return () => {
      if (this.#listeners.delete(listener)) this.#options.onListening();
    };
  }

  setRequestHandler(handler: PeerRequestHandler | undefined, offers?: JsonObject): void {
    this.#options.requests.setHandler(handler, offers);
  }

  offer(capabilities: JsonObject): () => void {
    const withdraw = this.#options.requests.offer(capabilities);
    this.#options.onOffered();
    return withdraw;
  }

  /** Emits `list_changed` after a connection, as a new session may have other resources and prompts. */
  reportConnected(): void {
    const { resources, prompts } = this.capabilities;
    if (resources !== undefined) this.emit('notifications/resources/list_changed', {});
    if (prompts !== undefined) this.emit('notifications/prompts/list_changed', {});
  }

  /** Passes a notification of the server to all listeners; errors of listeners are logged. */
  emit(method: string, params: JsonObject): void {
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
      return undefined; // several callers
    }
  }
}
