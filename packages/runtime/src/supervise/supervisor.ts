// SupervisedToolProvider: makes a provider that may fail available when it is called. It owns the calls; lifecycle.ts
// decides when the provider behind them is started and ended.

import {
  ToolError,
  type CallOptions,
  type JsonObject,
  type Logger,
  type McpPeer,
  type PreparedCall,
  type ProviderEvent,
  type ProviderHealth,
  type ProviderState,
  type ToolDefinition,
  type ToolProvider,
  type ToolResult,
} from '@toolwright/core';
import {
  CallCounters,
  CallScope,
  copyArguments,
  errorResult,
  isSameCall,
  listedTimeoutMs,
  MAX_TOTAL_TIMEOUT_MS,
  staleCallError,
  rejectedCall,
  safeLogger,
  START_OUTPUT,
  WARNING_LOGGER,
  TAKES_SCOPES,
  isStaleCall,
  withStartOutput,
  type StartOutput,
} from '@toolwright/core/internal';
import { CallGate } from './call-gate.js';
import { Events, HUB_EVENTS, loggerWithEvents, providerEventOf, type SupervisorEvents } from './supervision-events.js';
import { verdictOf } from './provider-failure.js';
import { ToolListCache } from './tool-list.js';
import { PeerProxy } from './peer-proxy.js';
import { SupervisedScope, type ProviderInstance, type Send } from './provider-instance.js';
import { Lifecycle } from './lifecycle.js';
import { resolveSuperviseOptions, type ResolvedSuperviseOptions, type SuperviseOptions } from './supervisor-options.js';

const DEFAULT_CALL_TIMEOUT_MS = 30_000;

/**
 * A provider that starts on the first call, is replaced when it fails, and stops when it is idle. Made by
 * {@link supervise}.
 *
 * `connect()` is an explicit start: it skips the backoff and resets the counts of failures and restarts. A call starts the
 * provider only after the backoff and within the limit on restarts.
 */
export class SupervisedToolProvider implements ToolProvider {
  /** The name of the provider, as in its options. */
  readonly name: string;
  readonly kind: ToolProvider['kind'];
  /** @internal */
  readonly [TAKES_SCOPES] = true;
  readonly callTimeoutMs: number;
  readonly sourceHash: string | undefined;
  /** Prepares a call in the provider. Absent when the provider does not prepare calls. */
  readonly prepareCall?: NonNullable<ToolProvider['prepareCall']>;
  /** One peer across all restarts. Absent when the provider is not an MCP server. */
  readonly mcp?: McpPeer;
  readonly #options: ResolvedSuperviseOptions;
  readonly #trustsAnnotations: boolean;
  readonly #events = new Events();
  /** @internal */
  protected readonly logger: Logger;
  readonly #lifecycle: Lifecycle;
  readonly #list: ToolListCache;
  readonly #gate: CallGate;
  readonly #counters = new CallCounters();
  /** Calls that have not settled: queued, or sent. */
  readonly #open = new Set<CallScope>();
  #servers: readonly string[];
  /** Counts disconnects: a prepared call belongs to the connection that prepared it. */
  #disconnects = 0;

