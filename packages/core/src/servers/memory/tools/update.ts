// update: changes fields of a memory.

import { ToolError } from '../../../contract/errors.js';
import { defineTool, type Tool } from '../../../tool/define-tool.js';
import type { MemoryPatch } from '../memory-backend.js';
import {
  answer,
  ask,
  claimMemory,
  ID,
  MEMORY,
  memoryData,
  NOTICE,
  TAGS,
  type MemoryContext,
  type MemoryToolContext,
} from '../memory-context.js';
import { safeText } from '../service/plain-text.js';
import { MAX_CONTENT_CHARS, MAX_PATH_CHARS } from '../memory-limits.js';

const output = {
  type: 'object',
  properties: { memory: MEMORY, fields_updated: { type: 'array', items: { type: 'string' } }, notice: NOTICE },
  required: ['memory', 'fields_updated'],
  additionalProperties: false,
} as const;

/** The tool `update`. */
export function updateTool(context: MemoryContext): Tool {
  return defineTool({
    name: context.toolName('update'),
    title: 'Update a memory',
    description: 'Change fields of a memory; what is not given stays. The state before is kept in its history.',
    input: {
      type: 'object',
      properties: {
        memory_id: ID,
        content: { type: 'string', maxLength: MAX_CONTENT_CHARS, description: 'Replaces the whole content.' },
        category: { type: 'string', enum: context.categories },
        tags: { ...TAGS, description: 'Replaces all tags.' },
        importance: { type: 'integer', minimum: 1, maximum: 10 },
        documentation_path: { type: ['string', 'null'], maxLength: MAX_PATH_CHARS, description: 'null removes it.' },
        expected_rev: {
          type: 'integer',
          minimum: 1,
          description: 'The rev that you read: refused when somebody changed it since.',
        },
      },
      required: ['memory_id'],
    },
    output,
    annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: false },
    permission: ({ memory_id }, ctx: MemoryToolContext) => claimMemory(context, ctx, 'update', memory_id),
    async execute(
      { memory_id, content, category, tags, importance, documentation_path, expected_rev },
      ctx: MemoryToolContext,
    ) {
      const given = { content, category, tags, importance, documentation_path };
      const fields = Object.entries(given).flatMap(([name, value]) => (value === undefined ? [] : [name]));
      if (fields.length === 0) {
        throw new ToolError(
          'INVALID_ARGUMENT',
          'Give at least one field to update: content, category, tags, importance or documentation_path.',
        );
      }
      const patch: MemoryPatch = {
        content,
        category,
        tags,
        importance,
        documentationPath: documentation_path === '' ? null : documentation_path,
      };
      const { result, notice } = await ask(ctx, 'update', { id: memory_id, patch, expectedRev: expected_rev });
      const { memory } = result;
      const text = `✓ Memory updated successfully\nID: ${safeText(memory.id)}\nFields updated: ${fields.join(', ')}`;
      const data = { memory: memoryData(memory), fields_updated: fields };
      return answer(context, text, data, result.notice, notice);
    },
  });
}
