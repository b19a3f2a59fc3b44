// Copies of JSON data, so that neither side of a call can change the other's: arguments, structured results, and listings,
// which are frozen and shared.

import { ToolError } from './errors.js';
import { isJsonObject, type JsonObject } from './json.js';

/** Deeper than real arguments, and far below the stack's limit. */
const MAX_DEPTH = 256;

/**
 * Copies plain objects and arrays, reading each value once. Leaves out functions and symbols, which JSON does not have; keeps
 * instances of classes uncopied.
 *
 * @throws {ToolError} INVALID_ARGUMENT for a value that is cyclic or nested too deeply
 */
export function copyJson<T>(value: T): T {
  return copy(value, 0) as T;
}

/**
 * Copies the arguments of a call with {@link copyJson}; `undefined` means no arguments.
 *
 * @throws {ToolError} INVALID_ARGUMENT for a value that is not an object, such as unparsed text, null or an array
 */
export function copyArguments(tool: string, args: unknown): JsonObject {
  if (args === undefined) return {};
  if (isJsonObject(args)) return copyJson(args);
  const got =
    args === null ? 'null' : Array.isArray(args) ? 'an array' : typeof args === 'string' ? 'text' : typeof args;
  const advice = typeof args === 'string' ? ' Parse the JSON first.' : '';
  throw new ToolError('INVALID_ARGUMENT', `The arguments of "${tool}" must be an object, not ${got}.${advice}`, {
    tool,
  });
}

/** Copies arguments for a call that uses them later. Values that are not objects are returned as they are, to be rejected then. */
export function snapshot<T>(args: T): T {
  return typeof args === 'object' && args !== null ? copyJson(args) : args;
}

function copy(value: unknown, depth: number): unknown {
  if (typeof value !== 'object' || value === null) {
    return typeof value === 'function' || typeof value === 'symbol' ? undefined : value;
  }
  if (depth > MAX_DEPTH) {
    throw new ToolError('INVALID_ARGUMENT', `The arguments are cyclic, or nested deeper than ${MAX_DEPTH} levels.`);
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

/**
 * Copies any value as `JSON.stringify` would serialise it: calls `toJSON`, turns instances into plain objects, and leaves out
 * what JSON does not have.
 *
 * @throws {ToolError} OUTPUT_INVALID for a value that is cyclic or nested too deeply
 */
export function copyAsJson<T>(value: T): T {
  return copyPlain(value, '', 0) as T;
}

function copyPlain(given: unknown, key: string, depth: number): unknown {
  if (typeof given !== 'object' || given === null) {
    return typeof given === 'function' || typeof given === 'symbol' ? undefined : given;
  }
  if (depth > MAX_DEPTH) {
    throw new ToolError('OUTPUT_INVALID', `The value is cyclic, or nested deeper than ${MAX_DEPTH} levels.`);
  }
  if (Array.isArray(given)) return given.map((item, index) => copyPlain(item, String(index), depth + 1) ?? null);
  const { toJSON } = given as { toJSON?: unknown };
  if (typeof toJSON === 'function') return copyPlain(toJSON.call(given, key), key, depth + 1);
  const result: Record<string, unknown> = {};
  for (const name in given) {
    if (!Object.hasOwn(given, name)) continue;
    const item = copyPlain((given as Record<string, unknown>)[name], name, depth + 1);
    if (name === '__proto__') defineOwn(result, name, item);
    else if (item !== undefined) result[name] = item;
  }
  return result;
}

/**
 * Returns the object if it is deeply frozen, else a deeply frozen copy. A value that is nested too deeply to be copied is only
 * frozen at its top level; a schema like that is not enforced.
 */
export function frozenCopy<T extends object>(value: T): T {
  if (isDeepFrozen(value, 0)) return value;
  try {
    return deepFreeze(copyAsJson(value));
  } catch {
    return Object.freeze({ ...value });
  }
}

function isDeepFrozen(value: unknown, depth: number): boolean {
  if (typeof value !== 'object' || value === null) return true;
  return (
    depth <= MAX_DEPTH &&
    Object.isFrozen(value) &&
    Object.values(value).every((child) => isDeepFrozen(child, depth + 1))
  );
}

/** Freezes a tree of plain objects and arrays. */
export function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null) {
    Object.freeze(value);
    for (const child of Object.values(value)) deepFreeze(child);
  }
  return value;
}

/** An assignment to `__proto__` would set the prototype. */
function defineOwn(target: object, key: string, value: unknown): void {
  Object.defineProperty(target, key, { value, enumerable: true, configurable: true, writable: true });
}
