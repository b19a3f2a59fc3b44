// Middleware: functions that an engine wraps around every call, after the policy and before the provider.

import { ToolError } from '../../contract/errors.js';
import type { JsonObject } from '../../contract/json.js';
import type { ToolResult } from '../../contract/result.js';
import type { PermissionClaim } from '../../contract/claims.js';
import type { ToolDefinition } from '../../contract/tool-definition.js';
import type { Progress, ToolProvider } from '../../contract/tool-provider.js';

/** The call as a middleware sees it. It is read-only: the policy has evaluated it as it is. */
export interface MiddlewareCall {
  /** The qualified name. */
  readonly name: string;
  /** A copy of the arguments. */
  readonly args: JsonObject;
  /** The tool, as listed. */
  readonly tool: ToolDefinition;
  /** The name of the provider that runs it. */
  readonly provider: string;
  /** The kind of that provider. */
  readonly kind: ToolProvider['kind'];
  /** Whether the tool's annotations may be believed when deciding to repeat the call or to keep its result. */
  readonly trustsAnnotations: boolean;
  /**
   * Whether the tool only makes another call of this hub for its caller, such as `call_tool` of `deferredTools`. That call passes
   * the same middleware.
   */
  readonly isDelegating: boolean;
  /** How long the call has waited for its provider and for an approval, in milliseconds. */
  readonly waitedMs: number;
  /** The effects of the call, as the policy evaluated them. */
  readonly claims: readonly PermissionClaim[];
  /** Aborted when the call ends. */
  readonly signal: AbortSignal;
  /** How long the call may take from now on, in milliseconds; `Infinity` without a deadline. Progress may extend it. */
  readonly remainingMs: number;
  /** The call's id in logs and events. */
  readonly callId: string;
  /** The call's session, if the caller set one. */
  readonly sessionId: string | undefined;
  /** A copy of the caller's `meta`. */
  readonly meta: JsonObject | undefined;
  /** Adds to the `meta` that the provider receives with the next `next()`, such as a trace context. */
  addMeta(meta: JsonObject): void;
  /** Calls `listener` with the progress of the tool too, until the call has settled. Its errors are ignored. */
  onProgress(listener: (progress: Progress) => void): void;
  /**
   * This call as the middleware saw it before its provider was reconnected, if that made the hub prepare the call again; it had
   * not run then.
   */
  readonly previous?: MiddlewareCall | undefined;
}

/** A call with its final result. */
export interface SettledCall {
  /** The tool, as listed. Absent for a call of an unknown tool. */
  readonly tool: ToolDefinition | undefined;
  /** The name of the tool's provider. Absent for a call of an unknown tool. */
  readonly provider: string | undefined;
  /** The call's id in logs and events. */
  readonly callId: string;
  /** The call's session, if the caller set one. */
  readonly sessionId: string | undefined;
  /** A copy of the `meta` that the provider received, or would have. */
  readonly meta: JsonObject | undefined;
  /** What the middleware was called with. Absent for a call that ended before: unknown, invalid, denied, cancelled. */
  readonly call: MiddlewareCall | undefined;
  /** What the caller receives. Not to be changed. */
  readonly result: Readonly<ToolResult>;
}

/**
 * Runs around a call: it may act before and after `next()`, call `next()` again, or return a result without it. What it
 * throws becomes an `INTERNAL` result. The first middleware of a list is the outermost.
 *
 * @example
 * ```ts
 * const log: Middleware = async (call, next) => {
 *   const result = await next();
 *   console.error(`${call.name} took ${result.durationMs} ms`);
 *   return result;
 * };
 * ```
 */
export interface Middleware {
  /** Runs around the call. */
  (call: MiddlewareCall, next: () => Promise<ToolResult>): Promise<ToolResult>;
  /**
   * Called once for every call of the hub with the result that its caller receives, also for calls that ended before the
   * middleware or during it. What it throws is ignored. Default: none.
   */
  onSettled?(settled: SettledCall): void;
}

/** Runs `execute` inside every middleware. @throws {ToolError} when a middleware throws */
export async function runMiddleware(
  middleware: readonly Middleware[],
  call: MiddlewareCall,
  execute: () => Promise<ToolResult>,
): Promise<ToolResult> {
  const enter = async (index: number): Promise<ToolResult> => {
    const layer = middleware[index];
    if (!layer) return execute();
    try {
      return await layer(call, () => enter(index + 1));
    } catch (thrown) {
      throw ToolError.from(thrown, 'INTERNAL');
    }
  };
  return enter(0);
}
