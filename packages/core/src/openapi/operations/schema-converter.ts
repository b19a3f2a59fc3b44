// Converts schemas of OpenAPI to JSON Schema 2020-12. Schemas that a document names stay references, so that recursive ones
// stay finite; each is converted once and shared by all tools.

import { isJsonObject, type JsonObject } from '../../contract/json.js';
import { FreeNames } from '../../contract/free-names.js';
import { deepFreeze } from '../../contract/json-copy.js';
import { plainText } from '../../contract/sanitize.js';
import { isOfType } from '../../tool/listed-schema-limits.js';
import type { ApiDocument } from '../document/api-document.js';

/** A validator of listed schemas takes 64 levels, and those around a schema count too. */
const MAX_DEPTH = 40;
const MAX_EXAMPLE = 200;
const TYPES: ReadonlySet<unknown> = new Set(['null', 'boolean', 'object', 'array', 'number', 'string', 'integer']);
const SCHEMA_KEYWORDS: ReadonlySet<string> = new Set([
  ...['items', 'additionalProperties', 'additionalItems', 'not', 'contains', 'propertyNames', 'if', 'then', 'else'],
  ...['unevaluatedProperties', 'unevaluatedItems'],
]);
const LIST_KEYWORDS: ReadonlySet<string> = new Set(['allOf', 'anyOf', 'oneOf', 'prefixItems']);
const MAP_KEYWORDS: ReadonlySet<string> = new Set(['properties', 'patternProperties', 'dependentSchemas']);
/** Keywords that are copied, with the type that they must have: a malformed one would disable the whole schema. */
const COPIED: ReadonlyMap<string, string> = new Map([
  ...['title', 'description', 'format', 'pattern', 'contentEncoding', 'contentMediaType'].map(typed('string')),
  ...['minimum', 'maximum', 'multipleOf', 'minLength', 'maxLength', 'minItems', 'maxItems'].map(typed('number')),
  ...['minProperties', 'maxProperties', 'minContains', 'maxContains'].map(typed('number')),
  ...['uniqueItems', 'deprecated'].map(typed('boolean')),
  ...['enum', 'examples'].map(typed('array')),
  ...['exclusiveMinimum', 'exclusiveMaximum'].map(typed('number')),
]);

/** A converted schema, and the names of the definitions that it refers to. */
interface Definition {
  readonly schema: unknown;
  readonly references: ReadonlySet<string>;
  readonly size: number;
}

/** A schema with the definitions that it needs. */
export interface ConvertedSchema {
  /** The schema; its references lead to `#/$defs/…`. */
  readonly schema: unknown;
  /** The definitions; undefined if there are none. */
  readonly definitions: JsonObject | undefined;
  /** The length of all, in characters of JSON, roughly. */
  readonly size: number;
}

/** Converts the schemas of one document, for requests or for responses. */
export class SchemaConverter {
  readonly #document: ApiDocument;
  /** Properties with this flag are left out: `readOnly` ones of requests, `writeOnly` ones of responses. */
  readonly #omitted: 'readOnly' | 'writeOnly';
  readonly #warn: (message: string) => void;
  /** The name of each reference's definition. */
  readonly #names = new Map<string, string>();
  readonly #definitions = new Map<string, Definition>();
  readonly #free = new FreeNames(this.#definitions);
  /** Definitions that are not converted yet, with the schemas in the document. */
  readonly #pending: [name: string, target: unknown][] = [];
  /** The definitions to which the schema that is being converted refers. */
  #references = new Set<string>();

  constructor(document: ApiDocument, direction: 'request' | 'response', warn: (message: string) => void) {
    this.#document = document;
    this.#omitted = direction === 'request' ? 'readOnly' : 'writeOnly';
    this.#warn = warn;
  }

