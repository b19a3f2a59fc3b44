// The properties of a body that become arguments of their own: those of a plain object, also one that is composed by `allOf`.

import { isJsonObject } from '../../contract/json.js';
import type { ApiDocument } from '../document/api-document.js';
import { namesOf } from './schema-converter.js';

const MAX_NESTING = 8;
/** Schemas that are read of one body: parts may refer to the same ones again, many times at each level. */
const MAX_SCHEMAS = 1_000;
/** Keywords of an object that is nothing but its properties, besides annotations. */
const PLAIN: ReadonlySet<string> = new Set([
  ...['type', 'properties', 'required', 'allOf', 'additionalProperties', 'nullable'],
  ...['title', 'description', 'example', 'examples', 'default', 'deprecated', 'externalDocs', 'xml', '$comment'],
]);

/** The properties of a plain object. */
export interface ObjectShape {
  /** The schema of each property. */
  readonly properties: ReadonlyMap<string, unknown>;
  /** The names of those that must be present. */
  readonly required: ReadonlySet<string>;
}

/** The shape of a schema; undefined unless it is an object that is described by its properties alone. */
export function shapeOf(document: ApiDocument, given: unknown): ObjectShape | undefined {
  return shapeWithin(document, given, { left: MAX_SCHEMAS }, 0);
}

function shapeWithin(
  document: ApiDocument,
  given: unknown,
  budget: { left: number },
  nesting: number,
): ObjectShape | undefined {
  if (--budget.left < 0) return undefined;
  const hasReference = isJsonObject(given) && Object.hasOwn(given, '$ref');
  if (hasReference && !document.isVersion30 && Object.keys(given).some((key) => !ANNOTATIONS.has(key)))
    return undefined;
  const schema = document.resolve(given);
  if (!schema || nesting > MAX_NESTING) return undefined;
  const { type = 'object', additionalProperties = false, nullable, allOf = [], properties = {}, required } = schema;
  const isPlain = Object.keys(schema).every((key) => PLAIN.has(key) || key.startsWith('x-'));
  if (!isPlain || type !== 'object' || additionalProperties !== false || nullable === true) return undefined;
  if (!Array.isArray(allOf) || !isJsonObject(properties)) return undefined;
  const found = new Map<string, unknown>(Object.entries(properties));
  const names = new Set(namesOf(required));
  for (const part of allOf as unknown[]) {
    const shape = shapeWithin(document, part, budget, nesting + 1);
    if (!shape) return undefined;
    for (const [name, property] of shape.properties) {
      if (found.has(name)) return undefined; // both schemas apply
      found.set(name, property);
    }
    for (const name of shape.required) names.add(name);
  }
  return found.size > 0 || nesting > 0 ? { properties: found, required: names } : undefined;
}

const ANNOTATIONS: ReadonlySet<string> = new Set(['$ref', 'title', 'description', 'summary', '$comment']);
