// The limits of a gateway: what clients may use.

import { ToolError } from '@toolwright/core';
import { assertOptions, type OptionNames } from '@toolwright/core/internal';

/** Limits on what clients use. */
export interface GatewayLimits {
  /** Entries of one page of a list. Default 100. */
  pageSize?: number;
  /** Concurrent requests of one client; more fail with `BUSY`. Default 1,024. */
  maxRequestsInFlight?: number;
  /**
   * Unread bytes buffered for one client before it is disconnected. All clients together may have four times as many; the
   * one with the most is disconnected first. Default 67,108,864.
   */
  maxPendingBytes?: number;
  /** How long a client may take to answer an approval or a server's request, in milliseconds. Default 600,000. */
  approvalTimeoutMs?: number;
  /** Concurrent clients of one listener. Default 256. */
  maxSessions?: number;
  /**
   * An HTTP session without a request for this long is ended, in milliseconds, even while it holds a stream open. A client
   * that only listens keeps its session with `ping`. Default 1,800,000.
   */
  sessionIdleMs?: number;
  /** The largest body of an HTTP request, in bytes. Default 4,194,304. */
  maxBodyBytes?: number;
  /** How long the headers of a request may take, in milliseconds. Default 10,000. */
  headersTimeoutMs?: number;
  /** How long a whole request may take to arrive, in milliseconds. Default 30,000. */
  requestTimeoutMs?: number;
  /**
   * Concurrent connections of one listener. An HTTP request occupies one until it is answered; when all are in use, an idle
   * one is closed for a new one. Default 2,048.
   */
  maxConnections?: number;
}

/** The limits with all defaults applied. */
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
      throw new ToolError('INVALID_ARGUMENT', `limits.${limit} must be an integer from 1 to 2147483647.`);
  }
  return { ...DEFAULTS, ...given };
}
