// The tools that one MCP server lists: every page, each tool parsed on its own, within bounds.

import { ToolError } from '../../contract/errors.js';
import { isDeeperThan, isJsonObject, type JsonObject } from '../../contract/json.js';
import { deepFreeze } from '../../contract/json-copy.js';
import type { JsonSchemaValidator } from '../../tool/json-schema-validator.js';
import { readListedSchema } from '../../tool/listed-schema-validator.js';
import { isPlainType, wrapped } from '../../tool/schema.js';
import { fillAnnotations } from '../../tool/define-tool.js';
import { ToolIndex } from '../../provider/tool-index.js';
import type { ToolAnnotations, ToolDefinition, ToolIcon } from '../../contract/tool-definition.js';
import { MAX_DEPTH } from '../transport/message-filter.js';
import { plainWords } from './sanitize.js';

/** More than any server has, and as many as can be shown; the rest is left out with a warning. */
const MAX_TOOLS = 10_000;
const MAX_PAGES = 1_000;
/** What one tool says is given to models whole, and behind a gateway to every client. */
const MAX_TOOL_CHARACTERS = 1024 * 1024;
/** What all tools together may hold, in characters and numbers. */
const MAX_CHARACTERS = 64 * 1024 * 1024;
const MAX_NAME = 512;
const MAX_WARNINGS = 20;
const HINTS = ['readOnlyHint', 'destructiveHint', 'idempotentHint', 'openWorldHint'] as const;

/** A list as it was read. */
export class ToolCatalog {
  readonly definitions: readonly ToolDefinition[];
  readonly #index: ToolIndex<ToolDefinition>;
  readonly #outputs = new Map<ToolDefinition, JsonSchemaValidator | undefined>();

  constructor(definitions: readonly ToolDefinition[]) {
    this.definitions = Object.freeze([...definitions]);
    this.#index = new ToolIndex(definitions.map((tool) => [tool.name, tool] as const));
  }

  get(name: string): ToolDefinition | undefined {
    return this.#index.get(name);
  }

  notFound(name: unknown, where: string): ToolError {
    return this.#index.notFound(name, where);
  }

  /** The validator of the output; undefined where there is no output schema, or it cannot be enforced. */
  outputValidator(tool: ToolDefinition): JsonSchemaValidator | undefined {
    if (!tool.outputSchema) return undefined;
    if (!this.#outputs.has(tool)) {
      let validator: JsonSchemaValidator | undefined;
      try {
        validator = readListedSchema(tool.outputSchema);
      } catch {
        // A malformed schema promises nothing.
      }
      this.#outputs.set(tool, validator);
    }
    return this.#outputs.get(tool);
  }

  /** True when a model would see no difference. */
  equals(other: ToolCatalog): boolean {
    return JSON.stringify(this.definitions) === JSON.stringify(other.definitions);
  }
}

/**
 * Reads every page.
 *
 * @param prefix the server part of the qualified names
 * @param readPage asks for the page of a cursor
 * @param warn told of what was left out
 * @throws {ToolError} PROTOCOL_VIOLATION when a page holds no list
 */
export async function readCatalog(
  prefix: string,
  readPage: (cursor: string | undefined) => Promise<JsonObject>,
  warn: (message: string) => void,
): Promise<ToolCatalog> {
  const tools = new Map<string, ToolDefinition>();
  const cursors = new Set<string>();
  const say = limited(warn);
  let characters = 0;
  let cursor: string | undefined;
  for (let page = 1; ; page++) {
    const { tools: listed, nextCursor } = await readPage(cursor);
    if (!Array.isArray(listed)) throw new ToolError('PROTOCOL_VIOLATION', 'The list of tools is no array.');
    for (const each of listed) {
      const tool = parseTool(prefix, each, say);
      if (!tool) continue;
      if (tools.has(tool.name)) {
        say(`a second tool "${shown(tool.name)}" was left out`);
        continue;
      }
      const size = sizeOf(tool);
      if (size > MAX_TOOL_CHARACTERS) {
        say(`the tool "${shown(tool.name)}" was left out: it has more than ${MAX_TOOL_CHARACTERS} characters`);
        continue;
      }
      characters += size;
      if (tools.size >= MAX_TOOLS || characters > MAX_CHARACTERS) {
        const bound = tools.size >= MAX_TOOLS ? `${MAX_TOOLS} tools` : `${MAX_CHARACTERS} characters`;
        warn(`all tools beyond the first ${tools.size} were left out: a list may have ${bound}`);
        return new ToolCatalog([...tools.values()]);
      }
      tools.set(tool.name, tool);
    }
    if (typeof nextCursor !== 'string' || nextCursor === '') break;
    if (cursors.has(nextCursor) || page >= MAX_PAGES) {
      warn(
        `the list was ended after ${page} pages, as ${page >= MAX_PAGES ? 'there is no end of them' : 'a cursor came twice'}`,
      );
      break;
    }
    cursors.add(nextCursor);
    cursor = nextCursor;
  }
  return new ToolCatalog([...tools.values()]);
}

/** One tool, or undefined when it cannot be called at all. What is optional and malformed is left out of it. */
function parseTool(prefix: string, given: unknown, warn: (message: string) => void): ToolDefinition | undefined {
  if (!isJsonObject(given)) return void warn('something in the list that is no tool was left out');
  const { name, title, description, inputSchema, outputSchema, annotations, icons, _meta } = given;
  if (typeof name !== 'string' || name === '' || name.length > MAX_NAME) {
    return void warn(`a tool without a name of 1 to ${MAX_NAME} characters was left out`);
  }
  if (!isJsonObject(inputSchema)) {
    return void warn(`the tool "${shown(name)}" was left out: its inputSchema is no object`);
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

/** The schema of the result as it is given: a value that is not an object is given as `{ result: value }`. */
function objectSchemaOf(schema: JsonObject): JsonObject {
  return isPlainType(schema.type) ? wrapped(schema) : schema;
}

/** The server's hints where they are hints, and MCP's pessimistic defaults for the rest. What else it says stays. */
function annotationsOf(given: unknown): Required<ToolAnnotations> {
  if (!isJsonObject(given)) return fillAnnotations();
  const { readOnlyHint: _r, destructiveHint: _d, idempotentHint: _i, openWorldHint: _o, ...rest } = given;
  const hints = Object.fromEntries(
    HINTS.filter((hint) => typeof given[hint] === 'boolean').map((hint) => [hint, given[hint]]),
  );
  return { ...rest, ...fillAnnotations(hints) };
}

/** Of a hostile list one hears the first few. */
function limited(warn: (message: string) => void): (message: string) => void {
  let said = 0;
  return (message) => {
    if (++said <= MAX_WARNINGS) warn(said === MAX_WARNINGS ? `${message}; more of this is not told` : message);
  };
}

function shown(name: string): string {
  return plainWords(name, 80);
}

function sizeOf(value: unknown): number {
  if (typeof value === 'string') return value.length;
  if (typeof value !== 'object' || value === null) return 4;
  let size = 2;
  for (const key in value) size += key.length + sizeOf((value as JsonObject)[key]);
  return size;
}