  /** Use {@link supervise}. */
  constructor(create: () => ToolProvider, options: SuperviseOptions = {}) {
    if (typeof create !== 'function')
      throw new ToolError('INVALID_ARGUMENT', 'supervise() takes a function that creates the provider.');
    this.#options = resolveSuperviseOptions(options);
    const provider = create();
    if (typeof (provider as Partial<ToolProvider> | undefined)?.callTool !== 'function')
      throw new ToolError('INVALID_ARGUMENT', 'supervise() takes a function that returns a provider, not a promise.');
    let unused: ToolProvider | undefined = provider; // created to learn its name; the first start uses it
    const { name, kind, servers, callTimeoutMs, sourceHash, trustAnnotations } = provider as ToolProvider &
      ProviderTrust;
    this.sourceHash = sourceHash;
    this.name = options.name ?? name;
    this.kind = kind;
    this.callTimeoutMs = options.callTimeoutMs ?? callTimeoutMs ?? DEFAULT_CALL_TIMEOUT_MS;
    this.#servers = servers;
    this.#trustsAnnotations =
      options.trustAnnotations ?? trustAnnotations ?? (kind === 'process' || kind === 'in-process');
    this.logger = loggerWithEvents(options.logger ? safeLogger(options.logger) : WARNING_LOGGER, this.#events);
    this.#gate = new CallGate(this.#options.maxConcurrent);
    const peer = new PeerProxy({
      withPeer: (ask, given) => this.#askPeer(ask, given),
      onLog: (entry) => this.#events.emit('log', entry),
    });
    this.#lifecycle = new Lifecycle({
      name: this.name,
      make: () => {
        const made = unused ?? create();
        unused = undefined;
        return made;
      },
      options: this.#options,
      drainMs: this.callTimeoutMs,
      events: this.#events,
      logger: this.logger,
      isBusy: () => this.#open.size > 0,
      onCreated: (instance) => peer.adopt(instance.provider.mcp),
      onReady: (instance) => {
        this.#servers = instance.servers;
        this.#list.start(instance);
      },
      onToolsChanged: (instance) => this.#list.refresh(instance),
    });
    this.#list = new ToolListCache({
      name: this.name,
      logger: this.logger,
      isCurrent: (instance) => this.#lifecycle.isCurrent(instance),
    });
    if (provider.prepareCall) this.prepareCall = (...call) => this.#prepare(...call);
    if (provider.mcp) this.mcp = peer;
  }

  get servers(): readonly string[] {
    return this.#servers;
  }

  /** The servers of the running program that keep state per session; empty while none runs. */
  get sessionServers(): readonly string[] {
    const { state } = this.#lifecycle;
    return state.name === 'READY' ? (state.instance.provider.sessionServers ?? []) : [];
  }

  /** What the running provider reports; undefined while none runs. */
  get toolsTtlMs(): number | undefined {
    const { state } = this.#lifecycle;
    return state.name === 'READY' ? state.instance.provider.toolsTtlMs : undefined;
  }

  /** The current state. */
  get state(): ProviderState {
    return this.#lifecycle.state.name;
  }

  /** Adds a listener for an event and returns the unsubscribe function. Errors of listeners are ignored. */
  on<Name extends keyof SupervisorEvents>(name: Name, listener: (event: SupervisorEvents[Name]) => void): () => void {
    return this.#events.on(name, listener);
  }

  /** Adds a listener for the same events in the form of a hub's event stream and returns the unsubscribe function. */
  onEvent(listener: (event: ProviderEvent) => void): () => void {
    const names = Object.keys(HUB_EVENTS) as (keyof SupervisorEvents)[];
    const unsubscribes = names.map((name) => this.on(name, (event) => listener(providerEventOf(name, event))));
    return () => {
      for (const unsubscribe of unsubscribes) unsubscribe();
    };
  }

  /**
   * Starts the provider, ignoring earlier failures, and reads its tools. With `onDemand`, which a hub passes, backoff and
   * limits apply as they do to a call.
   */
  async connect(options: { signal?: AbortSignal; onDemand?: boolean } = {}): Promise<void> {
    const scope = new CallScope(options);
    const lifecycle = this.#lifecycle;
    try {
      if (scope.error) throw scope.error;
      const isExplicit = options.onDemand !== true || lifecycle.isDisconnected;
      lifecycle.reopen();
      await scope.race(lifecycle.ready(isExplicit));
      if (lifecycle.isDisconnected) throw lifecycle.notConnected();
    } catch (thrown) {
      throw withStartOutput(ToolError.from(thrown), this);
    } finally {
      scope.close();
    }
  }

  /** The tools of the last listing. A provider that was never started is started; an idle one is not. */
  async listTools(options: { signal?: AbortSignal } = {}): Promise<readonly ToolDefinition[]> {
    const scope = new CallScope(options);
    const lifecycle = this.#lifecycle;
    try {
      if (lifecycle.isDisconnected) throw lifecycle.notConnected();
      if (!this.#list.definitions) await scope.race(lifecycle.ready());
      while (this.#list.reading) await scope.race(this.#list.reading);
      if (lifecycle.isDisconnected || !this.#list.definitions) throw lifecycle.notConnected();
      return this.#list.definitions;
    } catch (thrown) {
      throw withStartOutput(ToolError.from(thrown), this);
    } finally {
      scope.close();
    }
  }

  callTool(name: string, args: JsonObject = {}, options?: CallOptions): Promise<ToolResult> {
    const scope = new SupervisedScope(options);
    let copied: JsonObject;
    try {
      copied = copyArguments(name, args); // the call may wait or be sent twice, and the caller may change them meanwhile
    } catch (thrown) {
      return Promise.resolve(this.#finish(errorResult(ToolError.from(thrown, 'INTERNAL'), scope.startedAt), scope));
    }
    const send: Send = ({ provider }, inward) => provider.callTool(name, copied, inward);
    return this.#call(name, scope, () => this.#ownTimeoutMs(name, copied), send);
  }

  async disconnect(): Promise<void> {
    this.#disconnects++;
    const words = `The provider "${this.name}" was disconnected during the call.`;
    const closed = new ToolError('CONNECTION_CLOSED', words, { provider: this.name });
    for (const scope of [...this.#open]) scope.end(closed);
    await this.#lifecycle.end();
  }

  /** Disconnects, for `await using`. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.disconnect();
  }

  /** Ends the session in the running provider; a provider that has ended has no sessions. */
  async endSession(sessionId: string): Promise<void> {
    const { state } = this.#lifecycle;
    if (state.name !== 'READY') return;
    await state.instance.provider.endSession?.(sessionId).catch((thrown: unknown) => {
      this.logger.warn(`The provider "${this.name}" did not end a session: ${ToolError.from(thrown).message}`);
    });
  }

  onToolsChanged(listener: () => void): () => void {
    return this.#list.changed.add(listener);
  }

  /**
   * `consecutiveFailures` counts failures of the provider; `totalFailures` counts failed calls, including failures of
   * tools.
   */
  health(): ProviderHealth {
    return { ...this.#counters.health(this.state), ...this.#lifecycle.health() };
  }

  /** @internal */
  [START_OUTPUT](): StartOutput | undefined {
    return this.#lifecycle.startOutput();
  }

  // For subclasses that know the type of the provider.

  /** @internal Forgets earlier failures. */
  protected forgive(): void {
    this.#lifecycle.forgive();
  }

  /** @internal */
  protected emit<Name extends keyof SupervisorEvents>(name: Name, event: SupervisorEvents[Name]): void {
    this.#events.emit(name, event);
  }

  /** @internal Counts a process that replaced another; returns its number. */
  protected countGeneration(): number {
    return this.#lifecycle.countInstance();
  }

  // One call.

  /** @param ownMs the tool's own deadline, if known */
  async #call(name: string, scope: SupervisedScope, ownMs: () => number | undefined, send: Send): Promise<ToolResult> {
    let result: ToolResult;
    try {
      this.#enter(scope);
      this.#setDeadline(scope, ownMs());
      if (this.state !== 'READY') {
        await scope.race(this.#lifecycle.ready());
        this.#setDeadline(scope, ownMs()); // the list is known now
      }
      if (scope.error) throw scope.error;
      const silenceMs = (scope.dueAt === Infinity ? this.callTimeoutMs : scope.dueAt - scope.startedAt) / 2;
      result = await this.#send(name, scope, silenceMs, send);
      if (result.error?.code === 'OUTCOME_UNKNOWN' && !scope.error && this.#mayRepeat(name))
        result = await this.#send(name, scope, silenceMs, send).catch(() => result); // the first outcome stays unknown
    } catch (thrown) {
      result = errorResult(withStartOutput(ToolError.from(thrown, 'INTERNAL'), this), scope.startedAt);
    }
    return this.#finish(result, scope);
  }

  /** @throws {ToolError} BUSY when too many calls wait already */
  #enter(scope: CallScope): void {
    const { maxConcurrent, maxQueue } = this.#options;
    if (this.#open.size >= maxConcurrent + maxQueue) {
      const words = `The provider "${this.name}" has ${maxConcurrent} calls running and ${maxQueue} waiting; try again later.`;
      throw new ToolError('BUSY', words, { provider: this.name, details: { maxConcurrent, maxQueue } });
    }
    this.#open.add(scope);
  }

  #setDeadline(scope: SupervisedScope, ownMs: number | undefined): void {
    scope.setDeadline(ownMs ?? this.callTimeoutMs, MAX_TOTAL_TIMEOUT_MS, ownMs === undefined);
    if (scope.error) throw scope.error;
  }

  /** The deadline in the tool's listing. Only provider processes may set one: a foreign server could make callers wait. */
  #ownTimeoutMs(name: string, args: JsonObject): number | undefined {
    const tool = this.kind === 'process' ? this.#list.get(name) : undefined;
    return tool && listedTimeoutMs(tool, args);
  }

  #finish(result: ToolResult, scope: CallScope): ToolResult {
    this.#open.delete(scope);
    scope.close();
    const now = performance.now();
    const timed = Object.isFrozen(result) ? { ...result } : result;
    timed.durationMs = now - scope.startedAt;
    this.#counters.record(timed, now);
    this.#lifecycle.noteActivity(now);
    return timed;
  }

  /** Sends the call once the provider is ready and a slot is free. @throws {ToolError} why it was not sent */
  async #send(name: string, scope: SupervisedScope, silenceMs: number, send: Send): Promise<ToolResult> {
    const lifecycle = this.#lifecycle;
    const { state } = lifecycle;
    const isFree = state.name === 'READY' && this.#gate.tryEnter();
    const instance = isFree ? state.instance : await this.#admit(scope);
    let result: ToolResult;
    try {
      lifecycle.noteSent(silenceMs);
      result = await instance.call(send, name, scope, silenceMs);
    } finally {
      this.#gate.leave();
    }
    const verdict = verdictOf(result, scope, instance.provider);
    if (verdict === 'answered') lifecycle.noteAnswer();
    else if (verdict !== undefined) {
      const error = new ToolError(result.error ?? { code: 'INTERNAL', message: 'the failure had no error' });
      if (verdict === 'gone') lifecycle.lose(instance, error);
      else lifecycle.noteFailure(instance, error);
    }
    return result;
  }

  async #admit(scope: CallScope): Promise<ProviderInstance> {
    for (;;) {
      await scope.race(this.#lifecycle.ready());
      await this.#gate.enter(scope);
      const { state } = this.#lifecycle;
      if (state.name === 'READY') return state.instance;
      this.#gate.leave(); // the provider ended while the call waited
    }
  }

  /** True for a tool that may run twice, according to annotations that are trusted. */
  #mayRepeat(name: string): boolean {
    const { readOnlyHint, idempotentHint } = this.#list.get(name)?.annotations ?? {};
    return this.#trustsAnnotations && (readOnlyHint === true || idempotentHint === true);
  }

  async #prepare(name: string, args: JsonObject, options?: CallOptions): Promise<PreparedCall> {
    const scope = new CallScope(options);
    try {
      const instance = await scope.race(this.#lifecycle.ready());
      const { provider } = instance;
      const prepared = await scope.race(Promise.resolve(provider.prepareCall?.(name, args, scope.inwardFor(provider))));
      if (!prepared) throw new ToolError('INTERNAL', `The provider "${this.name}" no longer prepares calls.`);
      if (prepared.refused) return prepared;
      const { tool, timeoutMs } = prepared;
      const own = copyArguments(name, prepared.args);
      const before = { tool, claims: prepared.claims.map((claim) => ({ ...claim })) };
      const send: Send = async (current, inward) => {
        if (current === instance) {
          const result = await prepared.execute(inward);
          if (!isStaleCall(result)) return result;
        }
        // The call was prepared in another process, so it is prepared again.
        const now = await current.provider.prepareCall?.(tool.name, own, inward);
        if (now?.refused) return now.refused;
        if (now && isSameCall(before, now)) return now.execute(inward);
        const why = `The tool "${tool.name}", or what the call would do, changed`;
        return errorResult(staleCallError(this.name, why), performance.now());
      };
      const disconnects = this.#disconnects;
      return {
        ...prepared,
        execute: (inner) => {
          const call = new SupervisedScope(inner);
          if (this.#disconnects !== disconnects) call.end(staleCallError(this.name));
          return this.#call(tool.name, call, () => timeoutMs, send);
        },
      };
    } catch (thrown) {
      return rejectedCall(
        name,
        undefined,
        args,
        errorResult(withStartOutput(ToolError.from(thrown, 'INTERNAL'), this), scope.startedAt),
      );
    } finally {
      scope.close();
    }
  }

  /** Sends a request through the provider's MCP peer. It counts as activity, as a call does. */
  async #askPeer(
    ask: (peer: McpPeer) => Promise<JsonObject>,
    options: Pick<CallOptions, 'signal'>,
  ): Promise<JsonObject> {
    const scope = new CallScope(options);
    try {
      this.#enter(scope);
      const { provider } = await scope.race(this.#lifecycle.ready());
      if (!provider.mcp) throw new ToolError('INTERNAL', `The provider "${this.name}" is no longer an MCP server.`);
      return await scope.race(ask(provider.mcp));
    } finally {
      this.#open.delete(scope);
      scope.close();
      this.#lifecycle.noteActivity(performance.now());
    }
  }
}

/** Set by `ProcessToolProvider`, from its own options. */
interface ProviderTrust {
  readonly trustAnnotations?: boolean;
}

/**
 * Supervises a provider: starts it with the first call, pings it, replaces it when it fails, stops it when it is idle, and
 * limits its concurrent calls.
 *
 * @param create returns a provider that is not connected; called once immediately, and again for each restart
 * @throws {ToolError} INVALID_ARGUMENT for a wrong option, or what `create` throws
 * @example
 * ```ts
 * const files = supervise(() => new MCPToolProvider({ name: 'files', command: 'mcp-server-filesystem', args: [projectDir] }));
 * ```
 */
export function supervise(create: () => ToolProvider, options: SuperviseOptions = {}): SupervisedToolProvider {
  return new SupervisedToolProvider(create, options);
}
