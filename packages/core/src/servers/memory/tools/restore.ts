// restore: brings back a deleted memory, or an earlier state of one.

import { defineTool, type Tool } from '../../../tool/define-tool.js';
import {
  answer,
  ask,
  claimMemory,
  ID,
  MEMORY,
  memoryData,
  NOTICE,
  memoryText,
  type MemoryContext,
  type MemoryToolContext,
} from '../memory-context.js';

const output = {
  type: 'object',
  properties: { memory: MEMORY, notice: NOTICE },
  required: ['memory'],
  additionalProperties: false,
} as const;

/** The tool `restore`. */
export function restoreTool(context: MemoryContext): Tool {
  return defineTool({
    name: context.toolName('restore'),
    title: 'Restore a memory',
    description: 'Bring back a deleted memory, or with rev an earlier state of one (see history).',
    input: {
      type: 'object',
      properties: { memory_id: ID, rev: { type: 'integer', minimum: 1, description: 'A revision of its history.' } },
      required: ['memory_id'],
    },
    output,
    annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: false },
    permission: ({ memory_id }, ctx: MemoryToolContext) => claimMemory(context, ctx, 'restore', memory_id),
    async execute({ memory_id, rev }, ctx: MemoryToolContext) {
      const { result: memory, notice } = await ask(ctx, 'restore', { id: memory_id, rev });
      const text = `✓ Memory restored successfully (${memory.scope})\n${memoryText(memory)}`;
      return answer(context, text, { memory: memoryData(memory) }, notice);
    },
  });
}
