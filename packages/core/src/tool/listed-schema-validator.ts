// Validates arguments by the JSON Schema of an untrusted peer. The schema is interpreted, never compiled, and each check has
// a budget of steps. listed-schema-document.ts reads the schema.

import { isJsonObject, type JsonObject, type JsonSchema } from '../contract/json.js';
import { isNullSchema, SchemaDocument, shorten } from './listed-schema-document.js';
import { countFaults, isOfType, numberFaults } from './listed-schema-limits.js';
import type { JsonSchemaValidator, SchemaIssue } from './json-schema-validator.js';

/** About 50 ms. A check that takes more steps is abandoned, and the arguments count as valid. */
const MAX_STEPS = 500_000;
/** Far below the stack's limit. */
const MAX_NESTING = 1_000;
/** The most issues that one coercion can resolve. */
const MAX_ISSUES = 10_000;

/**
 * Creates a validator for the schema of a tool that a peer lists. It reports every issue and never changes the value. It does
 * not evaluate `pattern`, `patternProperties` and `format`, because a hostile expression would block this process: where one
 * of them decides, the arguments count as valid. A reported issue is certain.
 *
 * @throws {ToolError} INVALID_ARGUMENT when the schema is malformed, too large, or has a reference without a target
 */
export function readListedSchema(schema: JsonSchema): JsonSchemaValidator {
  const document = new SchemaDocument(schema);
  return (value) => {
    const check = new Check(document);
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

/** A location in the arguments, with the results of the schemas that were checked there: references may repeat them. */
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
    // eslint-disable-next-line @typescript-eslint/no-this-alias -- the start of the walk to the root
    for (let place: Place = this; place.#parent; place = place.#parent) path.unshift(place.#key);
    return path;
  }
}

/** `true`: valid; `false`: invalid; `undefined`: valid as far as it was checked, the peer decides. */
type Validity = boolean | undefined;

interface Result {
  validity: Validity;
  issues: readonly SchemaIssue[];
  evaluated: Evaluated | undefined;
}

/** The properties and items that keywords have evaluated. */
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

const OVER_BUDGET = new Error('The check takes too many steps.');

/** One check of one value. */
class Check {
  readonly #document: SchemaDocument;
  #steps = 0;
  #nesting = 0;

  constructor(document: SchemaDocument) {
    this.#document = document;
  }

  /** Checks a value and adds its issues to `issues`. */
  run(schema: unknown, value: unknown, place: Place, issues: SchemaIssue[], evaluated?: Evaluated): Validity {
    this.#spend(1);
    if (schema === true) return true;
    if (schema === false) return report(issues, place.path(), 'is not allowed');
    if (++this.#nesting > MAX_NESTING) throw OVER_BUDGET;
    const node = schema as JsonObject;
    const target = this.#document.targetOf(node);
    const evaluatedHere = this.#document.tracksEvaluated ? new Evaluated() : undefined;
    let validity: Validity = true;
    if (target !== undefined) validity = this.#reference(target, value, place, issues, evaluatedHere);
    if (target === undefined || !this.#document.isRefExclusive)
      validity = and(validity, this.#keywords(node, value, place, issues, evaluatedHere));
    if (evaluatedHere && validity !== false) evaluated?.add(evaluatedHere);
    this.#nesting--;
    return validity;
  }

  #spend(steps: number): void {
    this.#steps += steps;
    if (this.#steps > MAX_STEPS) throw OVER_BUDGET;
  }

  /** Checks each target once per location, however many references it has. */
  #reference(target: unknown, value: unknown, place: Place, issues: SchemaIssue[], evaluated?: Evaluated): Validity {
    const known = place.results.get(target);
    if (known) {
      for (const issue of known.issues) push(issues, issue);
      if (known.evaluated) evaluated?.add(known.evaluated);
      this.#spend(known.issues.length);
      return known.validity;
    }
    if (place.results.has(target)) return true; // a reference to itself restricts nothing further
    place.results.set(target, undefined);
    const result: Result & { issues: SchemaIssue[] } = {
      validity: true,
      issues: [],
      evaluated: this.#document.tracksEvaluated ? new Evaluated() : undefined,
    };
    result.validity = this.run(target, value, place, result.issues, result.evaluated);
    place.results.set(target, result);
    for (const issue of result.issues) push(issues, issue);
    if (result.evaluated) evaluated?.add(result.evaluated);
    return result.validity;
  }

  #keywords(schema: JsonObject, value: unknown, place: Place, issues: SchemaIssue[], evaluated?: Evaluated): Validity {
    let validity: Validity = this.#value(schema, value, place, issues);
    if (typeof value === 'number') validity = and(validity, reportAll(issues, place, numberFaults(schema, value)));
    else if (typeof value === 'string') validity = and(validity, this.#text(schema, value, place, issues));
    else if (Array.isArray(value)) validity = and(validity, this.#list(schema, value, place, issues, evaluated));
    else if (isJsonObject(value)) validity = and(validity, this.#object(schema, value, place, issues, evaluated));
    validity = and(validity, this.#combined(schema, value, place, issues, evaluated));
    // These depend on what all other keywords have evaluated.
    if (evaluated && isJsonObject(value)) {
      const { unevaluatedProperties: rest } = schema;
      if (rest !== undefined && !evaluated.all) {
        for (const key of Object.keys(value)) {
          if (evaluated.keys.has(key)) continue;
          validity = and(validity, this.#property(rest, value, key, place, issues));
        }
        evaluated.all = true;
      }
    } else if (evaluated && Array.isArray(value)) {
      const { unevaluatedItems: rest } = schema;
      if (rest !== undefined && !evaluated.all) {
        for (const [index, item] of value.entries())
          if (!evaluated.items.has(index)) validity = and(validity, this.#item(rest, item, index, place, issues));
        evaluated.all = true;
      }
    }
    return validity;
  }

  #value(schema: JsonObject, value: unknown, place: Place, issues: SchemaIssue[]): Validity {
    let validity: Validity = true;
    const { type } = schema;
    if (
      type !== undefined &&
      !(Array.isArray(type) ? type.some((member) => isOfType(value, member)) : isOfType(value, type))
    )
      validity = report(issues, place.path(), `must be ${([type].flat() as string[]).join(' or ')}`);
    if (schema.enum !== undefined && !(schema.enum as unknown[]).some((member) => this.#equal(member, value)))
      validity = report(issues, place.path(), `must be one of ${shorten(JSON.stringify(schema.enum), 400)}`);
    if ('const' in schema && !this.#equal(schema.const, value))
      validity = report(issues, place.path(), `must be ${shorten(JSON.stringify(schema.const) ?? 'absent', 400)}`);
    return validity;
  }

  #text(schema: JsonObject, value: string, place: Place, issues: SchemaIssue[]): Validity {
    const { minLength, maxLength } = schema as Record<string, number | undefined>;
    const validity: Validity = schema.pattern === undefined ? true : undefined;
    if (minLength === undefined && maxLength === undefined) return validity;
    this.#spend(value.length / 64);
    let length = 0;
    for (const _character of value) length++;
    return and(validity, reportAll(issues, place, countFaults(schema, 'Length', length)));
  }

  #list(
    schema: JsonObject,
    value: readonly unknown[],
    place: Place,
    issues: SchemaIssue[],
    evaluated: Evaluated | undefined,
  ): Validity {
    let validity = reportAll(issues, place, countFaults(schema, 'Items', value.length));
    const { items, contains } = schema;
    const first = (Array.isArray(items) ? items : (schema.prefixItems ?? [])) as unknown[];
    const rest = Array.isArray(items) ? schema.additionalItems : items;
    for (const [index, item] of value.entries()) {
      const itemSchema = index < first.length ? first[index] : rest;
      if (itemSchema === undefined) break;
      evaluated?.items.add(index);
      validity = and(validity, this.#item(itemSchema, item, index, place, issues));
    }
    if (contains !== undefined) validity = and(validity, this.#contains(schema, value, place, issues, evaluated));
    if (schema.uniqueItems === true && !this.#areDistinct(value))
      validity = report(issues, place.path(), 'must not have equal items');
    return validity;
  }

  #contains(
    schema: JsonObject,
    value: readonly unknown[],
    place: Place,
    issues: SchemaIssue[],
    evaluated: Evaluated | undefined,
  ): Validity {
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
  ): Validity {
    const keys = Object.keys(value);
    let validity = reportAll(issues, place, countFaults(schema, 'Properties', keys.length));
    const { properties, patternProperties, additionalProperties, propertyNames } = schema as Record<string, JsonObject>;
    const requireNames = (names: readonly string[]): void => {
      this.#spend(names.length);
      for (const name of names)
        if (!Object.hasOwn(value, name)) validity = report(issues, place.path(name), 'is required');
    };
    if (schema.required !== undefined) requireNames(schema.required as string[]);
    // Only the peer knows which names match a pattern.
    const openEnded = patternProperties !== undefined && Object.keys(patternProperties).length > 0;
    for (const key of keys) {
      this.#spend(1);
      if (propertyNames !== undefined) {
        const nameIssues: SchemaIssue[] = [];
        validity = and(validity, this.run(propertyNames, key, new Place(undefined, ''), nameIssues));
        for (const { message } of nameIssues) report(issues, place.path(key), `has a wrong name: it ${message}`);
      }
      if (properties && Object.hasOwn(properties, key)) {
        evaluated?.keys.add(key);
        validity = and(validity, this.#property(properties[key], value, key, place, issues));
        if (openEnded) validity = and(validity, undefined);
      } else if (openEnded) {
        evaluated?.keys.add(key);
        validity = and(validity, undefined);
      } else if (additionalProperties !== undefined) {
        evaluated?.keys.add(key);
        validity = and(validity, this.#property(additionalProperties, value, key, place, issues));
      }
    }
    for (const keyword of ['dependentRequired', 'dependentSchemas', 'dependencies']) {
      const dependent = schema[keyword];
      if (!isJsonObject(dependent)) continue;
      for (const [key, dependency] of Object.entries(dependent)) {
        this.#spend(1);
        if (!Object.hasOwn(value, key)) continue;
        if (Array.isArray(dependency)) requireNames(dependency as string[]);
        else validity = and(validity, this.run(dependency, value, place, issues, evaluated));
      }
    }
    return validity;
  }

  #property(schema: unknown, value: JsonObject, key: string, place: Place, issues: SchemaIssue[]): Validity {
    if (schema === false) return report(issues, place.path(key), 'is not a known property');
    return this.run(schema, value[key], place.at(key, this.#document.hasReferences), issues);
  }

  #item(schema: unknown, item: unknown, index: number, place: Place, issues: SchemaIssue[]): Validity {
    return this.run(schema, item, place.at(index, this.#document.hasReferences), issues);
  }

  #combined(schema: JsonObject, value: unknown, place: Place, issues: SchemaIssue[], evaluated?: Evaluated): Validity {
    let validity: Validity = true;
    const { allOf, anyOf, oneOf, not } = schema as Record<string, unknown[] | undefined>;
    for (const member of allOf ?? []) validity = and(validity, this.run(member, value, place, issues, evaluated));
    if (anyOf) validity = and(validity, this.#union(anyOf, 'at least one', value, place, issues, evaluated));
    if (oneOf) validity = and(validity, this.#union(oneOf, 'exactly one', value, place, issues, evaluated));
    if (not !== undefined) {
      const found = this.run(not, value, place, []);
      if (found === true) validity = report(issues, place.path(), 'is excluded by "not"');
      else if (found === undefined) validity = and(validity, undefined);
    }
    if (schema.if !== undefined) {
      const found = this.run(schema.if, value, place, [], evaluated);
      const next = found === true ? schema.then : found === false ? schema.else : undefined;
      if (next !== undefined) validity = and(validity, this.run(next, value, place, issues, evaluated));
      else if (found === undefined) {
        if (evaluated) evaluated.all = true;
        validity = and(validity, undefined);
      }
    }
    return validity;
  }

  #union(
    members: readonly unknown[],
    wanted: 'at least one' | 'exactly one',
    value: unknown,
    place: Place,
    issues: SchemaIssue[],
    evaluated: Evaluated | undefined,
  ): Validity {
    let possible = 0;
    let certain = 0;
    const failures: SchemaIssue[][] = [];
    for (const member of members) {
      const memberIssues: SchemaIssue[] = [];
      const found = this.run(member, value, place, memberIssues, evaluated);
      if (found === false) {
        if (!isNullSchema(member)) failures.push(memberIssues);
        continue;
      }
      possible++;
      if (found) certain++;
    }
    if (possible === 0) {
      // "A number or null" is an optional number: the issues are those of the number.
      if (failures.length === 1 && value !== null) for (const issue of failures[0] ?? []) push(issues, issue);
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

function and(a: Validity, b: Validity): Validity {
  return a === false || b === false ? false : a && b;
}

function report(issues: SchemaIssue[], path: PropertyKey[], message: string): false {
  push(issues, { path, message });
  return false;
}

function reportAll(issues: SchemaIssue[], place: Place, messages: readonly string[]): Validity {
  for (const message of messages) report(issues, place.path(), message);
  return messages.length === 0;
}

function push(issues: SchemaIssue[], issue: SchemaIssue): void {
  if (issues.length < MAX_ISSUES) issues.push(issue);
}

function distinct(issues: readonly SchemaIssue[]): SchemaIssue[] {
  const byText = new Map(issues.map((issue) => [JSON.stringify([issue.path.map(String), issue.message]), issue]));
  return [...byText.values()];
}
