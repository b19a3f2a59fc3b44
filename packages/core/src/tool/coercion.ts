// Coerces arguments: models often send a number or a boolean as a string.

import type { JsonObject, JsonSchema } from '../contract/json.js';
import type { SchemaIssue } from './json-schema-validator.js';
import { followPointer, isNullSchema } from './listed-schema-document.js';

/** https://www.rfc-editor.org/rfc/rfc8259#section-6 */
const JSON_NUMBER = /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/;
/** More digits than any number that a double can represent exactly. */
const MAX_DIGITS = 400;
/** The number of schemas that are considered for one path. */
const MAX_SCHEMAS = 64;

/**
 * Converts numeric and boolean strings at the failing paths into the type that the JSON Schema requires there, if no
 * information is lost. Leaves values below a union unchanged, as the intended member is unknown, unless the union only adds
 * null. Returns a copy; undefined when nothing could be coerced.
 */
export function coerceArguments(
  args: JsonObject,
  issues: readonly SchemaIssue[],
  schema: JsonSchema,
): JsonObject | undefined {
  let coerced: JsonObject | undefined;
  for (const { path } of issues) {
    const value = path.reduce<unknown>(
      (at, key) => (isRecord(at) && Object.hasOwn(at, key) ? at[key as string] : undefined),
      args,
    );
    if (typeof value !== 'string') continue;
    const converted = convert(value, typeAt(schema, path));
    if (converted === undefined) continue;
    coerced ??= structuredClone(args);
    set(coerced, path, converted);
  }
  return coerced;
}

function convert(text: string, type: unknown): number | boolean | undefined {
  if (type === 'boolean') return text === 'true' ? true : text === 'false' ? false : undefined;
  if ((type !== 'number' && type !== 'integer') || text.length > MAX_DIGITS || !JSON_NUMBER.test(text))
    return undefined;
  const number = Number(text);
  if (!Number.isFinite(number) || decimalOf(text) !== decimalOf(String(number))) return undefined;
  return type === 'integer' && !Number.isSafeInteger(number) ? undefined : number;
}

/** A number's canonical decimal form, equal for `1.50e1` and `15`. */
function decimalOf(text: string): string {
  const [, sign = '', whole = '', fraction = '', exponent = '0'] =
    /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(text) ?? [];
  const digits = (whole + fraction).replace(/^0+/, '');
  const significant = digits.replace(/0+$/, '');
  if (significant === '') return '0';
  return `${sign}${significant}e${Number(exponent) - fraction.length + digits.length - significant.length}`;
}

/** The only type besides null that the schemas of a path allow; undefined when a union allows several. */
function typeAt(root: JsonSchema, path: readonly PropertyKey[]): unknown {
  let schemas = expand([root], root);
  for (const key of path)
    schemas = expand(
      schemas.flatMap((schema) => childrenOf(schema, key)),
      root,
    );
  let wanted: unknown;
  for (const { type } of schemas) {
    if (type === undefined) continue;
    const types = Array.isArray(type) ? (type as unknown[]).filter((name) => name !== 'null') : [type];
    if (types.length !== 1) return undefined;
    if (wanted === undefined || types[0] === 'integer') wanted = types[0];
  }
  return wanted;
}

/** Adds the schemas that apply together with the given ones: those they refer to, and the members of `allOf`. */
function expand(schemas: readonly unknown[], root: JsonSchema): JsonObject[] {
  const all = new Set<unknown>(schemas);
  for (const schema of all) {
    if (!isRecord(schema) || all.size > MAX_SCHEMAS) continue;
    const { $ref, allOf, anyOf, oneOf } = schema;
    if (typeof $ref === 'string' && /^#(\/|$)/.test($ref)) all.add(followPointer(root, $ref.slice(1)));
    if (Array.isArray(allOf)) for (const member of allOf) all.add(member);
    for (const members of [anyOf, oneOf]) {
      if (!Array.isArray(members)) continue;
      const [only, ...others] = (members as unknown[]).filter((member) => !isNullSchema(member));
      if (others.length > 0) return []; // the intended member is unknown
      all.add(only);
    }
  }
  return [...all].filter(isRecord);
}

function childrenOf(schema: JsonObject, key: PropertyKey): unknown[] {
  const { properties, items, prefixItems, additionalProperties } = schema;
  if (typeof key === 'number' || schema.type === 'array' || items !== undefined || prefixItems !== undefined) {
    const tuple = Array.isArray(items) ? items : prefixItems;
    const index = Number(key);
    if (Array.isArray(tuple) && index < tuple.length) return [tuple[index]];
    return [Array.isArray(items) ? schema.additionalItems : items];
  }
  if (isRecord(properties) && Object.hasOwn(properties, key)) return [properties[key as string]];
  return [additionalProperties];
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
