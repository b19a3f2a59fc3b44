// A language server across restarts: started on first use, restarted after a crash, stopped when idle.

import { ToolError } from '../../../contract/errors.js';
import type { ServerLaunch } from './launch.js';
import type { Deadline } from '../call-deadline.js';
import { LanguageSession } from './language-session.js';

/** The delays after the first three crashes; after the fourth it is not restarted. */
const BACKOFF_MS = [200, 1_000, 3_000] as const;
/** Uptime after which the crash count resets. */
const HEALTHY_AFTER_MS = 60_000;

/** `idle`: not running, started by the next call. `failed`: not restarted automatically. */
export type ClientState = 'idle' | 'starting' | 'ready' | 'waiting' | 'failed';

/** Time limits, in milliseconds. */
export interface ClientTimes {
  initializeTimeoutMs: number;
  idleMs: number;
}

/** A server for one directory. */
export class LanguageClient {
  readonly launch: ServerLaunch;
  readonly root: string;
  /** By `performance.now()`. */
  lastUsedAt = performance.now();
  /** The number of starts. */
  starts = 0;
  /** Set while the server's text differs from the disk; other requests wait. */
  pretending: Promise<void> | undefined;
  readonly #times: ClientTimes;
  /** Called before each start; the session assumes its snapshot as known to the server. */
  readonly #beforeStart: (session: LanguageSession) => Promise<void>;
  #session: LanguageSession | undefined;
  #starting: Promise<LanguageSession> | undefined;
  #crashes = 0;
  #failure: ToolError | undefined;
  #retryAt = 0;
  #idleTimer: NodeJS.Timeout | undefined;
  #users = 0;
  #closed = false;

  constructor(
    launch: ServerLaunch,
    root: string,
    times: ClientTimes,
    beforeStart: (session: LanguageSession) => Promise<void>,
  ) {
    this.launch = launch;
    this.root = root;
    this.#times = times;
    this.#beforeStart = beforeStart;
  }

  get state(): ClientState {
    if (this.#starting) return 'starting';
    if (this.running) return 'ready';
    if (this.#crashes > BACKOFF_MS.length) return 'failed';
    return this.#crashes > 0 && performance.now() < this.#retryAt ? 'waiting' : 'idle';
  }

  /** Why it last exited, unless it was stopped. */
  get failure(): ToolError | undefined {
    return this.#failure;
  }

  /** The current session, after `initialize`: nothing may be sent before that. */
  get running(): LanguageSession | undefined {
    return this.#starting || this.#session?.failure ? undefined : this.#session;
  }

  get isInUse(): boolean {
    return this.#users > 0 || this.#starting !== undefined;
  }

  /** True when several calls use it. */
  get isShared(): boolean {
    return this.#users > 1;
  }

  /** Runs something with the server, which is not stopped as idle meanwhile. */
  async use<T>(run: () => Promise<T>): Promise<T> {
    this.#users++;
    clearTimeout(this.#idleTimer);
    try {
      return await run();
    } finally {
      this.#users--;
      this.lastUsedAt = performance.now();
      if (this.#users === 0 && !this.#closed) this.#stopWhenIdle();
    }
  }

  /**
   * The server, started if it is not running. Its start continues when the caller's deadline ends first.
   *
   * @throws {ToolError} RESTART_LIMIT when it crashed too often, why it did not start, TIMED_OUT, or the caller's reason
   */
  async session(deadline: Deadline): Promise<LanguageSession> {
    const { running } = this;
    if (running) return running;
    if (!this.#starting) {
      if (this.#closed) throw new ToolError('NOT_CONNECTED', `${this.launch.name} was stopped.`);
      if (this.state === 'failed') throw this.#limit();
      const wait = this.#retryAt - performance.now();
      if (wait > 0) await deadline.pause(wait);
      if (this.running) return this.running;
    }
    return await deadline.race((this.#starting ??= this.#start().finally(() => (this.#starting = undefined))));
  }

  /** Stops the server; the next use starts it again, regardless of earlier crashes. */
  async stop(): Promise<void> {
    clearTimeout(this.#idleTimer);
    this.#crashes = 0;
    this.#retryAt = 0;
    this.#failure = undefined;
    const session = this.#session;
    this.#session = undefined;
    await session?.close();
  }

  /** Stops it permanently. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.stop();
    await this.#starting?.catch(() => undefined); // it detects that it was closed, and stops what it started
  }

  async #start(): Promise<LanguageSession> {
    const session = new LanguageSession(this.launch, this.root);
    this.#session = session;
    this.starts++;
    const startedAt = performance.now();
    void session.ended.then((reason) => {
      if (this.#session !== session) return; // stopped on purpose
      if (performance.now() - startedAt > HEALTHY_AFTER_MS) this.#crashes = 0;
      this.#retryAt = performance.now() + (BACKOFF_MS[this.#crashes] ?? 0);
      this.#crashes++;
      this.#failure = reason;
    });
    await this.#beforeStart(session);
    await session.start(this.#times.initializeTimeoutMs);
    if (this.#closed) await session.close();
    if (session.failure) throw session.failure;
    return session;
  }

  #stopWhenIdle(): void {
    clearTimeout(this.#idleTimer);
    this.#idleTimer = setTimeout(() => {
      if (this.#users === 0) void this.stop();
    }, this.#times.idleMs).unref();
  }

  #limit(): ToolError {
    return new ToolError(
      'RESTART_LIMIT',
      `${this.launch.name} exited ${this.#crashes} times and is no longer restarted automatically. ${this.#failure?.message ?? ''} ` +
        'Call servers with restart to try again.',
    );
  }
}
