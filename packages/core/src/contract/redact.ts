// Redacts secrets in what is shown, recorded or traced: values of keys with a secret's name, and texts with a secret's shape.

import { HIDDEN, redactedText } from './redacted-text.js';
import { isSecretName } from './secret-names.js';

const MAX_DEPTH = 64;

/** A copy of a JSON value in which secrets are `"[hidden]"`: values of keys that name a secret, and texts that look like one. */
export function redacted<T>(value: T): T {
  return copyOf(value, 0) as T;
}

function copyOf(value: unknown, depth: number): unknown {
  if (typeof value === 'string') return redactedText(value);
  if (typeof value !== 'object' || value === null) return value;
  if (depth > MAX_DEPTH) return HIDDEN;
  if (Array.isArray(value)) return copyOfList(value, depth);
  const copy: Record<string, unknown> = {};
  for (const [key, item] of Object.entries(value)) {
    const isHidden = (isSecretName(key) || (key === 'value' && isNamedSecret(value))) && isSecretValue(key, item);
    const clean = isHidden ? HIDDEN : copyOf(item, depth + 1);
    Object.defineProperty(copy, redactedText(key), {
      value: clean,
      enumerable: true,
      configurable: true,
      writable: true,
    });
  }
  return copy;
}

function copyOfList(list: readonly unknown[], depth: number): unknown[] {
  // Headers are often a list of pairs.
  const arePairs = list.every((item) => Array.isArray(item) && item.length === 2 && typeof item[0] === 'string');
  return list.map((item) => {
    const copy = copyOf(item, depth + 1);
    const [name, value] = arePairs ? (item as [string, unknown]) : [];
    return name !== undefined && isSecretName(name) && isSecretValue(name, value) ? [redactedText(name), HIDDEN] : copy;
  });
}

/** An entry such as `{ name: 'Authorization', value }`. */
function isNamedSecret(entry: object): boolean {
  const { name, key } = entry as { name?: unknown; key?: unknown };
  return [name, key].some((text) => typeof text === 'string' && isSecretName(text));
}

/** Numbers and flags are no secrets, such as a count of tokens; but a password may be a number. */
function isSecretValue(name: string, value: unknown): boolean {
  if (typeof value === 'number') return /pass(?:word|wd|phrase)/i.test(name);
  return typeof value === 'string' || (typeof value === 'object' && value !== null);
}
