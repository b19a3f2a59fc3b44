// Forwards what MCP servers offer beyond tools: resources, prompts, completion and subscriptions to the clients, and a
// server's requests to the client whose call they belong to.

import { ToolError, type CallOptions, type JsonObject, type McpPeer } from '@toolwright/core';
import { isJsonObject } from '@toolwright/core/internal';
import type { Exchange } from '../engines/port.js';
import { PeerLists, type OwnedEntry, type PeerListsOptions } from './peer-lists.js';
import { RequestsInFlight } from './requests-in-flight.js';
import {
  INTERNAL_ERROR,
  INVALID_PARAMS,
  messageOf,
  METHOD_NOT_FOUND,
  RESOURCE_NOT_FOUND,
  rpcError,
} from '../rpc-error.js';
import type { ForwardingClient } from './forwarding-client.js';
import { Subscriptions } from './subscriptions.js';

/** The servers and clients between which messages are forwarded. */
export interface ForwardingOptions extends Omit<PeerListsOptions, 'onLate'> {
  sessions: () => Iterable<ForwardingClient>;
  limits: { pageSize: number; approvalTimeoutMs: number };
}

/** A server's requests that are forwarded to clients, with the capability that the client must have. */
const FORWARDED_REQUESTS: Readonly<Record<string, string>> = {
  'elicitation/create': 'elicitation',
  'sampling/createMessage': 'sampling',
  'roots/list': 'roots',
};
const OFFERED_CAPABILITIES: JsonObject = { elicitation: { form: {} }, sampling: {}, roots: {} };
const RESOURCES_CHANGED = 'notifications/resources/list_changed';
const PROMPTS_CHANGED = 'notifications/prompts/list_changed';

const MAX_URI = 8_192;

/** Forwards between one gateway's clients and its servers. */
export class Forwarding {
  readonly #options: ForwardingOptions;
  readonly #lists: PeerLists;
  readonly #inFlight = new RequestsInFlight();
  /** Methods of the notifications that go to all clients at the end of this turn. */
  readonly #pendingNotifications = new Set<string>();
  readonly #attached = new Map<McpPeer, () => void>();
  readonly #subscriptions = new Subscriptions();

