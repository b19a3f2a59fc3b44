// The scope of one call: its signal, its deadline, and the one error that ends it early. Creates objects only when they are
// needed: no AbortController before the signal is read, and no timer per call.

import { unwatchDeadline, watchDeadline, type Deadline } from './deadline.js';
import { ToolError } from '../contract/errors.js';
import { copyJson } from '../contract/json-copy.js';
import type { JsonObject } from '../contract/json.js';
import type { LogEntry } from '../contract/logger.js';
import { callSafely } from './host-callbacks.js';
import { optionFaults, shownValue, type OptionNames, type OptionType } from '../contract/options.js';
import type { CallOptions, Progress } from '../contract/tool-provider.js';

/** The longest that progress can extend a default deadline to. */
export const MAX_TOTAL_TIMEOUT_MS = 10 * 60_000;

/** How long the deadline of one call can be paused in all, while approvals are pending. */
export const MAX_PAUSE_MS = 10 * 60_000;

/** The names of {@link CallOptions}. */
export const CALL_OPTIONS: OptionNames<CallOptions> = {
  signal: true,
  timeoutMs: true,
  idleTimeoutMs: true,
  onProgress: true,
  callId: true,
  parentCallId: true,
  sessionId: true,
  calledAs: true,
  approval: true,
  onLog: true,
  approve: true,
  onRequest: true,
  relay: true,
  meta: true,
  permits: true,
  hold: true,
};

/** A scope can also be created from the options of `connect`. */
const SCOPE_OPTIONS: Readonly<Record<string, OptionType>> = { ...CALL_OPTIONS, onDemand: true };

const NO_OBSERVERS: readonly CallObserver[] = [];
const NO_OPTIONS: CallOptions = Object.freeze({});

type EndListener = (error: ToolError) => void;

/** Receives what a call reports while it runs. */
export interface CallObserver {
  /** Receives one progress report. */
  onProgress(progress: Progress): void;
  /** Receives one log entry of the tool. */
  onLog?(entry: LogEntry): void;
}

/**
 * The key of a provider that reads call options by name and never spreads them, so that it can be passed a {@link CallScope}
 * itself. Creating a plain object with a real AbortSignal costs more than the rest of a call.
 */
export const TAKES_SCOPES = Symbol.for('toolwright.takesScopes');

/** Thousands of calls may share an AbortSignal: they share one listener on it too. */
const followers = new WeakMap<AbortSignal, { scopes: Set<CallScope>; listener: () => void }>();

let lastCall = 0;
/** Not a secret, so the crypto module need not be loaded. */
const callPrefix = Math.random().toString(36).slice(2, 10);

/** A new call id, unique in this process and unlikely to occur in another. */
function nextCallId(): string {
  return `${callPrefix}-${(++lastCall).toString(36)}`;
}

/**
 * One call in one layer (a hub or a provider). Inner layers of this package receive the scope itself, and create their own
 * scope, which follows it; other layers receive {@link inward}, with a real AbortSignal.
 */
export class CallScope implements Deadline, CallOptions {
  /** When the call started, as a time of `performance.now()`; the same in all layers. */
  readonly startedAt: number;
  /** For the next layer: only the outermost layer enforces the deadline. */
  readonly timeoutMs = Infinity;
  readonly #given: CallOptions;
  readonly #parent: CallScope | undefined;
  #error: ToolError | undefined;
  #closed = false;
  #listeners: EndListener[] | undefined;
  #controller: AbortController | undefined;
  #callId: string | undefined;
  #followed: AbortSignal | undefined;
  #inward: CallOptions | undefined;
  #permits: CallOptions['permits'];
  #addedMeta: JsonObject | undefined;
  #observers: readonly CallObserver[] = NO_OBSERVERS;
  /** When the call will time out: the earlier of its two deadlines, plus what is left of a pause. */
  dueAt = Infinity;
  // The fixed deadline, which progress does not renew.
  #boundMs = Infinity;
  #boundAt = Infinity;
  // The idle deadline, which progress renews up to #idleLastAt.
  #idleMs = Infinity;
  #idleAt = Infinity;
  #idleLastAt = Infinity;
  #idleIs: 'callers' | 'default' | 'providers' = 'default';
  #progress = -Infinity;
  #pausedAt: number | undefined;
  #pauses = 0;
  #pauseLeftMs = MAX_PAUSE_MS;

