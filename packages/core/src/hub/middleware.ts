// The onion: what an engine wraps around every call, after policy and before the provider.

import { ToolError } from '../contract/errors.js';
import type { JsonObject } from '../contract/json.js';
import type { ToolResult } from '../contract/result.js';
import type { PermissionClaim } from '../contract/claims.js';
import type { ToolDefinition } from '../contract/tool-definition.js';

/** The call as a middleware sees it. It can be looked at and not changed: it has been judged as it is. */
export interface MiddlewareCall {
  /** The qualified name. */
  readonly name: string;
  /** A copy of the arguments. */
  readonly args: JsonObject;
  readonly tool: ToolDefinition;
  readonly claims: readonly PermissionClaim[];
  readonly signal: AbortSignal;
  readonly callId: string;
  readonly sessionId: string | undefined;
  /** What the caller gave as `meta`; a copy. */
  readonly meta: JsonObject | undefined;
}

/**
 * Runs around a call: before `next()`, after it, in its place, or calling it again. What it throws becomes an
 * `INTERNAL` result. The first of a list is the outermost.
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
export type Middleware = (call: MiddlewareCall, next: () => Promise<ToolResult>) => Promise<ToolResult>;

/** Runs `execute` inside every middleware. Rejects with a {@link ToolError} when one of them throws. */
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
