// Which clients are subscribed to which resource. The server receives one subscription per resource and connection, and is
// unsubscribed when the last client leaves.

import type { JsonObject, McpPeer } from '@toolwright/core';
import { rpcError, SERVER_BUSY } from '../rpc-error.js';
import { DECLINE_REQUESTS, type ForwardingClient, type PeerOptions } from './forwarding-client.js';

interface Subscription {
  peer: McpPeer;
  sessions: Set<ForwardingClient>;
  opened: Promise<unknown>;
  /** The capabilities object of the connection that it was made on; undefined until the server has answered. */
  capabilities: JsonObject | undefined;
}

const MAX_SUBSCRIPTIONS = 1_000;

/** By server and URI, the gateways of this process that are subscribed: a hub may be served by several. */
const subscribers = new WeakMap<McpPeer, Map<string, Set<Subscriptions>>>();

/** The clients' subscriptions, by URI. */
export class Subscriptions {
  readonly #byUri = new Map<string, Subscription>();
  /** How many subscriptions each client has. */
  readonly #counts = new WeakMap<ForwardingClient, number>();

  /**
   * Subscribes a client.
   *
   * @param options of the request to the server, if one is needed
   * @throws the server's error; SERVER_BUSY when the client has the most subscriptions allowed
   */
  async add(peer: McpPeer, uri: string, session: ForwardingClient, options: PeerOptions): Promise<void> {
    const known = this.#byUri.get(uri);
    const isNew = known?.sessions.has(session) !== true;
    if (isNew && (this.#counts.get(session) ?? 0) >= MAX_SUBSCRIPTIONS)
      throw rpcError(
        SERVER_BUSY,
        `This client has ${MAX_SUBSCRIPTIONS} subscriptions, the most allowed. End one first.`,
      );
    const isOpen = known?.peer === peer && (!known.capabilities || known.capabilities === peer.capabilities);
    const sessions = known?.sessions ?? new Set();
    const subscription = isOpen ? known : this.#open(peer, uri, sessions, options);
    this.#enter(sessions, session);
    try {
      await subscription.opened;
    } catch (thrown) {
      this.#leave(sessions, session);
      this.#drop(uri, subscription);
      throw thrown;
    }
  }

  /** Unsubscribes a client. @throws the server's error */
  async remove(uri: string, session: ForwardingClient): Promise<void> {
    const subscription = this.#byUri.get(uri);
    if (!subscription || !this.#leave(subscription.sessions, session) || subscription.sessions.size > 0) return;
    if (this.#drop(uri, subscription))
      await subscription.peer.request('resources/unsubscribe', { uri }, DECLINE_REQUESTS);
  }

  /** Unsubscribes a client from everything. */
  forget(session: ForwardingClient): void {
    for (const uri of this.#byUri.keys()) {
      this.remove(uri, session).catch(() => undefined); // disconnected, or the subscription is unknown to the server
    }
  }

  /** Renews subscriptions after the peer reconnected. Returns the URIs whose changes may have been missed. */
  async renew(peer: McpPeer, warn: (uri: string, thrown: unknown) => void): Promise<readonly string[]> {
    const lost = [...this.#byUri].filter(
      ([, { peer: owner, capabilities }]) => owner === peer && capabilities && capabilities !== peer.capabilities,
    );
    const renewed = lost.map(async ([uri, { sessions }]) => {
      const subscription = this.#open(peer, uri, sessions, DECLINE_REQUESTS);
      try {
        await subscription.opened;
      } catch (thrown) {
        this.#drop(uri, subscription);
        for (const session of [...sessions]) this.#leave(sessions, session);
        warn(uri, thrown);
      }
      return uri;
    });
    return Promise.all(renewed);
  }

  /** The clients to notify when the server reports that the resource changed. */
  of(peer: McpPeer, uri: unknown): Iterable<ForwardingClient> {
    const subscription = typeof uri === 'string' ? this.#byUri.get(uri) : undefined;
    return subscription?.peer === peer ? [...subscription.sessions] : [];
  }

  #enter(sessions: Set<ForwardingClient>, session: ForwardingClient): void {
    if (sessions.has(session)) return;
    sessions.add(session);
    this.#counts.set(session, (this.#counts.get(session) ?? 0) + 1);
  }

  #leave(sessions: Set<ForwardingClient>, session: ForwardingClient): boolean {
    if (!sessions.delete(session)) return false;
    this.#counts.set(session, (this.#counts.get(session) ?? 0) - 1);
    return true;
  }

  #open(peer: McpPeer, uri: string, sessions: Set<ForwardingClient>, options: PeerOptions): Subscription {
    const opened = peer.request('resources/subscribe', { uri }, options);
    const subscription: Subscription = { peer, sessions, opened, capabilities: undefined };
    opened.then(
      () => (subscription.capabilities = peer.capabilities),
      () => undefined, // callers of `opened` receive the error
    );
    const replaced = this.#byUri.get(uri);
    if (replaced) this.#drop(uri, replaced);
    this.#byUri.set(uri, subscription);
    const byUri = subscribers.get(peer) ?? new Map<string, Set<Subscriptions>>();
    subscribers.set(peer, byUri);
    byUri.set(uri, (byUri.get(uri) ?? new Set()).add(this));
    return subscription;
  }

  /** Forgets a subscription. Returns true when no other gateway of this process has one for the same resource. */
  #drop(uri: string, subscription: Subscription): boolean {
    if (this.#byUri.get(uri) !== subscription) return false;
    this.#byUri.delete(uri);
    const byUri = subscribers.get(subscription.peer);
    const gateways = byUri?.get(uri);
    gateways?.delete(this);
    if (gateways && gateways.size > 0) return false;
    byUri?.delete(uri);
    return true;
  }
}
