// JSON Schemas in the form that model vendors accept: an object at the root, references inlined, and only the keywords that
// a vendor knows. What a form cannot express is a loss: it is reported, and the arguments are validated with the original.

import { isJsonObject, type JsonObject, type JsonSchema } from '../contract/json.js';
import { inCurrentDraft } from './schema-dialect.js';
import type { ReportLoss } from './schema-loss.js';

/** More nodes than this are not inlined: references to them stay. */
const MAX_NODES = 20_000;
/** Keywords whose values are schemas, arrays of schemas, or records of schemas. */
const SCHEMA_KEYS = [
  'items',
  'additionalProperties',
  'not',
  'if',
  'then',
  'else',
  'contains',
  'propertyNames',
] as const;
const LIST_KEYS = ['allOf', 'anyOf', 'oneOf', 'prefixItems'] as const;
const RECORD_KEYS = ['properties', 'patternProperties', 'dependentSchemas'] as const;
/** Keywords that mean nothing outside the original document. */
const DOCUMENT_KEYS: ReadonlySet<string> = new Set([
  '$schema',
  '$id',
  '$anchor',
  '$comment',
  '$defs',
  'definitions',
  '$vocabulary',
]);
const ROOT_COMBINATORS = ['anyOf', 'oneOf', 'allOf'] as const;

/** Calls `change` for each schema directly inside a schema; returns a copy with the results. Drops what returns undefined. */
export function mapSubschemas(
  schema: JsonObject,
  change: (sub: unknown, path: string) => unknown,
  path = '',
): JsonObject {
  const copy: JsonObject = { ...schema };
  const put = (target: JsonObject, key: string, value: unknown): void => {
    if (value === undefined) delete target[key];
    else target[key] = value;
  };
  for (const key of SCHEMA_KEYS) if (key in copy) put(copy, key, change(copy[key], `${path}/${key}`));
  for (const key of LIST_KEYS) {
    const list = copy[key];
    if (Array.isArray(list)) copy[key] = list.map((sub, index) => change(sub, `${path}/${key}/${index}`));
  }
  for (const key of RECORD_KEYS) {
    const record = copy[key];
    if (!isJsonObject(record)) continue;
    const changed: JsonObject = {};
    for (const [name, sub] of Object.entries(record))
      Object.defineProperty(changed, name, {
        value: change(sub, `${path}/${key}/${pointerPart(name)}`),
        enumerable: true,
        configurable: true,
        writable: true,
      });
    copy[key] = changed;
  }
  return copy;
}

/** A name as a part of a JSON Pointer. */
export function pointerPart(name: string): string {
  return name.replaceAll('~', '~0').replaceAll('/', '~1');
}

/**
 * The schema of a tool's arguments in the form that every vendor accepts: `type: "object"` and no alternatives at the root,
 * and references inlined; recursive ones point to `#/$defs`. The result is a copy.
 *
 * @returns undefined for a schema whose arguments are not an object
 */
export function portableSchema(schema: JsonSchema, report: ReportLoss): JsonSchema | undefined {
  const { type = 'object' } = schema;
  if (type !== 'object' && !(Array.isArray(type) && type.includes('object'))) return undefined;
  const inlined = inlineReferences(schema, report);
  return { ...withoutRootAlternatives({ ...inlined, type: 'object' }, report) };
}

