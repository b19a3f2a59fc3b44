// SupervisedToolProvider: the life of a provider that may fail. It owns the state, and each way from one to the next.

import {
  ToolError,
  type CallOptions,
  type JsonObject,
  type Logger,
  type McpPeer,
  type PreparedCall,
  type ProviderHealth,
  type ProviderState,
  type ToolDefinition,
  type ToolProvider,
  type ToolResult,
} from '@toolwright/core';
import {
  assertTimeout,
  CallCounters,
  CallScope,
  copyJson,
  errorResult,
  listedTimeoutMs,
  Listeners,
  MAX_TOTAL_TIMEOUT_MS,
  refusedCall,
  safeLogger,
  SILENT_LOGGER,
  TAKES_SCOPES,
  ToolIndex,
  untilAborted,
} from '@toolwright/core/kit';
import { CallGate } from './call-gate.js';
import { Events, telling, type SupervisorEvents } from './events.js';
import { startFailure, verdictOf } from './failure.js';
import { Life, SupervisedScope, type Send } from './life.js';
import { LastingPeer } from './lasting-peer.js';
import { resolveSuperviseOptions, type ResolvedSuperviseOptions, type SuperviseOptions } from './options.js';
import { RestartBudget } from './restart-budget.js';
import { assertTransition, type SupervisorState } from './state.js';
import { Vigil } from './vigil.js';

const DEFAULT_CALL_TIMEOUT_MS = 30_000;
/** Calls of a provider that has gone are settled by it, or else by the supervisor after this. */
const LOST_PATIENCE_MS = 50;

/**
 * A provider that is started when it is needed, replaced when it fails, and ended when it is not needed. Made by
 * {@link supervise}.
 *
 * `connect()` is an explicit start: it does not wait for a backoff and clears what was counted. A call starts the provider
 * too, when the backoff is over and it has not failed too often.
 */
export class SupervisedToolProvider implements ToolProvider {
  readonly name: string;
  readonly kind: ToolProvider['kind'];
  /** @internal */
  readonly [TAKES_SCOPES] = true;
  readonly callTimeoutMs: number;
  /** There when the provider prepares calls. */
  readonly prepareCall?: NonNullable<ToolProvider['prepareCall']>;
  /** There when the provider is an MCP server's: one peer across all restarts. */
  readonly mcp?: McpPeer;
  readonly #create: () => ToolProvider;
  readonly #options: ResolvedSuperviseOptions;
  readonly #trustsAnnotations: boolean;
  readonly #events = new Events();
  /** @internal */
  protected readonly logger: Logger;
  readonly #peer: LastingPeer;
  readonly #gate: CallGate;
  readonly #budget: RestartBudget;
  readonly #counters = new CallCounters();
  readonly #changed = new Listeners();
  /** Calls that have not settled, wherever they are. */
  readonly #open = new Set<CallScope>();
  /** Generations on their way out; the next start, and a disconnect, wait for them. */
  readonly #ending = new Set<Promise<void>>();
  #state: SupervisorState = { name: 'COLD' };
  #vigil: Vigil | undefined;
  /** The one that is being asked whether it answers. */
  #checked: Life | undefined;
  /** The one that was made to learn its name, until it is started. */
  #unused: ToolProvider | undefined;
  #servers: readonly string[];
  #abortStart: AbortController | undefined;
  #disconnected = false;
  /** What made the last start fail may be mended. */
  #isForgiven = false;
  #definitions: readonly ToolDefinition[] | undefined;
  #index = new ToolIndex<ToolDefinition>([]);
  #refreshing: Promise<void> | undefined;
  #isListDirty = false;
  #lives = 0;
  #restarts = 0;
  #failures = 0;
  #lastError: ToolError | undefined;

