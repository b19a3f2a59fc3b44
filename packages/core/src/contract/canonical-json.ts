// One JSON text for equal JSON values, for comparing and hashing them.

/**
 * The JSON text of a value without spaces and `undefined`, with the keys of every object sorted by UTF-16 code units, as in
 * RFC 8785.
 *
 * @returns undefined for a value that is not JSON: an instance of a class, a function, `NaN`, or a cycle
 */
export function canonicalJson(value: unknown): string | undefined {
  try {
    return textOf(value);
  } catch {
    return undefined;
  }
}

function textOf(value: unknown): string {
  if (value === null || typeof value === 'string' || typeof value === 'boolean' || Number.isFinite(value))
    return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(textOf).join(',')}]`;
  const prototype: unknown = typeof value === 'object' ? Object.getPrototypeOf(value) : undefined;
  if (prototype !== Object.prototype && prototype !== null) throw new TypeError('not JSON');
  const entries = Object.entries(value as object).filter(([, item]) => item !== undefined);
  entries.sort(([one], [other]) => (one < other ? -1 : 1));
  return `{${entries.map(([key, item]) => `${JSON.stringify(key)}:${textOf(item)}`).join(',')}}`;
}
