// The limits of a hub, their defaults and ranges.

import type { OptionNames } from '../contract/options.js';

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

export const HUB_LIMITS: OptionNames<HubLimits> = {
  connectTimeoutMs: true,
  callTimeoutMs: true,
  maxTotalTimeoutMs: true,
  maxTextBytes: true,
};

/** The limits with their defaults filled in. */
export type EffectiveLimits = Required<Omit<HubLimits, 'callTimeoutMs'>> & Pick<HubLimits, 'callTimeoutMs'>;
