// One instance of a supervised provider: its start, its calls, its health checks and its end.

import {
  ToolError,
  type CallOptions,
  type Logger,
  type Progress,
  type ToolDefinition,
  type ToolProvider,
  type ToolResult,
} from '@toolwright/core';
import {
  errorResult,
  frozenCopy,
  isOwnFailure,
  outcomeUnknown,
  settledWithin,
  startTimer,
  untilAborted,
  CallScope,
} from '@toolwright/core/internal';

/** How long a provider may take to end before the supervisor continues without it. */
const END_TIMEOUT_MS = 10_000;

/** What an instance needs from the supervisor. */
export interface ProviderInstanceOptions {
  readonly provider: ToolProvider;
  /** From 1. */
  readonly number: number;
  readonly healthTimeoutMs: number;
  readonly logger: Logger;
  readonly onLost: (instance: ProviderInstance, failure: ToolError) => void;
  readonly onToolsChanged: (instance: ProviderInstance) => void;
}

/** Sends one call: calls the provider, or executes a call that it prepared. */
export type Send = (instance: ProviderInstance, options: CallOptions) => Promise<ToolResult>;

/** The scope of a supervised call: progress counts as a sign of life of the instance that runs it. */
export class SupervisedScope extends CallScope {
  onSign: (() => void) | undefined;

  override progress(progress: Progress): void {
    this.onSign?.();
    super.progress(progress);
  }
}

/** A call that the provider is running. */
interface Flight {
  readonly tool: string;
  readonly silenceMs: number;
  /** When the call counts as silent, unless progress arrives before; on the clock of `performance.now()`. */
  silentAt: number;
  settle(result: ToolResult): void;
}

export class ProviderInstance {
  readonly provider: ToolProvider;
  readonly number: number;
  definitions: readonly ToolDefinition[] = [];
  servers: readonly string[] = [];
  /** When the provider last answered or reported progress, on the clock of `performance.now()`. */
  lastSignAt = 0;
  readonly #options: ProviderInstanceOptions;
  readonly #flights = new Set<Flight>();
  readonly #unsubscribes: (() => void)[] = [];
  readonly #lifetime = new AbortController();
  #whenIdle: (() => void)[] = [];
  #checking: Promise<boolean> | undefined;
  #ending: Promise<void> | undefined;

  constructor(options: ProviderInstanceOptions) {
    this.#options = options;
    this.provider = options.provider;
    this.number = options.number;
    const { provider } = options;
    this.#keep(provider.onToolsChanged(() => options.onToolsChanged(this)));
    this.#keep(provider.onLost?.((failure) => options.onLost(this, failure)));
  }

  /** Connects and lists. @throws {ToolError} */
  async open(signal: AbortSignal): Promise<void> {
    await untilAborted(this.provider.connect({ signal }), signal);
    this.servers = [...this.provider.servers];
    await this.list(signal);
  }

  /** Reads the list. @throws {ToolError} */
  async list(signal: AbortSignal = this.#lifetime.signal): Promise<void> {
    const listed: unknown = await untilAborted(this.provider.listTools({ signal }), signal);
    if (!Array.isArray(listed))
      throw new ToolError('PROTOCOL_VIOLATION', `The provider "${this.provider.name}" did not return a list of tools.`);
    this.definitions = Object.freeze(listed.filter(isDefinition).map(frozenCopy)); // malformed tools are left out
    this.lastSignAt = performance.now();
  }

  /** True when no call is in flight. */
  get isIdle(): boolean {
    return this.#flights.size === 0;
  }