/** Replaces references inside the schema by what they refer to. */
function inlineReferences(root: JsonSchema, report: ReportLoss): JsonSchema {
  const definitions = new Map<string, { name: string; schema?: unknown }>();
  const names = new Set<string>();
  let nodes = 0;
  const nameFor = (reference: string): string => {
    const last = reference.split('/').pop() ?? '';
    const base = last.replace(/[^A-Za-z0-9_.-]/g, '_') || 'root';
    let name = base;
    for (let number = 2; names.has(name); number++) name = `${base}_${number}`;
    names.add(name);
    return name;
  };
  const visit = (given: unknown, path: string, open: readonly string[]): unknown => {
    if (!isJsonObject(given)) return given;
    nodes++;
    const schema = inCurrentDraft(given, path, report);
    const { $ref: reference } = schema;
    if (typeof reference !== 'string')
      return mapSubschemas(withoutDocumentKeys(schema), (sub, at) => visit(sub, at, open), path);
    const siblings = withoutDocumentKeys(schema);
    delete siblings.$ref;
    const target = resolveReference(root, reference);
    if (target === undefined) {
      report(
        path,
        `The reference ${JSON.stringify(reference.slice(0, 200))} is outside the schema, so any value is allowed.`,
      );
      return siblings;
    }
    if (!open.includes(reference) && nodes < MAX_NODES && !definitions.has(reference)) {
      const inlined = visit(target, path, [...open, reference]);
      if (!definitions.has(reference)) {
        if (!isJsonObject(inlined)) return Object.keys(siblings).length > 0 ? siblings : inlined;
        return { ...inlined, ...(visit(siblings, path, open) as JsonObject) };
      }
    }
    let definition = definitions.get(reference);
    if (!definition) {
      definition = { name: nameFor(reference) };
      definitions.set(reference, definition);
      definition.schema = visit(target, `/$defs/${definition.name}`, [...open, reference]);
    }
    return { $ref: `#/$defs/${definition.name}`, ...(visit(siblings, path, open) as JsonObject) };
  };
  const inlined = visit(root, '', ['#']) as JsonSchema;
  if (definitions.size === 0) return inlined;
  const $defs = Object.fromEntries([...definitions.values()].map(({ name, schema }) => [name, schema]));
  return { ...inlined, $defs };
}

function withoutDocumentKeys(schema: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(schema).filter(([key]) => !DOCUMENT_KEYS.has(key)));
}

/** What a reference within the document points to: `#`, a JSON Pointer, or an anchor. */
export function resolveReference(root: JsonSchema, reference: string): unknown {
  if (!reference.startsWith('#')) return undefined;
  let fragment: string;
  try {
    fragment = decodeURIComponent(reference.slice(1));
  } catch {
    return undefined;
  }
  if (fragment === '') return root;
  if (!fragment.startsWith('/')) return findAnchor(root, fragment);
  let value: unknown = root;
  for (const part of fragment.slice(1).split('/')) {
    const key = part.replaceAll('~1', '/').replaceAll('~0', '~');
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined;
    value = (value as JsonObject)[key];
  }
  return value;
}

function findAnchor(schema: unknown, name: string): unknown {
  const waiting: unknown[] = [schema];
  for (let looked = 0; waiting.length > 0 && looked < MAX_NODES; looked++) {
    const value = waiting.pop();
    if (typeof value !== 'object' || value === null) continue;
    if ((value as JsonObject).$anchor === name) return value;
    for (const inner of Object.values(value)) waiting.push(inner);
  }
  return undefined;
}

/** Merges alternatives at the root into one object that accepts what any of them accepts. */
function withoutRootAlternatives(schema: JsonSchema, report: ReportLoss): JsonSchema {
  let merged: JsonSchema = schema;
  for (const key of ROOT_COMBINATORS) {
    const { [key]: members, ...rest } = merged;
    if (members === undefined) continue;
    const objects = (Array.isArray(members) ? members : [])
      .filter(isJsonObject)
      .map((member) => withoutRootAlternatives(member, () => undefined));
    const all = key === 'allOf';
    if (!all)
      report(`/${key}`, 'The alternatives are merged into one object; which of them apply together is not said.');
    const properties = mergedProperties([...objects, rest]);
    const lists = objects.map(({ required }) => (Array.isArray(required) ? (required as unknown[]) : []));
    const sets = lists.map((list) => new Set(list));
    const shared = all ? lists.flat() : (lists[0] ?? []).filter((name) => sets.every((set) => set.has(name)));
    const own = Array.isArray(rest.required) ? (rest.required as unknown[]) : [];
    const required = [...new Set([...own, ...shared])];
    const { properties: _properties, required: _required, ...kept } = rest;
    merged = {
      ...kept,
      ...(properties.size > 0 && { properties: Object.fromEntries(properties) }),
      ...(required.length > 0 && { required }),
    };
  }
  return merged;
}

/** The properties of all members; one that differs among them is any of its forms. */
function mergedProperties(members: readonly JsonObject[]): ReadonlyMap<string, unknown> {
  const forms = new Map<string, Map<string | undefined, unknown>>();
  for (const { properties } of members)
    for (const [name, property] of Object.entries(isJsonObject(properties) ? properties : {})) {
      const known = forms.get(name) ?? new Map<string | undefined, unknown>();
      forms.set(name, known.set(JSON.stringify(property), property));
    }
  return new Map(
    [...forms].map(([name, known]) => [
      name,
      known.size === 1 ? [...known.values()][0] : { anyOf: [...known.values()] },
    ]),
  );
}