  /** Use {@link supervise}. */
  constructor(create: () => ToolProvider, options: SuperviseOptions = {}) {
    if (typeof create !== 'function')
      throw new ToolError('INVALID_ARGUMENT', 'supervise() takes a function that makes the provider.');
    this.#options = resolveSuperviseOptions(options);
    this.#create = create;
    const provider = (this.#unused = create());
    this.name = options.name ?? provider.name;
    this.kind = provider.kind;
    this.callTimeoutMs = options.callTimeoutMs ?? provider.callTimeoutMs ?? DEFAULT_CALL_TIMEOUT_MS;
    this.#servers = provider.servers;
    this.#trustsAnnotations =
      options.trustAnnotations ??
      trustOf(provider as { trustAnnotations?: unknown }) ??
      (this.kind === 'process' || this.kind === 'in-process');
    this.logger = telling(options.logger ? safeLogger(options.logger) : SILENT_LOGGER, this.#events);
    this.#gate = new CallGate(this.#options.maxConcurrent);
    this.#budget = new RestartBudget(this.#options);
    this.#peer = new LastingPeer({
      withPeer: (ask, given) => this.#askPeer(ask, given),
      onLog: (entry) => this.#events.tell('log', entry),
    });
    if (provider.prepareCall) this.prepareCall = (...call) => this.#prepare(...call);
    if (provider.mcp) this.mcp = this.#peer;
  }

  get servers(): readonly string[] {
    return this.#servers;
  }

  /** The state it is in. */
  get state(): ProviderState {
    return this.#state.name;
  }

  /** Tells of an event; returns the unsubscribe. A listener that throws breaks nothing. */
  on<Name extends keyof SupervisorEvents>(name: Name, listener: (event: SupervisorEvents[Name]) => void): () => void {
    return this.#events.on(name, listener);
  }

