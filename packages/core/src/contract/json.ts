// The JSON vocabulary of every message: plain values, objects and JSON Schema.

/** Any JSON value. */
export type JsonValue = string | number | boolean | null | readonly JsonValue[] | { readonly [key: string]: JsonValue };

/** A JSON object. Loose on purpose: arguments and results are parsed by their schema, not by the compiler. */
export type JsonObject = Record<string, unknown>;

/**
 * A JSON Schema. Without `$schema` it is draft 2020-12, as MCP has it; a schema that names draft-07 is read as that.
 */
export type JsonSchema = JsonObject;

/** Whether a value is what JSON calls an object: not null, and not an array. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
