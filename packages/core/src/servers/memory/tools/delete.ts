// delete: takes a memory out, so that it can be restored, or for good.

import { defineTool, type Tool } from '../../../tool/define-tool.js';
import {
  answer,
  ask,
  claimMemory,
  ID,
  MEMORY,
  memoryData,
  NOTICE,
  type MemoryContext,
  type MemoryToolContext,
} from '../memory-context.js';
import { quotation, safeText } from '../service/plain-text.js';

const SHOWN_CHARS = 100;

const output = {
  type: 'object',
  properties: { deleted: MEMORY, restorable: { type: 'boolean' }, notice: NOTICE },
  required: ['deleted', 'restorable'],
  additionalProperties: false,
} as const;

/** The tool `delete`. */
export function deleteTool(context: MemoryContext): Tool {
  return defineTool({
    name: context.toolName('delete'),
    title: 'Delete a memory',
    description: 'Delete a memory that is wrong or no longer true. It can be restored, unless hard is given.',
    input: {
      type: 'object',
      properties: {
        memory_id: ID,
        hard: {
          type: 'boolean',
          default: false,
          description: 'For good, with its history; for what must not be kept.',
        },
      },
      required: ['memory_id'],
    },
    output,
    annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: false },
    permission: ({ memory_id, hard }, ctx: MemoryToolContext) =>
      claimMemory(context, ctx, hard ? 'delete hard' : 'delete', memory_id),
    async execute({ memory_id, hard }, ctx: MemoryToolContext) {
      const { result: memory, notice } = await ask(ctx, 'delete', { id: memory_id, hard });
      const lines = [
        `✓ Memory deleted successfully (${memory.scope})`,
        `ID: ${safeText(memory.id)}`,
        `Category: ${safeText(memory.category)}`,
        `Content:\n${quotation(memory.content, SHOWN_CHARS)}`,
      ];
      return answer(context, lines.join('\n'), { deleted: memoryData(memory), restorable: !hard }, notice);
    },
  });
}
