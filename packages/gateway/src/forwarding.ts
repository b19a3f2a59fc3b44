// What MCP servers behind the gateway have beyond tools: resources, prompts, completion and subscriptions to the clients,
// and the servers' own requests to the one client that they can be meant for.

import { ToolError, type JsonObject, type McpPeer } from '@toolwright/core';
import type { Exchange } from './mcp-server.js';
import { PeerLists, type Owned, type PeerListsOptions } from './peer-lists.js';
import { RequestsInFlight } from './requests-in-flight.js';
import { INTERNAL_ERROR, INVALID_PARAMS, INVALID_REQUEST, messageOf, METHOD_NOT_FOUND, rpcError } from './rpc-error.js';
import { RESOURCE_NOT_FOUND } from './rpc-error.js';
import type { ClientSession } from './session.js';
import { Subscriptions } from './subscriptions.js';

/** What is forwarded, and for whom. */
export interface ForwardingOptions extends PeerListsOptions {
  sessions: () => Iterable<ClientSession>;
  limits: { pageSize: number; approvalTimeoutMs: number };
}

/** Requests of a server's that may be put to a client, with what the client must offer. */
const ASKED: Readonly<Record<string, string>> = {
  'elicitation/create': 'elicitation',
  'sampling/createMessage': 'sampling',
  'roots/list': 'roots',
};
export class Forwarding {
  readonly #options: ForwardingOptions;
  readonly #lists: PeerLists;
  readonly #inFlight = new RequestsInFlight();
  readonly #attached = new Map<McpPeer, () => void>();
  readonly #subscriptions = new Subscriptions();

  constructor(options: ForwardingOptions) {
    this.#options = options;
    this.#lists = new PeerLists(options);
  }

  /** Listens to every peer there is; called before they are connected, as they are told then what is offered. */
  attach(): void {
    const peers = this.#options.peers();
    for (const [peer, detach] of this.#attached) {
      if ([...peers.values()].includes(peer)) continue;
      detach();
      this.#attached.delete(peer);
      this.#lists.invalidate();
    }
    for (const [peerName, peer] of peers) {
      if (this.#attached.has(peer)) continue;
      const unsubscribe = peer.onNotification((method, params) => this.#hear(peerName, peer, method, params));
      peer.setRequestHandler((method, params, { signal }) => this.#ask(peerName, method, params, signal));
      this.#attached.set(peer, () => {
        unsubscribe();
        peer.setRequestHandler(undefined);
      });
      this.#lists.invalidate();
    }
  }

  close(): void {
    for (const detach of this.#attached.values()) detach();
    this.#attached.clear();
  }

  /** Notes that a call of a tool is in flight; gives what to call when it has settled. */
  enter(qualifiedName: string, session: ClientSession, exchange: Exchange): () => void {
    return this.#inFlight.enter(qualifiedName.slice(0, Math.max(0, qualifiedName.indexOf('.'))), session, exchange);
  }

  /** The session has ended: what it subscribed to is nobody's, where nobody else has. */
  forget(session: ClientSession): void {
    this.#subscriptions.forget(session);
  }

  /** Answers a request that is not about tools; undefined for one that is not forwarded. */
  handle(
    method: string,
    params: JsonObject,
    session: ClientSession,
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
        return this.#subscribe(params, session);
      case 'resources/unsubscribe':
        return this.#unsubscribe(params, session);
      default:
        return undefined;
    }
  }

  // Requests of clients.

  async #getPrompt(params: JsonObject, session: ClientSession, exchange: Exchange): Promise<JsonObject> {
    const owned = await this.#prompt(params.name);
    return this.#request(owned, 'prompts/get', { ...params, name: owned.name }, session, exchange);
  }

