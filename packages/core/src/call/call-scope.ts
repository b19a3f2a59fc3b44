// The life of one call: what ends it early (its signal, its deadline, a disconnect), said once, to all who listen.
// Nothing is made before it is needed: no AbortController until somebody looks at the signal, no timer of its own.

import { unwatchDeadline, watchDeadline, type Deadline } from './deadline.js';
import { ToolError } from '../contract/errors.js';
import { copyJson } from '../contract/json-copy.js';
import { callSafely } from './host-callbacks.js';
import { optionFaults, type OptionNames } from '../contract/options.js';
import type { CallOptions, Progress } from '../contract/tool-provider.js';

/** Progress renews a default deadline up to this total. */
export const MAX_TOTAL_TIMEOUT_MS = 10 * 60_000;

/** While a person is asked the clock is paused: for at most this long in one call. */
export const MAX_PAUSE_MS = 10 * 60_000;

/** The names of {@link CallOptions}. */
export const CALL_OPTIONS: OptionNames<CallOptions> = {
  signal: true,
  timeoutMs: true,
  idleTimeoutMs: true,
  onProgress: true,
  callId: true,
  sessionId: true,
  calledAs: true,
  approval: true,
  onLog: true,
  approve: true,
  onRequest: true,
  meta: true,
  permits: true,
  hold: true,
};

/** A scope is also made of what `connect` takes. */
const SCOPE_OPTIONS: Readonly<Record<string, true>> = { ...CALL_OPTIONS, onDemand: true };

const NO_OPTIONS: CallOptions = Object.freeze({});

type EndListener = (error: ToolError) => void;

/**
 * Set on a provider that reads call options by their names and never spreads them: it may be handed a {@link CallScope} as
 * it is. A plain object with a real AbortSignal costs more than the rest of a call.
 */
export const TAKES_SCOPES = Symbol.for('toolwright.takesScopes');

/** One AbortSignal may be given to thousands of calls: they share one listener on it. */
const followers = new WeakMap<AbortSignal, { scopes: Set<CallScope>; listener: () => void }>();

let lastCall = 0;
/** Not a secret, so that no import pays for the crypto module. */
const callPrefix = Math.random().toString(36).slice(2, 10);

/** A fresh call id, unique in this process and unlikely in another. */
function nextCallId(): string {
  return `${callPrefix}-${(++lastCall).toString(36)}`;
}

/**
 * One call in one layer. To a layer of ours it is handed inward as it is, and that one's own scope follows it; to any
 * other as {@link inward}, with a real AbortSignal.
 */
export class CallScope implements Deadline, CallOptions {
  /** On the clock of `performance.now()`; a call has one start, whichever layers it passes. */
  readonly startedAt: number;
  /** For the next layer in: there is one deadline a call, and the outermost layer has it. */
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
  /** When the call times out, as things are now: the earlier of its two deadlines, later by what is left of a pause. */
  dueAt = Infinity;
  // A bound, which progress does not move.
  #boundMs = Infinity;
  #boundAt = Infinity;
  // An idle deadline, which growing progress moves up to #idleLastAt.
  #idleMs = Infinity;
  #idleAt = Infinity;
  #idleLastAt = Infinity;
  #idleIs: 'callers' | 'default' | 'providers' = 'default';
  #progress = -Infinity;
  #pausedAt: number | undefined;
  #pauses = 0;
  #pauseLeftMs = MAX_PAUSE_MS;

  constructor(given?: CallOptions) {
    // A JavaScript caller may pass anything; a call answers all the same.
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
      const isPlain = prototype === Object.prototype || prototype === null; // else a scope of another copy
      for (const key in isPlain ? this.#given : NO_OPTIONS) {
        if (key in SCOPE_OPTIONS) continue;
        const faults = optionFaults(this.#given, CALL_OPTIONS);
        this.#error = new ToolError('INVALID_ARGUMENT', `The options of a call: ${faults.join('; ')}.`, {
          details: { faults },
        });
        return;
      }
      if (permits !== undefined) {
        if (typeof permits === 'function') this.#permits = permits;
        else this.#error = new ToolError('INVALID_ARGUMENT', 'permits must be a function of a pattern.');
      }
      if (!signal) return;
      if (!isAbortSignal(signal)) this.#error = new ToolError('INVALID_ARGUMENT', 'signal must be an AbortSignal.');
      else if (signal.aborted) this.#error = errorOfAbort(signal);
      else followSignal((this.#followed = signal), this);
    } catch (thrown) {
      this.#error = ToolError.from(thrown, 'INVALID_ARGUMENT'); // an accessor of the caller's that throws
    }
  }

