// A listed JSON Schema as a document: its limits, the form of its keywords, and the targets of its references. Schemas are
// never compiled, so preparing one costs no more than reading it.

import { ToolError } from '../contract/errors.js';
import { isJsonObject, type JsonObject, type JsonSchema } from '../contract/json.js';

/** Larger or deeper schemas are not enforced. */
const MAX_BYTES = 1024 * 1024;
const MAX_DEPTH = 64;

type Kind = 'schema' | 'schemas' | 'map' | 'items' | 'type' | 'names' | 'number' | 'limit' | 'flag' | 'list' | 'text';

const KEYWORDS: ReadonlyMap<string, Kind> = new Map<string, Kind>([
  ...of('schema', ['additionalItems', 'additionalProperties', 'contains', 'else', 'if', 'not', 'propertyNames']),
  ...of('schema', ['then', 'unevaluatedItems', 'unevaluatedProperties']),
  ...of('schemas', ['allOf', 'anyOf', 'oneOf', 'prefixItems']),
  ...of('map', ['$defs', 'definitions', 'dependentSchemas', 'patternProperties', 'properties']),
  ...of('number', ['maxContains', 'maxItems', 'maxLength', 'maxProperties', 'maximum', 'minContains', 'minItems']),
  ...of('number', ['minLength', 'minProperties', 'minimum', 'multipleOf']),
  ...of('limit', ['exclusiveMaximum', 'exclusiveMinimum']),
  ...of('text', ['$anchor', '$dynamicAnchor', '$dynamicRef', '$id', '$recursiveRef', '$ref', 'pattern']),
  ['items', 'items'],
  ['type', 'type'],
  ['required', 'names'],
  ['uniqueItems', 'flag'],
  ['enum', 'list'],
]);

const TYPES: ReadonlySet<unknown> = new Set(['null', 'boolean', 'object', 'array', 'number', 'string', 'integer']);

/**
 * Every schema of a document, and the target of each of its references. Identifiers apply only within the document.
 */
export class SchemaDocument {
  /** True if `$ref` disables the keywords next to it, as up to draft 7. */
  readonly isRefExclusive: boolean;
  /** True if an `unevaluated*` keyword depends on what other keywords have evaluated. */
  tracksEvaluated = false;
  /** True if a value may be checked against one schema more than once. */
  hasReferences = false;
  readonly #bases = new Map<object, string>();
  readonly #named = new Map<string, unknown>();
  readonly #dynamic = new Map<string, number>();
  readonly #targets = new Map<object, unknown>();
  readonly #root: JsonSchema;

  /** @throws {ToolError} INVALID_ARGUMENT for a schema that is malformed, too large, or has a reference without a target */
  constructor(root: JsonSchema) {
    assertBounded(root);
    this.#root = root;
    this.isRefExclusive = typeof root.$schema === 'string' && /draft-0[3-7]/.test(root.$schema);
    const seen = new Set<object>();
    this.#walk(root, '', seen);
    this.#named.set('', root);
    // The target of a reference may be outside every known keyword: the set grows during the loop.
    for (const schema of seen) {
      const { $ref, $dynamicRef, $recursiveRef } = schema as JsonObject;
      const reference = $ref ?? $dynamicRef ?? $recursiveRef;
      if (typeof reference !== 'string') continue;
      if ($ref === undefined) this.#assertStatic(reference);
      const target = this.#resolve(reference, this.#bases.get(schema) ?? '');
      this.hasReferences = true;
      this.#targets.set(schema, target);
      this.#walk(target, this.#bases.get(schema) ?? '', seen);
    }
  }

  /** The target of a schema's reference; undefined if it has none. */
  targetOf(schema: object): unknown {
    return this.#targets.get(schema);
  }

