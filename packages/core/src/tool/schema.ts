// Turns any kind of schema into a JSON Schema and a validator, once per tool. `prepare` loads zod 3 support and Ajv if needed.

import type { StandardSchemaV1 } from '@standard-schema/spec';
import { BRAND } from '../contract/brand.js';
import { ToolError } from '../contract/errors.js';
import type { ToolSchema } from './infer-schema.js';
import { isJsonObject, type JsonObject, type JsonSchema } from '../contract/json.js';
import type { SchemaIssue, SchemaOutcome } from './json-schema-validator.js';

type StandardProps = StandardSchemaV1['~standard'] & {
  jsonSchema?: Record<'input' | 'output', (options: { target: string }) => JsonSchema>;
};

const TARGET = 'draft-2020-12';
const DIALECT = 'https://json-schema.org/draft/2020-12/schema';
/** Root keywords that may allow more properties than `properties` lists: such a schema is not closed. */
const OPENING_KEYWORDS = [
  'additionalProperties',
  'patternProperties',
  'unevaluatedProperties',
  'allOf',
  'if',
  '$ref',
  'dependentSchemas',
];

/**
 * The input or output schema of a tool: its JSON Schema for the listing and its validator for calls. For most schemas both are
 * available immediately; for zod 3 and plain JSON Schema they are after {@link prepare}.
 */
export class CompiledSchema {
  /** @internal */
  readonly [BRAND] = 'CompiledSchema';
  /** The JSON Schema as listed; for zod 3 undefined until {@link prepare}. */
  jsonSchema: JsonSchema | undefined;
  /** The names of an input's properties, if it allows no others. */
  knownKeys: ReadonlySet<string> | undefined;
  /** True for an output that is not an object: it is listed and validated as `{ result: … }`. */
  wraps = false;
  readonly #source: ToolSchema;
  readonly #direction: 'input' | 'output';
  #validate: ((value: unknown) => SchemaOutcome | Promise<SchemaOutcome>) | undefined;
  #preparing: Promise<void> | undefined;

  /** @throws {ToolError} INVALID_ARGUMENT for a schema of an unknown kind, without a JSON form, or not of an object */
  constructor(source: ToolSchema, direction: 'input' | 'output') {
    this.#source = source;
    this.#direction = direction;
    if (isStandardSchema(source)) {
      const standard = source['~standard'] as StandardProps;
      const validate = (value: unknown): SchemaOutcome | Promise<SchemaOutcome> =>
        standard.validate(value) as SchemaOutcome | Promise<SchemaOutcome>;
      this.#validate = (value) => (this.wraps ? validateWrapped(value, validate) : validate(value));
      if (isZod3(source)) return;
      this.#adopt(convertStandard(standard, direction));
    } else {
      if (!isJsonObject(source)) {
        throw new ToolError(
          'INVALID_ARGUMENT',
          `${direction} must be a schema: zod, another Standard Schema, or a JSON Schema.`,
        );
      }
      const members = Object.values(source);
      if (members.length > 0 && members.every(isStandardSchema)) {
        throw new ToolError(
          'INVALID_ARGUMENT',
          `${direction} is a plain object of schemas; wrap it: ${direction}: z.object({ … }).`,
        );
      }
      this.#adopt(source);
    }
  }

  /** True when the schema is ready to validate. */
  get ready(): boolean {
    return this.#validate !== undefined && this.jsonSchema !== undefined;
  }

