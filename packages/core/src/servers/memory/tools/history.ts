// history: what a memory was before.

import { defineTool, type Tool } from '../../../tool/define-tool.js';
import {
  answer,
  ask,
  claimMemory,
  ID,
  MEMORY,
  memoryData,
  memoryText,
  NOTICE,
  QUOTED,
  type MemoryContext,
  type MemoryToolContext,
} from '../memory-context.js';

/** Of a content of an earlier state in the data. */
const DATA_CHARS = 4_000;
const SHOWN_CHARS = 500;

const output = {
  type: 'object',
  properties: {
    memory: MEMORY,
    versions: {
      type: 'array',
      items: {
        type: 'object',
        properties: {
          rev: { type: 'integer' },
          until: { type: 'string' },
          operation: { type: 'string', enum: ['update', 'merge', 'delete', 'restore'] },
          memory: MEMORY,
        },
        required: ['rev', 'until', 'operation', 'memory'],
        additionalProperties: false,
      },
    },
    notice: NOTICE,
  },
  required: ['versions'],
  additionalProperties: false,
} as const;

/** The tool `history`. */
export function historyTool(context: MemoryContext): Tool {
  return defineTool({
    name: context.toolName('history'),
    title: 'History of a memory',
    description: 'Earlier states of a memory, the newest first, also of a deleted one.',
    input: {
      type: 'object',
      properties: { memory_id: ID, limit: { type: 'integer', minimum: 1, maximum: 100, default: 20 } },
      required: ['memory_id'],
    },
    output,
    annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
    permission: ({ memory_id }, ctx: MemoryToolContext) => claimMemory(context, ctx, 'history', memory_id),
    async execute({ memory_id, limit }, ctx: MemoryToolContext) {
      const { result, notice } = await ask(ctx, 'history', { id: memory_id });
      const scope = result.memory?.scope ?? 'project';
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
      const now = result.memory ? `It is at revision ${result.memory.rev}.` : 'It is deleted.';
      return answer(
        context,
        [`${versions.length} earlier states. ${now} ${QUOTED}`, ...blocks].join('\n\n'),
        {
          ...(result.memory && { memory: memoryData(result.memory) }),
          versions: versions.map((version) => ({ ...version, memory: memoryData(version.memory, DATA_CHARS) })),
        },
        notice,
      );
    },
  });
}
