// One provider of a hub: its connection, when its list of tools is read, its calls in flight and its counters.

import { CallCounters } from '../call/call-counters.js';
import type { CallScope } from '../call/call-scope.js';
import { ToolError, type ToolErrorInfo } from '../contract/errors.js';
import { withStartOutput } from '../provider/start-output.js';
import { MemberTools, type ToolsHost } from './member-tools.js';
import type { PinBoard, QuarantinedTool } from './pins.js';
import type { ProviderEntry } from './provider-entry.js';
import { settledWithin, untilAborted } from '../call/waiting.js';
import type { ProviderState, ToolProvider } from '../contract/tool-provider.js';
import type { ToolDefinition } from '../contract/tool-definition.js';

/** One row of {@link ToolHub.status}. */
export interface ProviderStatus {
  /** The provider's name. */
  name: string;
  /** Its state. */
  state: ProviderState;
  /** True when the listed tools are from before a failure. */
  stale: boolean;
  /** How many tools it lists. */
  toolCount: number;
  /** Why it is not ready, or why its list is stale. */
  error?: ToolErrorInfo;
  /** When it entered this state, in milliseconds since the epoch. */
  since: number;
  /** When the next automatic retry happens, in milliseconds since the epoch. */
  retryAt?: number;
  /** Its calls so far. */
  calls: number;
  /** Its calls that failed so far. */
  failures: number;
  /** Its tools that wait for {@link ToolHub.approvePins}. Absent if there are none. */
  quarantined?: readonly QuarantinedTool[];
  /** The median duration of its latest calls, in milliseconds; 0 before the first call. */
  p50Ms: number;
}

/** What a member needs of its hub. */
export interface MemberHost extends ToolsHost {
  /** True while the hub is connected or connecting: failed providers are then retried. */
  isOpen(): boolean;
  /** Called before a list is adopted, as the prefixes may have changed. */
  adoptServers(member: HubMember): void;
  /** Called each time the list was read. */
  onListed(member: HubMember, isChanged: boolean): void;
  /** The pins of the hub. */
  pins(): PinBoard | undefined;
}

/** The delay before the first retry of a failed provider; it doubles with each retry. */
const FIRST_RETRY_MS = 1_000;
const LAST_RETRY_MS = 60_000;
/** How often a list that changes while it is read is read again without a pause. */
const MAX_READS = 5;
const FIRST_PAUSE_MS = 250;
/** A connection that lasts longer than this resets the retry delay. */
const RECOVERED_AFTER_MS = 60_000;

export class HubMember {
  readonly provider: ToolProvider;
  /** The provider's name at registration; later changes of it are ignored. */
  readonly name: string;
  readonly trustsDirectives: boolean;
  readonly trustsAnnotations: boolean;
  readonly permission: ProviderEntry['permission'];
  readonly counters = new CallCounters();
  readonly inFlight = new Set<CallScope>();
  /** The prefixes that are routed here. */
  servers: readonly string[];
  /** What it lists. */
  readonly tools: MemberTools;
  readonly #pins: PinBoard | undefined;
  #stale = false;
  #state: ProviderState = 'COLD';
  #since = Date.now();
  #error: ToolError | undefined;
  #connecting: Promise<void> | undefined;
  #opening: Promise<void> | undefined;
  #refreshing: Promise<void> | undefined;
  #dirty = false;
  /** Set during the pause after a list changed at every reading. */
  #pause: NodeJS.Timeout | undefined;
  #pauses = 0;
  /** Removed from its hub, and never opened again. */
  #isRemoved = false;
  /** The provider reported that its connection was lost. Calls are still sent to it, as a call reconnects it. */
  #isLost = false;
  #openedAt = -Infinity;
  #tries = 0;
  #retry: NodeJS.Timeout | undefined;
  #retryAt: number | undefined;
  #abort = new AbortController();
  readonly #host: MemberHost;
  readonly #unsubscribes: (() => void)[] = [];

