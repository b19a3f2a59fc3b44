// OpenAI's strict form of a schema: every property is required and no other is allowed, so optional properties become
// nullable. https://platform.openai.com/docs/guides/structured-outputs#supported-schemas

import { isJsonObject, type JsonObject, type JsonSchema } from '../contract/json.js';
import type { ReportLoss } from './schema-loss.js';
import { pointerPart, resolveReference } from './vendor-schema.js';

const KEPT: ReadonlySet<string> = new Set([
  ...[
    'type',
    'title',
    'description',
    'enum',
    'const',
    'properties',
    'required',
    'additionalProperties',
    'items',
    'anyOf',
  ],
  ...['pattern', 'format', 'multipleOf', 'minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum'],
  ...['minItems', 'maxItems', '$ref', '$defs'],
]);
const FORMATS: ReadonlySet<unknown> = new Set([
  ...['date-time', 'time', 'date', 'duration', 'email', 'hostname', 'ipv4', 'ipv6', 'uuid'],
]);
/** The root is one of the levels. */
const MAX_DEPTH = 9;
const MAX_PROPERTIES = 5_000;
/** Values of all enums together. */
const MAX_ENUM = 1_000;
/** An enum with more values may have 15,000 characters. */
const MAX_LONG_ENUM = 250;
const MAX_ENUM_LENGTH = 15_000;
/** Characters of all names, and of the values of enums and constants. */
const MAX_LENGTH = 120_000;

/** Why a schema has no strict form. */
class NotStrict extends Error {}

/**
 * The strict form of a {@link portableSchema}, or why there is none.
 *
 * @param report receives what the strict form does not say
 */
