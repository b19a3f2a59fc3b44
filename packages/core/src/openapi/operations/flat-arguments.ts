// One flat set of arguments for the parameters and the body of an operation: their schema, and where each is sent.
//
// A property of a plain object body is an argument of its own; any other body is the argument `body`. Of several arguments
// with one name the first, in the order path, query, header, cookie, body, keeps it; the others get the place as a prefix.

import { FreeNames } from '../../contract/free-names.js';
import { isJsonObject, type JsonObject } from '../../contract/json.js';
import { fieldOf, type ApiDocument } from '../document/api-document.js';
import type { ApiBody, ApiOperation, ApiParameter } from './operation.js';
import { shapeOf } from './object-shape.js';
import type { ConvertedSchema, SchemaConverter } from './schema-converter.js';

/** Vendors' limit of the name of an argument. */
const MAX_NAME = 64;

/** Where an argument is sent. */
export type ArgumentTarget =
  | { readonly kind: 'parameter'; readonly parameter: ApiParameter }
  /** A property of the body; `isBinary`: it is given in base64. */
  | { readonly kind: 'property'; readonly property: string; readonly isBinary: boolean }
  /** The whole body. */
  | { readonly kind: 'body' };

/** The arguments of an operation. */
export interface FlatArguments {
  /** The schema of the arguments. */
  readonly inputSchema: JsonObject;
  /** The definitions to which it refers; undefined if there are none. */
  readonly definitions: JsonObject | undefined;
  /** Where each argument is sent, by its name. */
  readonly targets: ReadonlyMap<string, ArgumentTarget>;
  /** The length of the schema, in characters. */
  readonly size: number;
}

interface Argument {
  readonly name: string;
  readonly prefix: string;
  readonly required: boolean;
  readonly schema: unknown;
  readonly target: ArgumentTarget;
}

/** Creates the arguments of an operation. */
export function flattenArguments(
  document: ApiDocument,
  operation: ApiOperation,
  converter: SchemaConverter,
): FlatArguments {
  const targets = new Map<string, ArgumentTarget>();
  const free = new FreeNames(targets);
  const required: string[] = [];
  const { schema, definitions, size }: ConvertedSchema = converter.collect(() => {
    const properties: [string, unknown][] = [];
    for (const argument of [
      ...operation.parameters.map((parameter) => parameterArgument(parameter, converter)),
      ...(operation.body ? bodyArguments(document, operation.body, converter) : []),
    ]) {
      const name = freeName(argument, targets, free);
      targets.set(name, argument.target);
      properties.push([name, argument.schema]);
      if (argument.required) required.push(name);
    }
    return Object.fromEntries(properties);
  });
  const inputSchema = {
    type: 'object',
    properties: schema,
    ...(required.length > 0 && { required }),
    additionalProperties: false,
  };
  return { inputSchema, definitions, targets, size: size + 100 };
}

/** A valid name that no earlier argument has. */
function freeName({ name, prefix }: Argument, taken: ReadonlyMap<string, unknown>, free: FreeNames): string {
  const plain = cleanName(name);
  if (!taken.has(plain)) return plain;
  const prefixed = `${prefix}_${plain}`.slice(0, MAX_NAME);
  return free.free(prefixed, (count) => `${prefixed.slice(0, MAX_NAME - 1 - String(count).length)}_${count}`);
}

function cleanName(name: string): string {
  const clean = name
    .slice(0, 1_000)
    .replace(/[^\w.-]+/g, '_')
    .replace(/(?<=.)_+$/, '')
    .slice(0, MAX_NAME);
  return clean === '__proto' || clean === '' || clean === '_' ? 'argument' : clean;
}

function parameterArgument(parameter: ApiParameter, converter: SchemaConverter): Argument {
  const { name, place, required, description, schema } = parameter;
  const converted = converter.convert(schema ?? {});
  return {
    name,
    prefix: place,
    required,
    schema: description === undefined ? converted : { ...(isJsonObject(converted) && converted), description },
    target: { kind: 'parameter', parameter },
  };
}

function bodyArguments(document: ApiDocument, body: ApiBody, converter: SchemaConverter): Argument[] {
  const { format, schema, required, description } = body;
  const hasProperties = format === 'json' || format === 'form' || format === 'multipart';
  const shape = hasProperties ? shapeOf(document, schema) : undefined;
  if (!shape) {
    return [
      {
        name: 'body',
        prefix: 'body',
        required,
        schema: { ...bodySchema(body, converter), ...(description !== undefined && { description }) },
        target: { kind: 'body' },
      },
    ];
  }
  return [...shape.properties]
    .filter(([, property]) => !converter.omits(property))
    .map(([name, property]) => {
      const isBinary = format === 'multipart' && isBinarySchema(document, property);
      return {
        name,
        prefix: 'body',
        // The properties of an optional body are required only if it is sent, which the API checks.
        required: required && shape.required.has(name),
        schema: isBinary ? fileSchema(document, property) : converter.convert(property),
        target: { kind: 'property', property: name, isBinary },
      };
    });
}

function bodySchema({ format, schema }: ApiBody, converter: SchemaConverter): JsonObject {
  if (format === 'binary') return { type: 'string', contentEncoding: 'base64' };
  if (format === 'text') return { type: 'string' };
  const converted = converter.convert(schema ?? {});
  if (format === 'json') return isJsonObject(converted) ? converted : {};
  return { ...(isJsonObject(converted) && converted), type: 'object' };
}

/** True for the schema of a file: `format: binary` of OpenAPI 3.0, and a media type of 3.1. */
export function isBinarySchema(document: ApiDocument, given: unknown): boolean {
  const schema = document.resolve(given);
  if (schema?.type === 'array') return isBinarySchema(document, schema.items);
  return (
    schema?.format === 'binary' || (schema?.contentMediaType !== undefined && schema.contentEncoding === undefined)
  );
}

/** A file of a multipart form. */
const FILE: JsonObject = Object.freeze({
  type: 'object',
  properties: Object.freeze({
    data: Object.freeze({ type: 'string', contentEncoding: 'base64' }),
    filename: Object.freeze({ type: 'string' }),
    content_type: Object.freeze({ type: 'string' }),
  }),
  required: Object.freeze(['data']),
  additionalProperties: false,
});

function fileSchema(document: ApiDocument, property: unknown): JsonObject {
  const schema = document.resolve(property);
  const description = fieldOf(schema, 'description');
  const described = typeof description === 'string' ? { description } : {};
  return schema?.type === 'array' ? { type: 'array', items: FILE, ...described } : { ...FILE, ...described };
}
