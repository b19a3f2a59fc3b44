// Mends the commonest slip of a model's arguments: a number or a boolean that was sent as a string.

import type { JsonObject, JsonSchema } from './json.js';
import type { SchemaIssue } from './json-schema-validator.js';

/** https://www.rfc-editor.org/rfc/rfc8259#section-6 */
const JSON_NUMBER = /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/;
const MAX_REFERENCES = 16;

/**
 * Turns numeric and boolean strings, at exactly the failing paths, into the type that the JSON Schema wants there.
 * Below a union nothing is touched: which member was meant is not ours to guess. Gives a copy, or undefined when
 * nothing could be mended.
 */
export function repairArguments(
  args: JsonObject,
  issues: readonly SchemaIssue[],
  schema: JsonSchema,
): JsonObject | undefined {
  let repaired: JsonObject | undefined;
  for (const { path } of issues) {
    const value = path.reduce<unknown>(
      (at, key) => (isRecord(at) && Object.hasOwn(at, key) ? at[key as string] : undefined),
      args,
    );
    if (typeof value !== 'string') continue;
    const wanted = convert(value, typeAt(schema, path));
    if (wanted === undefined) continue;
    repaired ??= structuredClone(args);
    set(repaired, path, wanted);
  }
  return repaired;
}

function convert(text: string, type: unknown): number | boolean | undefined {
  if (type === 'boolean') return text === 'true' ? true : text === 'false' ? false : undefined;
  if ((type !== 'number' && type !== 'integer') || !JSON_NUMBER.test(text)) return undefined;
  const number = Number(text);
  if (!Number.isFinite(number)) return undefined;
  return type === 'integer' && !Number.isSafeInteger(number) ? undefined : number;
}

/** The `type` that the schema wants at a path, where that is one plain type and no union stands above it. */
function typeAt(root: JsonSchema, path: readonly PropertyKey[]): unknown {
  let schema: unknown = root;
  for (const key of path) {
    schema = dereference(schema, root);
    if (!isRecord(schema)) return undefined;
    schema = childOf(schema, key);
  }
  schema = dereference(schema, root);
  return isRecord(schema) ? schema.type : undefined;
}

function childOf(schema: JsonObject, key: PropertyKey): unknown {
  if (schema.type === 'array' || schema.items !== undefined) {
    const tuple = schema.prefixItems;
    const index = Number(key);
    return Array.isArray(tuple) && index < tuple.length ? (tuple[index] as unknown) : schema.items;
  }
  const { properties } = schema;
  if (isRecord(properties) && Object.hasOwn(properties, key)) return properties[key as string];
  return schema.additionalProperties;
}

function dereference(schema: unknown, root: JsonSchema): unknown {
  let at = schema;
  for (let hops = 0; hops < MAX_REFERENCES; hops++) {
    if (!isRecord(at) || 'anyOf' in at || 'oneOf' in at) return undefined;
    if (typeof at.$ref !== 'string') return at;
    if (!at.$ref.startsWith('#/')) return undefined;
    const keys = at.$ref.slice(2).split('/');
    at = keys.reduce<unknown>(
      (node, key) => (isRecord(node) && Object.hasOwn(node, key) ? node[key] : undefined),
      root,
    );
  }
  return undefined;
}

function set(target: JsonObject, path: readonly PropertyKey[], value: unknown): void {
  const last = path.at(-1);
  if (last === undefined) return;
  const parent = path.slice(0, -1).reduce<unknown>((at, key) => (at as JsonObject)[key as string], target);
  (parent as JsonObject)[last as string] = value;
}

function isRecord(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null;
}