export function strictSchema(schema: JsonSchema, report: ReportLoss): JsonSchema | { readonly reason: string } {
  let [properties, enumValues, length] = [0, 0, 0];
  const visit = (node: unknown, path: string, depth: number): JsonObject => {
    if (!isJsonObject(node)) throw new NotStrict(`${path || 'the root'} allows any value`);
    if (depth > MAX_DEPTH) throw new NotStrict(`it is nested deeper than ${MAX_DEPTH + 1} levels`);
    const flat = withoutAllOf(node, path);
    const { description, default: standard, examples, oneOf, ...rest } = flat;
    const strict: JsonObject = {};
    for (const [key, value] of Object.entries(rest)) {
      if (KEPT.has(key)) strict[key] = value;
      else if (!key.startsWith('x-') && !IGNORED.has(key)) report(path, `${key} is not sent.`);
    }
    const notes = [
      typeof description === 'string' ? description : '',
      standard === undefined ? '' : `Default: ${JSON.stringify(standard)}.`,
      Array.isArray(examples) ? `Examples: ${examples.map((example) => JSON.stringify(example)).join(', ')}.` : '',
    ];
    const text = notes.filter((note) => note !== '').join(' ');
    if (text !== '') strict.description = text;
    if (strict.format !== undefined && !FORMATS.has(strict.format)) {
      report(path, `format ${JSON.stringify(strict.format)} is not sent.`);
      delete strict.format;
    }
    countValues(strict);
    if (Array.isArray(oneOf)) {
      if (strict.anyOf !== undefined) throw new NotStrict(`${path || 'the root'} has anyOf and oneOf`);
      strict.anyOf = oneOf;
      report(path, 'oneOf is sent as anyOf.');
    }
    if (Array.isArray(strict.anyOf)) {
      strict.anyOf = strict.anyOf.map((member, index) => visit(member, `${path}/anyOf/${index}`, depth));
      return onlyAlternatives(strict, path, report);
    }
    if (strict.$ref !== undefined) return { $ref: strict.$ref };
    strict.type ??= typeOf(strict);
    const types: unknown[] = Array.isArray(strict.type) ? strict.type : [strict.type];
    if (strict.type === undefined) throw new NotStrict(`${path || 'the root'} allows any value`);
    if (types.includes('object')) closeObject(strict, path, depth);
    if (types.includes('array')) {
      if (!isJsonObject(strict.items)) throw new NotStrict(`${path || 'the root'} is an array of anything, or a tuple`);
      strict.items = visit(strict.items, `${path}/items`, depth + 1);
    }
    return strict;
  };
  const countValues = ({ enum: values, const: value }: JsonObject): void => {
    const all: unknown[] = Array.isArray(values) ? values : value === undefined ? [] : [value];
    const characters = all.reduce<number>((sum, one) => sum + String(one).length, 0);
    if (all.length > MAX_LONG_ENUM && characters > MAX_ENUM_LENGTH)
      throw new NotStrict(`an enum has over ${MAX_ENUM_LENGTH} characters`);
    enumValues += Array.isArray(values) ? values.length : 0;
    length += characters;
    if (enumValues > MAX_ENUM) throw new NotStrict(`its enums have over ${MAX_ENUM} values`);
    if (length > MAX_LENGTH) throw new NotStrict(`its names and values have over ${MAX_LENGTH} characters`);
  };
  const closeObject = (strict: JsonObject, path: string, depth: number): void => {
    const { additionalProperties } = strict;
    const given = isJsonObject(strict.properties) ? strict.properties : {};
    const names = Object.keys(given);
    if (isJsonObject(additionalProperties) || (additionalProperties !== false && names.length === 0 && depth > 0))
      throw new NotStrict(`${path || 'the root'} allows properties of any name`);
    if (additionalProperties === true) report(path, 'Properties of other names are not allowed.');
    properties += names.length;
    if (properties > MAX_PROPERTIES) throw new NotStrict(`it has over ${MAX_PROPERTIES} properties`);
    const required = new Set(Array.isArray(strict.required) ? (strict.required as unknown[]) : []);
    for (const name of names) length += name.length;
    const closed = names.map((name) => {
      const property = visit(given[name], `${path}/properties/${pointerPart(name)}`, depth + 1);
      return [name, required.has(name) ? property : nullable(property)] as const;
    });
    Object.assign(strict, { properties: Object.fromEntries(closed), required: names, additionalProperties: false });
  };
  try {
    const { $defs, ...root } = schema;
    const strict = visit(root, '', 0);
    if (!isJsonObject($defs)) return strict;
    const entries = Object.entries($defs).map(([name, definition]) => {
      length += name.length;
      return [name, visit(definition, `/$defs/${name}`, 1)] as const;
    });
    return { ...strict, $defs: Object.fromEntries(entries) };
  } catch (thrown) {
    if (thrown instanceof NotStrict) return { reason: thrown.message };
    throw thrown;
  }
}

/** Keywords that restrict nothing. */
const IGNORED: ReadonlySet<string> = new Set([
  'deprecated',
  'readOnly',
  'writeOnly',
  '$schema',
  '$comment',
  'contentEncoding',
]);

/** Keeps only `anyOf`, title and description: the strict form allows no other keyword beside alternatives. */
function onlyAlternatives(strict: JsonObject, path: string, report: ReportLoss): JsonObject {
  const { anyOf, description, title, ...others } = strict;
  for (const key of Object.keys(others)) if (key !== 'type') report(path, `${key} beside alternatives is not sent.`);
  return { ...(title !== undefined && { title }), ...(description !== undefined && { description }), anyOf };
}

function withoutAllOf(node: JsonObject, path: string): JsonObject {
  const { allOf, ...rest } = node;
  if (allOf === undefined) return node;
  if (!Array.isArray(allOf) || allOf.length !== 1 || !isJsonObject(allOf[0]))
    throw new NotStrict(`${path || 'the root'} combines schemas with allOf`);
  return withoutAllOf({ ...allOf[0], ...rest }, path);
}

function typeOf({ enum: values, const: value, properties, items }: JsonObject): unknown {
  if (isJsonObject(properties)) return 'object';
  if (isJsonObject(items)) return 'array';
  const all: unknown[] = Array.isArray(values) ? values : value === undefined ? [] : [value];
  const types = new Set(
    all.map((one) =>
      one === null ? 'null' : typeof one === 'number' && Number.isInteger(one) ? 'integer' : typeof one,
    ),
  );
  if (types.size === 0 || types.has('object')) return undefined;
  return types.size === 1 ? [...types][0] : [...types];
}

