// A foreign tool as models see it: its titles and descriptions without invisible characters, and of limited length. What the
// arguments are validated with, and what pins compare, stays the listing itself.

import { isJsonObject, type JsonObject } from '../contract/json.js';
import { deepFreeze } from '../contract/json-copy.js';
import type { ToolDefinition } from '../contract/tool-definition.js';
import { visibleText } from '../contract/visible-text.js';

/** The longest description, in characters. */
const MAX_DESCRIPTION = 4_096;
const MAX_TITLE = 200;
const MAX_DEPTH = 256;
/** Keywords whose values are data, names or patterns, which have the same meaning only if they stay as they are. */
const DATA_KEYWORDS: ReadonlySet<string> = new Set([
  ...['const', 'default', 'enum', 'examples', 'required', 'dependentRequired', 'pattern'],
  ...['$ref', '$id', '$anchor', '$dynamicRef', '$dynamicAnchor'],
]);
/** Keywords whose values map names to schemas. */
const NAMED_SCHEMAS: ReadonlySet<string> = new Set([
  'properties',
  'patternProperties',
  '$defs',
  'definitions',
  'dependentSchemas',
  'dependencies',
]);

const shown = new WeakMap<ToolDefinition, ToolDefinition>();

/** The tool as models see it; the same object if there is nothing to change. */
export function shownDefinition(tool: ToolDefinition): ToolDefinition {
  let clean = shown.get(tool);
  if (!clean) shown.set(tool, (clean = cleaned(tool)));
  return clean;
}

function cleaned(tool: ToolDefinition): ToolDefinition {
  const { description, title, inputSchema, outputSchema } = tool;
  const changes: Partial<ToolDefinition> = {
    ...changed('description', description, shownText(description, MAX_DESCRIPTION)),
    ...(title !== undefined && changed('title', title, shownText(title, MAX_TITLE))),
    ...changed('inputSchema', inputSchema, cleanSchema(inputSchema, 0) as JsonObject),
    ...(outputSchema && changed('outputSchema', outputSchema, cleanSchema(outputSchema, 0) as JsonObject)),
  };
  if (Object.keys(changes).length === 0) return tool;
  const clean = deepFreeze({ ...tool, ...changes });
  shown.set(clean, clean);
  return clean;
}

function changed<Key extends keyof ToolDefinition>(
  key: Key,
  before: ToolDefinition[Key],
  after: ToolDefinition[Key],
): Partial<ToolDefinition> {
  return before === after ? {} : { [key]: after };
}

/**
 * A copy with clean texts, those of unknown keywords too, as vendors may pass them on; the same object if they are clean.
 *
 * @param isNamed whether the keys are names
 */
function cleanSchema(schema: unknown, depth: number, isNamed = false): unknown {
  if (typeof schema === 'string') return shownText(schema, MAX_DESCRIPTION);
  if (typeof schema !== 'object' || schema === null || depth > MAX_DEPTH) return schema;
  if (Array.isArray(schema)) {
    const items = schema.map((item) => cleanSchema(item, depth + 1));
    return items.some((item, at) => item !== schema[at]) ? items : schema;
  }
  if (!isJsonObject(schema)) return schema;
  let copy: JsonObject | undefined;
  for (const [key, value] of Object.entries(schema)) {
    if (!isNamed && DATA_KEYWORDS.has(key)) continue;
    const clean = cleanSchema(value, depth + 1, !isNamed && NAMED_SCHEMAS.has(key));
    if (clean === value) continue;
    copy ??= { ...schema };
    Object.defineProperty(copy, key, { value: clean, enumerable: true, configurable: true, writable: true });
  }
  return copy ?? schema;
}

function shownText(text: string, max: number): string {
  const clean = visibleText(text);
  if (clean.length <= max) return clean;
  const notice = ` […${clean.length - max} more characters]`;
  return `${clean.slice(0, max - notice.length).replace(/[\ud800-\udbff]$/, '')}${notice}`;
}