  /**
   * Runs a call. Never rejects, and settles when its scope ends at the latest, whatever the provider does.
   *
   * @param silenceMs the time without a sign of the provider after which the call is {@link silent}
   */
  call(send: Send, tool: string, scope: SupervisedScope, silenceMs: number): Promise<ToolResult> {
    return new Promise<ToolResult>((resolve) => {
      const startedAt = performance.now();
      const end = (error: ToolError): void =>
        flight.settle(errorResult(outcomeUnknown(error, this.provider.name, tool), scope.startedAt));
      const flight: Flight = {
        tool,
        silenceMs,
        silentAt: startedAt + silenceMs,
        settle: (result) => {
          if (!this.#flights.delete(flight)) return;
          scope.offEnd(end);
          resolve(result);
          if (this.#flights.size === 0) this.#resolveIdle();
        },
      };
      this.#flights.add(flight);
      scope.onEnd(end);
      if (!this.#flights.has(flight)) return;
      scope.onSign = this.#sign;
      const fail = (thrown: unknown): void =>
        flight.settle(errorResult(ToolError.from(thrown, 'INTERNAL'), scope.startedAt));
      try {
        send(this, scope.inwardFor(this.provider))
          .then((result) => this.#land(flight, result, scope))
          .catch(fail);
      } catch (thrown) {
        fail(thrown);
      }
    });
  }

  readonly #sign = (): void => {
    this.lastSignAt = performance.now();
  };

  /** The number of calls that are silent at `now`, and the time at which the next one becomes silent. */
  silent(now: number): { count: number; nextAt: number } {
    let count = 0;
    let nextAt = Infinity;
    for (const flight of this.#flights) {
      const silentAt = Math.max(flight.silentAt, this.lastSignAt + flight.silenceMs);
      if (silentAt <= now) {
        count++;
        flight.silentAt = now + flight.silenceMs; // checked once per period
      }
      nextAt = Math.min(nextAt, silentAt <= now ? flight.silentAt : silentAt);
    }
    return { count, nextAt };
  }

  /** Pings the provider; concurrent callers share one ping. Resolves to false without an answer, and never rejects. */
  check(): Promise<boolean> {
    return (this.#checking ??= this.#check().finally(() => (this.#checking = undefined)));
  }

  /** Waits until no call is in flight, but no longer than `ms`; resolves to false if one still is. */
  idleWithin(ms: number): Promise<boolean> {
    if (this.isIdle) return Promise.resolve(true);
    return settledWithin([new Promise<void>((resolve) => this.#whenIdle.push(resolve))], ms);
  }

  /** Settles each call in flight with OUTCOME_UNKNOWN. */
  abandon(why: ToolError): void {
    for (const flight of [...this.#flights]) {
      const words = `The provider exited before it answered, so the call may have been executed. ${why.message}`;
      const details = { ...why.details, cause: why.code, outcomeUnknown: true };
      const error = new ToolError('OUTCOME_UNKNOWN', words, {
        provider: this.provider.name,
        tool: flight.tool,
        details,
      });
      flight.settle(errorResult(error, performance.now()));
    }
  }

  /** Lets its calls settle for `drainMs`, abandons the rest, and ends the provider. Never rejects. */
  async retire(why: ToolError, drainMs: number): Promise<void> {
    this.#unsubscribe();
    await this.idleWithin(drainMs);
    this.abandon(why);
    await this.end();
  }

  /** Ends the provider. Never rejects; a provider that does not end is abandoned. */
  end(): Promise<void> {
    return (this.#ending ??= this.#end());
  }

  #land(flight: Flight, given: unknown, scope: CallScope): void {
    let result = given as ToolResult;
    if (!isResult(given)) {
      const words = `The provider "${this.provider.name}" returned something that is not a ToolResult.`;
      result = errorResult(new ToolError('INTERNAL', words, { provider: this.provider.name }), scope.startedAt);
    } else if (!given.isError || !isOwnFailure(given)) this.lastSignAt = performance.now();
    flight.settle(result);
  }

  async #check(): Promise<boolean> {
    const { healthTimeoutMs } = this.#options;
    const abort = new AbortController();
    const stop = (): void => abort.abort(new ToolError('TIMED_OUT', `No answer within ${healthTimeoutMs} ms.`));
    const stopTimer = startTimer(healthTimeoutMs, stop);
    this.#lifetime.signal.addEventListener('abort', stop, { once: true });
    try {
      const { provider } = this;
      const { signal } = abort;
      const answering: Promise<unknown> = provider.ping ? provider.ping({ signal }) : provider.listTools({ signal });
      await untilAborted(answering, signal);
      this.lastSignAt = performance.now();
      return true;
    } catch {
      return false; // it did not respond
    } finally {
      stopTimer();
      this.#lifetime.signal.removeEventListener('abort', stop);
    }
  }

  #keep(unsubscribe: unknown): void {
    if (typeof unsubscribe === 'function') this.#unsubscribes.push(unsubscribe as () => void);
  }

  #resolveIdle(): void {
    const idle = this.#whenIdle;
    this.#whenIdle = [];
    for (const resolve of idle) resolve();
  }

  #unsubscribe(): void {
    for (const unsubscribe of this.#unsubscribes.splice(0)) unsubscribe();
  }

  async #end(): Promise<void> {
    const { logger } = this.#options;
    const { name } = this.provider;
    this.#unsubscribe();
    this.#lifetime.abort(new ToolError('NOT_CONNECTED', `The provider "${name}" was ended.`));
    const ending = (async () => this.provider.disconnect())().catch((thrown: unknown) =>
      logger.warn(`The provider "${name}" failed to disconnect: ${ToolError.from(thrown).message}`),
    );
    if (!(await settledWithin([ending], END_TIMEOUT_MS)))
      logger.warn(`The provider "${name}" did not end within ${END_TIMEOUT_MS} ms and was abandoned.`);
    this.abandon(new ToolError('CONNECTION_CLOSED', 'The provider was ended.'));
  }
}

function isResult(value: unknown): value is ToolResult {
  const { content, isError } = (value ?? {}) as Partial<ToolResult>;
  return Array.isArray(content) && typeof isError === 'boolean';
}

function isDefinition(value: unknown): value is ToolDefinition {
  const { name, inputSchema } = (value ?? {}) as Partial<ToolDefinition>;
  return typeof name === 'string' && typeof inputSchema === 'object';
}
