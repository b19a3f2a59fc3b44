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
