// A language server over its runs: started on first use, again after a crash, and stopped when nobody needs it.

import { ToolError } from '../../../contract/errors.js';
import type { ServerLaunch } from './launch.js';
import type { Patience } from '../call-timeout.js';
import { LanguageSession } from './language-session.js';

/** After the first, second and third crash. After one more it is left alone. */
const BACKOFF_MS = [200, 1_000, 3_000] as const;
/** Who ran so long has recovered. */
const HEALTHY_AFTER_MS = 60_000;

/** `idle`: not running, and started by the next call. `failed`: not started again by itself. */
export type ClientState = 'idle' | 'starting' | 'ready' | 'waiting' | 'failed';

/** How long things may take, in milliseconds. */
export interface ClientTimes {
  initializeTimeoutMs: number;
  idleMs: number;
}

/** One server for one directory. */
export class LanguageClient {
  readonly launch: ServerLaunch;
  readonly root: string;
  /** By `performance.now()`. */
  lastUsedAt = performance.now();
  /** Starts since it was made, the first included. */
  starts = 0;
  /** While the server is shown something else than the disk has; nobody should ask it anything then. */
  pretending: Promise<void> | undefined;
  readonly #times: ClientTimes;
  /** Called before each start; its end is what the session takes as told. */
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

  /** Why it ended last, if it did not by our wish. */
  get failure(): ToolError | undefined {
    return this.#failure;
  }

  /** The run that is under way, once hands are shaken: nothing may be sent to a server before that. */
  get running(): LanguageSession | undefined {
    return this.#starting || this.#session?.failure ? undefined : this.#session;
  }

  get isInUse(): boolean {
    return this.#users > 0 || this.#starting !== undefined;
  }

  /** True when more than one call needs it. */
  get isShared(): boolean {
    return this.#users > 1;
  }

  /** Runs something that needs the server; it is not stopped as idle meanwhile. */
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
   * The server, started if it is not running. Its start goes on when the caller's patience ends before it.
   *
   * @throws {ToolError} RESTART_LIMIT when it crashed too often, why it did not start, TIMED_OUT, or the caller's reason
   */
  async session(patience: Patience): Promise<LanguageSession> {
    const { running } = this;
    if (running) return running;
    if (!this.#starting) {
      if (this.#closed) throw new ToolError('NOT_CONNECTED', `${this.launch.name} was stopped.`);
      if (this.state === 'failed') throw this.#limit();
      const wait = this.#retryAt - performance.now();
      if (wait > 0) await patience.pause(wait);
      if (this.running) return this.running;
    }
    return await patience.race((this.#starting ??= this.#start().finally(() => (this.#starting = undefined))));
  }

  /** Ends the server; the next use starts it again, however often it crashed before. */
  async stop(): Promise<void> {
    clearTimeout(this.#idleTimer);
    this.#crashes = 0;
    this.#retryAt = 0;
    this.#failure = undefined;
    const session = this.#session;
    this.#session = undefined;
    await session?.close();
  }

  /** Ends it for good. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.stop();
    await this.#starting?.catch(() => undefined); // it sees that it was closed, and ends what it started
  }

  async #start(): Promise<LanguageSession> {
    const session = new LanguageSession(this.launch, this.root);
    this.#session = session;
    this.starts++;
    const startedAt = performance.now();
    void session.ended.then((reason) => {
      if (this.#session !== session) return; // ended by us
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
