// Which clients want to hear of which resource: the server is asked once a resource and connection, and told when the last
// client has gone.

import type { JsonObject, McpPeer } from '@toolwright/core';
import { rpcError, SERVER_BUSY } from '../rpc-error.js';
import { UNASKED, type ForwardingClient, type PeerOptions } from './forwarding-client.js';

interface Subscription {
  peer: McpPeer;
  sessions: Set<ForwardingClient>;
  opened: Promise<unknown>;
  /** Of the connection that it was made on; undefined until the server has answered. */
  capabilities: JsonObject | undefined;
}

const MAX_SUBSCRIPTIONS = 1_000;

export class Subscriptions {
  readonly #byUri = new Map<string, Subscription>();
  /** Of each client. */
  readonly #counts = new WeakMap<ForwardingClient, number>();

  /**
   * @param asked whom the server's questions go to meanwhile
   * @throws what the server refuses with; SERVER_BUSY for a client that has all it may have
   */
  async add(peer: McpPeer, uri: string, session: ForwardingClient, asked: PeerOptions): Promise<void> {
    const known = this.#byUri.get(uri);
    const isAnother = known?.sessions.has(session) !== true;
    if (isAnother && (this.#counts.get(session) ?? 0) >= MAX_SUBSCRIPTIONS)
      throw rpcError(SERVER_BUSY, `A client has at most ${MAX_SUBSCRIPTIONS} subscriptions; end one first.`);
    const isOpen = known?.peer === peer && (!known.capabilities || known.capabilities === peer.capabilities);
    const sessions = known?.sessions ?? new Set();
    const subscription = isOpen ? known : this.#open(peer, uri, sessions, asked);
    this.#enter(sessions, session);
    try {
      await subscription.opened;
    } catch (thrown) {
      this.#leave(sessions, session);
      if (this.#byUri.get(uri) === subscription) this.#byUri.delete(uri);
      throw thrown;
    }
  }

  /** @throws what the server refuses with */
  async remove(uri: string, session: ForwardingClient): Promise<void> {
    const subscription = this.#byUri.get(uri);
    if (!subscription || !this.#leave(subscription.sessions, session) || subscription.sessions.size > 0) return;
    this.#byUri.delete(uri);
    await subscription.peer.request('resources/unsubscribe', { uri }, UNASKED);
  }

  forget(session: ForwardingClient): void {
    for (const uri of this.#byUri.keys()) {
      this.remove(uri, session).catch(() => undefined); // the server has gone, or does not mind
    }
  }

  /** Subscribes anew on another connection of the peer; gives what may have changed unseen, once the server knows. */
  async renew(peer: McpPeer, warn: (uri: string, thrown: unknown) => void): Promise<readonly string[]> {
    const lost = [...this.#byUri].filter(
      ([, { peer: owner, capabilities }]) => owner === peer && capabilities && capabilities !== peer.capabilities,
    );
    const renewed = lost.map(async ([uri, { sessions }]) => {
      const subscription = this.#open(peer, uri, sessions, UNASKED);
      try {
        await subscription.opened;
      } catch (thrown) {
        if (this.#byUri.get(uri) === subscription) this.#byUri.delete(uri);
        for (const session of [...sessions]) this.#leave(sessions, session);
        warn(uri, thrown);
      }
      return uri;
    });
    return Promise.all(renewed);
  }

  /** Those who are told when the server of the resource says that it changed. */
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

  #open(peer: McpPeer, uri: string, sessions: Set<ForwardingClient>, asked: PeerOptions): Subscription {
    const opened = peer.request('resources/subscribe', { uri }, asked);
    const subscription: Subscription = { peer, sessions, opened, capabilities: undefined };
    opened.then(
      () => (subscription.capabilities = peer.capabilities),
      () => undefined, // told to whoever waits for it
    );
    this.#byUri.set(uri, subscription);
    return subscription;
  }
}
