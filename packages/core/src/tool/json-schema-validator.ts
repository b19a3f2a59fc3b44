// Validates against an author's JSON Schema with Ajv, which is loaded on first use.

import type { ErrorObject, Options, ValidateFunction } from 'ajv';
import { ToolError } from '../contract/errors.js';
import type { JsonObject, JsonSchema } from '../contract/json.js';
import { isPlainSchema } from './plain-schema.js';

/** One fault of a value: its path and a message. */
export interface SchemaIssue {
  path: readonly PropertyKey[];
  message: string;
}

/** The parsed value, or all issues. */
export type SchemaOutcome = { value: unknown; issues?: undefined } | { issues: readonly SchemaIssue[] };

/** Validates a value. */
export type JsonSchemaValidator = (value: unknown) => SchemaOutcome;

interface Ajv {
  compile(schema: JsonSchema): ValidateFunction;
  removeSchema(schema: JsonSchema): unknown;
}

const BASE_OPTIONS: Options = {
  strict: false, // unknown keywords (`x-…`, `discriminator`) are annotations in JSON Schema
  addUsedSchema: false, // two tools may have the same $id
  logger: false,
  validateFormats: true,
  allErrors: true,
  useDefaults: true,
};

const instances = new Map<string, Promise<Ajv>>();

/**
 * Compiles the schema of an authored tool. The validator reports all issues and fills defaults into a copy. Compiling takes
 * milliseconds and most tools are never called, so a schema of plain keywords, which always compiles, is compiled on first
 * use.
 *
 * @throws {ToolError} INVALID_ARGUMENT when the schema does not compile
 */
export async function compileJsonSchema(schema: JsonSchema): Promise<JsonSchemaValidator> {
  const isPlain = isPlainSchema(schema);
  // Ajv never forgets an $id, so a second schema with it would resolve to the first: schemas with an $id get an instance.
  const ajv = hasKey(schema, '$id')
    ? await createAjv(dialectOf(schema), 'authored')
    : await loadAjv(dialectOf(schema), isPlain ? 'plain' : 'authored');
  let validate = isPlain ? undefined : compileWith(ajv, schema);
  const copy = copierForDefaults(schema);
  return (value) => {
    validate ??= compileWith(ajv, schema);
    const copied = copy(value);
    return validate(copied) ? { value: copied } : { issues: (validate.errors ?? []).map(issueOf) };
  };
}

function compileWith(ajv: Ajv, schema: JsonSchema): ValidateFunction {
  try {
    return ajv.compile(schema);
  } catch (cause) {
    throw ToolError.from(cause, 'INVALID_ARGUMENT');
  } finally {
    ajv.removeSchema(schema); // Ajv's cache would keep every schema alive
  }
}

function dialectOf(schema: JsonSchema): 'draft-07' | '2020-12' {
  const { $schema } = schema;
  return typeof $schema === 'string' && /draft-0[67]/.test($schema) ? 'draft-07' : '2020-12';
}

/** `'plain'`: known to be valid, so it is not checked against the meta-schema, which takes 60 ms the first time. */
type Kind = 'authored' | 'plain';

function loadAjv(dialect: 'draft-07' | '2020-12', kind: Kind): Promise<Ajv> {
  const key = `${dialect} ${kind}`;
  let instance = instances.get(key);
  if (!instance) instances.set(key, (instance = createAjv(dialect, kind)));
  return instance;
}

async function createAjv(dialect: 'draft-07' | '2020-12', kind: Kind): Promise<Ajv> {
  const options: Options = { ...BASE_OPTIONS, validateSchema: kind === 'authored' };
  const { default: addFormats } = await import('ajv-formats');
  const ajv =
    dialect === 'draft-07'
      ? new (await import('ajv')).Ajv(options)
      : new (await import('ajv/dist/2020.js')).Ajv2020(options);
  addFormats.default(ajv, { mode: 'fast' });
  return ajv;
}

function issueOf(error: ErrorObject): SchemaIssue {
  const path: PropertyKey[] = error.instancePath.split('/').slice(1).map(unescapePointer);
  const params = error.params as Record<string, unknown>;
  switch (error.keyword) {
    case 'required':
      return { path: [...path, String(params.missingProperty)], message: 'is required' };
    case 'additionalProperties':
      return { path: [...path, String(params.additionalProperty)], message: 'is not a known property' };
    case 'enum':
      return { path, message: `must be one of ${JSON.stringify(params.allowedValues)}` };
    case 'const':
      return { path, message: `must be ${JSON.stringify(params.allowedValue)}` };
    default:
      return { path, message: error.message ?? `does not satisfy "${error.keyword}"` };
  }
}

/** https://www.rfc-editor.org/rfc/rfc6901#section-4 */
function unescapePointer(token: string): string {
  return token.replaceAll('~1', '/').replaceAll('~0', '~');
}

/** Ajv fills defaults into the value itself; the caller's object must not change. */
function copierForDefaults(schema: JsonSchema): (value: unknown) => unknown {
  const { properties, ...rest } = schema as { properties?: Record<string, JsonObject> };
  const nested =
    hasKey(rest, 'default') ||
    Object.values(properties ?? {}).some(({ default: _own, ...below }) => hasKey(below, 'default'));
  if (nested) return (value) => structuredClone(value);
  const top = Object.values(properties ?? {}).some((property) => 'default' in property);
  if (!top) return (value) => value;
  return (value) => (typeof value === 'object' && value !== null ? { ...value } : value);
}

function hasKey(schema: unknown, key: string): boolean {
  if (typeof schema !== 'object' || schema === null) return false;
  return Object.hasOwn(schema, key) || Object.values(schema).some((child) => hasKey(child, key));
}
