// The tools of one document: its operations, named, filtered and with their schemas.

import { setImmediate as nextTurn } from 'node:timers/promises';
import { deepFreeze } from '../../contract/json-copy.js';
import { isJsonObject, type JsonObject } from '../../contract/json.js';
import type { ToolAnnotations, ToolDefinition } from '../../contract/tool-definition.js';
import { ToolIndex } from '../../provider/tool-index.js';
import { fillAnnotations } from '../../tool/define-tool.js';
import { isPlainType } from '../../tool/schema.js';
import type { ApiDocument } from '../document/api-document.js';
import type { CallableOperation } from '../request/compose-request.js';
import { flattenArguments } from './flat-arguments.js';
import type { ApiOperation } from './operation.js';
import { selects, type OperationFilter } from './operation-filter.js';
import { nameOperations } from './operation-names.js';
import { readOperations } from './read-operations.js';
import { SchemaConverter } from './schema-converter.js';

/** The limit of one tool, as for tools of MCP servers. */
const MAX_TOOL_SIZE = 1024 * 1024;
/** Longer schemas of results are not listed. */
const MAX_OUTPUT_SIZE = 64 * 1024;
/** The longest description of an operation; hubs show less. */
const MAX_DESCRIPTION = 16_384;
const MAX_WARNINGS = 20;
/** The time after which other work of the process has its turn. */
const TURN_MS = 20;

/** One tool with what its calls need. */
export interface ApiTool extends CallableOperation {
  readonly definition: ToolDefinition;
}

/** Options of {@link readTools}. */
export interface CatalogOptions {
  /** The server part of the tools' names. */
  readonly name: string;
  /** Where requests are sent. */
  readonly base: URL;
  readonly include: OperationFilter | undefined;
  readonly exclude: OperationFilter | undefined;
  readonly outputSchemas: boolean;
  readonly warn: (message: string) => void;
}

/** The tools of one document, by name. */
export class ToolCatalog {
  readonly definitions: readonly ToolDefinition[];
  readonly index: ToolIndex<ApiTool>;

  constructor(tools: readonly ApiTool[]) {
    this.definitions = Object.freeze(tools.map(({ definition }) => definition));
    this.index = new ToolIndex(tools.map((tool) => [tool.tool, tool] as const));
  }
}

/** Creates the tools of a document, in its order. */
export async function readTools(document: ApiDocument, options: CatalogOptions): Promise<ToolCatalog> {
  const { name: server, base, include, exclude } = options;
  const warn = limited(options.warn);
  const operations = readOperations(document, base, warn);
  const names = nameOperations(operations);
  const requests = new SchemaConverter(document, 'request', warn);
  const responses = new SchemaConverter(document, 'response', warn);
  const tools: ApiTool[] = [];
  let turnAt = performance.now() + TURN_MS;
  for (const [at, operation] of operations.entries()) {
    const name = names[at] as string;
    const shown = publicPart(operation);
    if (include !== undefined && !selects(include, shown, name)) continue;
    if (exclude !== undefined && selects(exclude, shown, name)) continue;
    const { inputSchema, definitions, targets, size } = flattenArguments(document, operation, requests);
    if (size > MAX_TOOL_SIZE) {
      warn(`The tool "${name}" was left out: its schema has more than ${MAX_TOOL_SIZE} characters.`);
      continue;
    }
    const outputSchema = options.outputSchemas ? outputSchemaOf(operation, responses) : undefined;
    const definition: ToolDefinition = Object.freeze({
      name: `${server}.${name}`,
      ...(operation.summary && { title: operation.summary.slice(0, 200) }),
      description: descriptionOf(operation),
      inputSchema: withDefinitions(inputSchema, definitions),
      ...(outputSchema && { outputSchema }),
      annotations: Object.freeze(annotationsOf(operation.method)),
    });
    tools.push({ tool: definition.name, definition, operation, targets });
    if (performance.now() < turnAt) continue;
    await nextTurn();
    turnAt = performance.now() + TURN_MS;
  }
  if (tools.length === 0) warn(`No operation of the document became a tool; it has ${operations.length}.`);
  return new ToolCatalog(tools);
}

/** The operation as functions of the host see it. */
export function publicPart({ method, path, operationId, tags, deprecated }: ApiOperation): Readonly<{
  method: string;
  path: string;
  operationId?: string;
  tags: readonly string[];
  deprecated: boolean;
}> {
  return Object.freeze({ method, path, ...(operationId !== undefined && { operationId }), tags, deprecated });
}

/** Ends with the method and the path: pins then notice that a tool's operation has changed. */
function descriptionOf({ summary, description, method, path, deprecated }: ApiOperation): string {
  const texts = [deprecated ? 'Deprecated.' : '', summary ?? '', description === summary ? '' : (description ?? '')];
  const text = texts
    .map((part) => part.trim())
    .filter((part) => part !== '')
    .join('\n\n');
  const line = `${method} ${path}`;
  return text === '' ? line : `${text.slice(0, MAX_DESCRIPTION)}\n\n${line}`;
}

/** https://www.rfc-editor.org/rfc/rfc9110#section-9.2 */
function annotationsOf(method: string): Required<ToolAnnotations> {
  if (method === 'GET' || method === 'HEAD' || method === 'OPTIONS')
    return fillAnnotations({ readOnlyHint: true, destructiveHint: false, idempotentHint: true });
  return fillAnnotations({ idempotentHint: method === 'PUT' || method === 'DELETE' });
}

/** The schema of the structured content; undefined if it is too long, or does not say whether results are objects. */
function outputSchemaOf({ output }: ApiOperation, responses: SchemaConverter): JsonObject | undefined {
  if (output === undefined) return undefined;
  const { schema, definitions, size } = responses.collect(() => responses.convert(output));
  if (size > MAX_OUTPUT_SIZE) return undefined;
  const root = rootOf(schema, responses);
  if (!root) return undefined;
  const listed = isPlainType(root.type) ? { type: 'object', properties: { result: root }, required: ['result'] } : root;
  return withDefinitions(listed, definitions);
}

/** Freezes the schema. The definitions are frozen, and shared by many tools. */
function withDefinitions(schema: JsonObject, definitions: JsonObject | undefined): JsonObject {
  return Object.freeze({ ...deepFreeze(schema), ...(definitions && { $defs: definitions }) });
}

/** The schema with its type at the root, where readers look for it; undefined if it has none or several. */
function rootOf(schema: unknown, responses: SchemaConverter, hops = 0): JsonObject | undefined {
  if (!isJsonObject(schema) || hops > 8) return undefined;
  if (typeof schema.type === 'string') return schema;
  if (schema.type !== undefined) return undefined;
  if (Object.keys(schema).length === 1 && schema.$ref !== undefined)
    return rootOf(responses.targetOf(schema), responses, hops + 1);
  if (schema.properties !== undefined) return { type: 'object', ...schema };
  if (!Array.isArray(schema.allOf)) return undefined;
  const isObject = (schema.allOf as unknown[]).some((part) => rootOf(part, responses, hops + 1)?.type === 'object');
  return isObject ? { type: 'object', ...schema } : undefined;
}

/** Limits the number of warnings about one document. */
function limited(warn: (message: string) => void): (message: string) => void {
  let count = 0;
  return (message) => {
    if (++count <= MAX_WARNINGS) warn(count === MAX_WARNINGS ? `${message} Further warnings are suppressed.` : message);
  };
}
