// Reads and parses an MCP server's list of tools, all pages, within limits. A malformed tool does not affect the others.

import { ToolError } from '../../contract/errors.js';
import { isDeeperThan, isJsonObject, type JsonObject } from '../../contract/json.js';
import { deepFreeze } from '../../contract/json-copy.js';
import { isPlainType, wrapped } from '../../tool/schema.js';
import { fillAnnotations } from '../../tool/define-tool.js';
import type { ToolAnnotations, ToolDefinition, ToolIcon } from '../../contract/tool-definition.js';
import { MAX_DEPTH } from '../transport/message-filter.js';
import { plainText } from '../../contract/sanitize.js';

/** Further tools are left out with a warning. */
const MAX_TOOLS = 10_000;
const MAX_PAGES = 1_000;
/** The limit of one tool, which is passed to models and gateway clients whole. */
const MAX_TOOL_CHARACTERS = 1024 * 1024;
/** The limit of all tools together. */
const MAX_CHARACTERS = 64 * 1024 * 1024;
const MAX_NAME = 512;
const MAX_WARNINGS = 20;
const HINTS = ['readOnlyHint', 'destructiveHint', 'idempotentHint', 'openWorldHint'] as const;

/**
 * Reads all pages of the list.
 *
 * @param prefix the server part of the qualified names
 * @param readPage requests the page of a cursor
 * @param warn receives a message for each tool or field that was left out
 * @throws {ToolError} PROTOCOL_VIOLATION when a page has no list
 */
export async function readToolList(
  prefix: string,
  readPage: (cursor: string | undefined) => Promise<JsonObject>,
  warn: (message: string) => void,
): Promise<readonly ToolDefinition[]> {
  const tools = new Map<string, ToolDefinition>();
  const cursors = new Set<string>();
  const warnLimited = limited(warn);
  let characters = 0;
  let cursor: string | undefined;
  for (let page = 1; ; page++) {
    const { tools: listed, nextCursor } = await readPage(cursor);
    if (!Array.isArray(listed)) throw new ToolError('PROTOCOL_VIOLATION', 'The list of tools is not an array.');
    for (const item of listed) {
      const tool = parseTool(prefix, item, warnLimited);
      if (!tool) continue;
      if (tools.has(tool.name)) {
        warnLimited(`a second tool "${shown(tool.name)}" was left out`);
        continue;
      }
      const size = sizeOf(tool);
      if (size > MAX_TOOL_CHARACTERS) {
        warnLimited(`the tool "${shown(tool.name)}" was left out: it has more than ${MAX_TOOL_CHARACTERS} characters`);
        continue;
      }
      characters += size;
      if (tools.size >= MAX_TOOLS || characters > MAX_CHARACTERS) {
        const bound = tools.size >= MAX_TOOLS ? `${MAX_TOOLS} tools` : `${MAX_CHARACTERS} characters`;
        warn(`all tools beyond the first ${tools.size} were left out: the limit is ${bound}`);
        return [...tools.values()];
      }
      tools.set(tool.name, tool);
    }
    if (typeof nextCursor !== 'string' || nextCursor === '') break;
    if (cursors.has(nextCursor) || page >= MAX_PAGES) {
      warn(
        `the list was cut after ${page} pages, as ${page >= MAX_PAGES ? 'that is the limit' : 'a cursor was repeated'}`,
      );
      break;
    }
    cursors.add(nextCursor);
    cursor = nextCursor;
  }
  return [...tools.values()];
}

/** Parses a tool; undefined when it cannot be called. Malformed optional fields are left out. */
function parseTool(prefix: string, given: unknown, warn: (message: string) => void): ToolDefinition | undefined {
  if (!isJsonObject(given)) return void warn('an item of the list that is not a tool was left out');
  const { name, title, description, inputSchema, outputSchema, annotations, icons, _meta } = given;
  if (typeof name !== 'string' || name === '' || name.length > MAX_NAME) {
    return void warn(`a tool without a name of 1 to ${MAX_NAME} characters was left out`);
  }
  if (!isJsonObject(inputSchema)) {
    return void warn(`the tool "${shown(name)}" was left out: its inputSchema is not an object`);
  }
  if (isDeeperThan(given, MAX_DEPTH)) {
    return void warn(`the tool "${shown(name)}" was left out: it is nested deeper than ${MAX_DEPTH} levels`);
  }
  const drop = (what: string, value: unknown, fits: boolean): boolean => {
    if (value !== undefined && value !== null && !fits)
      warn(`the ${what} of the tool "${shown(name)}" was left out: it is malformed`);
    return fits;
  };
  return deepFreeze({
    name: `${prefix}.${name}`,
    ...(drop('title', title, typeof title === 'string') && { title: title as string }),
    description: drop('description', description, typeof description === 'string') ? (description as string) : '',
    inputSchema,
    ...(drop('outputSchema', outputSchema, isJsonObject(outputSchema)) && {
      outputSchema: objectSchemaOf(outputSchema as JsonObject),
    }),
    annotations: annotationsOf(annotations),
    ...(drop('icons', icons, Array.isArray(icons)) && { icons: icons as ToolIcon[] }),
    ...(drop('_meta', _meta, isJsonObject(_meta)) && { _meta: _meta as JsonObject }),
  });
}

/** The output schema as listed: one that is not an object's is wrapped as `{ result: schema }`. */
function objectSchemaOf(schema: JsonObject): JsonObject {
  return isPlainType(schema.type) ? wrapped(schema) : schema;
}

/** The server's valid hints, MCP's pessimistic defaults for the others, and its further annotations. */
function annotationsOf(given: unknown): Required<ToolAnnotations> {
  if (!isJsonObject(given)) return fillAnnotations();
  const { readOnlyHint: _r, destructiveHint: _d, idempotentHint: _i, openWorldHint: _o, ...rest } = given;
  const hints = Object.fromEntries(
    HINTS.filter((hint) => typeof given[hint] === 'boolean').map((hint) => [hint, given[hint]]),
  );
  return { ...rest, ...fillAnnotations(hints) };
}

/** Limits the number of warnings about one list. */
function limited(warn: (message: string) => void): (message: string) => void {
  let count = 0;
  return (message) => {
    if (++count <= MAX_WARNINGS) warn(count === MAX_WARNINGS ? `${message}; further warnings are suppressed` : message);
  };
}

function shown(name: string): string {
  return plainText(name, 80);
}

function sizeOf(value: unknown): number {
  if (typeof value === 'string') return value.length;
  if (typeof value !== 'object' || value === null) return 4;
  let size = 2;
  for (const key in value) size += key.length + sizeOf((value as JsonObject)[key]);
  return size;
}
