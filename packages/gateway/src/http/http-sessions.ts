// The sessions of one HTTP listener: random ids, each bound to the token that opened it, at most so many, and idle ones
// dropped.

import { randomBytes } from 'node:crypto';
import type { EffectiveLimits } from '../gateway-limits.js';
import { createHttpTransport, type HttpTransport } from '../mcp-server.js';
import type { ClientSession } from '../session/session.js';

/** One client's session. */
export interface HttpSession {
  readonly id: string;
  readonly principal: number;
  readonly transport: HttpTransport;
  readonly client: ClientSession;
  /** Responses that are being sent now, streams among them. */
  open: number;
  /** When a request came last, or the answer to one was complete. A stream that is only open is no use. */
  lastUsedAt: number;
  initialized: boolean;
}

/** Where all places are taken, one that has been idle for this long is given to whoever comes. */
const YIELDS_AFTER_MS = 60_000;
const MAX_SWEEP_MS = 60_000;

export class HttpSessions {
  readonly #limits: Pick<EffectiveLimits, 'maxSessions' | 'sessionIdleMs'>;
  readonly #openSession: (id: string, onClosed: () => void) => ClientSession;
  readonly #sessions = new Map<string, HttpSession>();
  readonly #sweep: NodeJS.Timeout;

  constructor(
    limits: Pick<EffectiveLimits, 'maxSessions' | 'sessionIdleMs'>,
    openSession: (id: string, onClosed: () => void) => ClientSession,
  ) {
    this.#limits = limits;
    this.#openSession = openSession;
    this.#sweep = setInterval(() => this.#drop(limits.sessionIdleMs), Math.min(limits.sessionIdleMs / 2, MAX_SWEEP_MS));
    this.#sweep.unref();
  }

  /** The session of this id; undefined for one that another token opened, as for one that there is not. */
  find(id: string, principal: number): HttpSession | undefined {
    const session = this.#sessions.get(id);
    return session?.principal === principal ? session : undefined;
  }

  /** A place for a client that has not shaken hands yet; undefined where there is none. */
  async open(principal: number): Promise<HttpSession | undefined> {
    if (this.#sessions.size >= this.#limits.maxSessions) this.#drop(YIELDS_AFTER_MS, 1);
    if (this.#sessions.size >= this.#limits.maxSessions) return undefined;
    const id = randomBytes(24).toString('base64url');
    const onOpened = (): void => {
      session.initialized = true;
    };
    const session: HttpSession = {
      id,
      principal,
      transport: createHttpTransport({ id, onOpened }, false),
      client: this.#openSession(id, () => this.#sessions.delete(id)),
      open: 0,
      lastUsedAt: performance.now(),
      initialized: false,
    };
    this.#sessions.set(id, session);
    await session.client.connect(session.transport);
    return session;
  }

  /** Runs one HTTP request of it. */
  async use(session: HttpSession, method: string | undefined, run: () => Promise<void>): Promise<void> {
    session.open++;
    session.lastUsedAt = performance.now();
    try {
      await run();
    } finally {
      session.open--;
      if (method === 'POST') session.lastUsedAt = performance.now();
    }
  }

  /** A handshake that was refused leaves nothing. */
  dropUnopened(session: HttpSession): void {
    if (!session.initialized) void session.client.close();
  }

  async close(): Promise<void> {
    clearInterval(this.#sweep);
    await Promise.all([...this.#sessions.values()].map(({ client }) => client.close()));
  }

  #drop(idleMs: number, atMost = Infinity): void {
    const before = performance.now() - idleMs;
    const idle = [...this.#sessions.values()].filter(({ client, lastUsedAt }) => client.isIdle && lastUsedAt <= before);
    // One that nobody listens to goes first.
    idle.sort((a, b) => Math.min(a.open, 1) - Math.min(b.open, 1) || a.lastUsedAt - b.lastUsedAt);
    for (const { client } of idle.slice(0, atMost)) void client.close();
  }
}
