// JSON Schema as TypeScript types: what a value may look like, for a model or a person who reads it. A type may say less than the
// schema, never something else; every text is valid TypeScript, whatever the schema contains.

import { isJsonObject, type JsonObject, type JsonSchema } from '../../contract/json.js';
import { withVisibleEscapes } from '../../contract/visible-text.js';
import { docComment } from './doc-comment.js';

/** A type as text. */
interface TypeText {
  readonly text: string;
  /** The members of a union; 1 for any other type. */
  readonly size: number;
  /** Whether it needs parentheses as a part of another type. */
  readonly isCompound?: boolean;
}

const UNKNOWN: TypeText = { text: 'unknown', size: 1 };
const ANY_OBJECT: TypeText = { text: '{ [key: string]: unknown }', size: 1 };
/** Subschemas that are read of one schema; what is beyond becomes `unknown`. */
const MAX_SUBSCHEMAS = 20_000;
const MAX_DEPTH = 60;
/** A larger union of literals is shown as the type of its members. */
const MAX_LITERALS = 200;
/** TypeScript multiplies out intersections of unions, and gives up beyond 100,000 members. */
const MAX_UNION = 500;

/** Schemas by type. */
const PRIMITIVES: Readonly<Record<string, string>> = {
  string: 'string',
  number: 'number',
  integer: 'number',
  boolean: 'boolean',
  null: 'null',
};

/** Converts one schema, with the definitions that it refers to. */
export class SchemaTypes {
  readonly #root: JsonSchema;
  readonly #nameFor: (hint: string) => string;
  /** The names of types that are declared, by what they refer to. */
  readonly #named = new Map<string, string>();
  readonly #pending: { name: string; pointer: string }[] = [];
  #left = MAX_SUBSCHEMAS;

  /** @param nameFor returns an unused name of a type */
  constructor(root: JsonSchema, nameFor: (hint: string) => string) {
    this.#root = root;
    this.#nameFor = nameFor;
  }

  /** The type of the whole schema, at this indent. */
  rootType(indent: string): string {
    return this.#type(this.#root, { indent, depth: 0, inlined: [], isHead: false, isEager: false }).text;
  }

  /** The declarations of the types that {@link rootType} names. */
  declarations(): string[] {
    const declared: string[] = [];
    for (let next = this.#pending.shift(); next; next = this.#pending.shift()) {
      const place: Place = { indent: '', depth: 0, inlined: [next.pointer], isHead: true, isEager: false };
      declared.push(`type ${next.name} = ${this.#type(this.#resolve(next.pointer), place).text};`);
    }
    return declared;
  }