  constructor(given?: CallOptions) {
    // A JavaScript caller may pass anything; the call must still return a result.
    const options = typeof given === 'object' && (given as unknown) !== null ? given : NO_OPTIONS;
    this.#given = options;
    const parent = options instanceof CallScope ? options : undefined;
    this.#parent = parent;
    this.startedAt = parent ? parent.startedAt : performance.now();
    if (parent) {
      if (parent.#error) this.#error = parent.#error;
      else parent.onEnd(this.#follow);
    } else {
      this.#readGiven();
    }
  }

  #readGiven(): void {
    try {
      const { signal, permits } = this.#given;
      const prototype: unknown = Object.getPrototypeOf(this.#given);
      const isPlain = prototype === Object.prototype || prototype === null; // else a scope of another copy of the package
      for (const key in isPlain ? this.#given : NO_OPTIONS) {
        if (key in SCOPE_OPTIONS) continue;
        const faults = optionFaults(this.#given, CALL_OPTIONS);
        this.#error = new ToolError('INVALID_ARGUMENT', `Call options: ${faults.join('; ')}.`, {
          details: { faults },
        });
        return;
      }
      if (permits !== undefined) {
        if (typeof permits === 'function') this.#permits = permits;
        else this.#error = new ToolError('INVALID_ARGUMENT', 'Call options: permits must be a function.');
      }
      if (!signal) return;
      if (!isAbortSignal(signal))
        this.#error = new ToolError('INVALID_ARGUMENT', 'Call options: signal must be an AbortSignal.');
      else if (signal.aborted) this.#error = errorOfAbort(signal);
      else followSignal((this.#followed = signal), this);
    } catch (thrown) {
      this.#error = ToolError.from(thrown, 'INVALID_ARGUMENT'); // an accessor that throws
    }
  }

  readonly #follow: EndListener = (error) => this.end(error);

  /** The error that ended the call early, if any. */
  get error(): ToolError | undefined {
    return this.#error;
  }

  get callId(): string {
    return (this.#callId ??= this.#given.callId ?? this.#parent?.callId ?? nextCallId());
  }

  get calledAs(): string | undefined {
    return this.#given.calledAs;
  }

  get sessionId(): string | undefined {
    return this.#given.sessionId;
  }

  get parentCallId(): string | undefined {
    return this.#given.parentCallId;
  }

  get meta(): CallOptions['meta'] {
    return this.#addedMeta ? { ...this.#given.meta, ...this.#addedMeta } : this.#given.meta;
  }

  /** Adds to the `meta` that the next layer receives. */
  addMeta(meta: JsonObject): void {
    this.#addedMeta = { ...this.#addedMeta, ...copyJson(meta) };
    this.#inward = undefined; // created for prepareCall(); created again for the call itself
  }

  /** Reports progress and log entries of the call to a hub's event stream or to a middleware too. */
  observe(observer: CallObserver): void {
    this.#observers = [...this.#observers, observer];
  }

  /** The caller's `approve` function, for policies without one. */
  get approve(): CallOptions['approve'] {
    const { approve } = this.#given;
    return typeof approve === 'function' ? approve : undefined;
  }

  /** Passes log entries to the caller, whose errors do not affect the call; undefined without a listener. */
  get onLog(): CallOptions['onLog'] {
    const { onLog } = this.#given;
    if (typeof onLog !== 'function' && !this.#observers.some((observer) => 'onLog' in observer)) return undefined;
    return (entry) => {
      if (this.#error || this.#closed) return;
      for (const observer of this.#observers) observer.onLog?.(entry);
      if (typeof onLog === 'function') callSafely(() => onLog(entry));
    };
  }

  /** Answers a server's requests during the call; undefined if the caller set no handler. */
  get onRequest(): CallOptions['onRequest'] {
    const { onRequest } = this.#given;
    return typeof onRequest === 'function' ? onRequest : undefined;
  }

  /** Relays a server's rounds to the caller; undefined if the caller does not relay them. */
  get relay(): CallOptions['relay'] {
    const { relay } = this.#given;
    return typeof relay?.onRound === 'function' ? relay : undefined;
  }

  /** What the policies of all layers permit; undefined when none restricts the call. */
  get permits(): CallOptions['permits'] {
    return this.#permits ?? this.#parent?.permits;
  }

  /** Restricts the call to what `permits` permits too. */
  narrow(permits: (pattern: string) => boolean): void {
    const outer = this.permits;
    this.#permits = outer ? (pattern) => outer(pattern) && permits(pattern) : permits;
    this.#inward = undefined; // created for prepareCall(); created again for the call itself
  }

  /** Aborted when the call ends early, with the {@link ToolError} as its reason. */
  get signal(): AbortSignal {
    if (!this.#controller) {
      this.#controller = new AbortController();
      if (this.#error) this.#controller.abort(this.#error);
    }
    return this.#controller.signal;
  }

  /** The options for the next layer: this scope if the provider accepts one, else {@link inward}. */
  inwardFor(provider: object): CallOptions {
    return TAKES_SCOPES in provider ? this : this.inward;
  }

  /** The options for a foreign layer: a plain object, so that a wrapper can spread it. */
  get inward(): CallOptions {
    if (this.#inward) return this.#inward;
    const { callId, parentCallId, sessionId, meta, timeoutMs, onProgress, onLog, approve, onRequest, relay, permits } =
      this;
    const inward: CallOptions = { callId, sessionId, timeoutMs, onProgress, permits, hold: () => this.hold() };
    if (parentCallId !== undefined) inward.parentCallId = parentCallId;
    inward.meta = meta && copyJson(meta); // changing it does not change the caller's
    if (onLog) inward.onLog = onLog;
    if (approve) inward.approve = approve;
    if (onRequest) inward.onRequest = onRequest;
    if (relay) inward.relay = relay;
    // An own, enumerable and lazy property; an accessor in the literal is much slower.
    Object.defineProperty(inward, 'signal', { enumerable: true, configurable: true, get: () => this.signal });
    return (this.#inward = inward);
  }

  /**
   * Sets the deadlines of the call, counted from its start: the caller's, else the default. Can be called again, once a more
   * specific default is known.
   *
   * @param defaultMs the longest time without progress
   * @param maxTotalMs the longest that progress can extend it to, from the start; at least `defaultMs`
   * @param isProviders whether it is the provider's default, so that reaching it counts as the provider's failure
   * @throws {ToolError} INVALID_ARGUMENT when the caller's deadline is not a time
   */
  setDeadline(defaultMs = Infinity, maxTotalMs: number = MAX_TOTAL_TIMEOUT_MS, isProviders = false): void {
    const { timeoutMs, idleTimeoutMs } = this.#given;
    if (timeoutMs !== undefined) {
      assertTimeout(timeoutMs);
      this.#boundMs = timeoutMs;
    }
    if (idleTimeoutMs !== undefined) {
      assertTimeout(idleTimeoutMs, 'idleTimeoutMs');
      this.#idleMs = idleTimeoutMs;
      this.#idleIs = 'callers';
    } else if (timeoutMs === undefined) {
      this.#idleMs = defaultMs;
      this.#idleIs = isProviders ? 'providers' : 'default';
    }
    if (this.#boundMs === Infinity && this.#idleMs === Infinity && this.dueAt === Infinity) return;
    const startedAt = this.startedAt + (MAX_PAUSE_MS - this.#pauseLeftMs); // pauses do not count
    this.#boundAt = startedAt + this.#boundMs;
    this.#idleAt = startedAt + this.#idleMs;
    this.#idleLastAt = startedAt + Math.max(this.#idleMs, maxTotalMs);
    this.#watch();
  }

  #watch(): void {
    this.dueAt = Math.min(this.#boundAt, this.#idleAt) + (this.#pausedAt === undefined ? 0 : this.#pauseLeftMs);
    if (this.#error || this.#closed) return;
    if (this.dueAt === Infinity) unwatchDeadline(this);
    else if (this.dueAt <= performance.now()) this.expire();
    else watchDeadline(this);
  }

  /** Pauses the deadline, until {@link resume} was called as often; for at most 10 minutes in all. */
  pause(): void {
    if (++this.#pauses > 1) return;
    this.#pausedAt = performance.now();
    if (this.dueAt !== Infinity) this.#watch();
  }

  /** Ends one {@link pause}. */
  resume(): void {
    if (this.#pausedAt === undefined || --this.#pauses > 0) return;
    const stood = Math.min(performance.now() - this.#pausedAt, this.#pauseLeftMs);
    this.#pausedAt = undefined;
    this.#pauseLeftMs -= stood;
    if (this.dueAt === Infinity) return;
    this.#boundAt += stood;
    this.#idleAt += stood;
    this.#idleLastAt += stood;
    this.#watch();
  }

  /** Pauses the deadline of this call and of the calls around it; returns a function that resumes them. */
  hold(): () => void {
    let releaseOuter: unknown;
    callSafely(() => (releaseOuter = this.#given.hold?.()));
    this.pause();
    let held = true;
    return () => {
      if (!held) return;
      held = false;
      this.resume();
      if (typeof releaseOuter === 'function') callSafely(releaseOuter as () => unknown);
    };
  }

  /** {@link progress}, bound; renews the deadline even if the caller has no listener. */
  get onProgress(): (progress: Progress) => void {
    return (progress) => this.progress(progress);
  }

  /** Reports progress to the caller, whose errors do not affect the call. Increasing progress renews the idle deadline. */
  progress(progress: Progress): void {
    if (this.#error || this.#closed) return;
    this.#renew(progress);
    for (const observer of this.#observers) observer.onProgress(progress);
    // An outer scope renews its deadline in its listener.
    callSafely(() => this.#given.onProgress?.(progress));
  }

  #renew(progress: Progress): void {
    const reached: unknown = (progress as Progress | undefined)?.progress;
    if (typeof reached !== 'number' || !(reached > this.#progress)) return;
    this.#progress = reached;
    if (this.#idleAt === Infinity) return;
    // During a pause, the time that is left of it is added.
    this.#idleAt = Math.min((this.#pausedAt ?? performance.now()) + this.#idleMs, this.#idleLastAt);
    this.dueAt = Math.min(this.#boundAt, this.#idleAt) + (this.#pausedAt === undefined ? 0 : this.#pauseLeftMs);
  }

  /** Ends the call because its deadline has passed. Called by the timer of all deadlines. */
  expire(): void {
    this.end(this.#boundAt <= this.#idleAt ? this.#boundPassed() : this.#idlePassed());
  }

  #boundPassed(): ToolError {
    return new ToolError(
      'TIMED_OUT',
      `The call did not finish within ${Math.round(this.#boundMs)} ms; set a longer timeoutMs, or request less.`,
    );
  }

  #idlePassed(): ToolError {
    const isLast = this.#idleAt >= this.#idleLastAt && this.#idleMs < Infinity;
    const ms = Math.round(
      isLast ? this.#idleLastAt - this.startedAt - (MAX_PAUSE_MS - this.#pauseLeftMs) : this.#idleMs,
    );
    const what =
      this.#progress === -Infinity || isLast ? `did not finish within ${ms} ms` : `made no progress for ${ms} ms`;
    const option = this.#idleIs === 'callers' && !isLast ? 'idleTimeoutMs' : 'timeoutMs';
    return new ToolError(
      'TIMED_OUT',
      `The call ${what}; set a longer ${option}, or request less.`,
      this.#idleIs === 'providers' ? { details: { defaultDeadline: true } } : {},
    );
  }

  /** Calls `listener` when the call ends early; immediately if it already has. */
  onEnd(listener: EndListener): void {
    if (this.#error) listener(this.#error);
    else if (!this.#closed) (this.#listeners ??= []).push(listener);
  }

  /** Removes a listener of {@link onEnd}. */
  offEnd(listener: EndListener): void {
    const listeners = this.#listeners;
    if (!listeners) return;
    const at = listeners.lastIndexOf(listener);
    if (at === listeners.length - 1) listeners.pop();
    else if (at >= 0) listeners.splice(at, 1);
  }

  /** Ends the call early. Only the first error counts, and none after {@link close}. */
  end(error: ToolError): void {
    if (this.#error || this.#closed) return;
    this.#error = error;
    this.#release();
    const listeners = this.#listeners;
    this.#listeners = undefined;
    for (const listener of listeners ?? []) listener(error);
    this.#controller?.abort(error);
  }

  /** Releases everything, once the call has settled. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#listeners = undefined;
    this.#release();
  }

  /** Waits for `promise`, or rejects with the {@link ToolError} that ends the call first. */
  race<T>(promise: Promise<T>): Promise<T> {
    if (this.#error) {
      promise.catch(() => undefined); // only the call's own error is reported
      return Promise.reject(this.#error);
    }
    return new Promise<T>((resolve, reject) => {
      this.onEnd(reject); // registered until the call is closed, and harmless once settled
      promise.then(resolve, reject);
    });
  }

  #release(): void {
    if (this.dueAt !== Infinity) unwatchDeadline(this);
    if (this.#parent) this.#parent.offEnd(this.#follow);
    else if (this.#followed) unfollowSignal(this.#followed, this);
  }
}

/** Checks the shape, so that signals of another realm or a polyfill are accepted. */
function isAbortSignal(value: unknown): value is AbortSignal {
  return typeof value === 'object' && value !== null && 'aborted' in value && 'addEventListener' in value;
}

function followSignal(signal: AbortSignal, scope: CallScope): void {
  let entry = followers.get(signal);
  if (!entry) {
    const scopes = new Set<CallScope>();
    const listener = (): void => {
      followers.delete(signal);
      const error = errorOfAbort(signal);
      for (const follower of [...scopes]) follower.end(error);
    };
    entry = { scopes, listener };
    followers.set(signal, entry);
    signal.addEventListener('abort', listener, { once: true });
  }
  entry.scopes.add(scope);
}

function unfollowSignal(signal: AbortSignal, scope: CallScope): void {
  const entry = followers.get(signal);
  if (!entry?.scopes.delete(scope) || entry.scopes.size > 0) return;
  followers.delete(signal);
  signal.removeEventListener('abort', entry.listener);
}

const ENDS: ReadonlySet<unknown> = new Set(['CANCELLED', 'TIMED_OUT', 'CONNECTION_CLOSED', 'NOT_CONNECTED']);

/** The error of an aborted signal: TIMED_OUT for AbortSignal.timeout(), CANCELLED for any other signal of a caller. */
function errorOfAbort(signal: AbortSignal): ToolError {
  const reason: unknown = signal.reason;
  // An outer layer's own error; any other reason of a caller is a cancellation.
  if (ToolError.isInstance(reason) && ENDS.has(reason.code)) return ToolError.from(reason);
  if ((reason as { name?: unknown } | null)?.name === 'TimeoutError') {
    return new ToolError('TIMED_OUT', "The caller's signal timed out.", { cause: reason });
  }
  return new ToolError('CANCELLED', 'The call was cancelled by its caller.', { cause: reason });
}

/** Marks the error of a call that had started: it may have had effects. */
export function outcomeUnknown(error: ToolError, provider: string, tool: string): ToolError {
  const { code, message, retryable, details, cause } = error;
  return new ToolError(code, message, {
    provider,
    tool,
    retryable,
    cause,
    details: { ...details, outcomeUnknown: true },
  });
}

/** Checks a timeout option. @throws {ToolError} INVALID_ARGUMENT when it is not a number of milliseconds */
export function assertTimeout(timeoutMs: unknown, option = 'timeoutMs'): asserts timeoutMs is number {
  if (typeof timeoutMs === 'number' && timeoutMs >= 0) return;
  throw new ToolError(
    'INVALID_ARGUMENT',
    `${option} must be a number of milliseconds from 0 to Infinity, not ${shownValue(timeoutMs)}.`,
  );
}