  /** Loads what the schema needs (zod-to-json-schema, Ajv). Idempotent. @throws {ToolError} INVALID_ARGUMENT */
  prepare(): Promise<void> {
    if (this.ready) return Promise.resolve();
    return (this.#preparing ??= this.#load().catch((error: unknown) => {
      this.#preparing = undefined;
      throw error;
    }));
  }

  /** Parses a value. Synchronous unless the schema is asynchronous. Call {@link prepare} first. */
  parse(value: unknown): SchemaOutcome | Promise<SchemaOutcome> {
    if (!this.#validate) throw new ToolError('INTERNAL', 'parse() was called before prepare().');
    return this.#validate(value);
  }

  async #load(): Promise<void> {
    if (isStandardSchema(this.#source)) {
      this.#adopt(await convertZod3(this.#source));
      return;
    }
    const { compileJsonSchema } = await import('./json-schema-validator.js');
    this.#validate = await compileJsonSchema(this.jsonSchema ?? {});
  }

  #adopt(given: JsonSchema): void {
    this.wraps = this.#direction === 'output' && isPlainType(given.type);
    const schema = this.wraps ? wrapped(given) : given;
    assertObjectSchema(schema, this.#direction);
    const { $schema, ...rest } = copyJson(schema, this.#direction);
    // The author's `$schema` is listed; one that a converter added only repeats MCP's default.
    const isConverted = $schema === DIALECT && isStandardSchema(this.#source);
    const listed: JsonSchema = $schema === undefined || isConverted ? rest : { $schema, ...rest };
    this.jsonSchema = deepFreeze(listed);
    if (this.#direction === 'output') return;
    const open = OPENING_KEYWORDS.some((keyword) => keyword in schema && schema[keyword] !== false);
    if (open) return;
    this.knownKeys = new Set(Object.keys((schema.properties as object | undefined) ?? {}));
    this.jsonSchema = Object.freeze({ ...listed, additionalProperties: false });
  }
}

/** True for a root type other than object: a number, a string, an array and so on. */
export function isPlainType(type: unknown): boolean {
  return typeof type === 'string' && type !== 'object';
}

/** Wraps a schema as `{ result: schema }`; definitions stay at the root, where references find them. */
export function wrapped(schema: JsonSchema): JsonSchema {
  const { $schema, $defs, definitions, ...result } = schema;
  return {
    ...($schema !== undefined && { $schema }),
    type: 'object',
    properties: { result: withMovedReferences(result) },
    required: ['result'],
    ...($defs !== undefined && { $defs: withMovedReferences($defs) }),
    ...(definitions !== undefined && { definitions: withMovedReferences(definitions) }),
  };
}

function withMovedReferences(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(withMovedReferences);
  if (!isJsonObject(node)) return node;
  return Object.fromEntries(
    Object.entries(node).map(([key, value]) => {
      const moves =
        key === '$ref' && typeof value === 'string' && /^#(?!\/(?:\$defs|definitions)\/)(?:\/|$)/.test(value);
      return [key, moves ? `#/properties/result${value.slice(1)}` : withMovedReferences(value)];
    }),
  );
}

function validateWrapped(
  value: unknown,
  validate: (value: unknown) => SchemaOutcome | Promise<SchemaOutcome>,
): SchemaOutcome | Promise<SchemaOutcome> {
  const wrap = (outcome: SchemaOutcome): SchemaOutcome =>
    outcome.issues
      ? { issues: outcome.issues.map(({ path, message }) => ({ path: ['result', ...(path ?? [])], message })) }
      : { value: { result: outcome.value } };
  const outcome = validate((value as { result?: unknown } | null)?.result);
  return outcome instanceof Promise ? outcome.then(wrap) : wrap(outcome);
}

/** Copies the author's schema, so that later changes to it have no effect. */
function copyJson(schema: JsonSchema, direction: string): JsonSchema {
  try {
    return structuredClone(schema);
  } catch (cause) {
    throw new ToolError('INVALID_ARGUMENT', `${direction} is not plain JSON: ${ToolError.from(cause).message}`, {
      cause,
    });
  }
}

function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const child of Object.values(value)) deepFreeze(child);
  }
  return value;
}

function isStandardSchema(value: unknown): value is StandardSchemaV1 {
  return ((typeof value === 'object' && value !== null) || typeof value === 'function') && '~standard' in value;
}

function isZod3(schema: object): boolean {
  const { _def } = schema as { _def?: { typeName?: unknown } };
  return typeof _def?.typeName === 'string' && !('_zod' in schema);
}

