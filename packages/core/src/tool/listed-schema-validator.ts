// Checks arguments by the JSON Schema of a peer that is not trusted. The schema is interpreted, never compiled: no schema
// can change how another one is read, none costs more to prepare than to read it, and each check has a budget of steps.

import { ToolError } from '../contract/errors.js';
import { isJsonObject, type JsonObject, type JsonSchema } from '../contract/json.js';
import type { JsonSchemaValidator, SchemaIssue } from './json-schema-validator.js';

/** Larger or deeper schemas are not enforced. */
const MAX_BYTES = 1024 * 1024;
const MAX_DEPTH = 64;
/** About 50 ms. A check that takes more steps ends without an answer, and the arguments count as right. */
const MAX_STEPS = 500_000;
/** Far from the end of the stack. */
const MAX_NESTING = 1_000;
/** As many can be repaired at once. */
const MAX_ISSUES = 10_000;

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
 * A validator for the schema of a tool that a peer lists. It finds every fault and never changes the value. `pattern`,
 * `patternProperties` and `format` are left to the peer, as a hostile expression would block this process: where one
 * decides, the arguments count as right. What is found wrong is wrong for certain.
 *
 * @throws {ToolError} INVALID_ARGUMENT when the schema is malformed, refers to what it does not hold, or is too large
 */
export function readListedSchema(schema: JsonSchema): JsonSchemaValidator {
  assertBounded(schema);
  const references = new References(schema);
  return (value) => {
    const check = new Check(references);
    const issues: SchemaIssue[] = [];
    try {
      check.run(schema, value, new Place(undefined, ''), issues);
    } catch (error) {
      if (error === OVER_BUDGET) return { value };
      throw error;
    }
    return issues.length === 0 ? { value } : { issues: distinct(issues) };
  };
}

/** Every schema in a document, and what each `$ref` in it stands for. Names are known in this document only. */
class References {
  /** Whether `$ref` hides the keywords beside it, as it does up to draft 7. */
  readonly refStandsAlone: boolean;
  /** Whether some schema asks what others have evaluated. */
  tracks = false;
  /** Whether a value can meet one schema more than once. */
  shares = false;
  readonly #bases = new Map<object, string>();
  readonly #named = new Map<string, unknown>();
  readonly #dynamic = new Map<string, number>();
  readonly #targets = new Map<object, unknown>();
  readonly #root: JsonSchema;

  constructor(root: JsonSchema) {
    this.#root = root;
    this.refStandsAlone = typeof root.$schema === 'string' && /draft-0[3-7]/.test(root.$schema);
    const seen = new Set<object>();
    this.#walk(root, '', seen);
    this.#named.set('', root);
    // A reference may lead to a place that no keyword leads to, so that the set grows while it is gone through.
    for (const schema of seen) {
      const { $ref, $dynamicRef, $recursiveRef } = schema as JsonObject;
      const reference = $ref ?? $dynamicRef ?? $recursiveRef;
      if (typeof reference !== 'string') continue;
      if ($ref === undefined) this.#assertStatic(reference);
      const target = this.#resolve(reference, this.#bases.get(schema) ?? '');
      this.shares = true;
      this.#targets.set(schema, target);
      this.#walk(target, this.#bases.get(schema) ?? '', seen);
    }
  }

  /** What the reference of a schema stands for. */
  target(schema: object): unknown {
    return this.#targets.get(schema);
  }

