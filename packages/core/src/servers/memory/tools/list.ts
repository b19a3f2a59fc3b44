// list: pages through memories, sorted by time or importance.

import { defineTool, type Tool } from '../../../tool/define-tool.js';
import { hints, objectSchema } from '../../../tool/object-schema.js';
import {
  callMemory,
  CATEGORY,
  claimScopes,
  MEMORY,
  memoriesData,
  memoryResult,
  memoryText,
  NOTICE,
  QUOTED,
  SCOPES,
  TAG_FILTER,
  type MemoryContext,
  type MemoryToolContext,
} from '../memory-context.js';
import { readCursor, sortValue, writeCursor } from '../service/list-cursor.js';

const MAX_LIMIT = 200;
/** Characters of a content in the text; the data has more. */
const SHOWN_CHARS = 200;

/** The tool `list`. */
export function listTool(context: MemoryContext): Tool {
  return defineTool({
    name: context.toolName('list'),
    title: 'List memories',
    description: 'List memories, newest first. To find a particular memory, use retrieve.',
    input: objectSchema(
      {},
      {
        scope: SCOPES,
        category: CATEGORY,
        tags: TAG_FILTER,
        sort: {
          type: 'string',
          enum: ['created', 'updated', 'importance'],
          default: 'created',
          description: 'Always descending.',
        },
        limit: { type: 'integer', minimum: 1, maximum: MAX_LIMIT, default: 50 },
        cursor: {
          type: 'string',
          minLength: 1,
          maxLength: 1_000,
          description: 'The cursor of the previous page, to read the next one.',
        },
      },
    ),
    output: objectSchema(
      { memories: { type: 'array', items: MEMORY } },
      {
        cursor: { type: 'string', description: 'Pass it as cursor to read the next page; absent on the last one.' },
        notice: NOTICE,
      },
    ),
    annotations: hints('readOnly', 'idempotent'),
    permission: ({ scope }) => claimScopes(context, 'list', scope),
    async execute({ scope, category, tags, sort, limit, cursor }, ctx: MemoryToolContext) {
      const query = [scope, category ?? null, tags ?? [], sort];
      const after = readCursor(query, cursor);
      const { result, notice } = await callMemory(ctx, 'list', { scope, category, tags, sort, limit, after });
      const page = result.slice(0, limit);
      const last = page.at(-1);
      const next =
        result.length > limit && last ? writeCursor(query, { value: sortValue(last, sort), id: last.id }) : undefined;
      const summary =
        page.length === 0 ? 'No memories.' : `${page.length === 1 ? '1 memory' : `${page.length} memories`}. ${QUOTED}`;
      const more = next === undefined ? [] : [`[More memories follow. Continue with cursor ${next}]`];
      const blocks = page.map((memory) => memoryText(memory, SHOWN_CHARS));
      const data = { memories: memoriesData(page), ...(next !== undefined && { cursor: next }) };
      return memoryResult(context, [summary, ...blocks, ...more].join('\n\n'), data, notice);
    },
  });
}
