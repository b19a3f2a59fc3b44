// The lifecycle of a supervised provider: its current instance, restarts after failures, and the documented state machine.

import { ToolError, type Logger, type ProviderHealth, type ToolProvider } from '@toolwright/core';
import { startOutputOf, startTimer, untilAborted, withStartOutput, type StartOutput } from '@toolwright/core/internal';
import type { Events } from './supervision-events.js';
import { startFailure } from './provider-failure.js';
import { ProviderInstance } from './provider-instance.js';
import type { ResolvedSuperviseOptions } from './supervisor-options.js';
import { RestartBudget } from './restart-budget.js';
import { assertTransition, type SupervisorState } from './state.js';
import { HealthMonitor } from './health-monitor.js';

/** How long a lost provider may take to settle its calls; then the supervisor settles them. */
const LOST_TIMEOUT_MS = 50;
/** The number of unanswered pings in a row after which a provider is lost. */
const PINGS = 2;

/** Options of {@link Lifecycle}. */
export interface LifecycleOptions {
  name: string;
  /** Creates a provider, not connected. */
  make: () => ToolProvider;
  options: ResolvedSuperviseOptions;
  /** How long calls of a degraded provider may take. */
  drainMs: number;
  events: Events;
  logger: Logger;
  /** True while a call is queued or running. */
  isBusy: () => boolean;
  /** Called before an instance connects, and when it is ready. */
  onCreated: (instance: ProviderInstance) => void;
  onReady: (instance: ProviderInstance) => void;
  onToolsChanged: (instance: ProviderInstance) => void;
}

export class Lifecycle {
  readonly #given: LifecycleOptions;
  readonly #budget: RestartBudget;
  /** Instances that are ending; the next start and a disconnect wait for them. */
  readonly #ending = new Set<Promise<void>>();
  #state: SupervisorState = { name: 'COLD' };
  #healthMonitor: HealthMonitor | undefined;
  /** The instance of a health check in progress. */
  #checked: ProviderInstance | undefined;
  #abortStart: AbortController | undefined;
  #starting: ProviderInstance | undefined;
  /** True after {@link forgive}: the cause of the last failed start may be fixed. */
  #isForgiven = false;
  #isDisconnected = false;
  #lives = 0;
  #restarts = 0;
  /** The number of consecutive failures while ready. */
  #failures = 0;
  #lastError: ToolError | undefined;

  constructor(given: LifecycleOptions) {
    this.#given = given;
    this.#budget = new RestartBudget(given.options);
  }

  get state(): SupervisorState {
    return this.#state;
  }

  /** True from {@link end} to {@link reopen}. */
  get isDisconnected(): boolean {
    return this.#isDisconnected;
  }

  reopen(): void {
    this.#isDisconnected = false;
  }

  isCurrent(instance: ProviderInstance): boolean {
    return this.#state.name === 'READY' && this.#state.instance === instance;
  }

  /** The output of a program that is being started. */
  startOutput(): StartOutput | undefined {
    return this.#starting && startOutputOf(this.#starting.provider);
  }

  /** Forgets earlier failures. */
  forgive(): void {
    this.#isForgiven = true;
  }

  /** The number of the next instance. */
  countInstance(): number {
    return ++this.#lives;
  }