  #walk(schema: unknown, base: string, seen: Set<object>): void {
    if (typeof schema === 'boolean') return;
    if (!isJsonObject(schema)) throw malformed('a schema must be an object, true or false');
    if (seen.has(schema)) return;
    seen.add(schema);
    const ownBase = typeof schema.$id === 'string' ? absolute(schema.$id, base) : base;
    this.#bases.set(schema, ownBase);
    if (typeof schema.$id === 'string') this.#named.set(ownBase, schema);
    for (const [keyword, value] of Object.entries(schema)) {
      if (keyword === 'dependencies' && isJsonObject(value))
        for (const child of Object.values(value)) if (!Array.isArray(child)) this.#walk(child, ownBase, seen);
      const kind = KEYWORDS.get(keyword);
      if (!kind) continue;
      assertKind(kind, keyword, value);
      if (keyword === '$anchor' || keyword === '$dynamicAnchor') this.#named.set(`${ownBase}#${String(value)}`, schema);
      if (keyword === '$dynamicAnchor') this.#dynamic.set(String(value), (this.#dynamic.get(String(value)) ?? 0) + 1);
      if (keyword.startsWith('unevaluated')) this.tracksEvaluated = true;
      if (kind === 'schema' || (kind === 'items' && !Array.isArray(value))) this.#walk(value, ownBase, seen);
      else if (kind === 'schemas' || kind === 'items')
        for (const child of value as unknown[]) this.#walk(child, ownBase, seen);
      else if (kind === 'map') for (const child of Object.values(value as object)) this.#walk(child, ownBase, seen);
    }
  }

  /** A dynamic reference whose anchor is unique is an ordinary reference; any other is not supported. */
  #assertStatic(reference: string): void {
    if (reference !== '#' && (this.#dynamic.get(reference.replace(/^.*#/, '')) ?? 0) > 1)
      throw malformed(`the dynamic reference "${shorten(reference)}" has several targets, which is not supported`);
  }

  #resolve(reference: string, base: string): unknown {
    const uri = absolute(reference, base);
    if (this.#named.has(uri)) return this.#named.get(uri);
    const hash = uri.indexOf('#');
    const document = hash === -1 ? uri : uri.slice(0, hash);
    const fragment = hash === -1 ? '' : uri.slice(hash + 1);
    const from = document === '' ? this.#root : this.#named.get(document);
    if (isJsonObject(from) && (fragment === '' || fragment.startsWith('/'))) {
      const found = followPointer(from, fragment);
      if (found !== undefined) return found;
    }
    throw malformed(`the reference "${shorten(reference)}" has no target`);
  }
}

/** The value at a JSON pointer in URI fragment form; undefined if there is none. https://www.rfc-editor.org/rfc/rfc6901#section-6 */
export function followPointer(root: unknown, fragment: string): unknown {
  let at = root;
  for (const token of fragment.split('/').slice(1)) {
    const key = decode(token).replaceAll('~1', '/').replaceAll('~0', '~');
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, key)) return undefined;
    at = (at as JsonObject)[key];
  }
  return at;
}

function decode(token: string): string {
  try {
    return decodeURIComponent(token);
  } catch {
    return token; // a bare percent sign
  }
}

/** Resolves a reference against the base URI, without an empty fragment. Nothing is fetched. */
function absolute(reference: string, base: string): string {
  let resolved: string;
  if (reference.startsWith('#')) resolved = base.replace(/#.*$/, '') + reference;
  else {
    try {
      resolved = base === '' ? new URL(reference).href : new URL(reference, base).href;
    } catch {
      resolved = reference; // relative to a document without an identifier
    }
  }
  return resolved.endsWith('#') ? resolved.slice(0, -1) : resolved;
}

/** True for a schema that accepts null and nothing else. */
export function isNullSchema(schema: unknown): boolean {
  return isJsonObject(schema) && (schema.type === 'null' || ('const' in schema && schema.const === null));
}

function assertKind(kind: Kind, keyword: string, value: unknown): void {
  const fits: Record<Kind, () => boolean> = {
    schema: () => isJsonObject(value) || typeof value === 'boolean',
    schemas: () => Array.isArray(value),
    map: () => isJsonObject(value),
    items: () => Array.isArray(value) || isJsonObject(value) || typeof value === 'boolean',
    type: () => (Array.isArray(value) ? value.every((type) => TYPES.has(type)) : TYPES.has(value)),
    names: () => Array.isArray(value) && value.every((name) => typeof name === 'string'),
    number: () => Number.isFinite(value),
    limit: () => Number.isFinite(value) || typeof value === 'boolean',
    flag: () => typeof value === 'boolean',
    list: () => Array.isArray(value),
    text: () => typeof value === 'string',
  };
  if (!fits[kind]()) throw malformed(`its "${keyword}" is malformed`);
}

/** @throws {ToolError} INVALID_ARGUMENT for a schema that is too large, too deep or circular */
function assertBounded(schema: JsonSchema): void {
  let bytes = 0;
  const visit = (value: unknown, depth: number): void => {
    if (depth > MAX_DEPTH) throw malformed(`it is deeper than ${MAX_DEPTH} levels`);
    if (typeof value === 'string') bytes += value.length;
    else if (typeof value === 'object' && value !== null) {
      for (const [key, child] of Object.entries(value)) {
        bytes += key.length + 4;
        visit(child, depth + 1);
      }
    } else bytes += 4;
    if (bytes > MAX_BYTES) throw malformed(`it is larger than ${MAX_BYTES} bytes`);
  };
  visit(schema, 0);
}

function malformed(what: string): ToolError {
  return new ToolError('INVALID_ARGUMENT', `The schema cannot be enforced: ${what}.`);
}

/** Shortens a text for an error message. */
export function shorten(text: string, length = 100): string {
  return text.length <= length ? text : `${text.slice(0, length)}…`;
}

function of(kind: Kind, keywords: readonly string[]): [string, Kind][] {
  return keywords.map((keyword) => [keyword, kind]);
}
