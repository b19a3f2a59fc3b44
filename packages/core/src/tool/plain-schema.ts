// Recognizes JSON Schemas that are certainly valid and compile: those with only the plain keywords that nearly all
// tools use. For any other, Ajv decides.

import { isJsonObject } from '../contract/json.js';

type Check = (value: unknown) => boolean;

const TYPES: ReadonlySet<unknown> = new Set(['null', 'boolean', 'object', 'array', 'number', 'string', 'integer']);

const anything: Check = () => true;
const isText: Check = (value) => typeof value === 'string';
const isFlag: Check = (value) => typeof value === 'boolean';
const isNumber: Check = (value) => Number.isFinite(value);
const isCount: Check = (value) => Number.isInteger(value) && (value as number) >= 0;
const isList: Check = (value) => Array.isArray(value) && value.length > 0;
const areSchemas: Check = (value) => isList(value) && (value as unknown[]).every(isPlainSchema);

const KEYWORDS: ReadonlyMap<string, Check> = new Map([
  ...entriesOf(['default', 'const'], anything),
  ...entriesOf(['title', 'description', '$comment', 'format'], isText),
  ...entriesOf(['deprecated', 'uniqueItems'], isFlag),
  ...entriesOf(['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum'], isNumber),
  ...entriesOf(['minLength', 'maxLength', 'minItems', 'maxItems', 'minProperties', 'maxProperties'], isCount),
  ...entriesOf(['anyOf', 'oneOf', 'allOf'], areSchemas),
  ...entriesOf(['items', 'additionalProperties', 'propertyNames', 'not'], isPlainSchema),
  ...entriesOf(['examples', 'enum'], isList),
  ['type', (value) => TYPES.has(value) || (isList(value) && areDistinct(value, (type) => TYPES.has(type)))],
  ['required', (value) => areDistinct(value, isText)],
  ['properties', (value) => isJsonObject(value) && Object.values(value).every(isPlainSchema)],
]);

/** True for a valid schema of JSON Schema 2020-12 without references, patterns and other dialects. */
export function isPlainSchema(schema: unknown): boolean {
  if (typeof schema === 'boolean') return true;
  return (
    isJsonObject(schema) && Object.entries(schema).every(([keyword, value]) => KEYWORDS.get(keyword)?.(value) === true)
  );
}

function entriesOf(keywords: readonly string[], check: Check): [string, Check][] {
  return keywords.map((keyword) => [keyword, check]);
}

function areDistinct(value: unknown, check: Check): boolean {
  return Array.isArray(value) && new Set(value).size === value.length && value.every(check);
}
