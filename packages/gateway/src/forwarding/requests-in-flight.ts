// The requests of clients that servers answer now: whom a question or a log line of a server belongs to.

import { randomBytes } from 'node:crypto';
import type { CallOptions } from '@toolwright/core';
import type { Exchange } from '../mcp-server.js';
import type { ForwardingClient } from './forwarding-client.js';

/** One request of a client's, while a server answers it. */
export interface InFlight {
  session: ForwardingClient;
  exchange: Exchange;
}

export class RequestsInFlight {
  readonly #byCallId = new Map<string, InFlight>();
  readonly #prefix = randomBytes(6).toString('base64url');
  #last = 0;

  /** The request of this call, or of one that it made on its behalf; undefined where it is no one client's. */
  requestOf({ callId, sessionId }: Pick<CallOptions, 'callId' | 'sessionId'>): InFlight | undefined {
    const own = this.#byCallId.get(callId ?? '');
    if (own || sessionId === undefined) return own;
    const entries = [...this.#byCallId.values()].filter(({ session }) => session.id === sessionId);
    const last = entries.at(-1);
    return entries.every(({ session }) => session === last?.session) ? last : undefined;
  }

  /** Notes a request; gives the id of its call, and what to run when it has settled. */
  enter(session: ForwardingClient, exchange: Exchange): { callId: string; leave: () => void } {
    const callId = `${this.#prefix}-${++this.#last}`;
    this.#byCallId.set(callId, { session, exchange });
    return { callId, leave: () => void this.#byCallId.delete(callId) };
  }
}
