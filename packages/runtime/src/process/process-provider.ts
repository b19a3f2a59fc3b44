// ProcessToolProvider: a provider file in its own process. It owns the current generation, starts the next one when that
// has ended, and settles each call once. generation.ts is one process.

import {
  ToolError,
  type CallOptions,
  type JsonObject,
  type Logger,
  type PreparedCall,
  type ProviderHealth,
  type ProviderState,
  type ToolDefinition,
  type ToolProvider,
  type ToolResult,
} from '@toolwright/core';
import {
  deferred,
  copyArguments,
  isJsonObject,
  CallCounters,
  CallScope,
  snapshot,
  errorResult,
  isSameListing,
  listedTimeoutMs,
  Listeners,
  staleCallError,
  prepareFromListing,
  rejectedCall,
  safeLogger,
  settledWithin,
  ConnectionLifecycle,
  START_OUTPUT,
  WARNING_LOGGER,
  TAKES_SCOPES,
  withStartOutput,
  type StartOutput,
} from '@toolwright/core/internal';
import { sharedListener, type ProviderListener } from '../wire/listener.js';
import type { ProviderSettings } from '../wire/protocol.js';
import type { ListedTool } from '../wire/registration.js';
import { startOutput, type ProcessTrace } from './end-of-process.js';
import { ProviderGeneration, type Takeover } from './generation.js';
import { callGeneration } from './generation-call.js';
import {
  resolveProcessOptions,
  type ProcessToolProviderOptions,
  type ResolvedProcessOptions,
} from './process-provider-options.js';

/** How long a prepared call waits for a list that is being read again, before it uses the previous one. */
const RELIST_MS = 250;
/** Longer than disposal and the kill ladder take. */
const END_TIMEOUT_MS = 10_000;

/**
 * The tools of one provider file, run in its own process and called over a unix socket. The process starts with
 * `connect` or the first call, and again with the first call after it has ended.
 *
 * A call that was in flight when the process ended is `OUTCOME_UNKNOWN`, and is not sent again. Like every provider it has
 * no policy of its own: put it into a `ToolHub` to apply one to each call.
 *
 * @example
 * ```ts
 * await using provider = new ProcessToolProvider({ name: 'calculator', path: '/path/to/calculator.ts' });
 * const result = await provider.callTool('calculator.add', { a: 1, b: 2 });
 * ```
 */
export class ProcessToolProvider implements ToolProvider {
  /** The name of the provider, as in its options. */
  readonly name: string;
  readonly kind = 'process';
  /** @internal */
  readonly [TAKES_SCOPES] = true;
  readonly callTimeoutMs: number;
  readonly servers: readonly string[];
  readonly sourceHash: string;
  /** Whether the tools' annotations are trusted when deciding if a call may be sent again. */
  readonly trustAnnotations: boolean;
  readonly #options: ResolvedProcessOptions;
  readonly #listener: ProviderListener;
  readonly #logger: Logger;
  readonly #counters = new CallCounters();
  readonly #changed = new Listeners();
  readonly #connection: ConnectionLifecycle<ProviderGeneration>;
  readonly #inFlight = new Set<CallScope>();
  readonly #retiring = new Set<ProviderGeneration>();
  #settings: ProviderSettings;
  #generation: ProviderGeneration | undefined;
  /** The list of the previous generation, to detect a change. */
  #listing: readonly ToolDefinition[] | undefined;
  #abortStart: AbortController | undefined;
  /** The process that is not initialized yet. */
  #starting: ProcessTrace | undefined;
  /** Set while a generation takes over; new calls wait for it. */
  #held: Promise<void> | undefined;
  #starts = 0;
  #disconnects = 0;
  #lastFailure: ToolError | undefined;

  /** @throws {ToolError} INVALID_ARGUMENT naming the invalid option */
  constructor(options: ProcessToolProviderOptions) {
    this.#options = resolveProcessOptions(options);
    this.#settings = this.#options.settings;
    this.name = options.name;
    this.#connection = new ConnectionLifecycle(options.name);
    this.callTimeoutMs = this.#options.callTimeoutMs;
    this.servers = Object.freeze([this.name]);
    this.sourceHash = this.#options.sourceHash;
    this.trustAnnotations = options.trustAnnotations ?? true;
    this.#logger = options.logger ? safeLogger(options.logger) : WARNING_LOGGER;
    this.#listener = options.listener ?? sharedListener();
  }

