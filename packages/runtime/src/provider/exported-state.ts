// Exports a state to another process: its JSON part, and the paths of everything that JSON cannot represent.

import { isJsonObject } from '@toolwright/core/internal';
import type { JsonObject } from '@toolwright/core';
import type { ExportedState } from '../wire/protocol.js';

/** The deepest state: a message may have 64 levels, including its envelope. */
const MAX_DEPTH = 56;
const MAX_PATHS = 100;

/** Copies the JSON part of a state, and lists the dotted paths of the rest (at most 100). */
export function exportState(state: unknown): ExportedState {
  const dropped: string[] = [];
  const copied = copy(state, '', new Set(), dropped);
  const isObject = isJsonObject(copied);
  if (!isObject && copied !== undefined && copied !== null) drop(dropped, '');
  return { state: isObject ? copied : null, dropped };
}

function copy(value: unknown, path: string, above: Set<object>, dropped: string[]): unknown {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return value;
  if (typeof value === 'number' && Number.isFinite(value)) return value;
  if (value === undefined) return undefined; // JSON omits it, which reads back the same
  if (typeof value !== 'object' || above.has(value) || above.size >= MAX_DEPTH) return drop(dropped, path);
  above.add(value);
  try {
    if (Array.isArray(value)) {
      return value.map((item: unknown, index) => copy(item, `${path}.${index}`, above, dropped) ?? null);
    }
    const prototype: unknown = Object.getPrototypeOf(value);
    if (prototype !== Object.prototype && prototype !== null) return drop(dropped, path);
    const result: JsonObject = Object.create(null) as JsonObject; // treats "__proto__" as an ordinary name
    for (const [key, item] of Object.entries(value)) {
      const copied = copy(item, path === '' ? key : `${path}.${key}`, above, dropped);
      if (copied !== undefined) result[key] = copied;
    }
    return result;
  } finally {
    above.delete(value);
  }
}

function drop(dropped: string[], path: string): undefined {
  if (dropped.length < MAX_PATHS) dropped.push(path === '' ? '(the state itself)' : path.replace(/^\./, ''));
  return undefined;
}
