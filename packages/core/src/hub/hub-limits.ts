// The limits of a hub, their defaults and ranges.

import type { OptionNames } from '../contract/options.js';

/** The hub's own limits. */
export interface HubLimits {
  /** How long `connect` waits for providers, in milliseconds. Default 10,000. Those that are late go on connecting. */
  connectTimeoutMs?: number;
  /**
   * The longest that a call may go without growing progress, where neither the caller nor the tool names a deadline, in
   * milliseconds. Replaces the `callTimeoutMs` of the providers. Default: theirs, else 30,000 for external providers and none
   * in process.
   */
  callTimeoutMs?: number;
  /** How far progress can renew a default deadline. Default 600,000. */
  maxTotalTimeoutMs?: number;
  /** The text of one result, in bytes of UTF-8; what is over is cut out of its middle. Default 262,144. */
  maxTextBytes?: number;
}

export const HUB_LIMITS: OptionNames<HubLimits> = {
  connectTimeoutMs: true,
  callTimeoutMs: true,
  maxTotalTimeoutMs: true,
  maxTextBytes: true,
};

/** The limits with their defaults filled in. */
export type EffectiveLimits = Required<Omit<HubLimits, 'callTimeoutMs'>> & Pick<HubLimits, 'callTimeoutMs'>;
