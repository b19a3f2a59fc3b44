// Options of a supervisor: defaults, limits and validation.

import { ToolError, type Logger } from '@toolwright/core';
import { assertOptions, nameFault, shownValue, type OptionNames } from '@toolwright/core/internal';

/** Delays between restarts after consecutive failures. */
export interface BackoffOptions {
  /** The bound of the first wait, in milliseconds; each further one has twice the bound. Default 250. */
  baseMs?: number;
  /** The largest bound, in milliseconds. Default 60,000. */
  maxMs?: number;
  /** Uptime after which the failure count resets, in milliseconds. Default 60,000. */
  resetAfterMs?: number;
  /** Returns the fraction of the bound to wait, from 0 to 1. Default: `Math.random`. */
  random?: () => number;
}

/** Options of {@link supervise}. Times are milliseconds. */
export interface SuperviseOptions {
  /** Default: the name of the provider. */
  name?: string;
  /** Time without a call after which the provider is ended; the next call starts it. 0: never. Default 300,000. */
  idleTtlMs?: number;
  /** How often a ready provider is pinged. 0: never. Default 60,000. */
  healthIntervalMs?: number;
  /** The timeout of a ping; two missed in a row replace the provider. Default 5,000. */
  healthTimeoutMs?: number;
  /** Failures of the provider in a row, not of its tools, that degrade it. Default 3. */
  failureThreshold?: number;
  /** Calls that run concurrently. Default 10. */
  maxConcurrent?: number;
  /** Calls that wait for a slot or for the start; further calls fail with `BUSY`. Default 100. */
  maxQueue?: number;
  /** The deadline of a call that sets none. Default: that of the provider, else 30,000. */
  callTimeoutMs?: number;
  /** From the start of a provider to its list of tools. Default 15,000. */
  startTimeoutMs?: number;
  /**
   * Starts after a failure within `startWindowMs`. Past that the provider is started once in `startWindowMs`, and calls
   * answer `RESTART_LIMIT` meanwhile, until it has run for `backoff.resetAfterMs`, or until `connect()`. 0: only `connect()`
   * starts it after a failure. Default 5.
   */
  maxStarts?: number;
  /** Default 60,000. */
  startWindowMs?: number;
  /** Delays between restarts. Default: those of {@link BackoffOptions}. */
  backoff?: BackoffOptions;
  /**
   * Whether to trust the provider's annotations: a call whose outcome is unknown is then sent again, once, if its tool
   * is read-only or idempotent. Default: what the provider says, else true for providers of kind `'process'` and
   * `'in-process'`, else false.
   */
  trustAnnotations?: boolean;
  /**
   * Receives starts, failures and ends. Arguments and results are never logged. Default: `process.emitWarning` for warnings and
   * errors, each text once.
   */
  logger?: Logger;
}

const DEFAULTS = {
  idleTtlMs: 300_000,
  healthIntervalMs: 60_000,
  healthTimeoutMs: 5_000,
  failureThreshold: 3,
  maxConcurrent: 10,
  maxQueue: 100,
  startTimeoutMs: 15_000,
  maxStarts: 5,
  startWindowMs: 60_000,
} as const;

const BACKOFF = { baseMs: 250, maxMs: 60_000, resetAfterMs: 60_000, random: Math.random } as const;
const MAY_BE_ZERO: ReadonlySet<string> = new Set(['idleTtlMs', 'healthIntervalMs', 'maxQueue', 'maxStarts']);

/** The names of {@link SuperviseOptions}. */
export const SUPERVISE_OPTIONS: OptionNames<SuperviseOptions> = {
  name: true,
  idleTtlMs: true,
  healthIntervalMs: true,
  healthTimeoutMs: true,
  failureThreshold: true,
  maxConcurrent: true,
  maxQueue: true,
  callTimeoutMs: true,
  startTimeoutMs: true,
  maxStarts: true,
  startWindowMs: true,
  backoff: true,
  trustAnnotations: true,
  logger: true,
};
const BACKOFF_OPTIONS: OptionNames<BackoffOptions> = { baseMs: true, maxMs: true, resetAfterMs: true, random: true };

/** The options with their defaults. */
export type ResolvedSuperviseOptions = { readonly [Key in keyof typeof DEFAULTS]: number } & {
  readonly backoff: Required<BackoffOptions>;
};

/** @throws {ToolError} INVALID_ARGUMENT for the first invalid option */
export function resolveSuperviseOptions(options: SuperviseOptions): ResolvedSuperviseOptions {
  assertOptions('supervise()', options, SUPERVISE_OPTIONS);
  const { name, callTimeoutMs, backoff: givenBackoff = {}, trustAnnotations } = options;
  assertOptions('supervise()', givenBackoff, BACKOFF_OPTIONS, 'backoff.');
  if (trustAnnotations !== undefined && typeof trustAnnotations !== 'boolean')
    throw wrong(`trustAnnotations must be true or false, not ${JSON.stringify(trustAnnotations)}`);
  const fault = name === undefined ? undefined : nameFault('name', name);
  if (fault) throw wrong(fault);
  if (callTimeoutMs !== undefined && !isNumber(callTimeoutMs, false)) throw wrong('callTimeoutMs must be above 0');
  const resolved = { ...DEFAULTS, ...given(options) };
  for (const key of Object.keys(DEFAULTS) as (keyof typeof DEFAULTS)[]) {
    const mayBeZero = MAY_BE_ZERO.has(key);
    if (!isNumber(resolved[key], mayBeZero))
      throw wrong(`${key} must be a number ${mayBeZero ? 'from' : 'above'} 0, not ${shownValue(resolved[key])}`);
  }
  const backoff = { ...BACKOFF, ...given(givenBackoff) };
  for (const key of ['baseMs', 'maxMs', 'resetAfterMs'] as const)
    if (!isNumber(backoff[key], true)) throw wrong(`backoff.${key} must be a number from 0`);
  if (typeof backoff.random !== 'function') throw wrong('backoff.random must be a function');
  return { ...resolved, backoff };
}

/** What was given and is not undefined, so that it does not hide a default. */
function given<Options extends object>(options: Options): Options {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as Options;
}

function isNumber(value: unknown, mayBeZero: boolean): boolean {
  return typeof value === 'number' && (mayBeZero ? value >= 0 : value > 0);
}

function wrong(what: string): ToolError {
  return new ToolError('INVALID_ARGUMENT', `supervise(): ${what}.`);
}
