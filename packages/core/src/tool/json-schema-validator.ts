// Validation of an author's plain JSON Schema with Ajv, which is loaded on the first need and never by importing this package.

import type { ErrorObject, Options, ValidateFunction } from 'ajv';
import { ToolError } from '../contract/errors.js';
import type { JsonObject, JsonSchema } from '../contract/json.js';
import { isPlainSchema } from './plain-schema.js';

/** One thing that a value breaks: where, and in words. */
export interface SchemaIssue {
  path: readonly PropertyKey[];
  message: string;
}

/** The value as parsed, or every issue. */
export type SchemaOutcome = { value: unknown; issues?: undefined } | { issues: readonly SchemaIssue[] };

export type JsonSchemaValidator = (value: unknown) => SchemaOutcome;

interface Ajv {
  compile(schema: JsonSchema): ValidateFunction;
  removeSchema(schema: JsonSchema): unknown;
}

const BASE_OPTIONS: Options = {
  strict: false, // unknown keywords (`x-…`, `discriminator`) are annotations, as JSON Schema has it
  addUsedSchema: false, // two tools may carry the same $id
  logger: false,
  validateFormats: true,
  allErrors: true,
  useDefaults: true,
};

const instances = new Map<string, Promise<Ajv>>();

/**
 * A validator for the schema of an authored tool: every issue is reported, and defaults are filled into a copy. Compiling
 * costs milliseconds, and most tools are never called: a schema of plain keywords, which is sure to compile, is compiled
 * by the first value.
 *
 * @throws {ToolError} INVALID_ARGUMENT when the schema does not compile.
 */
export async function compileJsonSchema(schema: JsonSchema): Promise<JsonSchemaValidator> {
  const isPlain = isPlainSchema(schema);
  // Ajv keeps each $id for good, so that a second schema could be read as the first one says: each has an instance.
  const ajv = hasKey(schema, '$id')
    ? await createAjv(dialectOf(schema), 'authored')
    : await loadAjv(dialectOf(schema), isPlain ? 'plain' : 'authored');
  let validate = isPlain ? undefined : compileWith(ajv, schema);
  const copy = copierForDefaults(schema);
  return (value) => {
    validate ??= compileWith(ajv, schema);
    const own = copy(value);
    return validate(own) ? { value: own } : { issues: (validate.errors ?? []).map(issueOf) };
  };
}

function compileWith(ajv: Ajv, schema: JsonSchema): ValidateFunction {
  try {
    return ajv.compile(schema);
  } catch (cause) {
    throw ToolError.from(cause, 'INVALID_ARGUMENT');
  } finally {
    ajv.removeSchema(schema); // its cache would keep every schema of every listing alive
  }
}

function dialectOf(schema: JsonSchema): 'draft-07' | '2020-12' {
  const { $schema } = schema;
  return typeof $schema === 'string' && /draft-0[67]/.test($schema) ? 'draft-07' : '2020-12';
}

/** `'plain'`: of ours, and valid for sure; to ask the schema of schemas costs 60 ms the first time. */
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
      return { path, message: error.message ?? `breaks "${error.keyword}"` };
  }
}

/** https://www.rfc-editor.org/rfc/rfc6901#section-4 */
function unescapePointer(token: string): string {
  return token.replaceAll('~1', '/').replaceAll('~0', '~');
}

/** Ajv fills defaults into the value itself; the caller's own object must stay as it is. */
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
