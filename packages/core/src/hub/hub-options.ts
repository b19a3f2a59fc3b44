// The options of a hub: their defaults, and what is refused when it is created.

import { MAX_TOTAL_TIMEOUT_MS } from '../call/call-scope.js';
import { ToolError } from '../contract/errors.js';
import type { Logger } from '../contract/logger.js';
import { assertOptions, shownValue, type OptionNames } from '../contract/options.js';
import type { ToolProvider } from '../contract/tool-provider.js';
import { nameFault } from '../tool/define-tool.js';
import type { Middleware } from './middleware/middleware.js';
import type { PinStore } from './pins.js';
import type { PolicyEvents } from './policy/policy-gate.js';
import type { Policy } from './policy/policy.js';
import type { ProviderEntry } from './provider-entry.js';

/** Options of {@link ToolHub}. */
export interface HubOptions extends PolicyEvents {
  /** The hub owns them: its `disconnect` disconnects them all. Default: none. */
  providers?: readonly (ToolProvider | ProviderEntry)[];
  /** Default: none, so that every call runs; the engine is then responsible for approvals. */
  policy?: Policy;
  /** Wrapped around every call that the policy allows; the first is the outermost. Default: none. */
  middleware?: readonly Middleware[];
  /** Where the approved definitions of `pinned` providers are kept. Default: none; no provider can be pinned. */
  pins?: PinStore;
  /** Limits of connecting, of calls and of their output. Default: see {@link HubLimits}. */
  limits?: HubLimits;
  /** Default: `process.emitWarning` for warnings and errors, each text once. Arguments and results are never logged. */
  logger?: Logger;
  /** Default: a name that is unique in this process. */
  name?: string;
}

/** The limits of a hub. */
export interface HubLimits {
  /** How long `connect` waits for providers, in milliseconds. Default 10,000. Slower providers continue to connect. */
  connectTimeoutMs?: number;
  /**
   * The default deadline of a call, in milliseconds, for calls whose caller and tool set none; progress renews it. Replaces
   * the `callTimeoutMs` of the providers. Default: the provider's, else 30,000 for external providers and none in process.
   */
  callTimeoutMs?: number;
  /** The longest that progress can extend a default deadline to, in milliseconds from the call's start. Default 600,000. */
  maxTotalTimeoutMs?: number;
  /** The longest text of one result, in bytes of UTF-8; longer text is cut in the middle. Default 262,144. */
  maxTextBytes?: number;
}

/** The limits with their defaults filled in. */
export type EffectiveLimits = Required<Omit<HubLimits, 'callTimeoutMs'>> & Pick<HubLimits, 'callTimeoutMs'>;

const DEFAULT_LIMITS = { connectTimeoutMs: 10_000, maxTotalTimeoutMs: MAX_TOTAL_TIMEOUT_MS, maxTextBytes: 256 * 1024 };
const HUB_OPTIONS: OptionNames<HubOptions> = {
  providers: true,
  policy: true,
  middleware: true,
  pins: true,
  limits: true,
  logger: true,
  name: true,
  onRuleAdded: true,
  onDecision: true,
};
const HUB_LIMITS: OptionNames<HubLimits> = {
  connectTimeoutMs: true,
  callTimeoutMs: true,
  maxTotalTimeoutMs: true,
  maxTextBytes: true,
};
const POLICY_OPTIONS: OptionNames<Policy> = { rules: true, default: true, approve: true };

let unnamed = 0;

/** The options of a hub, checked, with its name and limits. @throws {ToolError} INVALID_ARGUMENT for a wrong option */
export function resolveHubOptions(options: HubOptions): HubOptions & {
  readonly name: string;
  readonly limits: EffectiveLimits;
  readonly middleware: readonly Middleware[];
} {
  assertOptions('new ToolHub()', options, HUB_OPTIONS);
  const { name = `hub-${++unnamed}`, limits, policy, middleware = [] } = options;
  if (limits !== undefined) assertOptions('new ToolHub()', limits, HUB_LIMITS, 'limits.');
  if (Object(policy) === policy) assertOptions('new ToolHub()', policy, POLICY_OPTIONS, 'policy.');
  if (options.providers !== undefined && !Array.isArray(options.providers)) throw wrong('providers must be an array');
  const fault = nameFault('name', name);
  if (fault) throw wrong(fault);
  for (const listener of ['onRuleAdded', 'onDecision'] as const)
    if (options[listener] !== undefined && typeof options[listener] !== 'function')
      throw wrong(`${listener} must be a function`);
  if (!(Array.isArray(middleware) && middleware.every((layer) => typeof layer === 'function')))
    throw wrong('middleware must be an array of functions');
  const effective = { ...DEFAULT_LIMITS, ...limits };
  for (const [limit, value] of Object.entries(effective))
    if (!(typeof value === 'number' && value > 0))
      throw wrong(`limits.${limit} must be a number above 0, not ${shownValue(value)}`);
  return { ...options, name, limits: effective, middleware: [...(middleware as readonly Middleware[])] };
}

function wrong(fault: string): ToolError {
  return new ToolError('INVALID_ARGUMENT', `new ToolHub(): ${fault}.`);
}
