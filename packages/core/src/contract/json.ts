// The types of JSON values and of JSON Schema.

/** Any JSON value. */
export type JsonValue = string | number | boolean | null | readonly JsonValue[] | { readonly [key: string]: JsonValue };

/** A JSON object. Loosely typed: schemas check arguments and results, not the compiler. */
export type JsonObject = Record<string, unknown>;

/**
 * A JSON Schema: draft 2020-12, as in MCP, unless its `$schema` names draft-07.
 */
export type JsonSchema = JsonObject;

/** Whether a value is what JSON calls an object: not null, and not an array. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Whether a value has more than `levels` levels of objects and arrays; looks no deeper than that. */
export function isDeeperThan(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (levels === 0) return true;
  if (Array.isArray(value)) {
    for (const item of value) if (isDeeperThan(item, levels - 1)) return true;
    return false;
  }
  for (const key in value) if (isDeeperThan((value as JsonObject)[key], levels - 1)) return true;
  return false;
}
