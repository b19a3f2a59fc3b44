// chaos(): a provider whose calls and lists go wrong in a way that a seed repeats.

import { CallScope, outcomeUnknown } from '../call/call-scope.js';
import { startTimer } from '../call/deadline.js';
import { callSafely, Listeners } from '../call/host-callbacks.js';
import { deferred } from '../call/waiting.js';
import { ToolError } from '../contract/errors.js';
import { snapshot } from '../contract/json-copy.js';
import type { JsonObject } from '../contract/json.js';
import { SILENT_LOGGER } from '../contract/logger.js';
import { assertOptions, shownValue, type OptionNames } from '../contract/options.js';
import { errorResult, type ToolResult } from '../contract/result.js';
import type { ToolDefinition } from '../contract/tool-definition.js';
import type { CallOptions, PreparedCall, ToolProvider } from '../contract/tool-provider.js';
import { rejectedCall } from '../provider/prepared-call.js';
import { garbage, injectedFailure, FaultPlans, oversized, type ChaosFaults, type ChaosPlan } from './chaos-faults.js';
import { WrappedProvider, type ConnectOptions, type ListingOptions } from './wrapped-provider.js';

/** Options of {@link chaos}. */
export interface ChaosOptions {
  /** Decides what happens. Equal seeds, faults and calls give equal faults. Default: a random one. */
  seed?: number | string;
  /** The longest injected delay, in milliseconds. Default 50. */
  maxDelayMs?: number;
  /** The size of an oversized text, in bytes. Default 2,097,152. */
  oversizedBytes?: number;
}

const OPTIONS: OptionNames<ChaosOptions> = { seed: true, maxDelayMs: true, oversizedBytes: true };
const FAULTS: OptionNames<ChaosFaults> = {
  delay: true,
  fail: true,
  hang: true,
  crash: true,
  oversized: true,
  garbage: true,
  flap: true,
};

/** A provider that injects faults. Made by {@link chaos}. */
export class ChaosProvider extends WrappedProvider implements ToolProvider {
  /** Repeats the faults of this run. The injected errors have it in their messages. */
  readonly seed: string;
  readonly #plans: FaultPlans;
  readonly #oversizedBytes: number;
  readonly #open = new Map<CallScope, Promise<unknown>>();
  readonly #changed = new Listeners();
  readonly #lost = new Set<(failure: ToolError) => void>();
  #isDisconnected = false;
  /** Set after a crash: resolves when the wrapped provider has ended. The next call connects it again. */
  #crashed: Promise<unknown> | undefined;
  #reconnecting: Promise<void> | undefined;

  /** Use {@link chaos}. */
  constructor(provider: ToolProvider, faults: ChaosFaults, options: ChaosOptions = {}) {
    super('chaos()', provider);
    assertOptions('chaos()', options, OPTIONS);
    assertFaults(faults);
    const { seed = Math.floor(Math.random() * 2 ** 32), maxDelayMs = 50, oversizedBytes = 2 * 1024 * 1024 } = options;
    for (const [name, value] of Object.entries({ maxDelayMs, oversizedBytes })) {
      if (typeof value !== 'number' || !(value >= 0))
        throw new ToolError('INVALID_ARGUMENT', `chaos(): \`${name}\` must be at least 0, not ${shownValue(value)}.`);
    }
    this.seed = String(seed);
    this.#plans = new FaultPlans({ ...faults }, this.seed, maxDelayMs);
    this.#oversizedBytes = oversizedBytes;
  }

  override async connect(options?: ConnectOptions): Promise<void> {
    await this.#crashed;
    this.#isDisconnected = false;
    await this.inner.connect(options);
    this.#crashed = undefined;
  }

  override async listTools(options?: ListingOptions): Promise<readonly ToolDefinition[]> {
    await this.#recovered();
    return this.#plans.list(await this.inner.listTools(options));
  }

  override callTool(name: string, args: JsonObject = {}, options?: CallOptions): Promise<ToolResult> {
    const plan = this.#plans.ofCall(name, args);
    let own: JsonObject;
    try {
      own = snapshot(args); // the call may be delayed
    } catch {
      own = args; // the wrapped provider reports that it is cyclic
    }
    return this.#call(plan, name, options, (inner) => this.inner.callTool(name, own, inner));
  }

