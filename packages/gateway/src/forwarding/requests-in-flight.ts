// The clients' requests that servers are answering: they decide which client receives a server's request or log message.

import { randomBytes } from 'node:crypto';
import type { CallOptions } from '@toolwright/core';
import type { Exchange } from '../engines/port.js';
import type { ForwardingClient } from './forwarding-client.js';

/** A client's request while a server answers it. */
export interface InFlight {
  session: ForwardingClient;
  exchange: Exchange;
}

/** The clients' requests in flight, by call id. */
export class RequestsInFlight {
  readonly #byCallId = new Map<string, InFlight>();
  readonly #prefix = randomBytes(6).toString('base64url');
  #last = 0;

  /** The request with this call's id, else the latest of its session; undefined when several clients share the session. */
  requestOf({ callId, sessionId }: Pick<CallOptions, 'callId' | 'sessionId'>): InFlight | undefined {
    const request = this.#byCallId.get(callId ?? '');
    if (request || sessionId === undefined) return request;
    const entries = [...this.#byCallId.values()].filter(({ session }) => session.id === sessionId);
    const last = entries.at(-1);
    return entries.every(({ session }) => session === last?.session) ? last : undefined;
  }

  /** Adds a request; returns the id of its call and a function that removes it. */
  enter(session: ForwardingClient, exchange: Exchange): { callId: string; leave: () => void } {
    const callId = `${this.#prefix}-${++this.#last}`;
    this.#byCallId.set(callId, { session, exchange });
    return { callId, leave: () => void this.#byCallId.delete(callId) };
  }
}