  #walk(schema: unknown, base: string, seen: Set<object>): void {
    if (typeof schema === 'boolean') return;
    if (!isJsonObject(schema)) throw malformed('a schema must be an object, true or false');
    if (seen.has(schema)) return;
    seen.add(schema);
    const own = typeof schema.$id === 'string' ? absolute(schema.$id, base) : base;
    this.#bases.set(schema, own);
    if (typeof schema.$id === 'string') this.#named.set(own, schema);
    for (const [keyword, value] of Object.entries(schema)) {
      if (keyword === 'dependencies' && isJsonObject(value))
        for (const each of Object.values(value)) if (!Array.isArray(each)) this.#walk(each, own, seen);
      const kind = KEYWORDS.get(keyword);
      if (!kind) continue;
      assertKind(kind, keyword, value);
      if (keyword === '$anchor' || keyword === '$dynamicAnchor') this.#named.set(`${own}#${String(value)}`, schema);
      if (keyword === '$dynamicAnchor') this.#dynamic.set(String(value), (this.#dynamic.get(String(value)) ?? 0) + 1);
      if (keyword.startsWith('unevaluated')) this.tracks = true;
      if (kind === 'schema' || (kind === 'items' && !Array.isArray(value))) this.#walk(value, own, seen);
      else if (kind === 'schemas' || kind === 'items')
        for (const each of value as unknown[]) this.#walk(each, own, seen);
      else if (kind === 'map') for (const each of Object.values(value as object)) this.#walk(each, own, seen);
    }
  }

  /** Where one name has one place, a dynamic reference is a plain one. */
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
    throw malformed(`the reference "${shorten(reference)}" leads nowhere`);
  }
}

/** The value at a JSON pointer in its form for URIs. https://www.rfc-editor.org/rfc/rfc6901#section-6 */
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

