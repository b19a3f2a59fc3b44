// withDuplicateGuard: stops a model that repeats one call although its result stays the same.

import { createHash } from 'node:crypto';
import { canonicalJson } from '../../contract/canonical-json.js';
import { ToolError } from '../../contract/errors.js';
import type { OptionNames } from '../../contract/options.js';
import { errorResult, type ToolResult } from '../../contract/result.js';
import type { ToolSelection } from '../../provider/tool-selection.js';
import type { Middleware } from './middleware.js';
import { assertMiddlewareOptions, isReadOnly, isSelected } from './selected-tools.js';

/** Options of {@link withDuplicateGuard}. */
export interface DuplicateGuardOptions extends ToolSelection {
  /** How often equal calls with equal results run before a further one is refused. Default 3. */
  repeats?: number;
  /** How long after the latest of them, in milliseconds. Default 300,000. */
  windowMs?: number;
}

const OPTIONS: OptionNames<DuplicateGuardOptions> = { repeats: true, windowMs: true, include: true, exclude: true };
const MAX_SESSIONS = 1_000;
const MAX_CALLS = 200;

/** The latest of equal calls. */
interface Repeated {
  count: number;
  /** The hash of their result. */
  readonly result: string;
  readonly until: number;
}

/**
 * A middleware that refuses a call with `INVALID_ARGUMENT` when the same session has made it several times and its result was
 * the same each time; the error says so to the model. Calls are equal if name and arguments are. The count restarts with a
 * different result, and with a call of another tool, or with other arguments, that may change something: running the tests
 * after each edit is not a duplicate. Calls without a `sessionId` count as one session.
 *
 * It never refuses a call whose earlier results differ, such as polling that makes progress.
 *
 * @throws {ToolError} INVALID_ARGUMENT for a wrong option
 */
export function withDuplicateGuard(options: DuplicateGuardOptions = {}): Middleware {
  const { repeats = 3, windowMs = 300_000 } = Object(options) as typeof options;
  assertMiddlewareOptions('withDuplicateGuard()', options, OPTIONS, { repeats, windowMs });
  const sessions = new Map<string | undefined, Map<string, Repeated>>();

  return async (call, next) => {
    if (call.isDelegating) return next(); // what it calls is counted itself
    const startedAt = performance.now();
    const calls = recent(sessions, call.sessionId, MAX_SESSIONS, () => new Map<string, Repeated>());
    const key = canonicalJson([call.name, call.args]);
    const before = key === undefined ? undefined : calls.get(key);
    if (!isReadOnly(call)) {
      calls.clear();
      if (before && key !== undefined) calls.set(key, before);
    }
    if (key === undefined || !isSelected(call, options)) return next();
    const counted = before && before.until > startedAt ? before : undefined;
    if (counted && counted.count >= repeats) return errorResult(duplicate(call.name, counted.count), startedAt);
    const result = await next();
    // It says nothing about the tool: the caller gave up, or passes on a question and continues the call with the answer.
    if (result.error?.code === 'CANCELLED') return result;
    const hash = hashOf(result);
    // Equal calls may run at the same time, and another call may have restarted the count meanwhile.
    const now = calls.get(key);
    const latest = now && now.until > startedAt ? now : undefined;
    const count = latest?.result === hash ? latest.count + 1 : 1;
    calls.delete(key);
    recent(calls, key, MAX_CALLS, () => ({ count, result: hash, until: performance.now() + windowMs }));
    return result;
  };
}

function duplicate(tool: string, count: number): ToolError {
  return new ToolError(
    'INVALID_ARGUMENT',
    `This call was made ${count === 1 ? 'once' : `${count} times`} with these arguments and its result was the same each time; nothing has ` +
      'changed since. Use that result, or make a different call.',
    { tool, details: { repeats: count } },
  );
}

function hashOf({ content, structuredContent, isError }: ToolResult): string {
  const text = JSON.stringify([content, structuredContent, isError]);
  return createHash('sha256').update(text).digest('base64');
}

/** The value of a key, which becomes the most recently used; at most `max` keys are kept. */
function recent<Key, Value>(map: Map<Key, Value>, key: Key, max: number, create: () => Value): Value {
  const value = map.get(key) ?? create();
  map.delete(key);
  map.set(key, value);
  for (const oldest of map.keys()) {
    if (map.size <= max) break;
    map.delete(oldest);
  }
  return value;
}
