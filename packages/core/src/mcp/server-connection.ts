// The connection of one MCPToolProvider: opens a session on demand, replaces one that lacks capabilities, and notices when it
// is lost. Which calls use it is decided by the provider.

import { CallScope } from '../call/call-scope.js';
import { settledWithin } from '../call/waiting.js';
import { ToolError } from '../contract/errors.js';
import { isJsonObject, type JsonObject } from '../contract/json.js';
import type { Logger } from '../contract/logger.js';
import type { ProviderState } from '../contract/tool-provider.js';
import { ConnectionLifecycle } from '../provider/connection-lifecycle.js';
import type { StartOutput } from '../provider/start-output.js';
import { loadEngine } from './engines/load-engine.js';
import { fingerprintOf, secretsOf, type ResolvedOptions } from './mcp-provider-options.js';
import { EraMemory } from './session/era-memory.js';
import type { WithSession } from './session/mcp-peer.js';
import type { McpSession } from './session/mcp-session.js';
import { openSession } from './session/open-session.js';
import type { ServerRequests } from './session/server-requests.js';
import { TASKS_EXTENSION } from './session/tasks.js';
import { wasUnread } from './session/unread-request.js';
import { withoutSecrets } from '../contract/sanitize.js';
import { createTransport } from './transport/open-transport.js';
import type { SessionTransport } from './transport/transport.js';

/** The client info sent to servers. A test compares the version with package.json. */
const CLIENT_INFO = { name: 'toolwright', version: '0.2.0' };

/** Longer than the built-in transports take to close; a custom transport may never close. */
const CLOSE_TIMEOUT_MS = 8_000;

/** How long a disconnect waits for servers to confirm that they have cancelled their tasks. */
const FAREWELL_TIMEOUT_MS = 1_000;

/** What the connection needs of its provider. */
export interface ServerConnectionOptions {
  options: ResolvedOptions;
  requests: ServerRequests;
  /** The calls and requests in flight, which a disconnect ends. */
  inFlight: Set<CallScope>;
  logger: Logger;
  /** Receives warnings, which are written without secrets. */
  warn: (message: string) => void;
  /** The log level to request of a server of the modern era. */
  logLevel: () => string | undefined;
  onNotification: (method: string, params: JsonObject) => void;
  /** Called with each opened session. */
  onOpened: (session: McpSession) => void;
  /** Called when a disconnect ends the session. */
  onClosing: () => void;
}

/** The connection to one server. */
export class ServerConnection {
  readonly lifecycle: ConnectionLifecycle<McpSession>;
  readonly #owner: ServerConnectionOptions;
  readonly #options: ResolvedOptions;
  readonly #eras: EraMemory;
  /** Set during a sign-in: functions that resume the deadlines of the waiting calls. */
  #signingIn: (() => void)[] | undefined;
  #session: McpSession | undefined;
  #attempt: CallScope | undefined;
  /** The transport of the attempt in progress. */
  #transport: SessionTransport | undefined;
  /** The capabilities of the latest session. */
  #serverOffers: JsonObject = {};
  /** Capabilities were added since the session was opened. */
  #isOutdated = false;
  #sessions = 0;
  #disconnects = 0;
  #lastFailure: ToolError | undefined;
  /** What a disconnect waits for before it closes the session. */
  readonly #farewells = new Set<Promise<unknown>>();

  constructor(owner: ServerConnectionOptions) {
    this.#owner = owner;
    this.#options = owner.options;
    this.lifecycle = new ConnectionLifecycle(owner.options.name);
    this.#eras = new EraMemory(fingerprintOf(owner.options.place), owner.options.eraStore);
  }

  /** The open session, unless the provider was disconnected. */
  get session(): McpSession | undefined {
    return this.#session?.isOpen && !this.lifecycle.isDisconnected ? this.#session : undefined;
  }

  /** How many sessions were opened. */
  get sessions(): number {
    return this.#sessions;
  }

  /** How often it was disconnected. */
  get disconnects(): number {
    return this.#disconnects;
  }

