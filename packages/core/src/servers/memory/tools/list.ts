// list: memories in the order of time or importance, a page at a time.

import { defineTool, type Tool } from '../../../tool/define-tool.js';
import {
  answer,
  ask,
  claimScopes,
  MEMORY,
  memoriesData,
  memoryText,
  NOTICE,
  QUOTED,
  SCOPES,
  TAGS,
  type MemoryContext,
  type MemoryToolContext,
} from '../memory-context.js';
import type { ScopedMemory } from '../service/scoped-store.js';
import { readCursor, writeCursor } from '../service/list-cursor.js';

const MAX_LIMIT = 200;
/** Of a content in the text; the data has more. */
const SHOWN_CHARS = 200;

const output = {
  type: 'object',
  properties: {
    memories: { type: 'array', items: MEMORY },
    cursor: { type: 'string', description: 'Give it as cursor for what follows; absent at the end.' },
    notice: NOTICE,
  },
  required: ['memories'],
  additionalProperties: false,
} as const;

/** The tool `list`. */
export function listTool(context: MemoryContext): Tool {
  return defineTool({
    name: context.toolName('list'),
    title: 'List memories',
    description: 'List memories, the newest first. To find something in particular, use retrieve.',
    input: {
      type: 'object',
      properties: {
        scope: SCOPES,
        category: { type: 'string', minLength: 1, maxLength: 100 },
        tags: { ...TAGS, description: 'Only with any of these.' },
        sort: {
          type: 'string',
          enum: ['created', 'updated', 'importance'],
          default: 'created',
          description: 'The largest first.',
        },
        limit: { type: 'integer', minimum: 1, maximum: MAX_LIMIT, default: 50 },
        cursor: { type: 'string', minLength: 1, maxLength: 1_000, description: 'Of the answer before, to read on.' },
      },
    },
    output,
    annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
    permission: ({ scope }) => claimScopes(context, 'list', scope),
    async execute({ scope, category, tags, sort, limit, cursor }, ctx: MemoryToolContext) {
      const question = [scope, category ?? null, tags ?? [], sort];
      const after = readCursor(question, cursor);
      const { result, notice } = await ask(ctx, 'list', { scope, category, tags, sort, limit, after });
      const page = result.slice(0, limit);
      const last = page.at(-1);
      const next =
        result.length > limit && last ? writeCursor(question, { value: valueOf(last, sort), id: last.id }) : undefined;
      const heading =
        page.length === 0 ? 'No memories.' : `${page.length === 1 ? '1 memory' : `${page.length} memories`}. ${QUOTED}`;
      const more = next === undefined ? [] : [`[There are more. Read on with cursor ${next}]`];
      const blocks = page.map((memory) => memoryText(memory, SHOWN_CHARS));
      return answer(
        context,
        [heading, ...blocks, ...more].join('\n\n'),
        { memories: memoriesData(page), ...(next !== undefined && { cursor: next }) },
        notice,
      );
    },
  });
}

function valueOf(memory: ScopedMemory, sort: 'created' | 'updated' | 'importance'): number {
  if (sort === 'created') return memory.createdMs;
  return sort === 'updated' ? memory.updatedMs : memory.importance;
}