  /**
   * Starts the provider, without regard to earlier failures, and learns its tools. With `onDemand`, as a hub asks, it is
   * refused where a call would be.
   */
  async connect(options: { signal?: AbortSignal; onDemand?: boolean } = {}): Promise<void> {
    const scope = new CallScope(options);
    try {
      if (scope.error) throw scope.error;
      const isExplicit = options.onDemand !== true || this.#disconnected;
      this.#disconnected = false;
      await scope.race(this.#ready(isExplicit));
      if (this.#disconnected) throw this.#notConnected();
    } finally {
      scope.close();
    }
  }

  /** The tools as they were listed last. A provider that was never started is started; one that is idle is not. */
  async listTools(options: { signal?: AbortSignal } = {}): Promise<readonly ToolDefinition[]> {
    if (this.#disconnected) throw this.#notConnected();
    const scope = new CallScope(options);
    try {
      if (!this.#definitions) await scope.race(this.#ready());
      while (this.#refreshing) await scope.race(this.#refreshing);
      if (this.#disconnected || !this.#definitions) throw this.#notConnected();
      return this.#definitions;
    } finally {
      scope.close();
    }
  }

  callTool(name: string, args: JsonObject = {}, options?: CallOptions): Promise<ToolResult> {
    const scope = new SupervisedScope(options);
    let copied: JsonObject;
    try {
      copied = copyJson(args); // it may wait, or be sent twice
    } catch (thrown) {
      return Promise.resolve(this.#finish(errorResult(ToolError.from(thrown, 'INTERNAL'), scope.startedAt), scope));
    }
    const send: Send = ({ provider }, inward) => provider.callTool(name, copied, inward);
    return this.#call(name, scope, options?.timeoutMs, () => this.#ownTimeoutMs(name, copied), send);
  }

  async disconnect(): Promise<void> {
    this.#disconnected = true;
    const closed = new ToolError('CONNECTION_CLOSED', `The provider "${this.name}" was disconnected during the call.`, {
      provider: this.name,
    });
    for (const scope of [...this.#open]) scope.end(closed);
    this.#abortStart?.abort(this.#notConnected());
    const state = this.#state;
    if (state.name !== 'COLD') this.#setState({ name: 'COLD' });
    if (state.name === 'READY') this.#track(state.life.end());
    this.#budget.reset();
    this.#failures = 0;
    await Promise.all([...this.#ending]);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.disconnect();
  }

  onToolsChanged(listener: () => void): () => void {
    return this.#changed.add(listener);
  }

  /** `consecutiveFailures` are those of the provider itself; `totalFailures` are of calls, the tools' own among them. */
  health(): ProviderHealth {
    const { lastError, ...counted } = this.#counters.health(this.state);
    const { retryAt } = this.#budget;
    const words = this.#lastError?.message ?? lastError;
    return {
      ...counted,
      consecutiveFailures: this.state === 'READY' ? this.#failures : Math.max(this.#failures, this.#budget.failures),
      restarts: this.#restarts,
      ...(retryAt > performance.now() && { retryAt: performance.timeOrigin + retryAt }),
      ...(words !== undefined && { lastError: words }),
    };
  }

  // For those who know what the provider is made of.

  /** @internal A failure of before says nothing of the next start. */
  protected forgive(): void {
    this.#isForgiven = true;
  }

  /** @internal */
  protected tell<Name extends keyof SupervisorEvents>(name: Name, event: SupervisorEvents[Name]): void {
    this.#events.tell(name, event);
  }

  /** @internal The number of a process that took the place of another. */
  protected countGeneration(): number {
    return ++this.#lives;
  }

  // The state, and the ways from one to the next.

  #setState(next: SupervisorState): void {
    const { name: from } = this.#state;
    assertTransition(from, next.name, this.name);
    this.#vigil?.end();
    this.#vigil = undefined;
    this.#state = next;
    if (next.name === 'READY') {
      this.#vigil = new Vigil(next.life, {
        ...this.#options,
        isBusy: () => this.#open.size > 0,
        onCheck: (life) => void this.#check(life),
        onIdle: (life) => this.#stopIdle(life),
      });
    }
    this.#events.tell('stateChanged', { from, to: next.name, ...('error' in next && { error: next.error.toInfo() }) });
  }

  /** The life that is ready, started where none is. @throws {ToolError} why there is none */
  #ready(isExplicit = false): Promise<Life> {
    const state = this.#state;
    if (this.#disconnected) return Promise.reject(this.#notConnected());
    if (state.name === 'READY') return Promise.resolve(state.life);
    if (state.name === 'INITIALIZING') return state.started;
    const isFree = isExplicit || this.#isForgiven;
    this.#isForgiven = false;
    if (isFree) this.#budget.reset();
    else if (state.name !== 'COLD') {
      const refusal = this.#refusal(state);
      if (refusal) return Promise.reject(refusal);
      this.#budget.countStart(performance.now());
    }
    return this.#start(state.name !== 'COLD');
  }

  /** Why nothing is started for a call, if nothing is. */
  #refusal(state: SupervisorState & { name: 'DEGRADED' | 'DEAD' }): ToolError | undefined {
    if (state.isPermanent) return state.error;
    const waitMs = this.#budget.waitMs(performance.now());
    if (waitMs === 0) return undefined;
    const { maxStarts, startWindowMs } = this.#options;
    const last = `Its last failure: ${state.error.message}`;
    if (waitMs === Infinity) {
      const words = `The provider "${this.name}" was started ${maxStarts} times in ${startWindowMs} ms after failures and is not started again by itself. See to the cause, then call connect(). ${last}`;
      return new ToolError('RESTART_LIMIT', words, { provider: this.name, details: { maxStarts, startWindowMs } });
    }
    const retryAfterMs = Math.ceil(waitMs);
    const words = `The provider "${this.name}" failed ${this.#budget.failures} times in a row; try again in ${retryAfterMs} ms. ${last}`;
    return new ToolError('UNAVAILABLE', words, { provider: this.name, details: { retryAfterMs } });
  }

  #start(isRestart: boolean): Promise<Life> {
    const abort = (this.#abortStart = new AbortController());
    const started = this.#launch(abort, isRestart);
    started.catch(() => undefined); // whoever waits for it is told
    this.#setState({ name: 'INITIALIZING', started });
    return started;
  }

  async #launch(abort: AbortController, isRestart: boolean): Promise<Life> {
    await Promise.resolve(); // until the state says that it is under way
    const { signal } = abort;
    const { startTimeoutMs } = this.#options;
    let life: Life | undefined;
    let timer: NodeJS.Timeout | undefined;
    try {
      if (this.#ending.size > 0) await untilAborted(Promise.all([...this.#ending]), signal);
      timer = setTimeout(() => abort.abort(this.#startedTooSlowly()), startTimeoutMs);
      life = this.#makeLife();
      this.#peer.adopt(life.provider.mcp);
      await life.open(signal);
      if (signal.aborted) throw ToolError.from(signal.reason);
      this.#becomeReady(life, isRestart);
      return life;
    } catch (thrown) {
      const failure = startFailure(signal.aborted ? signal.reason : thrown, this.name);
      if (life) this.#track(life.end());
      if (this.#abortStart === abort && this.#state.name === 'INITIALIZING') this.#becomeDead(failure, 0);
      throw failure.error;
    } finally {
      clearTimeout(timer);
    }
  }

  /** A provider that is not connected, as the next life. */
  #makeLife(): Life {
    const provider = this.#unused ?? this.#create();
    this.#unused = undefined;
    this.#peer.prepare(provider.mcp);
    return new Life({
      provider,
      number: ++this.#lives,
      healthTimeoutMs: this.#options.healthTimeoutMs,
      logger: this.logger,
      onLost: (life, failure) => this.#lose(life, failure),
      onToolsChanged: (life) => this.#refresh(life),
    });
  }

  #becomeReady(life: Life, isRestart: boolean): void {
    this.#failures = 0;
    this.#setState({ name: 'READY', life, since: performance.now() });
    this.#adoptList(life);
    if (!isRestart) return;
    this.#restarts++;
    this.logger.info(`The provider "${this.name}" was started again.`);
    this.#events.tell('restarted', { generation: life.number });
  }

  #becomeDead({ error, isPermanent }: { error: ToolError; isPermanent: boolean }, readyMs: number): void {
    this.#lastError = error;
    this.#budget.noteFailure(performance.now(), readyMs);
    this.logger.warn(`The provider "${this.name}" ${readyMs > 0 ? 'was lost' : 'did not start'}: ${error.message}`);
    this.#setState({ name: 'DEAD', error, isPermanent });
  }

  /** The life went by itself, or stopped answering. */
  #lose(life: Life, error: ToolError): void {
    const state = this.#state;
    if (state.name !== 'READY' || state.life !== life) return;
    this.#becomeDead({ error, isPermanent: false }, Math.max(performance.now() - state.since, Number.MIN_VALUE));
    this.#track(life.retire(error, LOST_PATIENCE_MS));
  }

  #degrade(life: Life, error: ToolError): void {
    const state = this.#state;
    if (state.name !== 'READY' || state.life !== life) return;
    this.#lastError = error;
    this.#budget.noteFailure(performance.now(), performance.now() - state.since);
    const words = `The provider "${this.name}" failed ${this.#failures} times in a row and is replaced: ${error.message}`;
    this.logger.warn(words);
    this.#setState({ name: 'DEGRADED', error, isPermanent: false });
    this.#track(life.retire(error, this.callTimeoutMs));
  }

  #stopIdle(life: Life): void {
    const state = this.#state;
    if (state.name !== 'READY' || state.life !== life) return;
    this.#budget.noteEnd(performance.now() - state.since);
    this.logger.debug(`The provider "${this.name}" was idle and is ended.`);
    this.#setState({ name: 'COLD' });
    this.#track(life.end());
  }

  #track(ending: Promise<void>): void {
    this.#ending.add(ending);
    void ending.finally(() => this.#ending.delete(ending));
  }

  // Failures and checks.

  #noteFailure(life: Life, error: ToolError): void {
    this.#lastError = error;
    if (++this.#failures >= this.#options.failureThreshold) this.#degrade(life, error);
  }

  /** Asks whether the provider answers, and once more when it does not. */
  async #check(life: Life): Promise<void> {
    if (this.#checked === life) return;
    this.#checked = life;
    await this.#askTwice(life);
    if (this.#checked === life) this.#checked = undefined;
  }

  async #askTwice(life: Life): Promise<void> {
    for (let missed = 1; missed <= 2; missed++) {
      if (await life.check()) return;
      const { healthTimeoutMs } = this.#options;
      const words = `The provider "${this.name}" did not answer ${missed === 1 ? 'a ping' : 'two pings in a row'} within ${healthTimeoutMs} ms.`;
      const error = new ToolError('UNAVAILABLE', words, { provider: this.name });
      if (missed === 2) this.#lose(life, error);
      else if (this.#isCurrent(life)) this.#noteFailure(life, error);
      if (!this.#isCurrent(life)) return;
    }
  }

  #isCurrent(life: Life): boolean {
    return this.#state.name === 'READY' && this.#state.life === life;
  }

  // The list.

  #adoptList(life: Life): void {
    const { definitions, provider } = life;
    const before = this.#definitions;
    this.#servers = provider.servers;
    if (before && JSON.stringify(before) === JSON.stringify(definitions)) return;
    this.#definitions = definitions;
    this.#index = new ToolIndex(definitions.map((tool) => [tool.name, tool] as const));
    if (before) this.#changed.tell(this.logger);
  }

  /** Reads the list again; a burst of changes is one. */
  #refresh(life: Life): void {
    this.#isListDirty = true;
    if (this.#refreshing || !this.#isCurrent(life)) return;
    const read = async (): Promise<void> => {
      while (this.#isListDirty && this.#isCurrent(life)) {
        this.#isListDirty = false;
        try {
          await life.list();
          if (this.#isCurrent(life)) this.#adoptList(life);
        } catch (thrown) {
          const why = ToolError.from(thrown).message;
          this.logger.warn(`The tools of "${this.name}" could not be read again, the old list stands: ${why}`);
        }
      }
    };
    this.#refreshing = read().finally(() => (this.#refreshing = undefined));
  }

  // One call.

  /** @param ownMs the tool's own deadline, where it is known */
  async #call(
    name: string,
    scope: SupervisedScope,
    given: number | undefined,
    ownMs: () => number | undefined,
    send: Send,
  ): Promise<ToolResult> {
    let result: ToolResult;
    try {
      this.#enter(scope);
      if (given !== undefined) assertTimeout(given);
      this.#setDeadline(scope, given, ownMs());
      if (this.#state.name !== 'READY') {
        await scope.race(this.#ready());
        this.#setDeadline(scope, given, ownMs()); // the list is known now
      }
      if (scope.error) throw scope.error;
      const silenceMs = (scope.dueAt === Infinity ? this.callTimeoutMs : scope.dueAt - scope.startedAt) / 2;
      result = await this.#send(name, scope, silenceMs, send);
      if (result.error?.code === 'OUTCOME_UNKNOWN' && !scope.error && this.#mayRepeat(name))
        result = await this.#send(name, scope, silenceMs, send).catch(() => result); // it may have happened: that stays
    } catch (thrown) {
      result = errorResult(ToolError.from(thrown, 'INTERNAL'), scope.startedAt);
    }
    return this.#finish(result, scope);
  }

  #setDeadline(scope: SupervisedScope, given: number | undefined, ownMs: number | undefined): void {
    const timeoutMs = given ?? ownMs ?? this.callTimeoutMs;
    if (timeoutMs !== Infinity || scope.dueAt !== Infinity)
      scope.setDeadline(timeoutMs, MAX_TOTAL_TIMEOUT_MS, given === undefined && ownMs === undefined);
  }

  /** As its listing says, where the provider is ours: a stranger does not choose how long it is waited for. */
  #ownTimeoutMs(name: string, args: JsonObject): number | undefined {
    const tool = this.kind === 'process' ? this.#index.get(name) : undefined;
    return tool && listedTimeoutMs(tool, args);
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

  #finish(result: ToolResult, scope: CallScope): ToolResult {
    this.#open.delete(scope);
    scope.close();
    const now = performance.now();
    const timed = Object.isFrozen(result) ? { ...result } : result;
    timed.durationMs = now - scope.startedAt;
    this.#counters.record(timed, now);
    this.#vigil?.noteActivity(now);
    return timed;
  }

  /** Sends the call when the provider is ready and has a place. @throws {ToolError} why it was not sent */
  async #send(name: string, scope: SupervisedScope, silenceMs: number, send: Send): Promise<ToolResult> {
    const state = this.#state;
    const isFree = state.name === 'READY' && this.#gate.tryEnter();
    const life = isFree ? state.life : await this.#admit(scope);
    let result: ToolResult;
    try {
      this.#vigil?.callSent(performance.now(), silenceMs);
      result = await life.call(send, name, scope, silenceMs);
    } finally {
      this.#gate.leave();
    }
    const verdict = verdictOf(result, scope, life.provider);
    if (verdict === 'answered') this.#failures = 0;
    else if (verdict !== undefined && this.#isCurrent(life)) {
      const error = new ToolError(result.error ?? { code: 'INTERNAL', message: 'no error was told' });
      if (verdict === 'gone') this.#lose(life, error);
      else this.#noteFailure(life, error);
    }
    return result;
  }

  async #admit(scope: CallScope): Promise<Life> {
    for (;;) {
      await scope.race(this.#ready());
      await this.#gate.enter(scope);
      const state = this.#state;
      if (state.name === 'READY') return state.life;
      this.#gate.leave(); // it went while the call waited
    }
  }

  /** True for a tool that may run twice, by annotations that are believed. */
  #mayRepeat(name: string): boolean {
    if (!this.#trustsAnnotations) return false;
    const { readOnlyHint, idempotentHint } = this.#index.get(name)?.annotations ?? {};
    return readOnlyHint === true || idempotentHint === true;
  }

  async #prepare(name: string, args: JsonObject, options?: CallOptions): Promise<PreparedCall> {
    const scope = new CallScope(options);
    try {
      const life = await scope.race(this.#ready());
      const { provider } = life;
      const prepared = await scope.race(Promise.resolve(provider.prepareCall?.(name, args, scope.inwardFor(provider))));
      if (!prepared) throw new ToolError('INTERNAL', `The provider "${this.name}" no longer prepares calls.`);
      if (prepared.refused) return prepared;
      const { tool, timeoutMs } = prepared;
      // Another process does not know what this one prepared; it gets the arguments.
      const send: Send = (current, inward) =>
        current === life ? prepared.execute(inward) : current.provider.callTool(tool.name, prepared.args, inward);
      return {
        ...prepared,
        execute: (inner) => this.#call(tool.name, new SupervisedScope(inner), inner?.timeoutMs, () => timeoutMs, send),
      };
    } catch (thrown) {
      return refusedCall(name, undefined, args, errorResult(ToolError.from(thrown, 'INTERNAL'), scope.startedAt));
    } finally {
      scope.close();
    }
  }

  /** A request of an MCP peer keeps the provider from being idle, as a call does. */
  async #askPeer(ask: (peer: McpPeer) => Promise<JsonObject>, options: { signal?: AbortSignal }): Promise<JsonObject> {
    const scope = new CallScope(options);
    try {
      this.#enter(scope);
      const { provider } = await scope.race(this.#ready());
      if (!provider.mcp) throw new ToolError('INTERNAL', `The provider "${this.name}" is no MCP server any more.`);
      return await scope.race(ask(provider.mcp));
    } finally {
      this.#open.delete(scope);
      scope.close();
      this.#vigil?.noteActivity(performance.now());
    }
  }

  #notConnected(): ToolError {
    const words = `The provider "${this.name}" was disconnected; call connect() to use it again.`;
    return new ToolError('NOT_CONNECTED', words, { provider: this.name });
  }

  #startedTooSlowly(): ToolError {
    const words = `The provider "${this.name}" had not started after ${this.#options.startTimeoutMs} ms; see why, or raise startTimeoutMs.`;
    return new ToolError('TIMED_OUT', words, { provider: this.name });
  }
}

/** What a provider process was told by its own options. */
function trustOf({ trustAnnotations }: { trustAnnotations?: unknown }): boolean | undefined {
  return typeof trustAnnotations === 'boolean' ? trustAnnotations : undefined;
}

/**
 * Gives a provider a life: it is started by the first call, asked whether it answers, replaced when it fails, and ended
 * when nothing has called it for a while. At most so many calls reach it at once.
 *
 * @param create makes the provider, not connected; called once at once, and for each further start
 * @throws {ToolError} INVALID_ARGUMENT for a wrong option, or what `create` throws
 * @example
 * ```ts
 * const files = supervise(() => new MCPToolProvider({ name: 'files', command: 'mcp-server-filesystem', args: [projectDir] }));
 * ```
 */
export function supervise(create: () => ToolProvider, options: SuperviseOptions = {}): SupervisedToolProvider {
  return new SupervisedToolProvider(create, options);
}
