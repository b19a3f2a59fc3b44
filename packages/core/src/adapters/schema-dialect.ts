// Keywords of older drafts in the form of JSON Schema 2020-12. Vendors refuse a whole request when a keyword
// has a value that 2020-12 does not allow, so such a keyword is left out.

import { isJsonObject, type JsonObject } from '../contract/json.js';
import type { ReportLoss } from './schema-loss.js';

const TYPES: ReadonlySet<unknown> = new Set(['object', 'array', 'string', 'number', 'integer', 'boolean', 'null']);

/** The schema itself in the form of 2020-12; schemas inside it are not looked at. Reports what is left out. */
export function inCurrentDraft(schema: JsonObject, path: string, report: ReportLoss): JsonObject {
  const entries = Object.entries(withoutOldForms(schema)).filter(([key, value]) => {
    const isAllowed = CHECKS.get(key)?.(value) ?? true;
    if (!isAllowed) report(path, `${key} is not sent: its value is not allowed in JSON Schema.`);
    return isAllowed;
  });
  return Object.fromEntries(entries);
}

/** Tuples, exclusive limits and dependencies, as older drafts write them. */
function withoutOldForms(schema: JsonObject): JsonObject {
  const { items, additionalItems, dependencies, ...current } = schema;
  if (Array.isArray(items)) {
    if (items.length > 0) current.prefixItems = items;
    if (additionalItems !== undefined) current.items = additionalItems;
  } else if (items !== undefined) current.items = items;
  for (const [limit, exclusive] of [
    ['minimum', 'exclusiveMinimum'],
    ['maximum', 'exclusiveMaximum'],
  ] as const) {
    if (typeof current[exclusive] !== 'boolean') continue;
    const isExclusive = current[exclusive] && typeof current[limit] === 'number';
    delete current[exclusive];
    if (!isExclusive) continue;
    current[exclusive] = current[limit];
    delete current[limit];
  }
  if (isJsonObject(dependencies)) {
    const all = Object.entries(dependencies);
    current.dependentRequired ??= Object.fromEntries(all.filter(([, value]) => Array.isArray(value)));
    current.dependentSchemas ??= Object.fromEntries(all.filter(([, value]) => !Array.isArray(value)));
  }
  return current;
}

const isSchema = (value: unknown): boolean => isJsonObject(value) || typeof value === 'boolean';
const isSchemaRecord = (value: unknown): boolean => isJsonObject(value) && Object.values(value).every(isSchema);
const isSchemaList = (value: unknown): boolean => Array.isArray(value) && value.length > 0 && value.every(isSchema);
const isNumber = (value: unknown): boolean => typeof value === 'number' && Number.isFinite(value);
const isCount = (value: unknown): boolean => Number.isInteger(value) && (value as number) >= 0;
const isText = (value: unknown): boolean => typeof value === 'string';
const isFlag = (value: unknown): boolean => typeof value === 'boolean';
const isType = (value: unknown): boolean => TYPES.has(value);
const isNameList = (value: unknown): boolean =>
  Array.isArray(value) && value.every(isText) && new Set(value).size === value.length;

/** What the metaschema of 2020-12 requires of each keyword. */
const CHECKS: ReadonlyMap<string, (value: unknown) => boolean> = new Map([
  ...each(
    ['type'],
    (value) =>
      isType(value) || (isNameList(value) && (value as unknown[]).length > 0 && (value as unknown[]).every(isType)),
  ),
  ...each(['enum'], (value) => Array.isArray(value) && value.length > 0),
  ...each(['required'], isNameList),
  ...each(['dependentRequired'], (value) => isJsonObject(value) && Object.values(value).every(isNameList)),
  ...each(['pattern'], isPattern),
  ...each(['multipleOf'], (value) => isNumber(value) && (value as number) > 0),
  ...each(['title', 'description', 'format', '$ref', 'contentEncoding', 'contentMediaType'], isText),
  ...each(['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum'], isNumber),
  ...each(['minLength', 'maxLength', 'minItems', 'maxItems', 'minProperties', 'maxProperties'], isCount),
  ...each(['minContains', 'maxContains'], isCount),
  ...each(['uniqueItems', 'deprecated', 'readOnly', 'writeOnly'], isFlag),
  ...each(['items', 'additionalProperties', 'not', 'if', 'then', 'else', 'contains', 'propertyNames'], isSchema),
  ...each(['unevaluatedItems', 'unevaluatedProperties', 'contentSchema'], isSchema),
  ...each(['properties', 'dependentSchemas'], isSchemaRecord),
  ...each(['patternProperties'], (value) => isSchemaRecord(value) && Object.keys(value as object).every(isPattern)),
  ...each(['allOf', 'anyOf', 'oneOf', 'prefixItems'], isSchemaList),
  ...each(['examples'], Array.isArray),
]);

function each(
  keys: readonly string[],
  check: (value: unknown) => boolean,
): [keyword: string, check: (value: unknown) => boolean][] {
  return keys.map((key) => [key, check]);
}

function isPattern(text: unknown): boolean {
  try {
    new RegExp(text as string, 'u');
    return typeof text === 'string';
  } catch {
    return false;
  }
}