  /** @internal Prepares without faults: they meet the call that runs. */
  protected override prepare(
    name: string,
    args: JsonObject,
    options?: CallOptions,
  ): PreparedCall | Promise<PreparedCall> {
    if (this.#crashed) return this.#prepareRecovered(name, args, options);
    const prepared = super.prepare(name, args, options);
    return prepared instanceof Promise
      ? prepared.then((settled) => this.#withFaults(settled))
      : this.#withFaults(prepared);
  }

  async #prepareRecovered(name: string, args: JsonObject, options?: CallOptions): Promise<PreparedCall> {
    try {
      const own = snapshot(args); // the caller may change them meanwhile
      await this.#recovered();
      return await this.prepare(name, own, options);
    } catch (thrown) {
      return rejectedCall(name, undefined, args, errorResult(ToolError.from(thrown, 'INTERNAL'), performance.now()));
    }
  }

  /** Ends all calls, also those that hang. */
  override async disconnect(): Promise<void> {
    this.#isDisconnected = true;
    const message = `The provider "${this.name}" was disconnected during the call.`;
    const settled = this.#endCalls(new ToolError('CONNECTION_CLOSED', message, { provider: this.name }));
    await this.inner.disconnect();
    await settled;
    await this.#crashed;
  }

  override onToolsChanged(listener: () => void): () => void {
    const unsubscribe = super.onToolsChanged(listener);
    const remove = this.#changed.add(listener);
    return () => {
      remove();
      unsubscribe();
    };
  }

  /** Reports crashes too. */
  override onLost(listener: (failure: ToolError) => void): () => void {
    const unsubscribe = super.onLost(listener);
    this.#lost.add(listener);
    return () => {
      this.#lost.delete(listener);
      unsubscribe();
    };
  }

  #withFaults(prepared: PreparedCall): PreparedCall {
    if (prepared.refused) return prepared;
    const { name } = prepared.tool;
    const { args } = prepared; // often a lazy copy
    return {
      ...prepared,
      args,
      execute: (options) =>
        this.#call(this.#plans.ofCall(name, args), name, options, (inner) => prepared.execute(inner)),
    };
  }

