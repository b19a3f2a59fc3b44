// The form of tools for Gemini: the keywords of `parametersJsonSchema`, and its rules about references.
// https://ai.google.dev/api/generate-content#FIELDS.response_json_schema

import { isJsonObject, type JsonObject, type JsonSchema } from '../contract/json.js';
import type { VendorForm } from './kit-tools.js';
import type { ReportLoss } from './schema-loss.js';
import { mapSubschemas } from './vendor-schema.js';

const KEPT: ReadonlySet<string> = new Set([
  ...[
    '$defs',
    '$ref',
    'type',
    'format',
    'title',
    'description',
    'enum',
    'items',
    'prefixItems',
    'minItems',
    'maxItems',
  ],
  ...['minimum', 'maximum', 'anyOf', 'oneOf', 'properties', 'additionalProperties', 'required'],
]);

export const GEMINI_FORM: VendorForm = {
  compile: (schema, report) => ({ schema: withKnownKeywords(schema, '', report) as JsonSchema }),
};

function withKnownKeywords(schema: unknown, path: string, report: ReportLoss): unknown {
  if (!isJsonObject(schema)) return schema === true ? {} : schema;
  if (schema.$ref !== undefined) {
    for (const key of Object.keys(schema))
      if (!key.startsWith('$')) report(path, `${key} beside a reference is not sent.`);
    return { $ref: schema.$ref };
  }
  const kept: JsonObject = {};
  for (const [key, value] of Object.entries(schema)) {
    if (KEPT.has(key)) kept[key] = value;
    else if (key === 'const') kept.enum = [value];
    else if (!key.startsWith('x-')) report(path, `${key} is not sent.`);
  }
  keepEnumOfNamesAndNumbers(kept, path, report);
  if (isJsonObject(kept.$defs)) {
    const definitions = Object.entries(kept.$defs);
    kept.$defs = Object.fromEntries(
      definitions.map(([name, definition]) => [name, withKnownKeywords(definition, `/$defs/${name}`, report)]),
    );
  }
  requireNoRecursion(kept, path, report);
  return mapSubschemas(kept, (sub, at) => withKnownKeywords(sub, at, report), path);
}

/** An enum has strings and numbers only. */
function keepEnumOfNamesAndNumbers(kept: JsonObject, path: string, report: ReportLoss): void {
  if (!Array.isArray(kept.enum)) return;
  const values = kept.enum as unknown[];
  if (values.every((value) => typeof value === 'string' || typeof value === 'number')) return;
  delete kept.enum;
  const text = `One of ${values.map((value) => JSON.stringify(value)).join(', ')}.`;
  kept.description = typeof kept.description === 'string' ? `${kept.description} ${text}` : text;
  report(path, 'Its values are sent as text, because some are neither strings nor numbers.');
}

/** Recursive references, which are all that `portableSchema` leaves, may only be within optional properties. */
function requireNoRecursion(kept: JsonObject, path: string, report: ReportLoss): void {
  const { required, properties } = kept;
  if (!Array.isArray(required) || !isJsonObject(properties)) return;
  const isOptional = (name: string): boolean => Object.hasOwn(properties, name) && hasReference(properties[name]);
  for (const name of required as string[])
    if (isOptional(name)) report(`${path}/properties/${name}`, 'It is sent as optional, because it is recursive.');
  kept.required = (required as string[]).filter((name) => !isOptional(name));
}

function hasReference(schema: unknown): boolean {
  if (!isJsonObject(schema)) return false;
  if (schema.$ref !== undefined) return true;
  let found = false;
  mapSubschemas(schema, (sub) => {
    found ||= hasReference(sub);
    return sub;
  });
  return found;
}
