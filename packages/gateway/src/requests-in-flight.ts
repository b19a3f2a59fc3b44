// Which clients have requests in flight at which server: whom a question of that server's can be meant for.

import type { Exchange } from './mcp-server.js';
import type { ClientSession } from './session.js';

/** One request of a client's, while a server answers it. */
export interface InFlight {
  session: ClientSession;
  exchange: Exchange;
}

export class RequestsInFlight {
  /** By the name of the peer. */
  readonly #byPeer = new Map<string, Set<InFlight>>();

  /** The one client with a request to this peer in flight, by its latest request. */
  onlyClient(peerName: string): InFlight | undefined {
    const entries = [...(this.#byPeer.get(peerName) ?? [])];
    const last = entries.at(-1);
    return last && entries.every(({ session }) => session === last.session) ? last : undefined;
  }

  /** Notes that a request is in flight; gives what to call when it has settled. */
  enter(peerName: string, session: ClientSession, exchange: Exchange): () => void {
    const entry = { session, exchange };
    const entries = this.#byPeer.get(peerName) ?? new Set();
    this.#byPeer.set(peerName, entries.add(entry));
    return () => {
      entries.delete(entry);
      if (entries.size === 0) this.#byPeer.delete(peerName);
    };
  }
}