function nullable(schema: JsonObject): JsonObject {
  if (acceptsNull(schema)) return schema;
  const { type, enum: values, const: value } = schema;
  if (schema.$ref !== undefined || value !== undefined) return { anyOf: [schema, { type: 'null' }] };
  if (Array.isArray(schema.anyOf)) return { ...schema, anyOf: [...(schema.anyOf as unknown[]), { type: 'null' }] };
  return {
    ...schema,
    type: [...(Array.isArray(type) ? (type as unknown[]) : [type]), 'null'],
    ...(Array.isArray(values) && { enum: [...(values as unknown[]), null] }),
  };
}

function acceptsNull(schema: unknown, root?: JsonSchema, levels = 8): boolean {
  if (!isJsonObject(schema)) return schema !== false;
  if (levels === 0) return false;
  const { type, enum: values, const: value, anyOf, oneOf, $ref } = schema;
  if (typeof $ref === 'string' && root) return acceptsNull(resolveReference(root, $ref), root, levels - 1);
  if (Array.isArray(values)) return values.includes(null);
  if (value !== undefined) return value === null;
  if (type !== undefined) return type === 'null' || (Array.isArray(type) && type.includes('null'));
  const members = Array.isArray(anyOf) ? anyOf : Array.isArray(oneOf) ? oneOf : undefined;
  if (members) return members.some((member) => acceptsNull(member, root, levels - 1));
  return $ref === undefined; // nothing restricts it
}

/**
 * The arguments without the nulls that only the strict form asked for: of properties that are optional in the original
 * schema and cannot be null there. The arguments are not changed.
 */
export function withoutStrictNulls(original: JsonSchema, args: unknown): unknown {
  return strip([original], args, original, 0);
}

const MAX_STRIP_DEPTH = 64;

/** @param schemas those that apply to the value; a null is removed unless one of them allows it */
function strip(schemas: readonly unknown[], value: unknown, root: JsonSchema, depth: number): unknown {
  if (typeof value !== 'object' || value === null || depth > MAX_STRIP_DEPTH) return value;
  const all = schemas.flatMap((schema) => alternativesOf(schema, root, 0));
  if (Array.isArray(value)) {
    const items = all.flatMap(({ items: schema, prefixItems }) =>
      schema !== undefined && prefixItems === undefined ? [schema] : [],
    );
    return items.length === 0 ? value : value.map((item) => strip(items, item, root, depth + 1));
  }
  const stripped: JsonObject = {};
  for (const [key, inner] of Object.entries(value)) {
    const owners = all.filter(({ properties }) => isJsonObject(properties) && Object.hasOwn(properties, key));
    const properties = owners.map((owner) => (owner.properties as JsonObject)[key]);
    const isRequired = owners.some(({ required }) => Array.isArray(required) && required.includes(key));
    if (inner === null && owners.length > 0 && !isRequired && !properties.some((schema) => acceptsNull(schema, root)))
      continue;
    Object.defineProperty(stripped, key, {
      value: strip(properties, inner, root, depth + 1),
      enumerable: true,
      configurable: true,
      writable: true,
    });
  }
  return stripped;
}

/** The schema and all that it combines. */
function alternativesOf(schema: unknown, root: JsonSchema, depth: number): JsonObject[] {
  if (!isJsonObject(schema) || depth > MAX_DEPTH) return [];
  const { $ref, anyOf, oneOf, allOf } = schema;
  const inner = [anyOf, oneOf, allOf].flatMap((members) => (Array.isArray(members) ? (members as unknown[]) : []));
  if (typeof $ref === 'string') inner.push(resolveReference(root, $ref));
  return [schema, ...inner.flatMap((member) => alternativesOf(member, root, depth + 1))];
}