  #call(
    plan: ChaosPlan,
    name: string,
    options: CallOptions | undefined,
    run: (options: CallOptions) => Promise<ToolResult>,
  ): Promise<ToolResult> {
    const scope = new CallScope(options);
    const settled = this.#settle(plan, name, scope, options, run).finally(() => {
      this.#open.delete(scope);
      scope.close();
    });
    this.#open.set(scope, settled);
    return settled;
  }

  async #settle(
    plan: ChaosPlan,
    name: string,
    scope: CallScope,
    options: CallOptions | undefined,
    run: (options: CallOptions) => Promise<ToolResult>,
  ): Promise<ToolResult> {
    let hasStarted = false;
    try {
      scope.setDeadline(plan.fault === 'hang' ? this.callTimeoutMs : undefined);
      if (scope.error) throw scope.error;
      if (this.#isDisconnected) return await run(inwardOptions(scope, options)); // it fails, and must not hang
      if (plan.delayMs > 0) await this.#pause(plan.delayMs, scope);
      if (this.#crashed) await scope.race(this.#recovered());
      if (plan.fault === 'fail') throw injectedFailure(plan.draw, this.seed);
      hasStarted = true;
      if (plan.fault === 'hang') return await scope.race(new Promise<never>(() => undefined));
      const running = run(inwardOptions(scope, options));
      if (plan.fault === 'crash') {
        running.catch(() => undefined); // nobody waits for a call of a provider that is gone
        await this.#pause(plan.draw() * 5, scope);
        this.#crash();
      }
      return this.#spoil(plan, await scope.race(running));
    } catch (thrown) {
      if (plan.fault === 'garbage' && hasStarted && !scope.error) throw thrown;
      const error = ToolError.from(thrown, 'INTERNAL');
      const known = hasStarted && scope.error ? outcomeUnknown(scope.error, this.name, name) : error;
      return errorResult(known, scope.startedAt);
    } finally {
      if (plan.flaps) this.#changed.emit(SILENT_LOGGER);
    }
  }

  #spoil({ fault, draw }: ChaosPlan, result: ToolResult): ToolResult {
    if (fault === 'oversized') return oversized(result, this.#oversizedBytes);
    return fault === 'garbage' ? (garbage(draw) as ToolResult) : result;
  }

  /** Loses the wrapped provider with its state, as if its process had been killed. */
  #crash(): void {
    if (this.#crashed || this.#isDisconnected) return;
    const message = `chaos() made the provider "${this.name}" crash during the call (seed ${this.seed}).`;
    const failure = new ToolError('OUTCOME_UNKNOWN', message, { provider: this.name });
    const settled = this.#endCalls(failure);
    this.#crashed = Promise.allSettled([settled, this.inner.disconnect()]);
    const lost = new ToolError('PROCESS_EXITED', message, { provider: this.name });
    for (const listener of [...this.#lost]) callSafely(() => listener(lost));
  }

  /** Connects again after a crash, once for all that wait. @throws {ToolError} why that failed */
  #recovered(): Promise<void> {
    if (!this.#crashed) return Promise.resolve();
    return (this.#reconnecting ??= this.#reconnect().finally(() => (this.#reconnecting = undefined)));
  }

  async #reconnect(): Promise<void> {
    await this.#crashed;
    if (!this.#isDisconnected) await this.inner.connect({ onDemand: true });
    this.#crashed = undefined;
  }

  /** Ends all calls in flight; resolves when they have settled. */
  async #endCalls(error: ToolError): Promise<void> {
    const open = [...this.#open];
    for (const [scope] of open) scope.end(error);
    await Promise.allSettled(open.map(([, settled]) => settled));
  }

  async #pause(ms: number, scope: CallScope): Promise<void> {
    const { promise, resolve } = deferred();
    const stop = startTimer(ms, resolve);
    try {
      await scope.race(promise);
    } finally {
      stop();
    }
  }
}

/** The caller's options, with what ends the call early, and without progress once it has. */
function inwardOptions(scope: CallScope, options: CallOptions | undefined): CallOptions {
  const { timeoutMs, idleTimeoutMs, approval, calledAs } = Object(options) as CallOptions;
  return { ...scope.inward, timeoutMs, idleTimeoutMs, approval, calledAs };
}

function assertFaults(faults: ChaosFaults): void {
  assertOptions('chaos()', faults, FAULTS, 'faults.');
  for (const [name, chance] of Object.entries(faults)) {
    if (typeof chance !== 'number' || !(chance >= 0 && chance <= 1))
      throw new ToolError(
        'INVALID_ARGUMENT',
        `chaos(): \`faults.${name}\` must be a number from 0 to 1, not ${shownValue(chance)}.`,
      );
  }
  const { fail = 0, hang = 0, crash = 0, oversized: large = 0, garbage: bad = 0 } = faults;
  if (fail + hang + crash + large + bad > 1 + Number.EPSILON)
    throw new ToolError(
      'INVALID_ARGUMENT',
      'chaos(): fail, hang, crash, oversized and garbage must add up to at most 1.',
    );
}

/**
 * Wraps a provider so that some of its calls and lists go wrong, to test what is in front of it. Each fault has a likelihood.
 * Which call meets which fault depends on the seed, the tool, the arguments and how often that call was made before, and on
 * nothing else: print {@link ChaosProvider.seed} when a test fails, and pass it to repeat the run.
 *
 * Cancelling a call, its deadline and `disconnect` end a call that hangs. With faults of 0 it passes everything on.
 *
 * @throws {ToolError} INVALID_ARGUMENT for a wrong option
 * @example
 * ```ts
 * const flaky = chaos(provider, { delay: 0.3, fail: 0.1, crash: 0.02 }, { seed: 7 });
 * await using hub = new ToolHub({ providers: [flaky] });
 * ```
 */
export function chaos(provider: ToolProvider, faults: ChaosFaults, options: ChaosOptions = {}): ChaosProvider {
  return new ChaosProvider(provider, faults, options);
}