  /** Converts what `build` converts with {@link convert}, and collects the definitions that it needs. */
  collect(build: () => unknown): ConvertedSchema {
    const needed = (this.#references = new Set());
    const schema = build();
    this.#convertPending();
    let size = sizeOf(schema);
    for (const name of needed) {
      const definition = this.#definitions.get(name) as Definition;
      size += definition.size + name.length;
      for (const other of definition.references) needed.add(other);
    }
    const entries = [...needed].map((name) => [name, this.#definitions.get(name)?.schema] as const);
    return { schema, definitions: needed.size > 0 ? Object.freeze(Object.fromEntries(entries)) : undefined, size };
  }

  /** Converts one schema. Call it in {@link collect}. */
  convert(given: unknown, depth = 0): unknown {
    if (typeof given === 'boolean') return given;
    if (!isJsonObject(given) || depth > MAX_DEPTH) return {};
    const { $ref } = given;
    if (typeof $ref !== 'string') return this.#nullable(given, this.#keywords(given, depth));
    const reference = this.#reference($ref);
    if (this.#document.isVersion30) return reference; // the keywords beside it have no effect
    return { ...this.#keywords(given, depth), ...reference };
  }

  /** The converted schema of a reference's target; undefined if `schema` is not one of this converter's references. */
  targetOf(schema: unknown): unknown {
    const { $ref } = (isJsonObject(schema) ? schema : {}) as { $ref?: unknown };
    return typeof $ref === 'string' ? this.#definitions.get($ref.slice('#/$defs/'.length))?.schema : undefined;
  }

  /** True for a property that requests, or responses, do not have. */
  omits(property: unknown): boolean {
    if (!isJsonObject(property)) return false;
    return property[this.#omitted] === true || this.#document.resolve(property)?.[this.#omitted] === true;
  }

  #reference($ref: string): JsonObject {
    const known = this.#names.get($ref);
    if (known !== undefined) {
      this.#references.add(known);
      return { $ref: `#/$defs/${known}` };
    }
    const target = this.#document.target($ref);
    if (!isJsonObject(target) && typeof target !== 'boolean') {
      this.#warn(`The schema "${plainText($ref, 100)}" is not in the document, so any value counts as valid there.`);
      return {};
    }
    const name = this.#freeName($ref);
    this.#names.set($ref, name);
    this.#references.add(name);
    this.#definitions.set(name, { schema: {}, references: new Set(), size: 0 });
    this.#pending.push([name, target]);
    return { $ref: `#/$defs/${name}` };
  }

  /** Converts what references lead to, one after the other: a chain of thousands would exceed the stack. */
  #convertPending(): void {
    for (let next = this.#pending.pop(); next; next = this.#pending.pop()) {
      const [name, target] = next;
      const references = (this.#references = new Set());
      const schema = deepFreeze(this.convert(target));
      this.#definitions.set(name, { schema, references, size: sizeOf(schema) });
    }
  }

  /** The last segment of the reference, which no other definition has. */
  #freeName($ref: string): string {
    const plain =
      $ref
        .slice($ref.lastIndexOf('/') + 1)
        .replace(/[^\w.-]/g, '_')
        .slice(0, 100) || 'schema';
    const base = plain === '__proto__' ? 'proto' : plain;
    return this.#free.free(base);
  }

  #keywords(given: JsonObject, depth: number): JsonObject {
    const entries: [string, unknown][] = [];
    const isPolymorphic = isJsonObject(given.discriminator);
    for (const [keyword, value] of Object.entries(given)) {
      if (SCHEMA_KEYWORDS.has(keyword)) {
        if (isJsonObject(value) || typeof value === 'boolean') entries.push([keyword, this.convert(value, depth + 1)]);
      } else if (LIST_KEYWORDS.has(keyword)) {
        if (!Array.isArray(value) || value.length === 0) continue;
        // The alternatives of a discriminator often overlap, and an API reads the discriminator alone.
        const name = keyword === 'oneOf' && isPolymorphic && given.anyOf === undefined ? 'anyOf' : keyword;
        entries.push([name, value.map((item) => this.convert(item, depth + 1))]);
      } else if (MAP_KEYWORDS.has(keyword)) {
        if (isJsonObject(value)) entries.push([keyword, this.#map(value, depth)]);
      } else if (keyword === 'type') {
        const types = [value].flat();
        if (types.length > 0 && types.every((type) => TYPES.has(type))) entries.push([keyword, value]);
      } else if (keyword === 'required') {
        const names = namesOf(value).filter((name) => !this.omits(ownOf(given.properties, name)));
        if (names.length > 0) entries.push([keyword, names]);
      } else if (keyword === 'const' || keyword === 'default') entries.push([keyword, value]);
      else if (keyword === 'dependentRequired') {
        if (isJsonObject(value) && Object.values(value).every(Array.isArray)) entries.push([keyword, value]);
      } else if (keyword === 'example') {
        if (given.examples === undefined && sizeOf(value) <= MAX_EXAMPLE) entries.push(['examples', [value]]);
      } else if (isOfType(value, COPIED.get(keyword) ?? '')) entries.push([keyword, value]);
    }
    return withNumericLimits(given, Object.fromEntries(entries));
  }

  #map(schemas: JsonObject, depth: number): JsonObject {
    const entries = Object.entries(schemas).filter(([, schema]) => !this.omits(schema));
    return Object.fromEntries(entries.map(([name, schema]) => [name, this.convert(schema, depth + 1)]));
  }

  /** `nullable` of OpenAPI 3.0. */
  #nullable(given: JsonObject, schema: JsonObject): JsonObject {
    if (!this.#document.isVersion30 || given.nullable !== true) return schema;
    const { type, enum: members } = schema;
    if (typeof type !== 'string') return isEmpty(schema) ? schema : { anyOf: [schema, { type: 'null' }] };
    const withNull =
      Array.isArray(members) && !members.includes(null) ? { enum: [...(members as unknown[]), null] } : {};
    return { ...schema, type: [type, 'null'], ...withNull };
  }
}

/** In OpenAPI 3.0 the exclusive limits are flags of the inclusive ones. */
function withNumericLimits(given: JsonObject, schema: JsonObject): JsonObject {
  for (const [flag, limit] of [
    ['exclusiveMinimum', 'minimum'],
    ['exclusiveMaximum', 'maximum'],
  ] as const) {
    if (given[flag] !== true || typeof schema[limit] !== 'number') continue;
    schema[flag] = schema[limit];
    delete schema[limit];
  }
  return schema;
}

/** The names in a value that should be a list of them. */
export function namesOf(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((name): name is string => typeof name === 'string') : [];
}

function ownOf(value: unknown, key: string): unknown {
  return isJsonObject(value) && Object.hasOwn(value, key) ? value[key] : undefined;
}

function isEmpty(schema: JsonObject): boolean {
  return !['type', 'enum', 'const', '$ref', 'allOf', 'anyOf', 'oneOf', 'properties'].some((key) => key in schema);
}

function typed(type: string): (keyword: string) => [string, string] {
  return (keyword) => [keyword, type];
}

/** The length of a value as JSON, roughly. */
function sizeOf(value: unknown): number {
  if (typeof value === 'string') return value.length + 2;
  if (typeof value !== 'object' || value === null) return 4;
  let size = 2;
  for (const key in value) size += key.length + 4 + sizeOf((value as JsonObject)[key]);
  return size;
}
