// delete: deletes a memory, so that it can be restored, or permanently.

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
  type MemoryContext,
  type MemoryToolContext,
} from '../memory-context.js';
import { quotation, safeText } from '../service/plain-text.js';

const SHOWN_CHARS = 100;

/** The tool `delete`. */
export function deleteTool(context: MemoryContext): Tool {
  return defineTool({
    name: context.toolName('delete'),
    title: 'Delete a memory',
    description: 'Delete a memory that is wrong or no longer true. It can be restored, unless hard is set.',
    input: objectSchema(
      { memory_id: ID },
      {
        hard: {
          type: 'boolean',
          default: false,
          description: 'Delete permanently, with the history; for content that must not be stored.',
        },
      },
    ),
    output: objectSchema({ deleted: MEMORY, restorable: { type: 'boolean' } }, { notice: NOTICE }),
    annotations: hints('destructive', 'idempotent'),
    permission: ({ memory_id, hard }, ctx: MemoryToolContext) =>
      claimMemory(context, ctx, hard ? 'delete hard' : 'delete', memory_id),
    async execute({ memory_id, hard }, ctx: MemoryToolContext) {
      const { result: memory, notice } = await callMemory(ctx, 'delete', { id: memory_id, hard });
      const lines = [
        `✓ Memory deleted successfully (${memory.scope})`,
        `ID: ${safeText(memory.id)}`,
        `Category: ${safeText(memory.category)}`,
        `Content:\n${quotation(memory.content, SHOWN_CHARS)}`,
      ];
      return memoryResult(context, lines.join('\n'), { deleted: memoryData(memory), restorable: !hard }, notice);
    },
  });
}
