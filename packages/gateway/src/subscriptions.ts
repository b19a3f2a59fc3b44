// Which clients want to hear of which resource: the server is asked once a resource, and told when the last has gone.

import type { McpPeer } from '@toolwright/core';
import type { ClientSession } from './session.js';

interface Subscription {
  peer: McpPeer;
  sessions: Set<ClientSession>;
  opened: Promise<unknown>;
}

export class Subscriptions {
  readonly #byUri = new Map<string, Subscription>();

  /** @throws what the server refuses with */
  async add(peer: McpPeer, uri: string, session: ClientSession): Promise<void> {
    let subscription = this.#byUri.get(uri);
    if (!subscription) {
      subscription = { peer, sessions: new Set(), opened: peer.request('resources/subscribe', { uri }) };
      this.#byUri.set(uri, subscription);
    }
    subscription.sessions.add(session);
    try {
      await subscription.opened;
    } catch (thrown) {
      if (this.#byUri.get(uri) === subscription) this.#byUri.delete(uri);
      throw thrown;
    }
  }

  /** @throws what the server refuses with */
  async remove(uri: string, session: ClientSession): Promise<void> {
    const subscription = this.#byUri.get(uri);
    if (!subscription?.sessions.delete(session) || subscription.sessions.size > 0) return;
    this.#byUri.delete(uri);
    await subscription.peer.request('resources/unsubscribe', { uri });
  }

  forget(session: ClientSession): void {
    for (const uri of this.#byUri.keys()) {
      this.remove(uri, session).catch(() => undefined); // the server has gone, or does not mind
    }
  }

  /** Those who are told when the server of the resource says that it changed. */
  of(peer: McpPeer, uri: unknown): Iterable<ClientSession> {
    const subscription = typeof uri === 'string' ? this.#byUri.get(uri) : undefined;
    return subscription?.peer === peer ? [...subscription.sessions] : [];
  }
}