  #type(schema: unknown, place: Place): TypeText {
    if (schema === false) return { text: 'never', size: 1 };
    if (!isJsonObject(schema) || place.depth > MAX_DEPTH || --this.#left < 0) return UNKNOWN;
    const isEager = place.isEager || (place.isHead && partsOf(schema) > 1);
    const here = { ...place, isEager, depth: place.depth + 1 };
    const parts: TypeText[] = [];
    if (typeof schema.$ref === 'string') parts.push(this.#reference(schema.$ref, here));
    if (schema.const !== undefined) parts.push(literalType(schema.const));
    else if (Array.isArray(schema.enum)) parts.push(literalsType(schema.enum));
    else parts.push(this.#ofTypes(schema, here));
    for (const keyword of ['anyOf', 'oneOf'] as const) {
      const options: unknown = schema[keyword];
      if (Array.isArray(options) && options.length > 0)
        parts.push(union(options.map((option) => this.#type(option, here))));
    }
    if (Array.isArray(schema.allOf)) for (const one of schema.allOf) parts.push(this.#type(one, here));
    const type = intersection(parts);
    return schema.nullable === true ? union([type, { text: 'null', size: 1 }]) : type;
  }

  /** What `type` and the keywords of objects and arrays say. */
  #ofTypes(schema: JsonObject, place: Place): TypeText {
    const { type } = schema;
    const types: unknown[] = Array.isArray(type) ? type : type === undefined ? [] : [type];
    if (types.length > 0)
      return union(
        types.map((one) => {
          if (one === 'object') return this.#object(schema, place);
          if (one === 'array') return this.#array(schema, place);
          const text = typeof one === 'string' && Object.hasOwn(PRIMITIVES, one) ? PRIMITIVES[one] : undefined;
          return text === undefined ? UNKNOWN : { text, size: 1 };
        }),
      );
    if (isJsonObject(schema.properties) || Array.isArray(schema.required)) return this.#object(schema, place);
    if (schema.prefixItems !== undefined || schema.items !== undefined) return this.#array(schema, place);
    return UNKNOWN;
  }

  #object(schema: JsonObject, place: Place): TypeText {
    const properties = isJsonObject(schema.properties) ? schema.properties : {};
    const required = new Set(
      Array.isArray(schema.required) ? schema.required.filter((key) => typeof key === 'string') : [],
    );
    const inner: Place = { ...place, indent: `${place.indent}  `, isHead: false };
    const lines: string[] = [];
    for (const [key, property] of Object.entries(properties)) {
      for (const line of docComment(descriptionOf(property), inner.indent)) lines.push(line);
      const mark = required.has(key) ? '' : '?';
      lines.push(`${inner.indent}${propertyKey(key)}${mark}: ${this.#type(property, inner).text};`);
    }
    for (const key of required)
      if (!Object.hasOwn(properties, key)) lines.push(`${inner.indent}${propertyKey(key)}: unknown;`);
    const { additionalProperties: others } = schema;
    const isOpen = others !== false && (others !== undefined || schema.patternProperties !== undefined);
    if (lines.length === 0) {
      if (!isJsonObject(others)) return others === false && !schema.patternProperties ? NO_PROPERTIES : ANY_OBJECT;
      return { text: `{ [key: string]: ${this.#type(others, inner).text} }`, size: 1 };
    }
    // The declared properties must have a type that the index has too.
    if (isOpen || schema.patternProperties !== undefined) lines.push(`${inner.indent}[key: string]: unknown;`);
    return { text: `{\n${lines.join('\n')}\n${place.indent}}`, size: 1 };
  }

  #array(schema: JsonObject, place: Place): TypeText {
    const inner = { ...place, isHead: false };
    const { prefixItems, items, additionalItems, minItems } = schema;
    const prefix: unknown = prefixItems ?? (Array.isArray(items) ? items : undefined);
    if (!Array.isArray(prefix)) {
      const element = items === undefined ? 'unknown' : inParentheses(this.#type(items, inner));
      return { text: `${element}[]`, size: 1 };
    }
    const least = typeof minItems === 'number' ? minItems : 0;
    const elements = prefix.map((item, index) => {
      const element = this.#type(item, inner);
      return index < least ? element.text : `${inParentheses(element)}?`;
    });
    const rest: unknown = prefixItems === undefined ? additionalItems : items;
    if (rest !== false) elements.push(`...${inParentheses(rest === undefined ? UNKNOWN : this.#type(rest, inner))}[]`);
    return { text: `[${elements.join(', ')}]`, size: 1 };
  }

  /**
   * A reference by name. Where an alias of a type may not refer to itself, the type itself; `unknown` if it is its own part.
   */
  #reference(pointer: string, place: Place): TypeText {
    const target = this.#resolve(pointer);
    if (target === undefined) return UNKNOWN;
    if (place.isHead || place.isEager) {
      if (place.inlined.includes(pointer)) return UNKNOWN;
      return this.#type(target, { ...place, inlined: [...place.inlined, pointer] });
    }
    let name = this.#named.get(pointer);
    if (name === undefined) {
      name = this.#nameFor(pointer.slice(pointer.lastIndexOf('/') + 1).replace(/^#/, ''));
      this.#named.set(pointer, name);
      this.#pending.push({ name, pointer });
    }
    return { text: name, size: MAX_UNION }; // it may be a union
  }

  /** The subschema of a JSON pointer in this document; undefined for any other reference. RFC 6901 */
  #resolve(pointer: string): unknown {
    if (pointer === '#' || pointer === '#/') return this.#root;
    if (!pointer.startsWith('#/')) return undefined;
    let at: unknown = this.#root;
    for (const part of pointer.slice(2).split('/')) {
      const key = decoded(part);
      if (typeof at !== 'object' || at === null || key === undefined || !Object.hasOwn(at, key)) return undefined;
      at = (at as JsonObject)[key];
    }
    return at;
  }
}

interface Place {
  readonly indent: string;
  readonly depth: number;
  /** The references whose types are being written in place. */
  readonly inlined: readonly string[];
  /** Whether this is the outermost type of an alias, not within an object or array. */
  readonly isHead: boolean;
  /** Whether this is within an intersection there: TypeScript resolves those at once. */
  readonly isEager: boolean;
}

const NO_PROPERTIES: TypeText = { text: '{ [key: string]: never }', size: 1 };
const IDENTIFIER = /^[A-Za-z_$][\w$]*$/;

/** The key of a property or method, quoted if necessary. */
export function propertyKey(key: string): string {
  return IDENTIFIER.test(key) && key !== 'new' ? key : quoted(key); // new() is a constructor
}

/** A text as a literal in which nothing is invisible. */
function quoted(text: string): string {
  return withVisibleEscapes(JSON.stringify(text));
}

/** How many keywords of a schema restrict its type: with several, it is an intersection. */
function partsOf({ $ref, type, properties, enum: values, const: value, anyOf, oneOf, allOf }: JsonObject): number {
  const own = [type, properties, values, value].some((keyword) => keyword !== undefined) ? 1 : 0;
  const others = [$ref, anyOf, oneOf].filter((keyword) => keyword !== undefined).length;
  return own + others + (Array.isArray(allOf) ? allOf.length : 0);
}

function decoded(part: string): string | undefined {
  try {
    return decodeURIComponent(part).replaceAll('~1', '/').replaceAll('~0', '~');
  } catch {
    return undefined; // not percent-encoded text
  }
}

function descriptionOf(schema: unknown): string {
  if (!isJsonObject(schema)) return '';
  const { description, default: given } = schema;
  const text = typeof description === 'string' ? description : '';
  const isShort = ['string', 'number', 'boolean'].includes(typeof given) && String(given).length <= 40;
  return isShort && !/\bdefault/i.test(text) ? `${text} Default: ${JSON.stringify(given)}.`.trim() : text;
}

function literalsType(values: readonly unknown[]): TypeText {
  if (values.length > 0 && values.length <= MAX_LITERALS) return union(values.map(literalType));
  return union(values.map((value) => PRIMITIVES[value === null ? 'null' : typeof value] ?? 'unknown').map(asType));
}

function literalType(value: unknown): TypeText {
  if (typeof value === 'string' || typeof value === 'boolean' || value === null)
    return asType(typeof value === 'string' ? quoted(value) : String(value));
  if (typeof value === 'number') return asType(Number.isFinite(value) ? String(value) : 'number');
  return Array.isArray(value) ? asType('unknown[]') : ANY_OBJECT;
}

function asType(text: string): TypeText {
  return { text, size: 1 };
}

function union(types: readonly TypeText[]): TypeText {
  const texts = new Set(types.map(({ text }) => text));
  if (texts.size === 0 || texts.has('unknown')) return UNKNOWN;
  if (texts.size > 1) texts.delete('never');
  const [only] = texts;
  if (texts.size === 1) return types.find(({ text }) => text === only) ?? UNKNOWN;
  return { text: [...texts].join(' | '), size: types.reduce((sum, { size }) => sum + size, 0), isCompound: true };
}

/** The parts together, without those that say nothing, and without those that would make too large a union. */
function intersection(parts: readonly TypeText[]): TypeText {
  const kept = new Map<string, TypeText>();
  let size = 1;
  for (const part of parts) {
    if (part.text === 'unknown' || kept.has(part.text)) continue;
    if (kept.size > 0 && size * part.size > MAX_UNION) continue;
    size *= part.size;
    kept.set(part.text, part);
  }
  const [first, ...others] = kept.values();
  if (!first) return UNKNOWN;
  if (others.length === 0) return first;
  return { text: [first, ...others].map(inParentheses).join(' & '), size, isCompound: true };
}

function inParentheses({ text, isCompound }: TypeText): string {
  return isCompound === true ? `(${text})` : text;
}
