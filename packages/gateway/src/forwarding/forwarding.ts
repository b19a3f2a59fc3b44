// What MCP servers behind the gateway have beyond tools: resources, prompts, completion and subscriptions to the clients,
// and the servers' own requests to the client whose call they belong to.

import { ToolError, type CallOptions, type JsonObject, type McpPeer } from '@toolwright/core';
import type { Exchange } from '../mcp-server.js';
import { PeerLists, type Owned, type PeerListsOptions } from './peer-lists.js';
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

/** What is forwarded, and for whom. */
export interface ForwardingOptions extends Omit<PeerListsOptions, 'onLate'> {
  sessions: () => Iterable<ForwardingClient>;
  limits: { pageSize: number; approvalTimeoutMs: number };
}

/** Requests of a server's that may be put to a client, with what the client must offer. */
const ASKED: Readonly<Record<string, string>> = {
  'elicitation/create': 'elicitation',
  'sampling/createMessage': 'sampling',
  'roots/list': 'roots',
};
const OFFERS: JsonObject = { elicitation: { form: {} }, sampling: {}, roots: {} };
const RESOURCES_CHANGED = 'notifications/resources/list_changed';
const PROMPTS_CHANGED = 'notifications/prompts/list_changed';

const MAX_URI = 8_192;

export class Forwarding {
  readonly #options: ForwardingOptions;
  readonly #lists: PeerLists;
  readonly #inFlight = new RequestsInFlight();
  readonly #toTell = new Set<string>();
  readonly #attached = new Map<McpPeer, () => void>();
  readonly #subscriptions = new Subscriptions();

