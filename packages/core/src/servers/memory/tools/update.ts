// update: changes fields of a memory.

import { ToolError } from '../../../contract/errors.js';
import { defineTool, type Tool } from '../../../tool/define-tool.js';
import { hints, objectSchema } from '../../../tool/object-schema.js';
import {
  callMemory,
  claimMemory,
  ID,
  MEMORY,
  memoryData,
  memoryResult,
  NOTICE,
  TAGS,
  type MemoryContext,
  type MemoryToolContext,
} from '../memory-context.js';
import { safeText } from '../service/plain-text.js';
import { MAX_CONTENT_CHARS, MAX_PATH_CHARS } from '../memory-limits.js';

/** The tool `update`. */
export function updateTool(context: MemoryContext): Tool {
  return defineTool({
    name: context.toolName('update'),
    title: 'Update a memory',
    description: 'Change fields of a memory; omitted fields stay as they are. The previous version is in its history.',
    input: objectSchema(
      { memory_id: ID },
      {
        content: { type: 'string', maxLength: MAX_CONTENT_CHARS, description: 'Replaces the whole content.' },
        category: { type: 'string', enum: context.categories },
        tags: { ...TAGS, description: 'Replaces all tags.' },
        importance: { type: 'integer', minimum: 1, maximum: 10 },
        documentation_path: { type: ['string', 'null'], maxLength: MAX_PATH_CHARS, description: 'null removes it.' },
        expected_rev: {
          type: 'integer',
          minimum: 1,
          description: 'The rev that you read. If the memory has changed since, the update is rejected.',
        },
      },
    ),
    output: objectSchema(
      { memory: MEMORY, fields_updated: { type: 'array', items: { type: 'string' } } },
      { notice: NOTICE },
    ),
    annotations: hints('destructive', 'idempotent'),
    permission: ({ memory_id }, ctx: MemoryToolContext) => claimMemory(context, ctx, 'update', memory_id),
    async execute(
      { memory_id, content, category, tags, importance, documentation_path, expected_rev },
      ctx: MemoryToolContext,
    ) {
      const fields = { content, category, tags, importance, documentation_path };
      const names = Object.entries(fields).flatMap(([name, value]) => (value === undefined ? [] : [name]));
      if (names.length === 0) {
        throw new ToolError(
          'INVALID_ARGUMENT',
          'Give at least one field to update: content, category, tags, importance or documentation_path.',
        );
      }
      const documentationPath = documentation_path === '' ? null : documentation_path;
      const patch = { content, category, tags, importance, documentationPath };
      const { result, notice } = await callMemory(ctx, 'update', { id: memory_id, patch, expectedRev: expected_rev });
      const { memory } = result;
      const text = `✓ Memory updated successfully\nID: ${safeText(memory.id)}\nFields updated: ${names.join(', ')}`;
      return memoryResult(context, text, { memory: memoryData(memory), fields_updated: names }, result.notice, notice);
    },
  });
}