function convertStandard(standard: StandardProps, direction: 'input' | 'output'): JsonSchema {
  if (typeof standard.jsonSchema?.[direction] !== 'function') {
    throw new ToolError(
      'INVALID_ARGUMENT',
      `${direction} is a ${standard.vendor} schema that cannot be converted to JSON Schema. Use zod 4.2 or later (not zod/mini), ` +
        'zod 3.25, ArkType, valibot through toStandardJsonSchema, or pass a plain JSON Schema.',
    );
  }
  try {
    return standard.jsonSchema[direction]({ target: TARGET });
  } catch (cause) {
    const { message } = ToolError.from(cause);
    throw new ToolError('INVALID_ARGUMENT', `${direction} has no JSON Schema: ${message}. Use a type that JSON has.`, {
      cause,
    });
  }
}

async function convertZod3(schema: StandardSchemaV1): Promise<JsonSchema> {
  const { zodToJsonSchema } = await import('zod-to-json-schema');
  // `$refStrategy: none` keeps the listing self-contained, which model vendors require.
  const converted = zodToJsonSchema(schema as never, {
    target: 'jsonSchema2019-09',
    $refStrategy: 'none',
  }) as JsonObject;
  return modernise(converted, '') as JsonSchema;
}

/** Converts tuples, which zod-to-json-schema writes in the form of draft 2019-09, to draft 2020-12. */
function modernise(node: unknown, key: string): unknown {
  if (Array.isArray(node)) return node.map((item) => modernise(item, ''));
  if (!isJsonObject(node)) return node;
  const result: JsonObject = {};
  for (const [name, value] of Object.entries(node)) {
    if (name === '$schema' && key === '') continue;
    if (key !== 'properties' && name === 'items' && Array.isArray(value)) result.prefixItems = modernise(value, name);
    else if (key !== 'properties' && name === 'additionalItems') result.items = modernise(value, name);
    else result[name] = name === 'default' || name === 'const' || name === 'enum' ? value : modernise(value, name);
  }
  return result;
}

/** @throws {ToolError} INVALID_ARGUMENT listing all faults of the root */
function assertObjectSchema(schema: JsonSchema, direction: string): void {
  const faults: string[] = [];
  if ('anyOf' in schema || 'oneOf' in schema)
    faults.push('its root is a union, which model APIs do not accept; wrap it in an object');
  else if (schema.type !== 'object')
    faults.push(`its root type must be "object", not ${JSON.stringify(schema.type) ?? 'absent'}`);
  const properties = schema.properties ?? {};
  if (!isJsonObject(properties)) faults.push('its "properties" must be an object');
  const { required } = schema;
  if (required !== undefined && !Array.isArray(required)) faults.push('its "required" must be an array');
  for (const name of Array.isArray(required) ? (required as unknown[]) : []) {
    if (!isJsonObject(properties) || !Object.hasOwn(properties, String(name)))
      faults.push(`it requires "${String(name)}", which is not in its properties`);
  }
  if (faults.length > 0)
    throw new ToolError('INVALID_ARGUMENT', `${direction}: ${faults.join('; ')}.`, { details: { faults } });
}

/** Normalises paths: in Standard Schema a path segment is a key or an object with a key. */
export function normaliseIssues(issues: readonly SchemaIssue[]): SchemaIssue[] {
  return issues.map(({ path, message }) => ({
    path: ((path as readonly unknown[] | undefined) ?? []).map(keyOf),
    message,
  }));
}

function keyOf(segment: unknown): PropertyKey {
  return (isJsonObject(segment) && 'key' in segment ? segment.key : segment) as PropertyKey;
}

/** Describes issues for a message: `edits[0].line: must be number`. Lists at most `limit`, and counts the rest. */
export function describeIssues(issues: readonly SchemaIssue[], limit = 5): string {
  const lines = issues.slice(0, limit).map(({ path, message }) => {
    const at = path.map(String).reduce<string>((text, key) => {
      if (/^\d+$/.test(key)) return `${text}[${key}]`;
      return text === '' ? key : `${text}.${key}`;
    }, '');
    return at === '' ? message : `${at}: ${message}`;
  });
  if (issues.length > limit) lines.push(`and ${issues.length - limit} more`);
  return lines.join('; ');
}