  async #complete(params: JsonObject, session: ClientSession, exchange: Exchange): Promise<JsonObject> {
    const ref = (params.ref ?? {}) as JsonObject;
    if (ref.type === 'ref/prompt') {
      const owned = await this.#prompt(ref.name);
      const named = { ...params, ref: { ...ref, name: owned.name } };
      return this.#request(owned, 'completion/complete', named, session, exchange);
    }
    const owned = await this.#resource(ref.uri);
    return this.#request(owned, 'completion/complete', params, session, exchange);
  }

  async #read(params: JsonObject, session: ClientSession, exchange: Exchange): Promise<JsonObject> {
    return this.#request(await this.#resource(params.uri), 'resources/read', params, session, exchange);
  }

  async #subscribe({ uri }: JsonObject, session: ClientSession): Promise<JsonObject> {
    const owned = await this.#resource(uri);
    await told(this.#subscriptions.add(owned.peer, owned.name, session));
    return {};
  }

  async #unsubscribe({ uri }: JsonObject, session: ClientSession): Promise<JsonObject> {
    if (typeof uri === 'string') await told(this.#subscriptions.remove(uri, session));
    return {};
  }

  async #prompt(name: unknown): Promise<Owned> {
    const owned = typeof name === 'string' ? (await this.#lists.owned('prompts')).get(name) : undefined;
    if (!owned) throw rpcError(INVALID_PARAMS, `Unknown prompt: ${String(name).slice(0, 200)}`);
    return owned;
  }

  /** The server that lists the URI, or else the first with a template that begins as it does. */
  async #resource(uri: unknown): Promise<Owned> {
    if (typeof uri !== 'string') throw rpcError(INVALID_PARAMS, 'The uri of a resource is needed.');
    const listed = (await this.#lists.owned('resources')).get(uri);
    if (listed) return listed;
    const templates = await this.#lists.owned('templates');
    const exact = templates.get(uri); // completion names the template itself
    if (exact) return exact;
    // No pattern is made of a stranger's template: its literal beginning decides, and the server judges the rest.
    const fitting = templates.items
      .map(({ key }) => key)
      .filter((key) => key.includes('{') && uri.startsWith(key.slice(0, key.indexOf('{'))))
      .sort((a, b) => b.indexOf('{') - a.indexOf('{'));
    const owned = fitting[0] === undefined ? undefined : templates.get(fitting[0]);
    if (!owned) throw rpcError(RESOURCE_NOT_FOUND, `Resource not found: ${uri.slice(0, 500)}`);
    return { ...owned, name: uri };
  }

  async #request(
    { peerName, peer }: Owned,
    method: string,
    params: JsonObject,
    session: ClientSession,
    exchange: Exchange,
  ): Promise<JsonObject> {
    const leave = this.#inFlight.enter(peerName, session, exchange);
    try {
      return await told(peer.request(method, params, { signal: exchange.signal }));
    } finally {
      leave();
    }
  }

  // What servers say and ask.

  #hear(peerName: string, peer: McpPeer, method: string, params: JsonObject): void {
    switch (method) {
      case 'notifications/resources/list_changed':
        this.#lists.invalidate('resources', 'templates');
        return this.#tellAll(method);
      case 'notifications/prompts/list_changed':
        this.#lists.invalidate('prompts');
        return this.#tellAll(method);
      case 'notifications/resources/updated':
        for (const session of this.#subscriptions.of(peer, params.uri)) session.notify(method, params);
        return;
      case 'notifications/message': {
        const one = this.#inFlight.onlyClient(peerName);
        if (one && typeof params.level === 'string') {
          const { level, ...said } = params;
          one.session.log(one.exchange, level, said);
        }
      }
    }
  }

  #tellAll(method: string): void {
    for (const session of this.#options.sessions()) session.notify(method);
  }

  async #ask(peerName: string, method: string, params: JsonObject, signal: AbortSignal): Promise<JsonObject> {
    const offer = Object.hasOwn(ASKED, method) ? ASKED[method] : undefined;
    if (offer === undefined) throw rpcError(METHOD_NOT_FOUND, `The gateway does not forward ${method}.`);
    const one = this.#inFlight.onlyClient(peerName);
    if (!one) {
      const words =
        'Declined: it belongs to no single client, as none or several have a call to this server in flight.';
      throw rpcError(INVALID_REQUEST, words);
    }
    if (!(offer in one.session.clientCapabilities)) {
      throw rpcError(METHOD_NOT_FOUND, `Declined: the client does not offer ${offer}.`);
    }
    const { approvalTimeoutMs: timeoutMs } = this.#options.limits;
    return one.exchange.ask(method, params, { signal: AbortSignal.any([signal, one.exchange.signal]), timeoutMs });
  }
}

/** What a peer refused is told with its own number. */
async function told<T>(request: Promise<T>): Promise<T> {
  try {
    return await request;
  } catch (thrown) {
    const code = ToolError.isInstance(thrown) ? thrown.details?.rpcCode : undefined;
    throw rpcError(typeof code === 'number' ? code : INTERNAL_ERROR, messageOf(thrown));
  }
}