  async connect(options: { signal?: AbortSignal } = {}): Promise<void> {
    this.#connection.reopen();
    const scope = new CallScope(options);
    try {
      await this.#opened(scope);
    } finally {
      scope.close();
    }
  }

  async listTools(options: { signal?: AbortSignal } = {}): Promise<readonly ToolDefinition[]> {
    const scope = new CallScope(options);
    try {
      const generation = await this.#opened(scope);
      if (generation.relisting) await scope.race(generation.relisting);
      return (this.#listing = definitionsOf(generation));
    } finally {
      scope.close();
    }
  }

  callTool(name: string, args: JsonObject = {}, options?: CallOptions): Promise<ToolResult> {
    return this.#run(name, args, new CallScope(options));
  }

  prepareCall(name: string, args: JsonObject, options?: CallOptions): PreparedCall | Promise<PreparedCall> {
    const tool = this.#isReady ? this.#generation?.tools.get(name) : undefined;
    return tool ? this.#prepared(tool, args) : this.#prepareSlowly(name, args, options);
  }

  async disconnect(): Promise<void> {
    this.#disconnects++;
    return this.#connection.disconnect(() => this.#close());
  }

  /** Disconnects, for `await using`. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.disconnect();
  }

  /** Its servers, if the running process has said that it ends the state of sessions. */
  get sessionServers(): readonly string[] {
    return this.generation?.capabilities.endSession === true ? this.servers : [];
  }

  /** Ends the state of a session in the running process; starts none for this. */
  async endSession(sessionId: string): Promise<void> {
    await this.generation?.endSession(sessionId);
  }

  onToolsChanged(listener: () => void): () => void {
    return this.#changed.add(listener);
  }

  onLost(listener: (failure: ToolError) => void): () => void {
    return this.#connection.onLost(listener);
  }

  async ping(options: { signal?: AbortSignal } = {}): Promise<void> {
    const generation = this.#generation;
    if (!generation?.isAlive) throw this.#lastFailure ?? this.#connection.notConnected();
    const scope = new CallScope(options);
    try {
      await scope.race(generation.peer.request('ping'));
    } finally {
      scope.close();
    }
  }

  health(): ProviderHealth {
    const health = this.#counters.health(this.#state());
    const lastError = health.lastError ?? this.#lastFailure?.message;
    return { ...health, restarts: Math.max(0, this.#starts - 1), ...(lastError !== undefined && { lastError }) };
  }

  /** @internal */
  [START_OUTPUT](): StartOutput | undefined {
    return this.#starting && startOutput(this.#starting);
  }

  /** The number of the current process; undefined while none runs. */
  get pid(): number | undefined {
    return this.#generation?.isAlive ? this.#generation.pid : undefined;
  }

  // For supervision and reload.

  /** @internal The current generation. */
  get generation(): ProviderGeneration | undefined {
    return this.#generation?.isAlive ? this.#generation : undefined;
  }

  /** @internal The options of the next generation. */
  get settings(): ProviderSettings {
    return this.#settings;
  }

  /** @internal Sets the options of the next generation; the current one is not affected. */
  set settings(settings: ProviderSettings) {
    this.#settings = settings;
  }

  /** @internal Starts a second generation, registered but not initialized. */
  startGeneration(takeover: Takeover = {}): Promise<ProviderGeneration> {
    const { program, startTimeoutMs } = this.#options;
    return ProviderGeneration.start(
      {
        program,
        settings: this.#settings,
        listener: this.#listener,
        startTimeoutMs,
        logger: this.#logger,
        onToolsChanged: (generation) => {
          if (generation === this.#generation) this.#noteList(generation);
        },
        onLost: (generation, error) => this.#lose(generation, error),
      },
      takeover,
    );
  }

  /** @internal Makes new calls wait until the returned function is called. */
  holdCalls(): () => void {
    const { promise: held, resolve: release } = deferred();
    this.#held = held;
    return () => {
      if (this.#held === held) this.#held = undefined;
      release();
    };
  }

  /** @internal Makes a generation the current one. Returns the previous one, which the caller must end. */
  adopt(generation: ProviderGeneration): ProviderGeneration | undefined {
    const before = this.#generation;
    this.#generation = generation;
    this.#noteList(generation);
    return before;
  }

  /** @internal Ends a generation; a disconnect waits for it. */
  retire(generation: ProviderGeneration, options?: { drainMs?: number }): Promise<void> {
    const ending = generation.end(options);
    this.#connection.track(ending);
    this.#retiring.add(generation);
    void ending.finally(() => this.#retiring.delete(generation));
    return ending;
  }

  // The process.

  get #isReady(): boolean {
    return this.#generation?.isAlive === true && this.#held === undefined && !this.#connection.isDisconnected;
  }

  #open(): Promise<ProviderGeneration> {
    return this.#connection.open(this.generation, () => this.#start());
  }

  /** @throws {ToolError} why no process could be started; with its output, if the scope ended first */
  #opened(scope: CallScope): Promise<ProviderGeneration> {
    return scope.race(this.#open()).catch((thrown: unknown) => {
      throw withStartOutput(ToolError.from(thrown), this);
    });
  }

  async #start(): Promise<ProviderGeneration> {
    const abort = (this.#abortStart = new AbortController());
    const { startTimeoutMs } = this.#options;
    let generation: ProviderGeneration | undefined;
    try {
      const startedAt = performance.now();
      generation = await this.startGeneration({
        signal: abort.signal,
        onSpawned: (trace) => (this.#starting = trace),
      });
      const leftMs = Math.max(0, startTimeoutMs - (performance.now() - startedAt));
      await this.#initialize(generation, leftMs, abort.signal);
      this.#starts++;
      this.#lastFailure = undefined;
      this.adopt(generation);
      return generation;
    } catch (thrown) {
      if (generation) void this.retire(generation);
      throw (this.#lastFailure = withStartOutput(ToolError.from(thrown, 'UNAVAILABLE'), this));
    } finally {
      this.#starting = undefined;
    }
  }

  async #initialize(generation: ProviderGeneration, timeoutMs: number, signal: AbortSignal): Promise<void> {
    const scope = new CallScope({ signal });
    scope.setDeadline(timeoutMs, timeoutMs);
    try {
      await scope.race(generation.initialize(this.#settings, null, 'start'));
    } catch (thrown) {
      const { code, message, details, retryable } = ToolError.from(thrown);
      const words =
        code === 'TIMED_OUT' ? `it did not finish within startTimeoutMs (${this.#options.startTimeoutMs}).` : message;
      if (scope.error && code !== 'TIMED_OUT') throw thrown;
      throw new ToolError(code, `The provider "${this.name}" could not be initialized: ${words}`, {
        provider: this.name,
        details,
        retryable,
        cause: thrown,
      });
    } finally {
      scope.close();
    }
  }

  #lose(generation: ProviderGeneration, error: ToolError): void {
    this.#connection.track(generation.end());
    if (generation !== this.#generation) return;
    this.#lastFailure = error;
    this.#connection.emitLost(error);
    this.#logger.warn(`The provider "${this.name}" was lost; the next call starts it again: ${error.message}`);
  }

  #noteList(generation: ProviderGeneration): void {
    const before = this.#listing;
    this.#listing = definitionsOf(generation);
    if (before && JSON.stringify(before) !== JSON.stringify(this.#listing)) this.#changed.emit(this.#logger);
  }

  async #close(): Promise<void> {
    this.#abortStart?.abort(this.#connection.notConnected());
    await this.#connection.openingSettled();
    const closed = this.#connection.closedDuringCall();
    for (const scope of [...this.#inFlight]) scope.end(closed);
    for (const generation of this.#retiring) void generation.end(); // its calls are no longer awaited
    if (this.#generation?.isAlive) void this.retire(this.#generation);
    if (!(await this.#connection.ended(END_TIMEOUT_MS))) {
      this.#logger.warn(`The provider "${this.name}" did not end within ${END_TIMEOUT_MS} ms and was abandoned.`);
    }
    this.#generation = undefined;
    this.#lastFailure = undefined;
  }

  #state(): ProviderState {
    if (this.#generation?.isAlive) return 'READY';
    if (this.#connection.isOpening) return 'INITIALIZING';
    return this.#lastFailure ? 'DEAD' : 'COLD';
  }

  // One call.

  #setDeadline(scope: CallScope, ownMs: number | undefined): void {
    scope.setDeadline(ownMs ?? this.callTimeoutMs, this.#options.maxTotalTimeoutMs, ownMs === undefined);
    if (scope.error) throw scope.error;
  }

  #waitFor({ peer }: ProviderGeneration): Promise<unknown> | undefined {
    return this.#held ?? peer.congestion;
  }

  /** The tool; starts the process first if none runs. @throws {ToolError} TOOL_NOT_FOUND, or why it could not be started */
  async #find(name: string, scope: CallScope): Promise<ListedTool> {
    while (this.#held) await scope.race(this.#held);
    const generation = await this.#opened(scope);
    const tool = generation.tools.get(name);
    if (tool) return tool;
    if (generation.relisting) await scope.race(generation.relisting);
    const found = generation.tools.get(name);
    if (!found) throw generation.tools.notFound(name, `The provider "${this.name}"`);
    return found;
  }

  async #prepareSlowly(name: string, args: JsonObject, options: CallOptions | undefined): Promise<PreparedCall> {
    const scope = new CallScope(options);
    this.#inFlight.add(scope);
    try {
      this.#setDeadline(scope, undefined);
      const own = snapshot(args);
      return this.#prepared(await this.#find(name, scope), own);
    } catch (thrown) {
      return rejectedCall(name, undefined, args, errorResult(this.#located(thrown, name), scope.startedAt));
    } finally {
      this.#inFlight.delete(scope);
      scope.close();
    }
  }

  #prepared(tool: ListedTool, args: JsonObject): PreparedCall {
    const { definition } = tool;
    const disconnects = this.#disconnects;
    const call = {
      tool: definition,
      timeoutMs: (own: JsonObject) => listedTimeoutMs(definition, own),
      execute: (own: JsonObject, options?: CallOptions) => {
        const scope = new CallScope(options);
        if (this.#disconnects !== disconnects) scope.end(staleCallError(this.name));
        return this.#run(definition.name, own, scope, tool);
      },
    };
    try {
      return prepareFromListing(call, args);
    } catch (thrown) {
      const refused = errorResult(this.#located(thrown, definition.name), performance.now());
      return rejectedCall(definition.name, definition, args, refused);
    }
  }

  /** @param prepared what the call was prepared for: a different tool of that name does not run */
  async #run(name: string, args: JsonObject, scope: CallScope, prepared?: ListedTool): Promise<ToolResult> {
    this.#inFlight.add(scope);
    let result: ToolResult;
    try {
      if (scope.error) throw scope.error;
      // Finding the tool may start the process, which counts towards the deadline.
      let tool = this.#isReady ? this.#generation?.tools.get(name) : undefined;
      const generation = this.#generation;
      const own = tool && generation && !this.#waitFor(generation) ? args : snapshot(args); // it may wait
      if (!tool) {
        this.#setDeadline(scope, undefined);
        tool = await this.#find(name, scope);
      }
      this.#setDeadline(scope, listedTimeoutMs(tool.definition, own));
      const relisting = prepared && this.#generation?.relisting;
      if (relisting) await scope.race(settledWithin([relisting], RELIST_MS));
      result = await this.#call(tool, own, scope, prepared);
    } catch (thrown) {
      result = errorResult(this.#located(thrown, name), scope.startedAt);
    }
    this.#inFlight.delete(scope);
    scope.close();
    this.#counters.record(result, scope.startedAt + result.durationMs);
    return result;
  }

  async #call(
    tool: ListedTool,
    given: JsonObject,
    scope: CallScope,
    prepared: ListedTool | undefined,
  ): Promise<ToolResult> {
    const args = isJsonObject(given) ? given : copyArguments(tool.definition.name, given); // throws
    let generation = this.#generation?.isAlive ? this.#generation : await this.#opened(scope);
    // Checked again after waiting: a call must not reach a generation that has handed over its state.
    for (let wait = this.#waitFor(generation); wait; wait = this.#waitFor(generation)) {
      await scope.race(wait);
      generation = this.#generation?.isAlive ? this.#generation : await this.#opened(scope);
    }
    if (prepared && !isSameListing(prepared.definition, generation.tools.get(tool.definition.name)?.definition)) {
      throw staleCallError(this.name, `The tool "${tool.definition.name}" was changed`);
    }
    return callGeneration(generation, tool, args, scope, { provider: this.name, logger: this.#logger });
  }

  #located(thrown: unknown, tool: string): ToolError {
    const { code, message, details, retryable, cause } = ToolError.from(thrown, 'INTERNAL');
    const name = typeof tool === 'string' ? { tool } : {};
    return new ToolError(code, message, { provider: this.name, ...name, details, retryable, cause });
  }
}

function definitionsOf({ listed }: ProviderGeneration): readonly ToolDefinition[] {
  return Object.freeze(listed.map(({ definition }) => definition));
}