  constructor(options: ForwardingOptions) {
    this.#options = options;
    this.#lists = new PeerLists({
      ...options,
      onLate: (kind) => this.#tellAll(kind === 'prompts' ? PROMPTS_CHANGED : RESOURCES_CHANGED),
    });
  }

  /** Listens to every peer there is, and offers each what clients may be asked. */
  attach(): void {
    const peers = this.#options.peers();
    const present = new Set(peers.values());
    for (const [peer, detach] of this.#attached) {
      if (present.has(peer)) continue;
      detach();
      this.#attached.delete(peer);
      this.#lists.forget(peer);
      this.#tellAll(RESOURCES_CHANGED);
      this.#tellAll(PROMPTS_CHANGED);
    }
    for (const peer of present) {
      if (this.#attached.has(peer)) continue;
      const unsubscribe = peer.onNotification((...notified) => this.#hear(peer, ...notified));
      const withdraw = peer.offer?.(OFFERS);
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

  /** What a call, or another request, of a client's is made with; and what to run when it has settled. */
  enter(
    session: ForwardingClient,
    exchange: Exchange,
  ): { options: Pick<CallOptions, 'callId' | 'sessionId' | 'onRequest'>; leave: () => void } {
    const { callId, leave } = this.#inFlight.enter(session, exchange);
    const onRequest: CallOptions['onRequest'] = (method, params, { signal }) =>
      this.#ask(session, exchange, method, params, signal);
    return { options: { callId, sessionId: session.id, onRequest }, leave };
  }

  /** The session has ended: what it subscribed to is nobody's, where nobody else has. */
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
    exchange.signal.throwIfAborted(); // a client that has gone would be told for ever
    const { options, leave } = this.enter(session, exchange);
    try {
      await told(this.#subscriptions.add(owned.peer, owned.name, session, options));
    } finally {
      leave();
    }
    return {};
  }

  async #unsubscribe({ uri }: JsonObject, session: ForwardingClient): Promise<JsonObject> {
    if (typeof uri === 'string') await told(this.#subscriptions.remove(uri, session));
    return {};
  }

  async #prompt(name: unknown): Promise<Owned> {
    const owned =
      typeof name === 'string'
        ? await this.#lists.find(['prompts'], () => this.#lists.get('prompts', name))
        : undefined;
    if (!owned) throw rpcError(INVALID_PARAMS, `Unknown prompt: ${String(name).slice(0, 200)}`);
    return owned;
  }

  /** The server that lists the URI, or else the first with a template that begins as it does. */
  async #resource(uri: unknown): Promise<Owned> {
    if (typeof uri !== 'string' || uri.length > MAX_URI)
      throw rpcError(INVALID_PARAMS, `The uri of a resource is needed, of at most ${MAX_URI} characters.`);
    const owned = await this.#lists.find(['resources', 'templates'], () => this.#ownerOf(uri));
    if (!owned) throw rpcError(RESOURCE_NOT_FOUND, `Resource not found: ${uri.slice(0, 500)}`);
    return { ...owned, name: uri };
  }

  #ownerOf(uri: string): Owned | undefined {
    const exact = this.#lists.get('resources', uri) ?? this.#lists.get('templates', uri); // completion names a template
    if (exact) return exact;
    // No pattern is made of a stranger's template: its literal beginning decides, and the server judges the rest. The first
    // server keeps what it named; a later one that begins in the same way takes nothing from it.
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
    { peer }: Owned,
    method: string,
    params: JsonObject,
    session: ForwardingClient,
    exchange: Exchange,
  ): Promise<JsonObject> {
    const { options, leave } = this.enter(session, exchange);
    try {
      return await told(peer.request(method, params, { ...options, signal: exchange.signal }));
    } finally {
      leave();
    }
  }

  // What servers say and ask.

  #hear(peer: McpPeer, method: string, params: JsonObject, call?: Pick<CallOptions, 'callId' | 'sessionId'>): void {
    switch (method) {
      case RESOURCES_CHANGED:
        this.#lists.invalidate(peer, 'resources', 'templates');
        void this.#renewSubscriptions(peer);
        return this.#tellAll(method);
      case PROMPTS_CHANGED:
        this.#lists.invalidate(peer, 'prompts');
        return this.#tellAll(method);
      case 'notifications/resources/updated':
        for (const session of this.#subscriptions.of(peer, params.uri)) session.notify(method, params);
        return;
      case 'notifications/message': {
        const one = call && this.#inFlight.requestOf(call);
        if (one && typeof params.level === 'string') {
          const { level, ...said } = params;
          one.session.log(one.exchange, level, said);
        }
      }
    }
  }

  /** After another connection. What changed while there was none is not known, so that all of it counts as changed. */
  async #renewSubscriptions(peer: McpPeer): Promise<void> {
    const uris = await this.#subscriptions.renew(peer, (uri, thrown) =>
      this.#options.warn(`The subscription of ${uri} ended with its connection: ${messageOf(thrown)}`),
    );
    for (const uri of uris) {
      for (const session of this.#subscriptions.of(peer, uri))
        session.notify('notifications/resources/updated', { uri });
    }
  }

  /** Once for all that is said in one turn. */
  #tellAll(method: string): void {
    if (this.#toTell.size === 0) {
      setImmediate(() => {
        const methods = [...this.#toTell];
        this.#toTell.clear();
        for (const session of this.#options.sessions()) for (const each of methods) session.notify(each);
      });
    }
    this.#toTell.add(method);
  }

  /** Puts a server's request to the client whose call it belongs to. */
  async #ask(
    session: ForwardingClient,
    exchange: Exchange,
    method: string,
    params: JsonObject,
    signal: AbortSignal,
  ): Promise<JsonObject> {
    const offer = Object.hasOwn(ASKED, method) ? ASKED[method] : undefined;
    if (offer === undefined) throw rpcError(METHOD_NOT_FOUND, `The gateway does not forward ${method}.`);
    if (!(offer in session.clientCapabilities)) {
      throw rpcError(METHOD_NOT_FOUND, `Declined: the client does not offer ${offer}.`);
    }
    const { approvalTimeoutMs: timeoutMs } = this.#options.limits;
    return exchange.ask(method, params, { signal: AbortSignal.any([signal, exchange.signal]), timeoutMs });
  }
}

/** What a peer refused is told with its own number. */
async function told<T>(request: Promise<T>): Promise<T> {
  try {
    return await request;
  } catch (thrown) {
    if (typeof (thrown as { code?: unknown }).code === 'number') throw thrown; // ours
    const code = ToolError.isInstance(thrown) ? thrown.details?.rpcCode : undefined;
    throw rpcError(typeof code === 'number' ? code : INTERNAL_ERROR, messageOf(thrown));
  }
}
