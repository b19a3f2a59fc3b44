// withCache: answers repeated calls of read-only tools without running them.

import { canonicalJson } from '../../contract/canonical-json.js';
import { ToolError } from '../../contract/errors.js';
import type { JsonObject } from '../../contract/json.js';
import type { OptionNames } from '../../contract/options.js';
import { hasBrokenOutput, type ToolResult } from '../../contract/result.js';
import type { ToolDefinition } from '../../contract/tool-definition.js';
import type { ToolSelection } from '../../provider/tool-selection.js';
import type { Middleware, MiddlewareCall } from './middleware.js';
import { assertMiddlewareOptions, isReadOnly, isSelected } from './selected-tools.js';

/** Options of {@link withCache}. */
export interface CacheOptions extends ToolSelection {
  /**
   * The tools whose results are kept. Required: the cache does not see what other programs change, so tools that read files
   * do not belong here.
   */
  include: readonly string[];
  /** How long a result is kept, in milliseconds. Default 60,000. */
  ttlMs?: number;
  /** The most results that are kept; the least recently used is dropped first. Default 500. */
  maxEntries?: number;
  /** The largest size of all kept results together, in characters of JSON. Default 16,777,216. */
  maxCharacters?: number;
  /**
   * Who shares a result: `'session'`, the calls of one `sessionId`; `'all'`, every caller, for results that do not depend on
   * who asks. Default `'session'`.
   */
  share?: 'session' | 'all';
}

/** The middleware of {@link withCache}. */
export interface CacheMiddleware extends Middleware {
  /** Drops all kept results. */
  clear(): void;
}

const OPTIONS: OptionNames<CacheOptions> = {
  ttlMs: true,
  maxEntries: true,
  maxCharacters: true,
  share: true,
  include: true,
  exclude: true,
};

/** Keys of `_meta` that differ between equal calls: MCP's progress token, and the trace context of W3C. */
const NOT_IN_KEYS: ReadonlySet<string> = new Set(['progressToken', 'traceparent', 'tracestate', 'baggage']);

interface Entry {
  readonly tool: ToolDefinition;
  /** The result as JSON, so that no caller can change it. */
  readonly json: string;
  readonly expiresAt: number;
}

/**
 * A middleware that keeps the results of read-only tools and answers equal calls with them; such a result has
 * `_meta["toolwright/cached"]: true`. Calls are equal if name, arguments, session and the caller's `meta` are. The policy
 * evaluates every call before that.
 *
 * It never keeps a failure, a result with directives, or a result of a tool that is not annotated as read-only or whose
 * annotations the hub does not trust. Any call of a tool that may change something, of whatever provider, drops all results;
 * so does a new definition of the tool for its own.
 *
 * @throws {ToolError} INVALID_ARGUMENT for a wrong option
 * @example
 * ```ts
 * const cache = withCache({ include: ['weather', 'docs.search'], ttlMs: 300_000 });
 * const hub = new ToolHub({ providers, middleware: [cache] });
 * ```
 */
export function withCache(options: CacheOptions): CacheMiddleware {
  const {
    ttlMs = 60_000,
    maxEntries = 500,
    maxCharacters = 16 * 1024 * 1024,
    share = 'session',
  } = Object(options) as typeof options;
  assertMiddlewareOptions('withCache()', options, OPTIONS, { ttlMs, maxEntries, maxCharacters });
  if (!Array.isArray(options.include))
    throw new ToolError('INVALID_ARGUMENT', 'withCache(): `include` must name the tools, such as ["docs.*"].');
  if (share !== 'session' && share !== 'all')
    throw new ToolError('INVALID_ARGUMENT', "withCache(): `share` must be 'session' or 'all'.");
  const entries = new Map<string, Entry>();
  let characters = 0;
  /** Grows when results are dropped: a result that was read before must not be kept after. */
  let version = 0;

  const drop = (key: string): void => {
    characters -= entries.get(key)?.json.length ?? 0;
    entries.delete(key);
  };
  const clear = (): void => {
    entries.clear();
    characters = 0;
    version++;
  };
  const kept = (key: string, tool: ToolDefinition): ToolResult | undefined => {
    const entry = entries.get(key);
    if (!entry) return undefined;
    drop(key);
    if (entry.tool !== tool || entry.expiresAt <= performance.now()) return undefined;
    keep(key, entry); // it is now the most recently used
    return JSON.parse(entry.json) as ToolResult;
  };
  const keep = (key: string, entry: Entry): void => {
    drop(key);
    if (entry.json.length > maxCharacters) return;
    entries.set(key, entry);
    characters += entry.json.length;
    for (const oldest of entries.keys()) {
      if (entries.size <= maxEntries && characters <= maxCharacters) break;
      drop(oldest);
    }
  };

  const middleware: Middleware = async (call, next) => {
    if (call.isDelegating) return next(); // what it calls is cached, and may drop results, itself
    if (!isReadOnly(call)) {
      // Before, as reads that began earlier may see half of the change, and after, as reads meanwhile may too.
      clear();
      try {
        return await next();
      } finally {
        clear();
      }
    }
    const key = isSelected(call, options) ? keyOf(call, share) : undefined;
    if (key === undefined) return next();
    const found = kept(key, call.tool);
    if (found) return { ...found, _meta: { ...found._meta, 'toolwright/cached': true } };
    const before = version;
    const result = await next();
    if (version === before && !result.isError && result.directives.length === 0 && !hasBrokenOutput(result))
      keep(key, { tool: call.tool, json: JSON.stringify(result), expiresAt: performance.now() + ttlMs });
    return result;
  };
  return Object.assign(middleware, { clear });
}

/** The key of a call; undefined for arguments that are not JSON. */
function keyOf({ name, args, meta = {}, sessionId }: MiddlewareCall, share: 'session' | 'all'): string | undefined {
  const sent: JsonObject = Object.fromEntries(Object.entries(meta).filter(([key]) => !NOT_IN_KEYS.has(key)));
  return canonicalJson([name, args, sent, share === 'session' && sessionId !== undefined ? sessionId : null]);
}
