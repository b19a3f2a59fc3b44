// history: returns earlier versions of a memory.

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
  QUOTED,
  type MemoryContext,
  type MemoryToolContext,
} from '../memory-context.js';

/** Characters of an earlier version's content in the data, and in the text. */
const DATA_CHARS = 4_000;
const SHOWN_CHARS = 500;

const VERSION = objectSchema({
  rev: { type: 'integer' },
  until: { type: 'string' },
  operation: { type: 'string', enum: ['update', 'merge', 'delete', 'restore'] },
  memory: MEMORY,
});

/** The tool `history`. */
export function historyTool(context: MemoryContext): Tool {
  return defineTool({
    name: context.toolName('history'),
    title: 'History of a memory',
    description: 'Get the earlier versions of a memory, newest first. Also works for a deleted memory.',
    input: objectSchema({ memory_id: ID }, { limit: { type: 'integer', minimum: 1, maximum: 100, default: 20 } }),
    output: objectSchema({ versions: { type: 'array', items: VERSION } }, { memory: MEMORY, notice: NOTICE }),
    annotations: hints('readOnly', 'idempotent'),
    permission: ({ memory_id }, ctx: MemoryToolContext) => claimMemory(context, ctx, 'history', memory_id),
    async execute({ memory_id, limit }, ctx: MemoryToolContext) {
      const { result, notice } = await callMemory(ctx, 'history', { id: memory_id });
      const { scope } = result;
      const versions = result.versions.slice(0, limit).map(({ before, operation, atMs }) => ({
        rev: before.rev,
        until: new Date(atMs).toISOString(),
        operation,
        memory: { ...before, scope },
      }));
      const blocks = versions.map(
        ({ rev, until, operation, memory }) =>
          `Revision ${rev}, until ${until} (${operation}):\n${memoryText(memory, SHOWN_CHARS)}`,
      );
      const current = result.memory ? `The memory is at revision ${result.memory.rev}.` : 'The memory is deleted.';
      const count = versions.length === 1 ? '1 earlier version' : `${versions.length} earlier versions`;
      const data = {
        ...(result.memory && { memory: memoryData(result.memory) }),
        versions: versions.map((version) => ({ ...version, memory: memoryData(version.memory, DATA_CHARS) })),
      };
      return memoryResult(context, [`${count}. ${current} ${QUOTED}`, ...blocks].join('\n\n'), data, notice);
    },
  });
}