  health(): Pick<ProviderHealth, 'consecutiveFailures' | 'restarts' | 'retryAt' | 'lastError'> {
    const { failures, retryAt } = this.#budget;
    const isWaiting = this.#state.name === 'DEAD' || this.#state.name === 'DEGRADED';
    return {
      consecutiveFailures: this.#state.name === 'READY' ? this.#failures : Math.max(this.#failures, failures),
      restarts: this.#restarts,
      ...(isWaiting &&
        retryAt > performance.now() &&
        retryAt !== Infinity && { retryAt: performance.timeOrigin + retryAt }),
      ...(this.#lastError && { lastError: this.#lastError.message }),
    };
  }

  /**
   * The ready instance; starts one if there is none, once for all callers. An explicit start ignores earlier failures.
   *
   * @throws {ToolError} why there is none
   */
  ready(isExplicit = false): Promise<ProviderInstance> {
    const state = this.#state;
    if (this.#isDisconnected) return Promise.reject(this.notConnected());
    if (state.name === 'READY') return Promise.resolve(state.instance);
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

  /** Ends a running or starting instance. Never rejects. */
  async end(): Promise<void> {
    this.#isDisconnected = true;
    this.#abortStart?.abort(this.notConnected());
    const state = this.#state;
    if (state.name !== 'COLD') this.#enter({ name: 'COLD' });
    if (state.name === 'READY') this.#track(state.instance.end());
    this.#budget.reset();
    this.#isForgiven = false;
    this.#failures = 0;
    await Promise.all([...this.#ending]);
  }

  // Reports from calls about their instance.

  /** Records that a call was sent, which must not be silent for `silenceMs`. */
  noteSent(silenceMs: number): void {
    this.#healthMonitor?.callSent(performance.now(), silenceMs);
  }

  /** Records that a call arrived or settled. */
  noteActivity(now: number): void {
    this.#healthMonitor?.noteActivity(now);
  }

  noteAnswer(): void {
    this.#failures = 0;
  }

  /** The provider failed and still runs. */
  noteFailure(instance: ProviderInstance, error: ToolError): void {
    const state = this.#state;
    if (state.name !== 'READY' || state.instance !== instance) return;
    this.#lastError = error;
    if (++this.#failures < this.#given.options.failureThreshold) return;
    const { name, logger, drainMs } = this.#given;
    this.#budget.noteFailure(performance.now(), performance.now() - state.since);
    logger.warn(`The provider "${name}" failed ${this.#failures} times in a row and is replaced: ${error.message}`);
    this.#enter({ name: 'DEGRADED', error, isPermanent: false });
    this.#track(instance.retire(error, drainMs));
  }

  /** The provider ended by itself, or stopped responding. */
  lose(instance: ProviderInstance, error: ToolError): void {
    const state = this.#state;
    if (state.name !== 'READY' || state.instance !== instance) return;
    this.#given.logger.warn(`The provider "${this.#given.name}" was lost: ${error.message}`);
    this.#die({ error, isPermanent: false }, performance.now() - state.since);
    this.#track(instance.retire(error, LOST_TIMEOUT_MS));
  }

  notConnected(): ToolError {
    const { name } = this.#given;
    return new ToolError('NOT_CONNECTED', `The provider "${name}" was disconnected; call connect() to use it again.`, {
      provider: name,
    });
  }

  // Transitions.

  #enter(next: SupervisorState): void {
    const { name: from } = this.#state;
    assertTransition(from, next.name, this.#given.name);
    this.#healthMonitor?.end();
    this.#healthMonitor = undefined;
    this.#state = next;
    if (next.name === 'READY') {
      this.#healthMonitor = new HealthMonitor(next.instance, {
        ...this.#given.options,
        isBusy: this.#given.isBusy,
        onCheck: (instance) => void this.#check(instance),
        onIdle: (instance) => this.#stopIdle(instance),
      });
    }
    const error = 'error' in next ? { error: next.error.toInfo() } : {};
    this.#given.events.emit('stateChanged', { from, to: next.name, ...error });
  }

  #start(isRestart: boolean): Promise<ProviderInstance> {
    const abort = (this.#abortStart = new AbortController());
    const started = this.#launch(abort, isRestart);
    started.catch(() => undefined); // its callers receive the error
    this.#enter({ name: 'INITIALIZING', started });
    return started;
  }

  async #launch(abort: AbortController, isRestart: boolean): Promise<ProviderInstance> {
    await Promise.resolve(); // lets #start() enter INITIALIZING first
    const { signal } = abort;
    const { name, options, logger } = this.#given;
    let instance: ProviderInstance | undefined;
    let stopTimer = (): void => undefined;
    try {
      if (this.#ending.size > 0) await untilAborted(Promise.all([...this.#ending]), signal);
      const made = (instance = this.#starting = this.#createInstance());
      stopTimer = startTimer(options.startTimeoutMs, () => {
        const late = startedTooSlowly(name, options.startTimeoutMs);
        abort.abort(withStartOutput(late, made.provider));
      });
      await instance.open(signal);
      if (signal.aborted) throw ToolError.from(signal.reason);
    } catch (thrown) {
      const failure = startFailure(signal.aborted ? signal.reason : thrown, name);
      if (instance) this.#track(instance.end());
      if (this.#abortStart === abort && this.#state.name === 'INITIALIZING') {
        logger.warn(`The provider "${name}" did not start: ${failure.error.message}`);
        this.#die(failure, 0);
      }
      throw failure.error;
    } finally {
      stopTimer();
      if (this.#starting === instance) this.#starting = undefined;
    }
    this.#becomeReady(instance, isRestart);
    return instance;
  }

  #createInstance(): ProviderInstance {
    const { make, options, logger, onCreated, onToolsChanged } = this.#given;
    const instance = new ProviderInstance({
      provider: make(),
      number: this.countInstance(),
      healthTimeoutMs: options.healthTimeoutMs,
      logger,
      onLost: (lost, failure) => this.lose(lost, failure),
      onToolsChanged,
    });
    onCreated(instance);
    return instance;
  }

  #becomeReady(instance: ProviderInstance, isRestart: boolean): void {
    const { name, events, logger, onReady } = this.#given;
    this.#failures = 0;
    this.#enter({ name: 'READY', instance, since: performance.now() });
    onReady(instance);
    if (!isRestart) return;
    this.#restarts++;
    logger.info(`The provider "${name}" was started again.`);
    events.emit('restarted', { generation: instance.number });
  }

  #die({ error, isPermanent }: { error: ToolError; isPermanent: boolean }, readyMs: number): void {
    this.#lastError = error;
    this.#budget.noteFailure(performance.now(), readyMs);
    this.#enter({ name: 'DEAD', error, isPermanent });
  }

  #stopIdle(instance: ProviderInstance): void {
    const state = this.#state;
    if (state.name !== 'READY' || state.instance !== instance) return;
    this.#budget.noteEnd(performance.now() - state.since);
    this.#given.logger.debug(`The provider "${this.#given.name}" was idle and is ended.`);
    this.#enter({ name: 'COLD' });
    this.#track(instance.end());
  }

  #track(ending: Promise<void>): void {
    this.#ending.add(ending);
    void ending.finally(() => this.#ending.delete(ending));
  }

  /** Why a call may not start the provider now; undefined if it may. */
  #refusal(state: SupervisorState & { name: 'DEGRADED' | 'DEAD' }): ToolError | undefined {
    if (state.isPermanent) return state.error;
    const now = performance.now();
    const waitMs = this.#budget.retryAt - now;
    if (waitMs <= 0) return undefined;
    const { name, options } = this.#given;
    const { maxStarts, startWindowMs } = options;
    const last = `Its last failure: ${state.error.message}`;
    const retryAfterMs = Math.ceil(waitMs);
    if (this.#budget.isLimited(now)) {
      const details = { maxStarts, startWindowMs, ...(waitMs !== Infinity && { retryAfterMs }) };
      const words =
        waitMs === Infinity
          ? `The provider "${name}" failed, and maxStarts is 0: only connect() starts it again. ${last}`
          : `The provider "${name}" was started ${maxStarts} times within ${startWindowMs} ms after failures. It is started again by a call, or by a hub, in ${retryAfterMs} ms; connect() starts it at once. ${last}`;
      return new ToolError('RESTART_LIMIT', words, { provider: name, details });
    }
    const words = `The provider "${name}" failed ${this.#budget.failures} times in a row; try again in ${retryAfterMs} ms. ${last}`;
    return new ToolError('UNAVAILABLE', words, { provider: name, details: { retryAfterMs } });
  }

  /** Checks whether the provider responds; concurrent callers share the result. */
  async #check(instance: ProviderInstance): Promise<void> {
    if (this.#checked === instance) return;
    this.#checked = instance;
    await this.#ask(instance);
    if (this.#checked === instance) this.#checked = undefined;
  }

  async #ask(instance: ProviderInstance): Promise<void> {
    const { name, options } = this.#given;
    for (let missed = 1; missed <= PINGS; missed++) {
      if (await instance.check()) return;
      const what = missed === 1 ? 'a ping' : `${missed} pings in a row`;
      const words = `The provider "${name}" did not answer ${what} within ${options.healthTimeoutMs} ms.`;
      const error = new ToolError('UNAVAILABLE', words, { provider: name });
      if (missed === PINGS) this.lose(instance, error);
      else this.noteFailure(instance, error);
      if (!this.isCurrent(instance)) return;
    }
  }
}

function startedTooSlowly(name: string, startTimeoutMs: number): ToolError {
  const words = `The provider "${name}" had not started after ${startTimeoutMs} ms; see why, or raise startTimeoutMs.`;
  return new ToolError('TIMED_OUT', words, { provider: name });
}