  constructor(entry: ProviderEntry, host: MemberHost) {
    this.provider = entry.provider;
    this.name = entry.provider.name;
    this.servers = [...entry.provider.servers];
    const { kind } = entry.provider;
    this.trustsDirectives = entry.trustDirectives ?? !['mcp', 'other'].includes(kind);
    this.trustsAnnotations = entry.trustAnnotations ?? ['in-process', 'process'].includes(kind);
    this.permission = entry.permission;
    this.#pins = entry.pinned === true ? host.pins() : undefined;
    this.#host = host;
    this.tools = new MemberTools(entry, host, this.#pins);
  }

  /** Subscribes to the provider's events. @param onToolsChanged called when its list of tools has changed */
  subscribe(onToolsChanged: () => void): void {
    const { provider } = this;
    try {
      for (const unsubscribe of [
        provider.onToolsChanged(onToolsChanged),
        provider.onLost?.(() => this.#onLost()),
        provider.onEvent?.((event) => this.#host.events.forward(event, this.name)),
      ])
        if (typeof unsubscribe === 'function') this.#unsubscribes.push(unsubscribe);
    } catch (thrown) {
      this.#warn(`The provider "${this.name}" does not support change events: ${ToolError.from(thrown).message}`);
    }
  }

  unsubscribe(): void {
    for (const unsubscribe of this.#unsubscribes.splice(0)) unsubscribe();
  }

  /** The provider's current prefixes; the previous ones when reading them fails. */
  readServers(): readonly string[] {
    try {
      return [...this.provider.servers];
    } catch (thrown) {
      this.#warn(`The provider "${this.name}" failed to report its prefixes: ${ToolError.from(thrown).message}`);
      return this.servers;
    }
  }

  /** True when a call need not wait for the connection. */
  get connected(): boolean {
    return this.#state === 'READY';
  }

  get settled(): boolean {
    return this.#opening === undefined;
  }

  /**
   * Connects and reads the list. Concurrent callers share one attempt. A failed attempt is retried by the next call, by
   * `connect`, and automatically after a delay.
   *
   * @param onDemand false when a person requests it
   */
  open(onDemand = true): Promise<void> {
    if (this.#isRemoved)
      return Promise.reject(new ToolError('NOT_CONNECTED', `The provider "${this.name}" was removed.`));
    // Other code may have disconnected it; a person who connects the hub wants it connected.
    if (!onDemand && this.connected && ['COLD', 'DEAD'].includes(this.#readState())) this.#isLost = true;
    if (this.#isFresh) return Promise.resolve();
    return (this.#opening ??= this.#open(onDemand).finally(() => {
      this.#opening = undefined;
      this.#scheduleRetry();
    }));
  }

  /** True when it is connected and its list is current. */
  get #isFresh(): boolean {
    return this.connected && this.tools.isListed && !this.#stale && !this.#isLost;
  }

  #onLost(): void {
    if (!this.connected || this.#isLost) return;
    this.#isLost = true;
    if (performance.now() - this.#openedAt > RECOVERED_AFTER_MS) this.#tries = 0;
    this.#scheduleRetry();
  }

  /** Schedules the reconnection of a failed provider, so that it recovers without a call. */
  #scheduleRetry(): void {
    clearTimeout(this.#retry);
    this.#retryAt = undefined;
    if (this.#isRemoved || this.#isFresh || this.#opening || !this.#host.isOpen()) return;
    const ms = Math.min(FIRST_RETRY_MS * 2 ** this.#tries++, LAST_RETRY_MS) * (1 - Math.random() / 4);
    this.#retryAt = Date.now() + ms;
    this.#retry = setTimeout(() => void this.open().catch(() => undefined), ms); // its status reports the failure
    this.#retry.unref();
  }

  /** Connects, without waiting for the list. @throws {ToolError} */
  async ready(): Promise<void> {
    if (this.connected) return;
    void this.open().catch(() => undefined); // the attempt is shared; the next line reports its failure
    await this.#connecting;
  }

  /** The listed tool of a name; reads the list first when the name is not in it. @throws {ToolError} TOOL_NOT_FOUND */
  async find(name: string): Promise<ToolDefinition> {
    const known = this.connected && this.tools.isListed ? this.tools.get(name) : undefined;
    if (known) return known;
    await this.open();
    await this.#refreshing;
    const tool = this.tools.get(name);
    if (!tool) throw this.tools.notFound(name);
    return tool;
  }

  /** Whether its tools need approval when they are new or change. */
  get isPinned(): boolean {
    return this.#pins !== undefined;
  }

  /** Ends the provider's state of one session. Never rejects. */
  async endSession(sessionId: string): Promise<void> {
    try {
      await this.provider.endSession?.(sessionId);
    } catch (thrown) {
      this.#warn(`The provider "${this.name}" did not end a session cleanly: ${ToolError.from(thrown).message}`);
    }
  }

  /** Reads the list again; keeps the old one when that fails. Never rejects. */
  refresh(): Promise<void> {
    this.#dirty = true;
    if (this.#pause) return Promise.resolve(); // the list is read after the pause
    // Deferred: a provider may emit a change while its list is read.
    return (this.#refreshing ??= Promise.resolve()
      .then(() => this.#refresh())
      .finally(() => {
        this.#refreshing = undefined;
        this.#scheduleRetry();
      }));
  }

  /** Records that connecting takes longer than the hub waits; the attempt continues. */
  markLate(timeoutMs: number): void {
    const message = `The provider "${this.name}" has not connected within ${timeoutMs} ms and is still connecting.`;
    this.#error ??= withStartOutput(new ToolError('TIMED_OUT', message), this.provider);
  }

  /** Disconnects the provider; with `isRemoved`, for good. Never rejects. */
  async close(timeoutMs: number, isRemoved = false): Promise<void> {
    this.#isRemoved = isRemoved;
    const why = isRemoved ? `The provider "${this.name}" was removed.` : 'The hub was disconnected.';
    this.#abort.abort(new ToolError('NOT_CONNECTED', why));
    this.#abort = new AbortController(); // for the next connection
    this.#enter('COLD');
    this.tools.isListed = false;
    this.#stale = false;
    this.#isLost = false;
    this.#tries = 0;
    clearTimeout(this.#retry);
    this.#retryAt = undefined;
    this.#endPause();
    const { name } = this;
    const ending = (async () => this.provider.disconnect())().catch((thrown: unknown) =>
      this.#warn(`The provider "${name}" failed to disconnect: ${ToolError.from(thrown).message}`),
    );
    if (await settledWithin([ending], timeoutMs)) return;
    this.#warn(`The provider "${name}" did not disconnect within ${timeoutMs} ms and was abandoned.`);
  }

  status(): ProviderStatus {
    const { calls, failures, p50Ms } = this.counters;
    const { quarantined } = this.tools;
    return {
      name: this.name,
      state: this.#readState(),
      stale: this.#stale,
      toolCount: this.tools.visible.length,
      since: this.#since,
      calls,
      failures,
      p50Ms: p50Ms ?? 0,
      ...(quarantined.length > 0 && { quarantined }),
      ...(this.#retryAt !== undefined && { retryAt: this.#retryAt }),
      ...(this.#error && { error: this.#error.toInfo() }),
    };
  }

  #readState(): ProviderState {
    try {
      return (this.connected ? this.provider.health?.().state : undefined) ?? this.#state;
    } catch {
      return 'DEGRADED'; // health() itself failed
    }
  }

  async #open(onDemand: boolean): Promise<void> {
    if (!this.connected) this.#enter('INITIALIZING');
    if (!this.connected || this.#isLost) await (this.#connecting = this.#connect(onDemand));
    this.#endPause();
    await this.refresh();
  }

  async #connect(onDemand: boolean): Promise<void> {
    const { signal } = this.#abort;
    const connecting = (async () => {
      await this.#pins?.load();
      this.#pins?.assertSource(this.name, this.provider.sourceHash);
      await this.provider.connect({ signal, onDemand });
    })();
    try {
      await untilAborted(connecting, signal);
    } catch (thrown) {
      // A connect() that ignores the signal is not awaited; if it succeeds later, it is disconnected.
      if (signal.aborted) connecting.then(() => this.provider.disconnect()).catch(() => undefined); // it failed by itself
      const error = ToolError.from(thrown, 'UNAVAILABLE');
      if (!signal.aborted) {
        this.#enter('DEAD', error);
        if (this.tools.isListed) this.#stale = true;
      }
      throw error;
    }
    if (signal.aborted) throw ToolError.from(signal.reason);
    this.#isLost = false;
    this.#openedAt = performance.now();
    this.#enter('READY');
  }

  async #refresh(): Promise<void> {
    const { signal } = this.#abort;
    try {
      for (let reads = 0; this.#dirty; reads++) {
        if (reads === MAX_READS) return this.#pauseListing();
        this.#dirty = false;
        // Other providers need not know the option.
        const options = this.provider.kind === 'hub' ? { signal, includeViewTools: true } : { signal };
        const listed = await untilAborted(this.provider.listTools(options), signal);
        this.#host.adoptServers(this);
        const isChanged = this.tools.adopt(listed, this.servers);
        if (isChanged)
          this.#host.events.emit('provider.tools', { provider: this.name, data: { count: this.tools.visible.length } });
        this.#stale = false;
        this.#error = undefined;
        if (!this.#isLost) this.#tries = 0;
        this.#host.onListed(this, isChanged);
      }
      this.#pauses = 0;
    } catch (thrown) {
      if (signal.aborted) return;
      const error = ToolError.from(thrown, 'UNAVAILABLE');
      this.#error = error;
      this.#stale = this.tools.isListed;
      this.#warn(`The provider "${this.name}" did not list its tools: ${error.message}`);
    }
  }

  /** Pauses reading a list that changed at every reading; each pause is longer. */
  #pauseListing(): void {
    const ms = Math.min(FIRST_PAUSE_MS * 2 ** this.#pauses++, LAST_RETRY_MS);
    this.#pause = setTimeout(() => {
      this.#pause = undefined;
      void this.refresh();
    }, ms);
    this.#pause.unref();
  }

  #endPause(): void {
    clearTimeout(this.#pause);
    this.#pause = undefined;
  }

  readonly #warn = (message: string): void => this.#host.warn(message);

  #enter(state: ProviderState, error?: ToolError): void {
    const from = this.#state;
    if (state !== from) this.#since = Date.now();
    this.#state = state;
    this.#error = error;
    // A provider that emits events reports its states itself, but not why the hub did not connect it.
    if (state === from || (this.provider.onEvent && this.provider.kind !== 'hub' && !error)) return;
    const failure = error && { code: error.code, message: error.message };
    const data = { from, to: state, ...(failure && { error: failure }) };
    this.#host.events.emit('provider.state', { provider: this.name, data });
  }
}
