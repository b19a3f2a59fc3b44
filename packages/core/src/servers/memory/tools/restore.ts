// restore: restores a deleted memory, or an earlier revision.

import { defineTool, type Tool } from '../../../tool/define-tool.js';
import { hints, objectSchema } from '../../../tool/object-schema.js';
import {
  callMemory,
  claimMemory,
  ID,
  MEMORY,
  memoryData,
  memoryResult,
  memoryText,
  NOTICE,
  type MemoryContext,
  type MemoryToolContext,
} from '../memory-context.js';

/** The tool `restore`. */
export function restoreTool(context: MemoryContext): Tool {
  return defineTool({
    name: context.toolName('restore'),
    title: 'Restore a memory',
    description: 'Restore a deleted memory, or with rev an earlier revision (see history).',
    input: objectSchema(
      { memory_id: ID },
      { rev: { type: 'integer', minimum: 1, description: 'A revision from the history.' } },
    ),
    output: objectSchema({ memory: MEMORY }, { notice: NOTICE }),
    annotations: hints('idempotent'),
    permission: ({ memory_id }, ctx: MemoryToolContext) => claimMemory(context, ctx, 'restore', memory_id),
    async execute({ memory_id, rev }, ctx: MemoryToolContext) {
      const { result: memory, notice } = await callMemory(ctx, 'restore', { id: memory_id, rev });
      const text = `✓ Memory restored successfully (${memory.scope})\n${memoryText(memory)}`;
      return memoryResult(context, text, { memory: memoryData(memory) }, notice);
    },
  });
}