  constructor(options: ForwardingOptions) {
    this.#options = options;
    this.#lists = new PeerLists({
      ...options,
      onLate: (kind) => this.#notifyAll(kind === 'prompts' ? PROMPTS_CHANGED : RESOURCES_CHANGED),
    });
  }

  /** Subscribes to every current peer, offers each the capabilities that clients may have, and detaches removed peers. */
  attach(): void {
    const peers = this.#options.peers();
    const present = new Set(peers.values());
    for (const [peer, detach] of this.#attached) {
      if (present.has(peer)) continue;
      detach();
      this.#attached.delete(peer);
      this.#lists.forget(peer);
      this.#notifyAll(RESOURCES_CHANGED);
      this.#notifyAll(PROMPTS_CHANGED);
    }
    for (const peer of present) {
      if (this.#attached.has(peer)) continue;
      const unsubscribe = peer.onNotification((...notification) => this.#onNotification(peer, ...notification));
      const withdraw = peer.offer?.(OFFERED_CAPABILITIES);
      this.#attached.set(peer, () => {
        unsubscribe();
        withdraw?.();
      });
    }
  }

  close(): void {
    for (const detach of this.#attached.values()) detach();
    this.#attached.clear();
  }

  /** The options for a client's call or other request, and a function to call when it has settled. */
  enter(
    session: ForwardingClient,
    exchange: Exchange,
  ): { options: Pick<CallOptions, 'callId' | 'sessionId' | 'onRequest'>; leave: () => void } {
    const { callId, leave } = this.#inFlight.enter(session, exchange);
    const onRequest: CallOptions['onRequest'] = (method, params, { signal }) =>
      this.#forwardRequest(session, exchange, method, params, signal);
    return { options: { callId, sessionId: session.id, onRequest }, leave };
  }

  /** Ends the subscriptions of a session that has ended. */
  forget(session: ForwardingClient): void {
    this.#subscriptions.forget(session);
  }

  /** Answers a request that is not about tools; undefined for one that is not forwarded. */
  handle(
    method: string,
    params: JsonObject,
    session: ForwardingClient,
    exchange: Exchange,
  ): Promise<JsonObject> | undefined {
    switch (method) {
      case 'resources/list':
        return this.#lists.page('resources', params);
      case 'resources/templates/list':
        return this.#lists.page('templates', params);
      case 'prompts/list':
        return this.#lists.page('prompts', params);
      case 'prompts/get':
        return this.#getPrompt(params, session, exchange);
      case 'completion/complete':
        return this.#complete(params, session, exchange);
      case 'resources/read':
        return this.#read(params, session, exchange);
      case 'resources/subscribe':
        return this.#subscribe(params, session, exchange);
      case 'resources/unsubscribe':
        return this.#unsubscribe(params, session);
      default:
        return undefined;
    }
  }

  /** How long and by whom the answer to a list request may be kept. */
  cacheHints(method: string, ttlMs: number): { ttlMs: number; cacheScope: 'public' | 'private' } {
    const kind = method === 'prompts/list' ? 'prompts' : method === 'resources/list' ? 'resources' : 'templates';
    return this.#lists.cacheHints(kind, ttlMs);
  }

  // Requests of clients.

  async #getPrompt(params: JsonObject, session: ForwardingClient, exchange: Exchange): Promise<JsonObject> {
    const owned = await this.#prompt(params.name);
    return this.#request(owned, 'prompts/get', { ...params, name: owned.name }, session, exchange);
  }

  async #complete(params: JsonObject, session: ForwardingClient, exchange: Exchange): Promise<JsonObject> {
    const ref = (params.ref ?? {}) as JsonObject;
    if (ref.type === 'ref/prompt') {
      const owned = await this.#prompt(ref.name);
      const named = { ...params, ref: { ...ref, name: owned.name } };
      return this.#request(owned, 'completion/complete', named, session, exchange);
    }
    const owned = await this.#resource(ref.uri);
    return this.#request(owned, 'completion/complete', params, session, exchange);
  }

  async #read(params: JsonObject, session: ForwardingClient, exchange: Exchange): Promise<JsonObject> {
    return this.#request(await this.#resource(params.uri), 'resources/read', params, session, exchange);
  }

  async #subscribe({ uri }: JsonObject, session: ForwardingClient, exchange: Exchange): Promise<JsonObject> {
    const owned = await this.#resource(uri);
    exchange.signal.throwIfAborted(); // a disconnected client would never unsubscribe
    const { options, leave } = this.enter(session, exchange);
    try {
      await withRpcErrors(this.#subscriptions.add(owned.peer, owned.name, session, options));
    } finally {
      leave();
    }
    return {};
  }

  async #unsubscribe({ uri }: JsonObject, session: ForwardingClient): Promise<JsonObject> {
    if (typeof uri === 'string') await withRpcErrors(this.#subscriptions.remove(uri, session));
    return {};
  }

  async #prompt(name: unknown): Promise<OwnedEntry> {
    const owned =
      typeof name === 'string'
        ? await this.#lists.find(['prompts'], () => this.#lists.get('prompts', name))
        : undefined;
    if (!owned) throw rpcError(INVALID_PARAMS, `Unknown prompt: ${String(name).slice(0, 200)}`);
    return owned;
  }

  /** The server that lists the URI, or else the first one with a template whose literal beginning the URI shares. */
  async #resource(uri: unknown): Promise<OwnedEntry> {
    if (typeof uri !== 'string' || uri.length > MAX_URI)
      throw rpcError(INVALID_PARAMS, `uri must be a string of at most ${MAX_URI} characters.`);
    const owned = await this.#lists.find(['resources', 'templates'], () => this.#ownerOf(uri));
    if (!owned) throw rpcError(RESOURCE_NOT_FOUND, `Resource not found: ${uri.slice(0, 500)}`);
    return { ...owned, name: uri };
  }

  #ownerOf(uri: string): OwnedEntry | undefined {
    const exact = this.#lists.get('resources', uri) ?? this.#lists.get('templates', uri); // completion/complete names a template
    if (exact) return exact;
    // An untrusted template never becomes a pattern: its literal beginning selects the server, which checks the rest. With
    // equal beginnings the earlier server wins, so a later one cannot take over its resources.
    const matching = this.#lists
      .keys('templates')
      .filter((key) => key.includes('{') && uri.startsWith(key.slice(0, key.indexOf('{'))));
    const named = matching.filter((key) => !key.startsWith('{'));
    const order = [...this.#options.peers().values()];
    return (named.length > 0 ? named : matching)
      .flatMap((key) => this.#lists.get('templates', key) ?? [])
      .sort((one, other) => order.indexOf(one.peer) - order.indexOf(other.peer))[0];
  }

  async #request(
    { peer }: OwnedEntry,
    method: string,
    params: JsonObject,
    session: ForwardingClient,
    exchange: Exchange,
  ): Promise<JsonObject> {
    const { options, leave } = this.enter(session, exchange);
    try {
      const { signal, relay } = exchange;
      return await withRpcErrors(peer.request(method, params, { ...options, signal, ...(relay && { relay }) }));
    } finally {
      leave();
    }
  }

  // Notifications and requests of servers.

  #onNotification(
    peer: McpPeer,
    method: string,
    params: JsonObject,
    call?: Pick<CallOptions, 'callId' | 'sessionId'>,
  ): void {
    switch (method) {
      case RESOURCES_CHANGED:
        this.#lists.invalidate(peer, 'resources', 'templates');
        void this.#renewSubscriptions(peer);
        return this.#notifyAll(method);
      case PROMPTS_CHANGED:
        this.#lists.invalidate(peer, 'prompts');
        return this.#notifyAll(method);
      case 'notifications/resources/updated':
        for (const session of this.#subscriptions.of(peer, params.uri)) session.notify(method, params);
        return;
      case 'notifications/message': {
        const request = call && this.#inFlight.requestOf(call);
        if (request && typeof params.level === 'string') {
          const { level, ...message } = params;
          request.session.log(request.exchange, level, message);
        }
      }
    }
  }

  /** After a reconnection. Changes in between are unknown, so every subscribed resource is reported as updated. */
  async #renewSubscriptions(peer: McpPeer): Promise<void> {
    const uris = await this.#subscriptions.renew(peer, (uri, thrown) =>
      this.#options.warn(
        `The subscription to ${uri} was lost with the connection and could not be renewed: ${messageOf(thrown)}`,
      ),
    );
    for (const uri of uris) {
      for (const session of this.#subscriptions.of(peer, uri))
        session.notify('notifications/resources/updated', { uri });
    }
  }

  /** Notifies every client, once for equal notifications of one turn. */
  #notifyAll(method: string): void {
    if (this.#pendingNotifications.size === 0) {
      setImmediate(() => {
        const methods = [...this.#pendingNotifications];
        this.#pendingNotifications.clear();
        for (const session of this.#options.sessions()) methods.forEach((pending) => session.notify(pending));
      });
    }
    this.#pendingNotifications.add(method);
  }

  /** Forwards a server's request to the client whose call it belongs to. */
  async #forwardRequest(
    session: ForwardingClient,
    exchange: Exchange,
    method: string,
    params: JsonObject,
    signal: AbortSignal,
  ): Promise<JsonObject> {
    const capability = Object.hasOwn(FORWARDED_REQUESTS, method) ? FORWARDED_REQUESTS[method] : undefined;
    if (capability === undefined) throw rpcError(METHOD_NOT_FOUND, `The gateway does not forward ${method}.`);
    if (!(capability in session.clientCapabilities)) {
      throw rpcError(METHOD_NOT_FOUND, `Declined ${method}: the client does not have the capability "${capability}".`);
    }
    const { approvalTimeoutMs: timeoutMs } = this.#options.limits;
    return exchange.request(method, params, { signal: AbortSignal.any([signal, exchange.signal]), timeoutMs });
  }
}

/** Converts a failure to an RPC error, with the server's own code where it sent one. */
async function withRpcErrors<T>(request: Promise<T>): Promise<T> {
  try {
    return await request;
  } catch (thrown) {
    if (typeof (thrown as { code?: unknown }).code === 'number') throw thrown; // an RPC error already
    const { rpcCode, data } = (ToolError.isInstance(thrown) ? thrown.details : undefined) ?? {};
    const code = typeof rpcCode === 'number' ? rpcCode : INTERNAL_ERROR;
    throw rpcError(code, messageOf(thrown), isJsonObject(data) ? data : undefined);
  }
}
