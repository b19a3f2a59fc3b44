// The sessions of one HTTP listener: random ids, each bound to the token that opened it, limited in number, and ended when
// idle.

import { randomBytes } from 'node:crypto';
import type { EffectiveLimits } from '../gateway-limits.js';
import type { HttpTransport } from '../engines/port.js';
import { createHttpTransport } from '../engines/v1.js';
import type { ClientSession } from '../session/session.js';

/** One client's session. */
export interface HttpSession {
  readonly id: string;
  /** The index of the token that opened it. */
  readonly principal: number;
  readonly transport: HttpTransport;
  readonly client: ClientSession;
  /** Responses that are being sent, including streams. */
  open: number;
  /** When the last request arrived or its answer was complete. An open stream alone does not count. */
  lastUsedAt: number;
  initialized: boolean;
}

/** When all places are taken, a session idle for this long is ended for a new one. */
const EVICTABLE_AFTER_MS = 60_000;
const MAX_SWEEP_MS = 60_000;

/** The sessions of one listener. */
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
    this.#sweep = setInterval(
      () => this.#closeIdle(limits.sessionIdleMs),
      Math.min(limits.sessionIdleMs / 2, MAX_SWEEP_MS),
    );
    this.#sweep.unref();
  }

  /** The session with this id; undefined when there is none or another token opened it. */
  find(id: string, principal: number): HttpSession | undefined {
    const session = this.#sessions.get(id);
    return session?.principal === principal ? session : undefined;
  }

  /** Opens a session for a client's `initialize`; undefined when there are too many. */
  async open(principal: number): Promise<HttpSession | undefined> {
    if (this.#sessions.size >= this.#limits.maxSessions) this.#closeIdle(EVICTABLE_AFTER_MS, 1);
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

  /** Runs one HTTP request of the session. */
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

  /** Closes a session whose `initialize` was rejected. */
  closeUninitialized(session: HttpSession): void {
    if (!session.initialized) void session.client.close();
  }

  /** Closes all sessions. */
  async close(): Promise<void> {
    clearInterval(this.#sweep);
    await Promise.all([...this.#sessions.values()].map(({ client }) => client.close()));
  }

  #closeIdle(idleMs: number, maxCount = Infinity): void {
    const before = performance.now() - idleMs;
    const idle = [...this.#sessions.values()].filter(({ client, lastUsedAt }) => client.isIdle && lastUsedAt <= before);
    // Sessions without an open stream first.
    idle.sort((a, b) => Math.min(a.open, 1) - Math.min(b.open, 1) || a.lastUsedAt - b.lastUsedAt);
    for (const { client } of idle.slice(0, maxCount)) void client.close();
  }
}