  /** The capabilities of the latest session; another object after each loss and reconnection. */
  get serverOffers(): JsonObject {
    return this.#serverOffers;
  }

  /** Why the server was lost or could not be started. */
  get lastFailure(): ToolError | undefined {
    return this.#lastFailure;
  }

  /** @param isStale whether the tools could not be listed again */
  stateOf(isStale: boolean): ProviderState {
    if (this.#session?.isOpen) return isStale ? 'DEGRADED' : 'READY';
    if (this.lifecycle.isOpening) return 'INITIALIZING';
    if (this.lifecycle.isDisconnected || !this.#lastFailure) return 'COLD';
    return this.#session ? 'DEGRADED' : 'DEAD'; // lost, so that the next call reconnects; or it never started
  }

  /** The end of what a starting server has printed. */
  get startOutput(): StartOutput | undefined {
    const note = this.#transport?.stderrNote;
    return note === undefined ? undefined : { text: withoutSecrets(note, secretsOf(this.#options.place)) };
  }

  /** The open session; opens one if there is none. @throws {ToolError} why that failed */
  open(): Promise<McpSession> {
    return this.lifecycle.open(this.#session?.isOpen ? this.#session : undefined, () => this.#start());
  }

  /** Runs a request on the open session, and once more on a new one if the server provably did not read it. */
  readonly withSession: WithSession = async (scope, run) => {
    try {
      return await run(await scope.race(this.open()));
    } catch (thrown) {
      if (scope.error || !wasUnread(thrown)) throw thrown;
      return run(await scope.race(this.open()));
    }
  };

  /** Pauses the deadline of a call that starts during a sign-in, until that ends. */
  holdDuringSignIn(scope: CallScope): void {
    this.#signingIn?.push(scope.hold());
  }

  /** Gives up a session whose server has changed its revision, so that the next one asks again. */
  async askAgain(session: McpSession, scope: CallScope): Promise<void> {
    void this.#eras.remember(undefined);
    if (this.#options.place.kind === 'http')
      session.retire(); // the other requests may still be answered
    else await scope.race(session.close());
  }

  /** Lets a disconnect wait for the answer to a last request, for a short time. */
  closeAfter(farewell: Promise<unknown>): void {
    this.#farewells.add(farewell);
    void farewell.finally(() => this.#farewells.delete(farewell));
  }

  /** Call this when a call has settled: a session that lacks capabilities is replaced while none is in flight. */
  callSettled(): void {
    if (this.#isOutdated) this.renegotiate();
  }

  /** Capabilities are declared when a session is opened: a session with fewer is replaced while no call is in flight. */
  renegotiate(): void {
    const session = this.#session;
    this.#isOutdated = session !== undefined && session.isOpen && this.#isMissingCapabilities(session);
    if (!session || !this.#isOutdated || this.#owner.inFlight.size > 0 || this.lifecycle.isDisconnected) return;
    this.#isOutdated = false;
    if (this.#options.isSingleUse) {
      this.#owner.warn(
        `The MCP server "${this.#options.name}" was connected before capabilities were added, and its transport cannot reconnect. Set transport to a function.`,
      );
      return;
    }
    this.#session = undefined;
    const closed = session.close(); // started now, so that a disconnect waits for it
    const replacing = this.lifecycle.open(undefined, async () => {
      await closed;
      if (this.lifecycle.isDisconnected) throw this.lifecycle.notConnected();
      return this.#start();
    });
    replacing.catch(() => undefined); // the next call tries again
  }

  /** Ends the session and what waits for it. Never rejects. */
  disconnect(): Promise<void> {
    this.#disconnects++;
    return this.lifecycle.disconnect(() => this.#close());
  }

  /** Requests of the modern era declare capabilities themselves. */
  #isMissingCapabilities({ era, offered }: McpSession): boolean {
    return era === 'legacy' && this.#owner.requests.isMissingFrom(offered);
  }

  async #start(): Promise<McpSession> {
    const { name, connectTimeoutMs, place, protocol, isSingleUse } = this.#options;
    const { requests, warn, logLevel, onNotification } = this.#owner;
    const scope = (this.#attempt = new CallScope());
    scope.setDeadline(connectTimeoutMs, connectTimeoutMs);
    try {
      const engine = await scope.race(loadEngine(this.#options.engine));
      const session = await openSession(
        {
          name,
          engine,
          protocol,
          eras: this.#eras,
          isSingleUse,
          isHttp: place.kind === 'http',
          createTransport: async () =>
            (this.#transport = await createTransport(this.#options, { warn, clock: this.#clockOf(scope), engine })),
          connectTimeoutMs,
          secrets: secretsOf(place),
          clientInfo: CLIENT_INFO,
          capabilities: requests.capabilities,
          capabilitiesFor: (call) => withTasks(requests.capabilitiesFor(call)),
          logLevel,
          onNotification,
          onRequest: (method, params, signal) => requests.answer(method, params, signal),
          onLost: (failure) => this.#lose(failure),
          onClosing: (closing) => this.lifecycle.track(closing),
        },
        scope,
      );
      if (this.#isMissingCapabilities(session) && !isSingleUse) {
        await session.close(); // capabilities were added meanwhile
        if (this.lifecycle.isDisconnected) throw this.lifecycle.notConnected();
        return await this.#start();
      }
      this.#sessions++;
      this.#session = session;
      this.#serverOffers = { ...session.capabilities };
      this.#lastFailure = undefined;
      requests.startSession();
      this.#owner.onOpened(session);
      return session;
    } catch (thrown) {
      this.#session = undefined;
      this.#lastFailure = ToolError.from(thrown, 'UNAVAILABLE');
      throw this.#lastFailure;
    } finally {
      this.#transport = undefined;
      scope.close();
    }
  }

  /** The deadline of an attempt to connect and of the calls that wait for it, paused during a sign-in. */
  #clockOf(attempt: CallScope): { pause(): void; resume(): void } {
    return {
      pause: () => {
        attempt.pause();
        this.#signingIn = [...this.#owner.inFlight].map((call) => call.hold());
      },
      resume: () => {
        attempt.resume();
        for (const resumeCall of this.#signingIn ?? []) resumeCall();
        this.#signingIn = undefined;
      },
    };
  }

  #lose(failure: ToolError): void {
    const { logger, warn } = this.#owner;
    this.#lastFailure = failure;
    this.#serverOffers = { ...this.#serverOffers }; // a new object, as subscriptions have ended
    const message = `The MCP server "${this.#options.name}" was lost; the next call reconnects: ${failure.message}`;
    // The call that finds the session expired opens a new one, so this is not a loss.
    if (wasUnread(failure)) return logger.debug(withoutSecrets(message, secretsOf(this.#options.place)));
    this.lifecycle.emitLost(failure, warn);
    warn(message);
  }

  async #close(): Promise<void> {
    this.#attempt?.end(this.lifecycle.notConnected());
    await this.lifecycle.openingSettled();
    const closed = this.lifecycle.closedDuringCall();
    for (const scope of [...this.#owner.inFlight]) scope.end(closed);
    if (this.#farewells.size > 0) await settledWithin([...this.#farewells], FAREWELL_TIMEOUT_MS);
    this.#owner.onClosing();
    void this.#session?.close();
    const timeoutMs = CLOSE_TIMEOUT_MS + this.#options.shutdownTimeoutMs;
    if (!(await this.lifecycle.ended(timeoutMs))) {
      this.#owner.warn(`The MCP server "${this.#options.name}" did not exit within ${timeoutMs} ms and was abandoned.`);
    }
    this.#session = undefined;
    this.#serverOffers = {};
    this.#lastFailure = undefined;
  }
}

/** The client capabilities with the tasks extension: a call may be answered with a task. */
function withTasks(capabilities: JsonObject): JsonObject {
  const { extensions } = capabilities;
  return { ...capabilities, extensions: { ...(isJsonObject(extensions) && extensions), [TASKS_EXTENSION]: {} } };
}