/** A name against the name of the schema round it, without an empty fragment. Nothing is ever fetched. */
function absolute(reference: string, base: string): string {
  let resolved: string;
  if (reference.startsWith('#')) resolved = base.replace(/#.*$/, '') + reference;
  else {
    try {
      resolved = base === '' ? new URL(reference).href : new URL(reference, base).href;
    } catch {
      resolved = reference; // relative to a document without a name
    }
  }
  return resolved.endsWith('#') ? resolved.slice(0, -1) : resolved;
}

/** Where a value is in the arguments. What was found out about it there is kept, as references may ask again. */
class Place {
  readonly results = new Map<unknown, Result | undefined>();
  readonly #parent: Place | undefined;
  readonly #key: PropertyKey;
  #below: Map<PropertyKey, Place> | undefined;

  constructor(parent: Place | undefined, key: PropertyKey) {
    this.#parent = parent;
    this.#key = key;
  }

  at(key: PropertyKey, keep: boolean): Place {
    if (!keep) return new Place(this, key);
    this.#below ??= new Map();
    let place = this.#below.get(key);
    if (!place) this.#below.set(key, (place = new Place(this, key)));
    return place;
  }

  path(...more: PropertyKey[]): PropertyKey[] {
    const path = [...more];
    // eslint-disable-next-line @typescript-eslint/no-this-alias -- the walk upwards begins here
    for (let place: Place = this; place.#parent; place = place.#parent) path.unshift(place.#key);
    return path;
  }
}

/** What a value is found to be: `true` right, `false` wrong, `undefined` right unless the peer sees more. */
type Answer = boolean | undefined;

interface Result {
  answer: Answer;
  issues: readonly SchemaIssue[];
  evaluated: Evaluated | undefined;
}

/** Which properties and items some keyword has looked at. */
class Evaluated {
  readonly keys = new Set<string>();
  readonly items = new Set<number>();
  all = false;

  add(other: Evaluated): void {
    for (const key of other.keys) this.keys.add(key);
    for (const item of other.items) this.items.add(item);
    this.all ||= other.all;
  }
}

const OVER_BUDGET = new Error('This check takes too many steps.');

/** One check of one value. */
class Check {
  readonly #references: References;
  #steps = 0;
  #nesting = 0;

  constructor(references: References) {
    this.#references = references;
  }

  /** Adds what is wrong to `issues`. */
  run(schema: unknown, value: unknown, place: Place, issues: SchemaIssue[], evaluated?: Evaluated): Answer {
    this.#spend(1);
    if (schema === true) return true;
    if (schema === false) return report(issues, place.path(), 'is not allowed');
    if (++this.#nesting > MAX_NESTING) throw OVER_BUDGET;
    const node = schema as JsonObject;
    const target = this.#references.target(node);
    const own = this.#references.tracks ? new Evaluated() : undefined;
    let answer: Answer = true;
    if (target !== undefined) answer = this.#reference(target, value, place, issues, own);
    if (target === undefined || !this.#references.refStandsAlone)
      answer = and(answer, this.#keywords(node, value, place, issues, own));
    if (own && answer !== false) evaluated?.add(own);
    this.#nesting--;
    return answer;
  }

  #spend(steps: number): void {
    this.#steps += steps;
    if (this.#steps > MAX_STEPS) throw OVER_BUDGET;
  }

  /** Each target is asked once about each value, however many references lead there. */
  #reference(target: unknown, value: unknown, place: Place, issues: SchemaIssue[], evaluated?: Evaluated): Answer {
    const known = place.results.get(target);
    if (known) {
      for (const issue of known.issues) push(issues, issue);
      if (known.evaluated) evaluated?.add(known.evaluated);
      this.#spend(known.issues.length);
      return known.answer;
    }
    if (place.results.has(target)) return true; // it asks itself, which says nothing more
    place.results.set(target, undefined);
    const result: Result & { issues: SchemaIssue[] } = {
      answer: true,
      issues: [],
      evaluated: this.#references.tracks ? new Evaluated() : undefined,
    };
    result.answer = this.run(target, value, place, result.issues, result.evaluated);
    place.results.set(target, result);
    for (const issue of result.issues) push(issues, issue);
    if (result.evaluated) evaluated?.add(result.evaluated);
    return result.answer;
  }

  #keywords(schema: JsonObject, value: unknown, place: Place, issues: SchemaIssue[], evaluated?: Evaluated): Answer {
    let answer: Answer = this.#value(schema, value, place, issues);
    if (typeof value === 'number') answer = and(answer, checkNumber(schema, value, place, issues));
    else if (typeof value === 'string') answer = and(answer, this.#text(schema, value, place, issues));
    else if (Array.isArray(value)) answer = and(answer, this.#list(schema, value, place, issues, evaluated));
    else if (isJsonObject(value)) answer = and(answer, this.#object(schema, value, place, issues, evaluated));
    answer = and(answer, this.#combined(schema, value, place, issues, evaluated));
    // These look at what all the others have evaluated.
    if (evaluated && isJsonObject(value)) {
      const { unevaluatedProperties: rest } = schema;
      if (rest !== undefined && !evaluated.all) {
        for (const key of Object.keys(value)) {
          if (evaluated.keys.has(key)) continue;
          answer = and(answer, this.#property(rest, value, key, place, issues));
        }
        evaluated.all = true;
      }
    } else if (evaluated && Array.isArray(value)) {
      const { unevaluatedItems: rest } = schema;
      if (rest !== undefined && !evaluated.all) {
        for (const [index, item] of value.entries())
          if (!evaluated.items.has(index)) answer = and(answer, this.#item(rest, item, index, place, issues));
        evaluated.all = true;
      }
    }
    return answer;
  }

  #value(schema: JsonObject, value: unknown, place: Place, issues: SchemaIssue[]): Answer {
    let answer: Answer = true;
    const { type } = schema;
    if (
      type !== undefined &&
      !(Array.isArray(type) ? type.some((each) => isOfType(value, each)) : isOfType(value, type))
    )
      answer = report(issues, place.path(), `must be ${([type].flat() as string[]).join(' or ')}`);
    if (schema.enum !== undefined && !(schema.enum as unknown[]).some((each) => this.#equal(each, value)))
      answer = report(issues, place.path(), `must be one of ${shorten(JSON.stringify(schema.enum), 400)}`);
    if ('const' in schema && !this.#equal(schema.const, value))
      answer = report(issues, place.path(), `must be ${shorten(JSON.stringify(schema.const) ?? 'absent', 400)}`);
    return answer;
  }

  #text(schema: JsonObject, value: string, place: Place, issues: SchemaIssue[]): Answer {
    const { minLength, maxLength } = schema as Record<string, number | undefined>;
    let answer: Answer = schema.pattern === undefined ? true : undefined;
    if (minLength === undefined && maxLength === undefined) return answer;
    this.#spend(value.length / 64);
    let length = 0;
    for (const _character of value) length++;
    if (minLength !== undefined && length < minLength)
      answer = report(issues, place.path(), `must have at least ${minLength} characters`);
    if (maxLength !== undefined && length > maxLength)
      answer = report(issues, place.path(), `must have at most ${maxLength} characters`);
    return answer;
  }

  #list(
    schema: JsonObject,
    value: readonly unknown[],
    place: Place,
    issues: SchemaIssue[],
    evaluated: Evaluated | undefined,
  ): Answer {
    let answer = checkCount(schema, 'Items', value.length, 'items', place, issues);
    const { items, contains } = schema;
    const first = (Array.isArray(items) ? items : (schema.prefixItems ?? [])) as unknown[];
    const rest = Array.isArray(items) ? schema.additionalItems : items;
    for (const [index, item] of value.entries()) {
      const wanted = index < first.length ? first[index] : rest;
      if (wanted === undefined) break;
      evaluated?.items.add(index);
      answer = and(answer, this.#item(wanted, item, index, place, issues));
    }
    if (contains !== undefined) answer = and(answer, this.#contains(schema, value, place, issues, evaluated));
    if (schema.uniqueItems === true && !this.#areDistinct(value))
      answer = report(issues, place.path(), 'must not have equal items');
    return answer;
  }

  #contains(
    schema: JsonObject,
    value: readonly unknown[],
    place: Place,
    issues: SchemaIssue[],
    evaluated: Evaluated | undefined,
  ): Answer {
    const { minContains = 1, maxContains = Infinity } = schema as { minContains?: number; maxContains?: number };
    let possible = 0;
    let certain = 0;
    for (const [index, item] of value.entries()) {
      const found = this.#item(schema.contains, item, index, place, []);
      if (found === false) continue;
      possible++;
      if (found) certain++;
      evaluated?.items.add(index);
    }
    if (possible < minContains) return report(issues, place.path(), `must contain at least ${minContains} such items`);
    if (certain > maxContains) return report(issues, place.path(), `must contain at most ${maxContains} such items`);
    return certain >= minContains && possible <= maxContains ? true : undefined;
  }

  #object(
    schema: JsonObject,
    value: JsonObject,
    place: Place,
    issues: SchemaIssue[],
    evaluated: Evaluated | undefined,
  ): Answer {
    const keys = Object.keys(value);
    let answer = checkCount(schema, 'Properties', keys.length, 'properties', place, issues);
    const { properties, patternProperties, additionalProperties, propertyNames } = schema as Record<string, JsonObject>;
    const requires = (names: readonly string[]): void => {
      this.#spend(names.length);
      for (const name of names)
        if (!Object.hasOwn(value, name)) answer = report(issues, place.path(name), 'is required');
    };
    if (schema.required !== undefined) requires(schema.required as string[]);
    // Which names a pattern covers is for the peer to say.
    const openEnded = patternProperties !== undefined && Object.keys(patternProperties).length > 0;
    for (const key of keys) {
      this.#spend(1);
      if (propertyNames !== undefined) {
        const wrong: SchemaIssue[] = [];
        answer = and(answer, this.run(propertyNames, key, new Place(undefined, ''), wrong));
        for (const { message } of wrong) report(issues, place.path(key), `has a wrong name: it ${message}`);
      }
      if (properties && Object.hasOwn(properties, key)) {
        evaluated?.keys.add(key);
        answer = and(answer, this.#property(properties[key], value, key, place, issues));
        if (openEnded) answer = and(answer, undefined);
      } else if (openEnded) {
        evaluated?.keys.add(key);
        answer = and(answer, undefined);
      } else if (additionalProperties !== undefined) {
        evaluated?.keys.add(key);
        answer = and(answer, this.#property(additionalProperties, value, key, place, issues));
      }
    }
    for (const keyword of ['dependentRequired', 'dependentSchemas', 'dependencies']) {
      const dependent = schema[keyword];
      if (!isJsonObject(dependent)) continue;
      for (const [key, wanted] of Object.entries(dependent)) {
        this.#spend(1);
        if (!Object.hasOwn(value, key)) continue;
        if (Array.isArray(wanted)) requires(wanted as string[]);
        else answer = and(answer, this.run(wanted, value, place, issues, evaluated));
      }
    }
    return answer;
  }

  #property(schema: unknown, value: JsonObject, key: string, place: Place, issues: SchemaIssue[]): Answer {
    if (schema === false) return report(issues, place.path(key), 'is not a known property');
    return this.run(schema, value[key], place.at(key, this.#references.shares), issues);
  }

  #item(schema: unknown, item: unknown, index: number, place: Place, issues: SchemaIssue[]): Answer {
    return this.run(schema, item, place.at(index, this.#references.shares), issues);
  }

  #combined(schema: JsonObject, value: unknown, place: Place, issues: SchemaIssue[], evaluated?: Evaluated): Answer {
    let answer: Answer = true;
    const { allOf, anyOf, oneOf, not } = schema as Record<string, unknown[] | undefined>;
    for (const each of allOf ?? []) answer = and(answer, this.run(each, value, place, issues, evaluated));
    if (anyOf) answer = and(answer, this.#union(anyOf, 'at least one', value, place, issues, evaluated));
    if (oneOf) answer = and(answer, this.#union(oneOf, 'exactly one', value, place, issues, evaluated));
    if (not !== undefined) {
      const found = this.run(not, value, place, []);
      if (found === true) answer = report(issues, place.path(), 'is excluded by "not"');
      else if (found === undefined) answer = and(answer, undefined);
    }
    if (schema.if !== undefined) {
      const found = this.run(schema.if, value, place, [], evaluated);
      const next = found === true ? schema.then : found === false ? schema.else : undefined;
      if (next !== undefined) answer = and(answer, this.run(next, value, place, issues, evaluated));
      else if (found === undefined) {
        if (evaluated) evaluated.all = true;
        answer = and(answer, undefined);
      }
    }
    return answer;
  }

  #union(
    members: readonly unknown[],
    wanted: 'at least one' | 'exactly one',
    value: unknown,
    place: Place,
    issues: SchemaIssue[],
    evaluated: Evaluated | undefined,
  ): Answer {
    let possible = 0;
    let certain = 0;
    const faults: SchemaIssue[][] = [];
    for (const member of members) {
      const own: SchemaIssue[] = [];
      const found = this.run(member, value, place, own, evaluated);
      if (found === false) {
        if (!isNullSchema(member)) faults.push(own);
        continue;
      }
      possible++;
      if (found) certain++;
    }
    if (possible === 0) {
      // "A number or null" is a number that may be left out: its faults are those of the number.
      if (faults.length === 1 && value !== null) for (const issue of faults[0] ?? []) push(issues, issue);
      else report(issues, place.path(), `must match ${wanted} of ${members.length} alternatives`);
      return false;
    }
    if (wanted === 'exactly one' && certain > 1)
      return report(issues, place.path(), `must match exactly one of ${members.length} alternatives, not ${certain}`);
    return certain > 0 && (wanted === 'at least one' || possible === 1) ? true : undefined;
  }

  #areDistinct(values: readonly unknown[]): boolean {
    this.#spend(values.length);
    const plain = values.filter((value) => typeof value !== 'object' || value === null);
    if (new Set(plain).size < plain.length) return false;
    const objects = values.filter((value) => typeof value === 'object' && value !== null);
    return objects.every((value, index) => !objects.slice(index + 1).some((other) => this.#equal(value, other)));
  }

  #equal(a: unknown, b: unknown): boolean {
    this.#spend(1);
    if (a === b) return true;
    if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
    if (Array.isArray(a) !== Array.isArray(b)) return false;
    const keys = Object.keys(a);
    if (keys.length !== Object.keys(b).length) return false;
    return keys.every((key) => Object.hasOwn(b, key) && this.#equal((a as JsonObject)[key], (b as JsonObject)[key]));
  }
}

function and(a: Answer, b: Answer): Answer {
  return a === false || b === false ? false : a && b;
}

function report(issues: SchemaIssue[], path: PropertyKey[], message: string): false {
  push(issues, { path, message });
  return false;
}

function push(issues: SchemaIssue[], issue: SchemaIssue): void {
  if (issues.length < MAX_ISSUES) issues.push(issue);
}

function distinct(issues: readonly SchemaIssue[]): SchemaIssue[] {
  const byText = new Map(issues.map((issue) => [JSON.stringify([issue.path.map(String), issue.message]), issue]));
  return [...byText.values()];
}

function checkNumber(schema: JsonObject, value: number, place: Place, issues: SchemaIssue[]): Answer {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf } = schema as Record<
    string,
    number | boolean | undefined
  >;
  let answer: Answer = true;
  const demand = (holds: boolean, words: string): void => {
    if (!holds) answer = report(issues, place.path(), `must be ${words}`);
  };
  // Draft 4 says with a flag that the limit itself is excluded.
  if (typeof minimum === 'number')
    demand(exclusiveMinimum === true ? value > minimum : value >= minimum, `at least ${minimum}`);
  if (typeof maximum === 'number')
    demand(exclusiveMaximum === true ? value < maximum : value <= maximum, `at most ${maximum}`);
  if (typeof exclusiveMinimum === 'number') demand(value > exclusiveMinimum, `more than ${exclusiveMinimum}`);
  if (typeof exclusiveMaximum === 'number') demand(value < exclusiveMaximum, `less than ${exclusiveMaximum}`);
  if (typeof multipleOf === 'number' && multipleOf > 0) {
    const quotient = value / multipleOf;
    // 0.3 / 0.1 is not 3 in binary.
    demand(
      Math.abs(quotient - Math.round(quotient)) <= 1e-9 * Math.max(1, Math.abs(quotient)),
      `a multiple of ${multipleOf}`,
    );
  }
  return answer;
}

function checkCount(
  schema: JsonObject,
  suffix: 'Items' | 'Properties',
  count: number,
  what: string,
  place: Place,
  issues: SchemaIssue[],
): Answer {
  const min = schema[`min${suffix}`] as number | undefined;
  const max = schema[`max${suffix}`] as number | undefined;
  if (min !== undefined && count < min) return report(issues, place.path(), `must have at least ${min} ${what}`);
  if (max !== undefined && count > max) return report(issues, place.path(), `must have at most ${max} ${what}`);
  return true;
}

function isOfType(value: unknown, type: unknown): boolean {
  switch (type) {
    case 'null':
      return value === null;
    case 'integer':
      return Number.isInteger(value);
    case 'number':
      return Number.isFinite(value);
    case 'array':
      return Array.isArray(value);
    case 'object':
      return isJsonObject(value);
    default:
      return typeof value === type;
  }
}

/** True for a member of a union that admits null and nothing else. */
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

function shorten(text: string, length = 100): string {
  return text.length <= length ? text : `${text.slice(0, length)}…`;
}

function of(kind: Kind, keywords: readonly string[]): [string, Kind][] {
  return keywords.map((keyword) => [keyword, kind]);
}
