// The limits of a gateway: what a client may cost.

import { ToolError } from '@toolwright/core';
import { assertOptions, type OptionNames } from '@toolwright/core/internal';

/** What clients may take. All of it is optional. */
export interface GatewayLimits {
  /** Entries of one page of a list. Default 100. */
  pageSize?: number;
  /** Requests of one client that are answered at once; more are `BUSY`. Default 1,024. */
  maxRequestsInFlight?: number;
  /**
   * What may wait for a client that does not read, in bytes, before it is let go. For all clients together it is four
   * times as much; the one for which the most waits goes first. Default 67,108,864.
   */
  maxPendingBytes?: number;
  /** How long a client has to answer an approval, or a server's question, in milliseconds. Default 600,000. */
  approvalTimeoutMs?: number;
  /** Clients at once, for each listener. Default 256. */
  maxSessions?: number;
  /**
   * An HTTP session without a request for this long, in milliseconds, is dropped, also when it holds a stream open; a client
   * that only listens keeps it by `ping`. Default 1,800,000.
   */
  sessionIdleMs?: number;
  /** The body of an HTTP request, in bytes. Default 4,194,304. */
  maxBodyBytes?: number;
  /** How long the headers of a request may take, in milliseconds. Default 10,000. */
  headersTimeoutMs?: number;
  /** How long a whole request may take to arrive, in milliseconds. Default 30,000. */
  requestTimeoutMs?: number;
  /**
   * Connections at once, for each listener; a request of HTTP has one for itself until it is answered. When all are taken,
   * one that is idle makes room. Default 2,048.
   */
  maxConnections?: number;
}

/** With the defaults filled in. */
export type EffectiveLimits = Required<GatewayLimits>;

const DEFAULTS: EffectiveLimits = {
  pageSize: 100,
  maxRequestsInFlight: 1_024,
  maxPendingBytes: 64 * 1024 * 1024,
  approvalTimeoutMs: 600_000,
  maxSessions: 256,
  sessionIdleMs: 30 * 60_000,
  maxBodyBytes: 4 * 1024 * 1024,
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 30_000,
  maxConnections: 2_048,
};

const NAMES = Object.fromEntries(Object.keys(DEFAULTS).map((name) => [name, true])) as OptionNames<GatewayLimits>;

/** @throws {ToolError} INVALID_ARGUMENT */
export function parseLimits(given: GatewayLimits = {}): EffectiveLimits {
  assertOptions('createGateway()', given, NAMES, 'limits.');
  for (const [limit, value] of Object.entries(given) as [string, unknown][]) {
    if (!(Number.isSafeInteger(value) && (value as number) > 0 && (value as number) < 2 ** 31))
      throw new ToolError('INVALID_ARGUMENT', `limits.${limit} must be a whole number from 1 to 2147483647.`);
  }
  return { ...DEFAULTS, ...given };
}