  readonly #follow: EndListener = (error) => this.end(error);

  /** Why the call ended before it was done, if it did. */
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

  get meta(): CallOptions['meta'] {
    return this.#given.meta;
  }

  /** Who is asked for approvals, where a policy has nobody of its own. */
  get approve(): CallOptions['approve'] {
    const { approve } = this.#given;
    return typeof approve === 'function' ? approve : undefined;
  }

  /** Passes on what the tool says, to a caller that cannot break the call; undefined when nobody listens. */
  get onLog(): CallOptions['onLog'] {
    const { onLog } = this.#given;
    if (typeof onLog !== 'function') return undefined;
    return (entry) => {
      if (!this.#error && !this.#closed) callSafely(() => onLog(entry));
    };
  }

  /** Answers what a server asks during the call; undefined for the host's own call. */
  get onRequest(): CallOptions['onRequest'] {
    const { onRequest } = this.#given;
    return typeof onRequest === 'function' ? onRequest : undefined;
  }

  /** What the policies of all layers permit; undefined when none narrows the call. */
  get permits(): CallOptions['permits'] {
    return this.#permits ?? this.#parent?.permits;
  }

  /** Lets the call touch only what `permits` permits too. */
  narrow(permits: (pattern: string) => boolean): void {
    const outer = this.permits;
    this.#permits = outer ? (pattern) => outer(pattern) && permits(pattern) : permits;
    this.#inward = undefined; // it was made for preparing, and is made anew for the call itself
  }

  /** Aborted, with the {@link ToolError} as its reason, when the call ends early. */
  get signal(): AbortSignal {
    if (!this.#controller) {
      this.#controller = new AbortController();
      if (this.#error) this.#controller.abort(this.#error);
    }
    return this.#controller.signal;
  }

  /** The options for the next layer in: this scope where the provider takes one, else {@link inward}. */
  inwardFor(provider: object): CallOptions {
    return TAKES_SCOPES in provider ? this : this.inward;
  }

  /** The options for a layer that is not ours: a plain object, whose spread by a wrapper keeps the signal. */
  get inward(): CallOptions {
    if (this.#inward) return this.#inward;
    const { callId, sessionId, meta, timeoutMs, onProgress, onLog, approve, onRequest, permits } = this;
    const inward: CallOptions = { callId, sessionId, timeoutMs, onProgress, permits, hold: () => this.hold() };
    inward.meta = meta && copyJson(meta); // whoever changes it does not change the caller's
    if (onLog) inward.onLog = onLog;
    if (approve) inward.approve = approve;
    if (onRequest) inward.onRequest = onRequest;
    // Own, enumerable and lazy. A literal's accessor would cost more than the rest of the call.
    Object.defineProperty(inward, 'signal', { enumerable: true, configurable: true, get: () => this.signal });
    return (this.#inward = inward);
  }

  /**
   * Sets the deadlines of the call, counted from its start: what the caller gave, else the default. Calling it again, when
   * a better default is known, moves them.
   *
   * @param defaultMs the longest time without growing progress
   * @param maxTotalMs how far progress can renew that, counted from the start too; never less than `defaultMs`
   * @param isProviders the default is the provider's own, or that of all external ones: when it passes, the provider failed
   * @throws {ToolError} INVALID_ARGUMENT when the caller gave something that is not a time
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
    const startedAt = this.startedAt + (MAX_PAUSE_MS - this.#pauseLeftMs); // what it stood still does not count
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

  /** Pauses the clock while a person is asked, until {@link resume} was called as often, and 10 minutes in all. */
  pause(): void {
    if (++this.#pauses > 1) return;
    this.#pausedAt = performance.now();
    if (this.dueAt !== Infinity) this.#watch();
  }

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

  /** Pauses the clock of this call and of the calls that it is part of; returns a function that resumes them. */
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

  /** {@link progress}, bound: it renews the deadline also where the caller does not listen. */
  get onProgress(): (progress: Progress) => void {
    return (progress) => this.progress(progress);
  }

  /** Passes progress to the caller, whose listener cannot break the call. Progress that grows renews the idle deadline. */
  progress(progress: Progress): void {
    if (this.#error || this.#closed) return;
    this.#renew(progress);
    // The listener is the caller's; the call goes on without it. An outer scope renews its own deadline there.
    callSafely(() => this.#given.onProgress?.(progress));
  }

  #renew(progress: Progress): void {
    const reached: unknown = (progress as Progress | undefined)?.progress;
    if (typeof reached !== 'number' || !(reached > this.#progress)) return;
    this.#progress = reached;
    if (this.#idleAt === Infinity) return;
    // It may stand still: then it is moved by the rest of the pause too.
    this.#idleAt = Math.min((this.#pausedAt ?? performance.now()) + this.#idleMs, this.#idleLastAt);
    this.dueAt = Math.min(this.#boundAt, this.#idleAt) + (this.#pausedAt === undefined ? 0 : this.#pauseLeftMs);
  }

  expire(): void {
    this.end(this.#boundAt <= this.#idleAt ? this.#boundPassed() : this.#idlePassed());
  }

  #boundPassed(): ToolError {
    return new ToolError(
      'TIMED_OUT',
      `The call did not finish within ${Math.round(this.#boundMs)} ms; give it a longer timeoutMs, or ask for less.`,
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
      `The call ${what}; give it a longer ${option}, or ask for less.`,
      this.#idleIs === 'providers' ? { details: { defaultDeadline: true } } : {},
    );
  }

  /** Registers the one who settles the call early. Told at once when it has ended already. */
  onEnd(listener: EndListener): void {
    if (this.#error) listener(this.#error);
    else if (!this.#closed) (this.#listeners ??= []).push(listener);
  }

  offEnd(listener: EndListener): void {
    const listeners = this.#listeners;
    if (!listeners) return;
    const at = listeners.lastIndexOf(listener);
    if (at === listeners.length - 1) listeners.pop();
    else if (at >= 0) listeners.splice(at, 1);
  }

  /** Ends the call early. Only the first reason counts, and none after {@link close}. */
  end(error: ToolError): void {
    if (this.#error || this.#closed) return;
    this.#error = error;
    this.#release();
    const listeners = this.#listeners;
    this.#listeners = undefined;
    for (const listener of listeners ?? []) listener(error);
    this.#controller?.abort(error);
  }

  /** The call has settled: nothing of it stays behind. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#listeners = undefined;
    this.#release();
  }

  /** Waits for `promise`, or rejects with the {@link ToolError} that ends the call first. */
  race<T>(promise: Promise<T>): Promise<T> {
    if (this.#error) {
      promise.catch(() => undefined); // the end of the call is what is told, and once
      return Promise.reject(this.#error);
    }
    return new Promise<T>((resolve, reject) => {
      this.onEnd(reject); // stays registered until the call is closed, and is then without effect
      promise.then(resolve, reject);
    });
  }

  #release(): void {
    if (this.dueAt !== Infinity) unwatchDeadline(this);
    if (this.#parent) this.#parent.offEnd(this.#follow);
    else if (this.#followed) unfollowSignal(this.#followed, this);
  }
}

/** By its shape: one of another realm or a polyfill is as good. */
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
      for (const each of [...scopes]) each.end(error);
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

/** A signal of AbortSignal.timeout() times the call out; any other cancels it. The reason stays ours to read. */
function errorOfAbort(signal: AbortSignal): ToolError {
  const reason: unknown = signal.reason;
  // Of a layer of ours; what else a caller aborts with is a cancellation.
  if (ToolError.isInstance(reason) && ENDS.has(reason.code)) return ToolError.from(reason);
  if ((reason as { name?: unknown } | null)?.name === 'TimeoutError') {
    return new ToolError('TIMED_OUT', "The caller's signal timed out.", { cause: reason });
  }
  return new ToolError('CANCELLED', 'The call was cancelled by its caller.', { cause: reason });
}

/** The end of a call that had started: what it did before is not known. */
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

/** Refuses what is not a time. @throws {ToolError} INVALID_ARGUMENT */
export function assertTimeout(timeoutMs: unknown, option = 'timeoutMs'): asserts timeoutMs is number {
  if (typeof timeoutMs === 'number' && timeoutMs >= 0) return;
  throw new ToolError(
    'INVALID_ARGUMENT',
    `${option} must be a number of milliseconds from 0 to Infinity, not ${String(timeoutMs)}.`,
  );
}
