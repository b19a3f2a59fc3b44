// A copy of arguments as they are now. What is validated, judged and shown is then what runs, whatever their owner, or
// an accessor of theirs, does later.

import { ToolError } from './errors.js';
import type { JsonObject } from './json.js';

/** Deeper than any arguments are, and far from the end of the stack. */
const MAX_DEPTH = 256;

/**
 * Copies plain objects and arrays, reading each value once. What JSON does not have is left out (functions, symbols) or
 * kept as it is (objects of a class).
 *
 * @throws {ToolError} INVALID_ARGUMENT for what is nested too deeply, or in a circle
 */
export function copyJson<T>(value: T): T {
  return copy(value, 0) as T;
}

/**
 * The arguments of a call as {@link copyJson} copies them; `undefined` means none.
 *
 * @throws {ToolError} INVALID_ARGUMENT for what is not an object: text that was not parsed, null, an array
 */
export function copyArguments(tool: string, args: unknown): JsonObject {
  if (args === undefined) return {};
  if (typeof args === 'object' && args !== null && !Array.isArray(args)) return copyJson(args as JsonObject);
  const got =
    args === null ? 'null' : Array.isArray(args) ? 'an array' : typeof args === 'string' ? 'text' : typeof args;
  const advice = typeof args === 'string' ? ' Parse the JSON first.' : '';
  throw new ToolError('INVALID_ARGUMENT', `The arguments of "${tool}" must be an object, not ${got}.${advice}`, {
    tool,
  });
}

function copy(value: unknown, depth: number): unknown {
  if (typeof value !== 'object' || value === null) {
    return typeof value === 'function' || typeof value === 'symbol' ? undefined : value;
  }
  if (depth > MAX_DEPTH) {
    throw new ToolError(
      'INVALID_ARGUMENT',
      `The arguments are nested deeper than ${MAX_DEPTH} levels, or in a circle.`,
    );
  }
  if (Array.isArray(value)) return value.map((item) => copy(item, depth + 1));
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) return value;
  const result: Record<string, unknown> = {};
  for (const key in value) {
    if (!Object.hasOwn(value, key)) continue;
    const item = copy((value as Record<string, unknown>)[key], depth + 1);
    if (key === '__proto__') defineOwn(result, key, item);
    else if (item !== undefined) result[key] = item;
  }
  return result;
}

/** An assignment to `__proto__` would set the prototype. */
function defineOwn(target: object, key: string, value: unknown): void {
  Object.defineProperty(target, key, { value, enumerable: true, configurable: true, writable: true });
}
